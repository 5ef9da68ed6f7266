"""Specifications from and to TOML: ``parse_spec``, ``render_spec`` and their table forms."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any, cast

import attrs

from hylo_eval.verify.modes import Mode, mode_of, spec_type
from hylo_eval.verify.specs.fields import SpecError
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SpecError", "decode_json", "parse_spec", "render_spec", "spec_from_table", "spec_to_table"]


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object repeats a key")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Made once: given its hooks, ``json.loads`` makes a decoder for every text.
_STRICT_JSON = json.JSONDecoder(object_pairs_hook=_unique_members, parse_constant=_refuse_constant)


def decode_json(text: str) -> Any:
    """The value of a JSON text, without repeated keys and without NaN and infinities.

    Raises:
        ValueError: The text is not such JSON, or is nested too deeply, or holds an integer too long to read.
    """
    try:
        return _STRICT_JSON.decode(text)
    except RecursionError as error:
        raise ValueError("the JSON text is nested too deeply") from error


def _embedded_json(text: object, path: str) -> Any:
    if not isinstance(text, str):
        raise SpecError("must be a JSON string in TOML, so that null and nested types survive", path=path)
    try:
        return decode_json(text)
    except ValueError as error:
        raise SpecError(f"is not a JSON string: {error}", path=path) from error


def _decode_embedded(table: dict[str, Any]) -> dict[str, Any]:
    """Replaces the JSON strings of a TOML table by the values they stand for."""
    mode = table.get("mode")
    if mode == Mode.STRUCTURED_EXACT and "expected" in table:
        return {**table, "expected": _embedded_json(table["expected"], "expected")}
    calls = table.get("expected_calls")
    if mode == Mode.PREDICTED_ACTION and isinstance(calls, list):
        decoded: list[Any] = []
        for index, call in enumerate(cast("list[Any]", calls)):
            members = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
            # An inline table is taken as it stands; only a string can carry null.
            if isinstance(members.get("arguments"), str):
                path = f"expected_calls[{index}].arguments"
                decoded.append({**members, "arguments": _embedded_json(members["arguments"], path)})
            else:
                decoded.append(call)
        return {**table, "expected_calls": decoded}
    return table


def parse_spec(text: str) -> Any:
    """The specification that a ``verifier.toml`` holds.

    Args:
        text: Flat TOML: ``mode`` and the fields of that mode.

    Returns:
        The frozen specification of the mode.

    Raises:
        SpecError: The text is not TOML, or names an unknown mode or field, lacks one, or has one of a wrong
            type. A ValueError.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"is not TOML: {error}") from error
    except (RecursionError, ValueError) as error:
        raise SpecError(f"cannot be read as TOML: {error}") from error
    try:
        return spec_from_table(_decode_embedded(table))
    except InvalidTask as error:
        raise SpecError(str(error)) from error


def spec_from_table(table: Mapping[str, Any]) -> Any:
    """The specification that a JSON-like table holds; embedded JSON values are already decoded in it.

    Raises:
        SpecError: As in :func:`parse_spec`.
        InvalidTask: An embedded JSON value holds a number that is not finite.
    """
    name = table.get("mode")
    if name is None:
        raise SpecError(f"is missing; one of {', '.join(Mode)}", path="mode")
    if not isinstance(name, str) or name not in set(Mode):
        raise SpecError(f"{name!r:.80} is unknown; one of {', '.join(Mode)}", path="mode")
    mode = Mode(name)
    kind = spec_type(mode)
    known = {field.name: field for field in attrs.fields(kind)}
    given = {key: value for key, value in table.items() if key != "mode"}
    if unknown := sorted(str(key) for key in given.keys() - known.keys()):
        raise SpecError(f"mode {mode} does not accept {', '.join(unknown)}; it knows {', '.join(sorted(known))}")
    required = {field.name for field in known.values() if field.default is attrs.NOTHING}
    if missing := sorted(required - given.keys()):
        raise SpecError(f"mode {mode} requires {', '.join(missing)}")
    return kind(**given)


def _plain(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if attrs.has(kind):  # a function call or a constraint
        return {field.name: getattr(value, field.name) for field in attrs.fields(kind)}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, str) else value


def spec_to_table(spec: Any) -> dict[str, Any]:
    """The flat table of a specification: ``mode`` first, then every field; None is left out."""
    table: dict[str, Any] = {"mode": mode_of(spec).value}
    for field in attrs.fields(spec_type(mode_of(spec))):
        value = getattr(spec, field.name)
        if value is not None or field.default is attrs.NOTHING:
            table[field.name] = _plain(value)
    return table


def render_spec(spec: Any) -> str:
    """A specification as ``verifier.toml``, such that parsing it gives an equal one.

    Raises:
        GradingInfraError: tomli-w is not installed.
        SpecError: A parameter holds null, which TOML cannot express.
    """
    from hylo_eval.verify.extras import import_extra

    tomli_w = import_extra("tomli_w", extra="verify")
    table = spec_to_table(spec)
    if table["mode"] == Mode.STRUCTURED_EXACT:
        table["expected"] = json.dumps(table["expected"], allow_nan=False)
    if table["mode"] == Mode.PREDICTED_ACTION:
        table["expected_calls"] = [
            {"name": call["name"], "arguments": json.dumps(call["arguments"], allow_nan=False)}
            for call in table["expected_calls"]
        ]
    try:
        return str(tomli_w.dumps(table))
    except (TypeError, ValueError) as error:
        raise SpecError(f"cannot be written as TOML: {error}") from error
