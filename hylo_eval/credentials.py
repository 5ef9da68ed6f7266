"""The credentials that the product itself reads from the environment, and keeping them out of what it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

CREDENTIAL_PREFIXES: Final = ("VERIFYIT_JUDGE_", "HYLO_CHAT_API_KEY", "HYLO_VERIFIER_TOKEN")
"""How the variables begin that are withheld from every process that has no need of them."""

SECRET_VARIABLES: Final = ("VERIFYIT_JUDGE_API_KEY", "HYLO_CHAT_API_KEY", "HYLO_VERIFIER_TOKEN")
"""Those of them whose whole value is a secret."""

SHORTEST_SECRET: Final = 8
"""Servers without keys are given words such as EMPTY; blanking those out would change what somebody said."""

REDACTED: Final = "[key]"

_MAX_BACKSLASHES: Final = 4  # JSON text inside JSON text; more of them would make the search slow


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets in an environment."""
    return tuple(value for name in SECRET_VARIABLES if (value := environment.get(name, "").strip()))


def redacted(text: str, *secrets: str) -> str:
    """A text without secrets, in whatever way a server or an error quotes them.

    Found are the secret itself and its forms as a JSON string (any character may be escaped, twice too) and in a
    URL. A secret that somebody takes apart or encodes otherwise is not found. Cut a text after this, not before: a
    part of a secret is not found either.

    Args:
        text: Somebody else's words.
        secrets: Empty ones, and those shorter than :data:`SHORTEST_SECRET`, are left alone.
    """
    import re

    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            forms = (_forms(part) for part in re.findall(r"\\+|[^\\]", secret))
            text = re.sub("".join(forms), REDACTED, text)
    return text


def _forms(part: str) -> str:
    """A pattern of the ways to write a character of a secret, or a run of backslashes; it tries none of them twice."""
    import re

    character, count = part[0], len(part)
    encoded = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    escaped = [rf"\\{{0,{_MAX_BACKSLASHES}}}+u(?i:{ord(character):04x})", f"(?i:{encoded})"]
    if character == "\\":
        plain = rf"\\{{{count},{_MAX_BACKSLASHES * count}}}+"
    else:
        plain = rf"\\{{0,{_MAX_BACKSLASHES}}}+{re.escape(character)}"
    return f"(?:{plain}|(?:{'|'.join(escaped)}){{{count}}})"
