"""The product's own credentials: which there are, and how they are kept out of what is written."""

from hylo_eval.agents import chat
from hylo_eval.credentials import CREDENTIAL_PREFIXES, SECRET_VARIABLES, secrets_of
from hylo_eval.verify.judging import connection
from hylo_eval.verify.verifiers import endpoint


def test_every_credential_is_listed():
    """The variables that the product reads credentials from are in the one list."""
    assert {chat.KEY_VARIABLE, endpoint.TOKEN_VARIABLE, connection.API_KEY_VARIABLE} == set(SECRET_VARIABLES)
    for name in (*SECRET_VARIABLES, connection.BASE_URL_VARIABLE, connection.MODEL_VARIABLE):
        assert name.startswith(CREDENTIAL_PREFIXES)


def test_secrets_of_an_environment():
    """Only whole secrets count, without the blanks around them."""
    environment = {"HYLO_CHAT_API_KEY": " one ", "VERIFYIT_JUDGE_BASE_URL": "http://judge", "HYLO_VERIFIER_TOKEN": ""}
    assert secrets_of(environment) == ("one",)
