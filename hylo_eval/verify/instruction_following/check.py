"""What a check is: a pure function of a text and its parameters that says whether the text complies."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import attrs

_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "at least": operator.ge,
    "less than": operator.lt,
    "at most": operator.le,
    "equal": operator.eq,
    "exactly": operator.eq,
}


@attrs.frozen
class CheckResult:
    """Whether a text complies, and the observation that decided it."""

    passed: bool
    detail: str


class ParameterError(ValueError):
    """A constraint's parameter is missing or of the wrong type; the constraint then does not hold."""


class Parameters:
    """Typed access to a constraint's parameters.

    Data sets store one table for all constraints, so parameters that a check does not know are left alone,
    and null means absent. Every method raises ParameterError rather than convert a value.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def integer(self, name: str) -> int:
        """A count; a bool is none."""
        value = self._required(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ParameterError(f"{name} must be an integer, not {type(value).__name__}")
        return value

    def text(self, name: str) -> str:
        """A text of at least one character."""
        value = self._required(name)
        if not isinstance(value, str) or not value:
            raise ParameterError(f"{name} must be a non-empty text")
        return value

    def character(self, name: str) -> str:
        """A text of exactly one character."""
        value = self.text(name)
        if len(value) != 1:
            raise ParameterError(f"{name} must be one character, not {len(value)}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts of at least one character each."""
        value = self._required(name)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ParameterError(f"{name} must be a list of texts")
        entries = cast("Sequence[object]", value)
        found = tuple(entry for entry in entries if isinstance(entry, str) and entry)
        if len(found) != len(entries):
            raise ParameterError(f"{name} must hold non-empty texts only")
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        """True or False."""
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ParameterError(f"{name} must be true or false, not {type(value).__name__}")
        return value

    def text_or(self, name: str, default: str) -> str:
        """A text, ``default`` when it is absent or empty."""
        value = self._values.get(name)
        return default if value is None or value == "" else self.text(name)

    def compare(self, actual: int, *, count: str, relation: str, what: str) -> CheckResult:
        """Compare an observed count with the parameter ``count`` under the relation named by ``relation``."""
        expected = self.integer(count)
        name = "at least" if self._values.get(relation) is None else self.text(relation)
        holds = _RELATIONS.get(name)
        if holds is None:
            raise ParameterError(f"{relation} must be one of {', '.join(_RELATIONS)}, not {name[:40]!r}")
        return CheckResult(holds(actual, expected), f"{what}: {actual}, required {name} {expected}")

    def _required(self, name: str) -> object:
        value: object = self._values.get(name)
        if value is None:
            raise ParameterError(f"{name} is missing")
        return value


Check: TypeAlias = Callable[[str, Parameters], CheckResult]
"""A check: pure, linear in the text, and raising nothing but ParameterError."""
