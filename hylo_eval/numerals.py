"""Numbers as people write them on a command line; counts, shares and differences of shares as they read them."""

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


def percent(share: float) -> str:
    """``0.7`` as ``70.0 %``; ``0.0 %`` and ``100.0 %`` are said of nothing else than none and all."""
    text = ""
    for digits in range(1, 6):
        text = f"{100 * share:.{digits}f}"
        if (float(text) == 0.0) == (share == 0.0) and (float(text) == 100.0) == (share == 1.0):
            break
    return f"{text} %"


def points(difference: float, digits: int = 1) -> str:
    """A difference of two shares in percentage points, ``+7.0 points``, with so many digits after the point."""
    return f"{100 * difference:+.{digits}f} points"


def size_in_points(size: float) -> str:
    """A size that somebody chose, such as a margin of 0.05, as exactly as it was written: ``5 points``."""
    shown = f"{100 * size:.4g}"
    return f"{shown} {'point' if shown == '1' else 'points'}"
