"""The product's own credentials: which there are, and how they are kept out of what is written."""

import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.agents import chat
from hylo_eval.credentials import CREDENTIAL_PREFIXES, REDACTED, SECRET_VARIABLES, redacted, secrets_of
from hylo_eval.verify.judging import connection
from hylo_eval.verify.verifiers import endpoint

KEY = 'sk-a/b+"c\\d='
PRINTABLE = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=8, max_size=60)


def test_every_credential_is_listed():
    """The variables that the product reads credentials from are in the one list."""
    assert {chat.KEY_VARIABLE, endpoint.TOKEN_VARIABLE, connection.API_KEY_VARIABLE} == set(SECRET_VARIABLES)
    for name in (*SECRET_VARIABLES, connection.BASE_URL_VARIABLE, connection.MODEL_VARIABLE):
        assert name.startswith(CREDENTIAL_PREFIXES)


def test_secrets_of_an_environment():
    """Only whole secrets count, without the blanks around them."""
    environment = {"HYLO_CHAT_API_KEY": " one ", "VERIFYIT_JUDGE_BASE_URL": "http://judge", "HYLO_VERIFIER_TOKEN": ""}
    assert secrets_of(environment) == ("one",)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(json.dumps(KEY))[3:-3],
        json.dumps(KEY)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(character):04x}" for character in KEY),
        "".join(f"\\u{ord(character):04X}" for character in KEY),
        quote(KEY),
        quote(KEY, safe="").lower(),
    ],
)
def test_forms_of_a_secret(form):
    """However a server quotes the key, it is not repeated; what stands around it is."""
    secret = KEY if form != quote(KEY, safe="").lower() else KEY.lower()
    assert redacted(f"with {form}, and {form}!", secret) == f"with {REDACTED}, and {REDACTED}!"


@settings(deadline=None)
@given(PRINTABLE, st.text())
def test_no_secret_is_repeated(secret, around):
    """Whatever stands around a secret, it is not left in the text."""
    said = redacted(around + secret + around, secret)
    assert secret not in said
    assert REDACTED in said


def test_short_secrets_are_words():
    """A key such as EMPTY is what a server without keys is given, and no secret."""
    assert redacted("an EMPTY tray", "EMPTY", "") == "an EMPTY tray"


def test_many_backslashes_take_no_time():
    """A long run of backslashes is searched once, not once for each of them."""
    text = "\\" * 10**5
    assert redacted(text, KEY) == text
    assert redacted(text, "\\" * 50 + "a") == text


@pytest.mark.parametrize("secret", ["\\\\key\\\\\\", "\\" * 9, "uuuu0075u"])
def test_secrets_that_look_like_escapes(secret):
    """A key of backslashes is found, as it is and as JSON writes it."""
    for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert redacted(f"with {form}!", secret) == f"with {REDACTED}!"
