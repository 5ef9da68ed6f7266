"""What differs between two definitions of a benchmark, as paths and values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

from hylo_core.benchmark import Benchmark

ABSENT = "(absent)"


@attrs.frozen
class Change:
    """One difference.

    Attributes:
        path: Where: ``splits.heldout``, ``tasks[libero_object/pick_up_the_milk].max_steps``. Tasks go by their id.
        before: The value in the first definition, as JSON-like text; :data:`ABSENT` where there is none.
        after: The value in the second.
    """

    path: str
    before: str
    after: str


def changes(before: Benchmark, after: Benchmark) -> tuple[Change, ...]:
    """Every difference from one definition to another; none exactly when the digests are equal."""
    if before.digest() == after.digest():
        return ()
    found = tuple(_walk("", _by_task(before), _by_task(after)))
    order_before, order_after = ([task.id for task in item.tasks] for item in (before, after))
    if sorted(order_before) == sorted(order_after) and order_before != order_after:
        index = next(
            index for index, pair in enumerate(zip(order_before, order_after, strict=True)) if len(set(pair)) > 1
        )
        moved = Change(f"tasks: order, from position {index}", order_before[index], order_after[index])
        found = (*found, moved)
    return found


def _by_task(benchmark: Benchmark) -> dict[str, Any]:
    members = benchmark.to_dict()
    members["tasks"] = {task["id"]: task for task in members["tasks"]}
    return members


def _walk(path: str, before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        first, second = cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", after)
        for name in dict.fromkeys((*first, *second)):
            # A task's id holds slashes and dots, so it stands in brackets.
            below = f"tasks[{name}]" if path == "tasks" else f"{path}.{name}" if path else name
            yield from _walk(below, first.get(name, ABSENT), second.get(name, ABSENT))
    elif _differ(before, after):
        yield Change(path, _brief(before), _brief(after))


def _differ(before: Any, after: Any) -> bool:
    """Numbers differ by value (1 and 1.0 are the same number), all else by type too."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (before, after))
    return before != after if numbers else (type(before), before) != (type(after), after)


def _brief(value: Any) -> str:
    """A value in at most about a line: long lists and tables by their size and ends."""
    if value == ABSENT:
        return ABSENT
    if isinstance(value, Mapping):
        return "{" + ", ".join(map(str, list(cast("Mapping[str, Any]", value))[:6])) + ", …}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = cast("Sequence[Any]", value)
        if len(items) <= 8:
            return repr(list(items))
        return f"[{items[0]!r}, {items[1]!r}, …, {items[-1]!r}] ({len(items)} items)"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
