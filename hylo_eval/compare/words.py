"""Counts and digests as sentences have them."""

from __future__ import annotations

import re
from typing import Final

_DIGEST: Final = re.compile(r"\b((?:sha256:)?[0-9a-f]{12})[0-9a-f]{52}\b")


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 pair``, ``2 pairs``, ``0 losses``.

    Args:
        count: How many.
        noun: Of one.
        plural: Of several, where an s does not make it.
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def not_as_recorded(count: int) -> str:
    """That so many traces were changed since their episodes."""
    return (
        "1 trace is not the one that was recorded"
        if count == 1
        else f"{count} traces are not the ones that were recorded"
    )


def short_digests(text: str) -> str:
    """A text with twelve digits of each SHA-256 digest in it: enough to tell two apart, and to find one in a file."""
    return _DIGEST.sub(r"\1…", text)
