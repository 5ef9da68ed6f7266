"""The one converter between contracts and their JSON form.

Strict in both directions: no coercion, no unknown keys, unions told apart by the ``kind`` tag of their members, and
every error a :class:`ContractError` that names the file and the path of the offending value.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from hylo_core.canonical import LEAVES, describe
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, thaw

C = TypeVar("C")

_SCALARS: dict[type, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    int: ((int,), "an integer"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
}


def structure(data: Any, cls: type[C], *, source: str = "") -> C:
    """Build a contract from its JSON form; nothing is coerced.

    Args:
        data: The JSON form.
        cls: The contract's class.
        source: The file the data came from, for error texts.

    Raises:
        ContractError: The first thing that is wrong, with its path below ``data``.
    """
    try:
        return _converter().structure(data, cls)
    except BaseValidationError as error:
        raise _first(error).under("", source=source) from None
    except ContractError as error:
        raise error.under("", source=source) from None


def unstructure(contract: Any) -> dict[str, Any]:
    """The JSON form of a contract: plain dicts and lists, members equal to their default left out."""
    return _converter().unstructure(contract)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True, omit_if_default=True)
    for scalar in _SCALARS:
        converter.register_structure_hook(scalar, _structure_scalar)
    converter.register_structure_hook_func(_is_literal, lambda value, _: value)
    converter.register_structure_hook_factory(_is_tuple, partial(_structure_tuple, converter))
    converter.register_structure_hook_factory(_is_mapping, partial(_structure_mapping, converter))
    converter.register_structure_hook_factory(_is_contract, partial(_structure_contract, converter))
    converter.register_structure_hook_func(_is_contract_union, _union_structurer(converter))
    converter.register_structure_hook_func(lambda cls: cls is Any, lambda value, _: value)
    converter.register_unstructure_hook_factory(_is_contract, partial(_unstructure_contract, converter))
    converter.register_unstructure_hook_func(_is_contract_union, converter.unstructure)
    converter.register_unstructure_hook(FrozenMapping, lambda value: _thaw_members(converter, value))
    converter.register_unstructure_hook_func(_is_mapping, lambda value: _thaw_members(converter, value))
    converter.register_unstructure_hook_func(_is_enum, str)
    converter.register_unstructure_hook(tuple, lambda value: [converter.unstructure(item) for item in value])
    return converter


def _structure_scalar(value: Any, cls: type) -> Any:
    if _is_enum(cls):  # cattrs takes an enum of text for the text it derives from
        return _structure_enum(value, cls)
    accepted, name = _SCALARS[cls]
    if not isinstance(value, accepted) or (isinstance(value, bool) and cls is not bool):
        raise ContractError(f"must be {name}, not {describe(value)}")
    return value


def _structure_enum(value: Any, cls: type[StrEnum]) -> StrEnum:
    try:
        return cls(value)
    except ValueError:
        listed = ", ".join(repr(str(member)) for member in cls)
        raise ContractError(f"must be one of {listed}, not {describe(value)}") from None


def _structure_tuple(converter: cattrs.Converter, cls: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    item_type = get_args(cls)[0]

    def structure_tuple(value: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise ContractError(f"must be a list, not {describe(value)}")
        items = cast("list[Any]", value)
        return tuple(_at(f"[{index}]", converter.structure, item, item_type) for index, item in enumerate(items))

    return structure_tuple


def _structure_mapping(converter: cattrs.Converter, cls: Any) -> Callable[[Any, Any], dict[str, Any]]:
    value_type = get_args(cls)[1]

    def structure_mapping(value: Any, _: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ContractError(f"must be a mapping, not {describe(value)}")
        members = cast("Mapping[str, Any]", value)
        return {key: _at(str(key), converter.structure, item, value_type) for key, item in members.items()}

    return structure_mapping


def _structure_contract(converter: cattrs.Converter, cls: type[Any]) -> Callable[[Any, Any], Any]:
    tag = _tag(cls)
    build = make_dict_structure_fn(cls, converter)

    def structure_contract(value: Any, _: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise ContractError(f"must be a mapping, not {describe(value)}")
        members = dict(cast("Mapping[str, Any]", value))
        if tag is not None and members.pop("kind", tag) != tag:
            raise ContractError(f"must be {tag!r}", path="kind")
        missing = [
            field.name
            for field in attrs.fields(cls)
            if field.init and field.default is attrs.NOTHING and field.name not in members
        ]
        if missing:
            unknown = [key for key in members if key not in attrs.fields_dict(cls)]
            hint = f" (found {', '.join(map(repr, unknown))})" if unknown else ""
            raise ContractError(f"is missing{hint}", path=missing[0])
        return build(members, cls)

    return structure_contract


def _union_structurer(converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    def structure_union(value: Any, union: Any) -> Any:
        members = {_tag(cls): cls for cls in get_args(union) if cls is not types.NoneType}
        if isinstance(value, tuple(members.values())):
            return value
        if not isinstance(value, Mapping):
            raise ContractError(f"must be a mapping with a 'kind', not {describe(value)}")
        kind = cast("Mapping[str, Any]", value).get("kind")
        if not isinstance(kind, str) or kind not in members:
            listed = ", ".join(repr(tag) for tag in members)
            raise ContractError(f"must be one of {listed}, not {describe(kind)}", path="kind")
        return converter.structure(value, members[kind])

    return structure_union


def _unstructure_contract(converter: cattrs.Converter, cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
    tag = _tag(cls)
    take_apart = make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True)

    def unstructure_contract(contract: Any) -> dict[str, Any]:
        members = take_apart(contract)
        return members if tag is None else {"kind": tag, **members}

    return unstructure_contract


def _thaw_members(converter: cattrs.Converter, value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _thaw_member(converter, item) for key, item in value.items()}


def _thaw_member(converter: cattrs.Converter, value: Any) -> Any:
    """As :func:`thaw`, for a mapping that may hold contracts, also in mappings below it."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, Mapping):
        return _thaw_members(converter, cast("Mapping[str, Any]", value))
    return converter.unstructure(value) if attrs.has(value.__class__) else thaw(value)


