"""Draws from a hash: the same integers for ever, on every machine and in every version of every library."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of integers that is a pure function of its key.

    Args:
        key: What the stream belongs to.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._count = 0

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]; the bias of the remainder is below 2**-40 for the small ranges used here."""
        if high < low:
            raise ValueError(f"there is no integer from {low} to {high}")
        block = hashlib.sha256(f"{self._key}|{self._count}".encode()).digest()
        self._count += 1
        return low + int.from_bytes(block[:8], "big") % (high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.integer(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.integer(0, last)
            order[last], order[other] = order[other], order[last]
        return order
