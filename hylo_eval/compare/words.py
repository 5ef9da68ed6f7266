"""Digests, and changed traces, as sentences have them."""

from __future__ import annotations

import re
from typing import Final

_DIGEST: Final = re.compile(r"\b((?:sha256:)?[0-9a-f]{12})[0-9a-f]{52}\b")


def not_as_recorded(count: int, what: str = "trace") -> str:
    """That so many traces, or other files of episodes, were changed since."""
    return (
        f"1 {what} is not the one that was recorded"
        if count == 1
        else f"{count} {what}s are not the ones that were recorded"
    )


def short_digests(text: str) -> str:
    """A text with twelve digits of each SHA-256 digest in it: enough to tell two apart, and to find one in a file."""
    return _DIGEST.sub(r"\1…", text)
