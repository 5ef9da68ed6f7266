"""Deeply immutable JSON values."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final, TypeVar, cast

from hylo_core.canonical import LEAVES, check_json, describe, is_flat
from hylo_core.errors import ContractError

V_co = TypeVar("V_co", covariant=True)


class FrozenMapping(Mapping[str, V_co]):
    """A mapping from text that cannot change; hashable when its values are.

    Key order is kept for people and ignored by equality, hash and digest.
    """

    __slots__ = ("_members",)
    _members: dict[str, V_co]

    def __init__(self, members: Mapping[str, V_co] | None = None) -> None:
        object.__setattr__(self, "_members", dict(members or {}))

    def __getitem__(self, key: str) -> V_co:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    # Mapping would derive these three from the methods above, but they would be ten times slower.
    def keys(self) -> KeysView[str]:
        """A view of the keys."""
        return self._members.keys()

    def values(self) -> ValuesView[V_co]:
        """A view of the values."""
        return self._members.values()

    def items(self) -> ItemsView[str, V_co]:
        """A view of the members."""
        return self._members.items()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a frozen mapping cannot be changed (tried to set {name!r})")

    def __hash__(self) -> int:
        return hash(frozenset(self._members.items()))

    def __repr__(self) -> str:
        return repr(self._members)

    def __reduce__(self) -> tuple[type[FrozenMapping[V_co]], tuple[dict[str, V_co]]]:
        return (type(self), (self._members,))


_EMPTY: Final = FrozenMapping[Any]()
"""Shared by all contracts: most mappings are empty, and nobody can change this one."""


def freeze(value: Any, path: str = "") -> Any:
    """A deeply immutable copy of a JSON value: lists become tuples, mappings become frozen.

    Raises:
        ContractError: The value is not JSON (see :func:`hylo_core.canonical.check_json`).
    """
    check_json(value, path)
    return _freeze(value)


def freeze_mapping(path: str) -> Any:
    """An attrs converter that freezes a mapping with text keys and JSON values; ``path`` names the field."""

    def convert(value: object) -> FrozenMapping[Any]:
        if not isinstance(value, Mapping):
            raise ContractError(f"must be a mapping, not {describe(value)}", path=path)
        if not value:
            return _EMPTY
        members = cast("Mapping[str, Any]", value)
        return FrozenMapping(members) if is_flat(members) else freeze(members, path)

    return convert


def thaw(value: Any) -> Any:
    """A mutable copy of a frozen value: plain dicts and lists, as :mod:`json` knows them."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: thaw(item) for key, item in members.items()}
    if isinstance(value, (list, tuple)):
        items = cast("tuple[Any, ...]", value)
        return [thaw(item) for item in items]
    return value


def _freeze(value: Any) -> Any:
    if type(value) in LEAVES:
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return FrozenMapping({key: _freeze(item) for key, item in members.items()})
    if isinstance(value, (list, tuple)):
        items = cast("tuple[Any, ...]", value)
        return tuple(_freeze(item) for item in items)
    return value
