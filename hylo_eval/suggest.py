"""What is said of a name that a person typed and nothing has: the name, and near ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from hylo_core.errors import clean_text

MAX_NAME_CHARACTERS: Final = 128
"""What is repeated of a name: no run id is longer."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a near name, else an empty text."""
    # A name that several things have is one name.
    close = difflib.get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.5)
    if not close:
        return ""
    return f"; did you mean {' or '.join(repr(match) for match in close)}?"


def quoted(name: str) -> str:
    """The name in quotes, cut where it is so long that it would bury what is said of it."""
    return repr(clean_text(name, MAX_NAME_CHARACTERS))
