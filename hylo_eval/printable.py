"""Untrusted text made harmless: a task's name must not move the cursor, change colours or look like two lines."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text without control characters: a task's name must not move the cursor or change colours."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
        for character in text
    )


def printable_line(text: str) -> str:
    """Printable text without line breaks: what is one entry must not look like several."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
