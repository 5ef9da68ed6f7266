"""Did-you-mean, for every name a person types."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a near name, else an empty text."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    if not close:
        return ""
    return f"; did you mean {' or '.join(repr(match) for match in close)}?"
