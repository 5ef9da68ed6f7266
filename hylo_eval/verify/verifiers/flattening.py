"""A trajectory as text: the folding of every harness's shape, done once here and not by every author of a verifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from hylo_core.canonical import describe

SEPARATOR: Final = ""
"""What stands between the items of a list: nothing. The contract says concatenated, and names no separator."""

MAX_DEPTH: Final = 32
"""Nesting beyond this is refused; it is a cycle or no trajectory."""

MEMBERS: Final = ("content", "text")
"""What is taken of a message, in this order; the first one that is there and not null."""

_ABSENT: Final = object()


def flatten_trajectory(trajectory: Any) -> str:
    """The text a model produced.

    A string stays as it is. A message object (a mapping, or an object with attributes) gives its ``content`` or
    ``text``, which is flattened in turn; null content, as of a message that only calls a tool, gives nothing. A list or
    tuple is concatenated.

    Raises:
        ValueError: Anything else (a number, bytes, a mapping with neither member), or nesting deeper than 32. Such a
            value is refused with its place and never printed instead: a guess could not be told from an answer.
    """
    pieces: list[str] = []
    _collect(trajectory, pieces, "trajectory", 0)
    return SEPARATOR.join(pieces)


def _collect(value: Any, pieces: list[str], path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"{path[:80]} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        pieces.append(value)
        return
    if isinstance(value, list | tuple):
        for index, item in enumerate(cast("list[Any]", value)):
            _collect(item, pieces, f"{path}[{index}]", depth + 1)
        return
    found = [(name, _member(value, name)) for name in MEMBERS]
    held = [(name, member) for name, member in found if member is not _ABSENT]
    if not held:
        raise ValueError(f"{path} is {describe(value)}: neither text, nor a list, nor a message with content or text")
    for name, member in held:
        if member is not None:
            _collect(member, pieces, f"{path}.{name}", depth + 1)
            return


def _member(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name, _ABSENT)
    return getattr(value, name, _ABSENT)
