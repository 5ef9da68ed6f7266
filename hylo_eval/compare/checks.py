"""What the numbers handed to a statistic must satisfy; each refusal names the argument and the range."""

from __future__ import annotations

import math

from hylo_core.errors import ContractError


def require_count(value: object, path: str, *, at_least: int = 0) -> int:
    """Return `value` if it is an integer of at least `at_least`.

    Raises:
        ContractError: Anything else, booleans and whole floats included.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ContractError(
            f"must be a whole number of at least {at_least}, got {value!r}. fix: give such a number", path=path
        )
    return value


def require_between(value: object, path: str, low: float, high: float, *, closed: bool = False) -> float:
    """Return `value` as a float if it lies strictly between `low` and `high` (`closed`: ends included).

    Raises:
        ContractError: Anything else, booleans and NaN included.
    """
    if not isinstance(value, bool) and isinstance(value, (int, float)):
        inside = low <= value <= high if closed else low < value < high
        if inside:
            return float(value)
    brackets = "[]" if closed else "()"
    raise ContractError(
        f"must lie in {brackets[0]}{low:g}, {high:g}{brackets[1]}, got {value!r}. fix: give a number from there",
        path=path,
    )


def require_alpha(alpha: object, path: str = "alpha") -> float:
    """Return a one-sided significance level, which lies strictly between 0 and 1/2.

    Raises:
        ContractError: Any other value; at 1/2 and above a coin flip would count as evidence.
    """
    return require_between(alpha, path, 0.0, 0.5)


def require_finite(value: object, path: str) -> float:
    """Return `value` as a float if it is a finite number.

    Raises:
        ContractError: Booleans, text, NaN and infinities.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ContractError(f"must be a finite number, got {value!r}. fix: give one", path=path)
    return float(value)