def _first(error: BaseValidationError) -> ContractError:
    """The first leaf of cattrs' error tree, as one sentence with a path."""
    inner = error.exceptions[0]
    prefix = ""
    for note in getattr(inner, "__notes__", ()):
        name = getattr(note, "name", None)
        prefix = name if isinstance(name, str) else prefix
    if isinstance(inner, BaseValidationError):
        return _first(inner).under(prefix)
    if isinstance(inner, ContractError):
        return inner.under(prefix)
    if isinstance(inner, ForbiddenExtraKeysError):
        return _unknown_key(inner)
    raise inner


def _unknown_key(error: ForbiddenExtraKeysError) -> ContractError:
    known = [field.name for field in attrs.fields(error.cl)]
    key = min(error.extra_fields)
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"
    return ContractError(f"is not a key of {error.cl.__name__}; {hint}", path=key)


def _at(prefix: str, call: Callable[..., Any], *args: Any) -> Any:
    """Call, and put ``prefix`` before the path of what goes wrong."""
    try:
        return call(*args)
    except BaseValidationError as error:
        raise _first(error).under(prefix) from None
    except ContractError as error:
        raise error.under(prefix) from None


def _tag(cls: type) -> str | None:
    """The ``kind`` of a union member: a class variable, not a field (:class:`Predicate` has a field of that name)."""
    kind = cls.__dict__.get("kind")
    return kind if isinstance(kind, str) else None


def _is_contract(cls: Any) -> bool:
    return isinstance(cls, type) and attrs.has(cls)


def _is_contract_union(cls: Any) -> bool:
    if get_origin(cls) not in (Union, types.UnionType):
        return False
    return all(_is_contract(member) for member in get_args(cls))


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, StrEnum)


def _is_literal(cls: Any) -> bool:
    return get_origin(cls) is Literal


def _is_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _is_mapping(cls: Any) -> bool:
    origin = get_origin(cls)
    return isinstance(origin, type) and issubclass(origin, Mapping)
