"""Words, sentences, paragraphs and keywords as the checks count them.

Rough on purpose: these are the contract's rules, written for English prose. Every pattern takes linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z0-9'\-]+")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+")
_PARAGRAPH_BREAK = re.compile(r"\n\s*\n")


def words(text: str) -> list[str]:
    """Runs of ASCII letters, digits, apostrophes and hyphens."""
    return _WORD.findall(text)


def lowered_words(text: str) -> list[str]:
    """The words, for comparisons that ignore case."""
    return [word.lower() for word in words(text)]


def sentences(text: str) -> list[str]:
    """What stands between blanks that follow a full stop, an exclamation or a question mark."""
    return [sentence for part in _SENTENCE_BREAK.split(text.strip()) if (sentence := part.strip())]


def paragraphs(text: str) -> list[str]:
    """What stands between blank lines."""
    return [part for part in _PARAGRAPH_BREAK.split(text.strip()) if part.strip()]


def count_keyword(text: str, keyword: str) -> int:
    """How often a keyword occurs between word boundaries, ignoring case."""
    return sum(1 for _ in _whole(keyword).finditer(text))


def has_keyword(text: str, keyword: str, *, word_boundary: bool) -> bool:
    """Whether a keyword occurs, anywhere or between word boundaries, ignoring case."""
    if not word_boundary:
        return keyword.lower() in text.lower()
    return _whole(keyword).search(text) is not None


@lru_cache(maxsize=512)
def _whole(keyword: str) -> re.Pattern[str]:
    """A keyword between word boundaries, in either case."""
    return re.compile(rf"\b{re.escape(keyword)}\b", re.IGNORECASE)
