"""Numbers as people read them, and untrusted text made harmless."""

from __future__ import annotations

from hylo_eval.numerals import counted


def printable(text: str) -> str:
    """Text without control characters: a task's name must not move the cursor or change colours."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
        for character in text
    )


def printable_line(text: str) -> str:
    """Printable text without line breaks: what is one entry must not look like several."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def number(value: float, unit: str = "") -> str:
    """A mean with four significant digits and its unit; short times in milliseconds."""
    if unit == "s" and abs(value) < 1:
        value, unit = 1000 * value, "ms"
    return f"{value:.4g} {unit}".rstrip()


def p_value(value: float, log10: float | None = None) -> str:
    """A p-value with three significant digits; its decimal logarithm where it underflows."""
    if value == 0.0 and log10 is not None:
        return f"10^{log10:.1f}"
    return f"{value:.3g}"


def reasons(counts: dict[str, int]) -> str:
    """Abstentions by reason: ``2 agent_error, 1 infra``, or ``none``."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items()) or "none"


def repeated_words(repeated: int) -> str:
    """What is added to the number of distinct initial states, where episodes repeat one; empty where none does."""
    if not repeated:
        return ""
    said = "repeats one and is" if repeated == 1 else "repeat one and are"
    return f"; {counted(repeated, 'episode')} {said} no independent evidence"
