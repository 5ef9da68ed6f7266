"""Strict converters for the fields of a specification: a wrong type is refused with the field's path.

Nothing is coerced but what the contract names: a single string stands for a list of one, and an integer
for the float of the same value. A bool is never a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

import attrs

from hylo_core.errors import ContractError
from hylo_eval.verify.verdict import InvalidTask

MAX_SPEC_DEPTH = 200
"""Deepest nesting of a JSON value in a specification; far beyond real tasks and below Python's own limit."""


class SpecError(ContractError, ValueError):
    """A specification is not well formed: an unknown mode or field, a missing field or a wrong type."""


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def text(value: object, path: str) -> str:
    """A string that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise SpecError(f"must be a string, not {type(value).__name__}", path=path)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SpecError("holds a lone surrogate, which no file can carry", path=path) from error
    return value


def optional_text(value: object, path: str) -> str | None:
    """A string or None."""
    return None if value is None else text(value, path)


def text_list(value: object, path: str) -> tuple[str, ...]:
    """Strings; a single string stands for a list of one."""
    if isinstance(value, str):
        return (text(value, path),)
    if not isinstance(value, list | tuple):
        raise SpecError(f"must be a list of strings, not {type(value).__name__}", path=path)
    entries = cast("Sequence[object]", value)
    return tuple(text(entry, f"{path}[{index}]") for index, entry in enumerate(entries))


def flag(value: object, path: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise SpecError(f"must be true or false, not {type(value).__name__}", path=path)
    return value


def integer(value: object, path: str) -> int:
    """An integer; a bool or a float of integral value is not one."""
    if _is_bool(value) or not isinstance(value, int):
        raise SpecError(f"must be an integer, not {type(value).__name__}", path=path)
    return value


def number(value: object, path: str) -> float:
    """A float, or an integer that a float can hold."""
    if _is_bool(value) or not isinstance(value, int | float):
        raise SpecError(f"must be a number, not {type(value).__name__}", path=path)
    try:
        return float(value)
    except OverflowError as error:
        raise SpecError("is outside the range of a float", path=path) from error


def optional_number(value: object, path: str) -> float | None:
    """A number or None."""
    return None if value is None else number(value, path)


EnumT = TypeVar("EnumT", bound=StrEnum)


def choice(enum: type[EnumT]) -> Callable[[object, str], EnumT]:
    """A converter to a member of ``enum``, from the member or its value."""

    def convert(value: object, path: str) -> EnumT:
        if not isinstance(value, str) or value not in set(enum):
            allowed = ", ".join(repr(str(member)) for member in enum)
            raise SpecError(f"must be one of {allowed}, not {value!r:.80}", path=path)
        return enum(value)

    return convert


def json_value(value: object, path: str, depth: int = 0) -> Any:
    """A private copy of a decoded JSON value: a later change of the caller's object changes no spec.

    Raises:
        SpecError: It is no such value, or is nested too deeply.
        InvalidTask: It holds a number that is not finite: well formed, yet no answer can equal it.
    """
    if depth > MAX_SPEC_DEPTH:
        raise SpecError(f"is nested deeper than {MAX_SPEC_DEPTH} levels", path=path[:200])
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return text(value, path)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidTask(f"{path} must be finite: JSON has no infinity and no NaN")
        return value
    if isinstance(value, list | tuple):
        entries = cast("Sequence[object]", value)
        return [json_value(entry, f"{path}[{index}]", depth + 1) for index, entry in enumerate(entries)]
    if isinstance(value, Mapping):
        return json_object(cast("Mapping[object, object]", value), path, depth)
    raise SpecError(f"must be a JSON value, not {type(value).__name__}", path=path)


def json_object(value: object, path: str, depth: int = 0) -> dict[str, Any]:
    """A private copy of a decoded JSON object."""
    if not isinstance(value, Mapping):
        raise SpecError(f"must be an object, not {type(value).__name__}", path=path)
    members = cast("Mapping[object, object]", value)
    copy: dict[str, Any] = {}
    for key, entry in members.items():
        name = text(key, f"{path}: a key")
        copy[name] = json_value(entry, f"{path}.{name}", depth + 1)
    return copy


def json_identity(value: object) -> str:
    """A text equal for two JSON values only when they are the same down to ``1``, ``1.0`` and ``true``."""
    return json.dumps(value, sort_keys=True)


def table_fields(value: object, path: str, *, required: frozenset[str], optional: frozenset[str]) -> dict[str, Any]:
    """The members of a nested table, which must hold the ``required`` names and no unknown one."""
    if not isinstance(value, Mapping):
        raise SpecError(f"must be a table, not {type(value).__name__}", path=path)
    members = dict(cast("Mapping[str, Any]", value))
    if missing := sorted(required - members.keys()):
        raise SpecError(f"lacks {', '.join(missing)}", path=path)
    if unknown := sorted(str(name) for name in members.keys() - required - optional):
        raise SpecError(f"does not accept {', '.join(unknown)}", path=path)
    return members


def entries(value: object, path: str) -> Sequence[object]:
    """The entries of a list."""
    if not isinstance(value, list | tuple):
        raise SpecError(f"must be a list, not {type(value).__name__}", path=path)
    return cast("Sequence[object]", value)


def named(convert: Callable[[object, str], Any]) -> Any:
    """``convert`` as an attrs converter that is told its field's name.

    The result is typed Any: type checkers know converters of one argument only.
    """

    def with_field(value: object, field: attrs.Attribute[Any]) -> Any:
        return convert(value, field.name)

    return attrs.Converter(with_field, takes_field=True)  # pyright: ignore[reportUnknownVariableType]


TEXT = named(text)
OPTIONAL_TEXT = named(optional_text)
TEXT_LIST = named(text_list)
FLAG = named(flag)
INTEGER = named(integer)
NUMBER = named(number)
OPTIONAL_NUMBER = named(optional_number)
JSON_VALUE = named(json_value)
