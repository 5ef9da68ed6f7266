"""Numbers as people write them on a command line."""

from __future__ import annotations


def is_plain_number(text: str) -> bool:
    """Whether a text may be read as a number: Python also takes other scripts' digits and underscores between them."""
    return text.isascii() and "_" not in text
