"""Which categories a task's object can be of, read from the source of the task and the package's table of objects.

Some tasks take the categories as an argument (``obj_groups``) and filter them (graspable, washable, ...). Where that is
all, one category can be chosen beforehand; a task that also bounds the object's size would search for ever for a
small instance of a large category, so it is left out.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

_FILTERS: Final = ("graspable", "washable", "microwavable", "cookable", "fridgable", "freezable", "dishwashable")
_ALLOWED: Final = frozenset({"name", "obj_groups", "exclude_obj_groups", "placement", *_FILTERS})


def categories_of(
    task_class: type[Any],
    *,
    groups: Mapping[str, Sequence[str]],
    objects: Mapping[str, Mapping[str, Any]],
    registries: Sequence[str],
) -> list[str]:
    """The categories a task draws its object from, sorted; empty where they are not an argument of the task.

    Args:
        task_class: A class of the package, whose source can be read.
        groups: The package's groups of categories.
        objects: Category -> registry -> its settings.
        registries: Where objects are sampled from.
    """
    filters = _filters(task_class)
    group = _default_group(task_class)
    if filters is None or group not in groups:
        return []
    return sorted(
        category for category in groups[group] if _fits(objects[category], registries=registries, filters=filters)
    )


def _fits(entry: Mapping[str, Any], *, registries: Sequence[str], filters: Sequence[str]) -> bool:
    """Whether the package would draw a category: it is in a registry, and every registry that has it agrees."""
    found = [entry[name] for name in registries if name in entry]
    return bool(found) and all(getattr(settings, name) is True for settings in found for name in filters)


def _default_group(task_class: type[Any]) -> str:
    parameter = inspect.signature(task_class.__init__).parameters.get("obj_groups")
    return parameter.default if parameter is not None and isinstance(parameter.default, str) else ""


def _filters(task_class: type[Any]) -> tuple[str, ...] | None:
    """What an object must be; None where the task does not take its categories as an argument, or asks for more."""
    method: Any = getattr(task_class, "_get_obj_cfgs", None)
    if method is None:
        return None
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _takes_groups(node)]
    if len(calls) != 1:
        return None
    keywords = {keyword.arg: keyword.value for keyword in calls[0].keywords}
    if not set(keywords) <= _ALLOWED:
        return None
    return tuple(name for name in _FILTERS if name in keywords and ast.unparse(keywords[name]) == "True")


def _takes_groups(call: ast.Call) -> bool:
    return any(word.arg == "obj_groups" and ast.unparse(word.value) == "self.obj_groups" for word in call.keywords)
