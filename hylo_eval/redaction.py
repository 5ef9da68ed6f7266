"""A secret blanked out of what came from outside, before anything else looks at it.

Once in the text as it came, and once in what the text was decoded to: a key may stand there in JSON's escapes, as the
name of a member, or, if it is all digits, as a number.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import cast
from urllib.parse import quote

PLACEHOLDER = "[key]"
SHORTEST_SECRET = 8
"""Servers without keys are given words such as EMPTY; blanking those out would change what a model said."""

_LONGEST_BEGINNING = 16

_DEEPEST = 32
"""Nesting below which a document is left out rather than searched: nobody reads anything there."""


def redact_text(text: str, *secrets: str) -> str:
    """A text without secrets, in whatever way a server or an error quotes them.

    Found are the secret itself and its forms as a JSON string (any character may be escaped, and the text again) and
    in a URL. A secret that somebody takes apart or encodes otherwise is not found. Cut a text after this, not before:
    a part of a secret is not found either.

    Args:
        text: Somebody else's words.
        secrets: Empty ones, and those shorter than :data:`SHORTEST_SECRET`, are left alone.
    """
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = _spellings(secret).sub(PLACEHOLDER, text)
    return text


def redact_document(document: object, *secrets: str) -> object:
    """A decoded JSON document without secrets: in values, in names, and in numbers, which become text."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            document = _redacted(document, secret, _DEEPEST)
    return document


def _redacted(value: object, secret: str, depth: int) -> object:
    if isinstance(value, str):
        return redact_text(value, secret)
    if isinstance(value, dict | list):
        if depth == 0:
            return None
        if isinstance(value, list):
            return [_redacted(item, secret, depth - 1) for item in cast("list[object]", value)]
        members = cast("dict[str, object]", value).items()
        return {redact_text(name, secret): _redacted(item, secret, depth - 1) for name, item in members}
    if isinstance(value, int | float) and secret in str(value):
        return PLACEHOLDER
    return value


@lru_cache(maxsize=4)
def _spellings(secret: str) -> re.Pattern[str]:
    r"""The secret as it is, as JSON and URLs write it, and any mixture of these.

    In a mixture a character is itself, ``\uXXXX`` or ``%XX``, and any backslashes of escaping stand between two. Runs
    of them are never given back, and are bounded where one begins, so that no text makes the search slow.
    """
    escaped = json.dumps(secret)[1:-1]
    encoded = [quote(secret, safe=safe, errors="surrogatepass") for safe in ("/", "")]
    exact = sorted({secret, escaped, json.dumps(escaped)[1:-1], *encoded}, key=len, reverse=True)
    return re.compile("|".join((*map(re.escape, exact), _mixture(secret))))


def _mixture(secret: str) -> str:
    backslash = r"(?:\\(?:u005[cC])?|%5[cC])"
    characters = [character for character in secret if character != "\\"]
    if not characters:
        return rf"{backslash}{{{len(secret)},}}+"
    first, *others = map(_character, characters)
    beginning = rf"{backslash}{{1,{_LONGEST_BEGINNING}}}+" if secret.startswith("\\") else r"(?:\\(?=u))?"
    end = rf"{backslash}{{0,{_LONGEST_BEGINNING}}}+" if secret.endswith("\\") else ""
    between = r"(?:\\++(?:u005[cC])?|%5[cC])*+"
    return beginning + first + "".join(between + other for other in others) + end


def _character(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    escaped = r"\\*+".join(f"u{units[index : index + 4]}" for index in range(0, len(units), 4))
    encoded = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    return f"(?:{re.escape(character)}|(?i:{escaped})|(?i:{encoded}))"
