"""Writes the catalogue from an installed RoboCasa: ``python -m hylo_eval.envs.robocasa.cataloguing FILE``.

It reads the package's own registries and the source of its tasks, and needs no assets.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from hylo_eval.envs.robocasa.catalogue import DEFAULT_OBJECT_REGISTRIES
from hylo_eval.envs.robocasa.instruction_templates import template_of
from hylo_eval.envs.robocasa.object_categories import categories_of

_PACKAGE = "praxis-robocasa"
_TASK_SETS = ("target50", "atomic_seen", "composite_seen", "composite_unseen", "pretrain300")
_LAYOUT_GROUPS = {"test": -1, "train": -2, "all": -3, "no_island": -4, "island": -5, "dining": -6}
_STYLE_GROUPS = {"test": -1, "train": -2, "all": -3}


def read_catalogue() -> dict[str, Any]:
    """The catalogue's document: tasks, task sets, layouts and styles of the installed package."""
    # By name and not by statement: the package has no types.
    kitchens: Any = import_module("robocasa.environments.kitchen.kitchen")
    registry: Any = import_module("robocasa.utils.dataset_registry")
    scenes: Any = import_module("robocasa.models.scenes.scene_registry")
    classes: dict[str, type[Any]] = kitchens.REGISTERED_KITCHEN_ENVS
    tasks = {
        name: _describe(classes[name], kind=kind, horizon=int(entry["horizon"]))
        for kind, entries in (
            ("atomic", registry.ATOMIC_TASK_DATASETS),
            ("composite", registry.COMPOSITE_TASK_DATASETS),
        )
        for name, entry in entries.items()
    }
    objects: Any = import_module("robocasa.models.objects.kitchen_objects")
    # Its import puts the settings of each registry into the table of objects.
    import_module("robocasa.models.objects.kitchen_object_utils")
    categories = {
        name: categories_of(
            classes[name],
            groups=objects.OBJ_GROUPS,
            objects=objects.OBJ_CATEGORIES,
            registries=DEFAULT_OBJECT_REGISTRIES,
        )
        for name in sorted(tasks)
    }
    return {
        "source": f"{_PACKAGE} {metadata.version(_PACKAGE)}",
        "layout_groups": {name: scenes.LAYOUT_GROUPS_TO_IDS[key] for name, key in _LAYOUT_GROUPS.items()},
        "style_groups": {name: scenes.STYLE_GROUPS_TO_IDS[key] for name, key in _STYLE_GROUPS.items()},
        "task_sets": {name: list(registry.TASK_SET_REGISTRY[name]) for name in _TASK_SETS},
        "object_categories": {name: found for name, found in categories.items() if found},
        "tasks": dict(sorted(tasks.items())),
    }


def _describe(task_class: type[Any], *, kind: str, horizon: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "module": task_class.__module__,
        "horizon": horizon,
        "instruction": template_of(task_class),
        "excluded_layouts": sorted(set(task_class.EXCLUDE_LAYOUTS)),
        "excluded_styles": sorted(set(task_class.EXCLUDE_STYLES)),
    }


def format_catalogue(document: dict[str, Any]) -> str:
    """The document as JSON, one line a task and a group, so that a change can be read as one."""

    def member(name: str, value: Any) -> str:
        return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"

    sections = [member("source", document["source"])]
    for section in ("layout_groups", "style_groups", "task_sets", "object_categories", "tasks"):
        lines = ",\n    ".join(member(name, value) for name, value in document[section].items())
        sections.append(f'"{section}": {{\n    {lines}\n  }}')
    return "{\n  " + ",\n  ".join(sections) + "\n}\n"


if __name__ == "__main__":
    # Not standard output: RoboCasa prints there while it is imported.
    Path(sys.argv[1]).write_text(format_catalogue(read_catalogue()), encoding="utf-8")
