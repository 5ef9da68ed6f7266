"""Two boxes for every category of objects, of a size that the category allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.kitchen_assets.mjcf import box, model, region

REGISTRIES = {"objaverse": "objaverse", "lightwheel": "lightwheel"}
"""Registry -> its folder below ``objects``; the third, ``aigen``, is left out, so that something is missing."""
INSTANCES = 2

_SIZES = {
    # Whole width, depth and height in metres of what other objects lie on or in, and of what is long.
    "plate": (0.18, 0.18, 0.02),
    "bowl": (0.14, 0.14, 0.05),
    "pan": (0.2, 0.2, 0.04),
    "pot": (0.2, 0.2, 0.1),
    "saucepan": (0.18, 0.18, 0.08),
    "kettle": (0.15, 0.15, 0.15),
    "tray": (0.25, 0.2, 0.02),
    "oven_tray": (0.3, 0.25, 0.02),
    "cutting_board": (0.25, 0.18, 0.02),
    "tupperware": (0.18, 0.14, 0.06),
    "colander": (0.18, 0.18, 0.08),
}
_DEFAULT_SIZE = (0.05, 0.05, 0.08)


def write_objects(root: Path, categories: Mapping[str, Mapping[str, Any]]) -> None:
    """Write models for the package's table of categories below ``root/objects``."""
    for category, entry in categories.items():
        for registry, folder in REGISTRIES.items():
            if registry in entry:
                settings = entry[registry]
                for place in settings.get("model_folders") or [f"{folder}/{category}"]:
                    _write_category(root / "objects" / place, category, settings)


def _write_category(folder: Path, category: str, settings: Mapping[str, Any]) -> None:
    scale = settings.get("scale", 1.0)
    scales = [scale] * 3 if isinstance(scale, (int, float)) else list(scale)
    size = [edge / factor for edge, factor in zip(_SIZES.get(category, _DEFAULT_SIZE), scales, strict=True)]
    for index in range(INSTANCES):
        instance = folder / f"stand_in_{category}_{index}"
        if settings.get("is_auxiliary_obj"):
            # The package looks for what belongs to an object in a folder within the object's own.
            instance /= "auxiliary"
        # The second is a tenth smaller: two instances that differ.
        write_object(instance, category, [edge * (1 - 0.1 * index) for edge in size], shade=0.3 + 0.4 * index)


def write_object(folder: Path, name: str, size: list[float], *, shade: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = [box("main", (0, 0, 0), size, rgba=f"{shade:g} 0.5 0.3 1"), region("bbox", (0, 0, 0), size)]
    for file in ("model.xml", "model_upright.xml"):
        (folder / file).write_text(model(name, size, content), encoding="utf-8")
