"""The base of every contract, and the checks its fields use.

A contract is an attrs class, frozen, with slots. Its fields are checked when it is built, whoever builds it: the
codec reading a file and a line of Python meet the same refusals. Every validator and converter of this module refuses a
value with a :class:`ContractError` that names the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import attrs

from hylo_core.canonical import MAX_SAFE_INTEGER, canonical_json, check_text, describe, digest
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping

V = TypeVar("V")

if TYPE_CHECKING:
    Validator = Callable[[Any, attrs.Attribute[Any], Any], None]


@attrs.frozen
class Record:
    """A value with a JSON form."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; members equal to their default are left out, so a new field changes no old digest."""
        from hylo_core.codec import unstructure

        return unstructure(self)

    def to_json(self) -> bytes:
        """The canonical JSON (RFC 8785) of :meth:`to_dict`."""
        return canonical_json(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, source: str = "") -> Self:
        """Build the value from its JSON form, strictly.

        Args:
            data: The JSON form. Unknown keys and values of a near type are refused, never coerced.
            source: The file the data came from, for error texts.

        Raises:
            ContractError: Naming the file, the path of the value and what is wrong with it.
        """
        from hylo_core.codec import structure

        return structure(data, cls, source=source)


@attrs.frozen
class Contract(Record):
    """A record with a digest. Two contracts are the same when their digests are."""

    def digest(self) -> str:
        """``sha256:<hex>`` of :meth:`to_json`."""
        return digest(self.to_dict())


def text(*, empty: bool = True) -> Validator:
    """Accept text that UTF-8 can encode; with ``empty=False`` only text with something in it."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, str):
            raise ContractError(f"must be text, not {describe(value)}", path=attribute.name)
        if not empty and not value.strip():
            raise ContractError("must not be empty", path=attribute.name)
        check_text(value, attribute.name)

    return check


def integer(*, minimum: int | None = None, below: int | None = None, optional: bool = False) -> Validator:
    """Accept an int (never a bool, a float or text) in ``[minimum, below)``."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        check_integer(value, attribute.name, minimum=minimum, below=below)

    return check


def check_integer(value: object, path: str, *, minimum: int | None = None, below: int | None = None) -> None:
    """Refuse everything but an int in ``[minimum, below)``; see :func:`integer`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ContractError(f"must be an integer, not {describe(value)}", path=path)
    if (minimum is not None and value < minimum) or (below is not None and value >= below):
        bounds = f"at least {minimum}" if below is None else f"in [{minimum}, {below})"
        raise ContractError(f"must be {bounds}, not {describe(value)}", path=path)
    if abs(value) > MAX_SAFE_INTEGER:
        raise ContractError("must be below 2**53, the largest integer JSON readers keep exactly", path=path)


def number(*, optional: bool = False, minimum: float | None = None) -> Validator:
    """Accept a finite int or float, never a bool."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ContractError(f"must be a number, not {describe(value)}", path=attribute.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ContractError(f"must be finite, not {value}", path=attribute.name)
        if minimum is not None and value < minimum:
            raise ContractError(f"must be at least {minimum:g}, not {value:g}", path=attribute.name)

    return check


def boolean(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Accept True and False, nothing that merely counts as true."""
    if not isinstance(value, bool):
        raise ContractError(f"must be true or false, not {describe(value)}", path=attribute.name)


def one_of(*choices: str) -> Validator:
    """Accept one of a closed list of words."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value not in choices or not isinstance(value, str):
            listed = ", ".join(repr(choice) for choice in choices)
            raise ContractError(f"must be one of {listed}, not {describe(value)}", path=attribute.name)

    return check


def instance_of(*types: type, optional: bool = False) -> Validator:
    """Accept an instance of one of the given contracts."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        if not isinstance(value, types):
            names = " or ".join(kind.__name__ for kind in types)
            raise ContractError(f"must be a {names}, not {describe(value)}", path=attribute.name)

    return check


def sequence_of(path: str, check_item: Callable[[Any, str], object]) -> Callable[[Any], tuple[Any, ...]]:
    """An attrs converter: a list or tuple becomes a tuple whose items pass ``check_item(item, item_path)``."""

    def convert(value: object) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise ContractError(f"must be a list, not {describe(value)}", path=path)
        items = tuple(cast("list[Any]", value))
        for index, item in enumerate(items):
            check_item(item, f"{path}[{index}]")
        return items

    return convert


def texts(path: str) -> Callable[[Any], tuple[str, ...]]:
    """An attrs converter for a list of texts."""

    def check_item(item: Any, item_path: str) -> None:
        if not isinstance(item, str):
            raise ContractError(f"must be text, not {describe(item)}", path=item_path)
        check_text(item, item_path)

    return sequence_of(path, check_item)


def member_of(cls: type[V]) -> Callable[[Any, str], V]:
    """A reader for :func:`sequence_of` and :func:`mapping_of`: an instance of one class, as it is."""

    def read(member: Any, member_path: str) -> V:
        if not isinstance(member, cls):
            raise ContractError(f"must be a {cls.__name__}, not {describe(member)}", path=member_path)
        return member

    return read


def contracts_of(path: str, cls: type[V]) -> Callable[[Any], tuple[V, ...]]:
    """An attrs converter for a list of contracts of one class."""
    return sequence_of(path, member_of(cls))


def mapping_of(
    path: str, read_member: Callable[[Any, str], V], *, what: str = "a mapping"
) -> Callable[[Any], FrozenMapping[V]]:
    """An attrs converter: a mapping with text keys becomes a frozen one.

    Args:
        path: The field's name.
        read_member: From a value and its path to the value that is kept; raises :class:`ContractError` to refuse it.
        what: What the field is called when it holds something else.
    """

    def convert(value: object) -> FrozenMapping[V]:
        if not isinstance(value, Mapping):
            raise ContractError(f"must be {what}, not {describe(value)}", path=path)
        members: dict[str, V] = {}
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                raise ContractError(f"has the key {key!r}; keys are text", path=path)
            members[key] = read_member(item, f"{path}.{key}")
        return FrozenMapping(members)

    return convert


def integers(path: str) -> Callable[[Any], tuple[int, ...]]:
    """An attrs converter for a list of integers, such as a shape."""
    return sequence_of(path, check_integer)
