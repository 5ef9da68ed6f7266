"""A secret blanked out of what came from outside, before anything else looks at it.

Once in the text as it came, and once in what the text was decoded to: a key may stand there in JSON's escapes, as the
name of a member, or, if it is all digits, as a number.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

PLACEHOLDER = "[key]"
SHORTEST_SECRET = 8
"""Servers without keys are given words such as EMPTY; blanking those out would change what a model said."""

_DEEPEST = 32
"""Nesting below which a document is left out rather than searched: nobody reads anything there."""


def redact_text(text: str, secret: str) -> str:
    """The text without the secret, also where it stands in JSON's escapes, however often they were escaped again."""
    if len(secret) < SHORTEST_SECRET:
        return text
    return _spellings(secret).sub(PLACEHOLDER, text)


def redact_document(document: object, secret: str) -> object:
    """A decoded JSON document without the secret: in values, in names, and in numbers, which become text."""
    return document if len(secret) < SHORTEST_SECRET else _redacted(document, secret, _DEEPEST)


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
    r"""The secret with each character as itself or as ``\uXXXX``, and any backslashes of escaping between them.

    Runs of them are never given back, so that no text makes the search slow.
    """
    characters = [character for character in secret if character != "\\"]
    spelled = [rf"(?:{re.escape(character)}|u00(?i:{ord(character):02x}))" for character in characters]
    first = rf"(?:{re.escape(characters[0])}|\\u00(?i:{ord(characters[0]):02x}))" if characters else r"(?!)"
    return re.compile(first + "".join(r"(?:\\(?:u005[cC])?)*+" + one for one in spelled[1:]))
