"""Numbers as people read them."""

from __future__ import annotations


def percent(share: float) -> str:
    """``0.7`` as ``70.0 %``."""
    return f"{100 * share:.1f} %"


def number(value: float, unit: str = "") -> str:
    """A mean with four significant digits and its unit; short times in milliseconds."""
    if unit == "s" and abs(value) < 1:
        value, unit = 1000 * value, "ms"
    return f"{value:.4g} {unit}".rstrip()


def points(difference: float) -> str:
    """A difference of two shares as ``+7.0 points``."""
    return f"{100 * difference:+.1f} points"


def p_value(value: float, log10: float | None = None) -> str:
    """A p-value with three significant digits; its decimal logarithm where it underflows."""
    if value == 0.0 and log10 is not None:
        return f"10^{log10:.1f}"
    return f"{value:.3g}"


def reasons(counts: dict[str, int]) -> str:
    """Abstentions by reason: ``2 agent_error, 1 infra``, or ``none``."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items()) or "none"
