"""Standard output that stays ours while simulators run."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class OwnStdout:
    """Sends what simulators print to standard error, also from C, and gives standard output to us alone.

    >>> with OwnStdout() as stdout:  # doctest: +SKIP
    ...     make_simulator()
    >>> with stdout:
    ...     stdout.write("the result")
    """

    def __enter__(self) -> TextIO:
        sys.stdout.flush()
        self._ours = os.dup(1)
        os.dup2(2, 1)
        return os.fdopen(os.dup(self._ours), "w", encoding="utf-8", errors="replace")

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        os.dup2(self._ours, 1)
        os.close(self._ours)
