"""Numbers as people write them on a command line, and counts as they read them."""

from __future__ import annotations

from typing import Final

MOST_COUNTED: Final = 2**31 - 1
"""More episodes, steps or processes than anybody can mean."""


def is_plain_number(text: str) -> bool:
    """Whether a text may be read as a number: Python also takes other scripts' digits and underscores between them."""
    return text.isascii() and "_" not in text


def require_option_count(name: str, value: int, *, least: int = 1, most: int = MOST_COUNTED) -> int:
    """A count that somebody asks for with an option.

    Args:
        name: The option, such as ``--episodes``.
        value: What was asked for.
        least: The least there is.
        most: The most.

    Raises:
        EvalError: It is below ``least`` or above ``most``.
    """
    if least <= value <= most:
        return value
    # Imported here, so that --help, which checks no number, does not wait for it.
    from hylo_core.canonical import describe
    from hylo_eval.errors import EvalError

    bound, way = (f"at least {least}", "more") if value < least else (f"at most {most}", "less")
    end = least if value < least else most
    raise EvalError(f"{name} must be {bound}, not {describe(value)}", fix=f"{name} {end}, or {way}")


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 pair``, ``2 pairs``, ``0 losses``.

    Args:
        count: How many.
        noun: Of one.
        plural: Of several, where an s does not make it.
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def are(count: int) -> str:
    """``is`` of one, ``are`` of any other number."""
    return "is" if count == 1 else "are"
