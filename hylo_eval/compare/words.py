"""Counts as sentences have them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 pair``, ``2 pairs``, ``0 losses``.

    Args:
        count: How many.
        noun: Of one.
        plural: Of several, where an s does not make it.
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
