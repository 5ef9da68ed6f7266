"""Writes the asset root."""

from __future__ import annotations

import json
import re
import shutil
import struct
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.kitchen_assets.fixtures import FIXTURES
from tests.kitchen_assets.kitchen import REGISTRY, layout, layout_without_targets, style
from tests.kitchen_assets.objects import write_objects

MARKER = "hylo_stand_in.json"
COPIED = ("arenas", "fixtures/cabinets", "fixtures/counters", "fixtures/handles")
"""What the package carries of its own assets, and its code needs: boxes that it sizes itself."""

_TEXTURE = re.compile(r"textures/[\w/.-]+\.png")
_CLASS_TEXTURES = ("textures/metals/bright_metal.png", "textures/flat/light_gray.png", "textures/ceramic.png")


def write_stand_in(root: Path) -> None:
    """Write a stand-in asset root; the folder must not exist. Imports RoboCasa."""
    # By name and not by statement: the package has no types. It is asked for its table before it works on it.
    package = Path(str(import_module("robocasa").__file__)).parent / "models" / "assets"
    root.mkdir(parents=True)
    for folder in COPIED:
        shutil.copytree(package / folder, root / folder)
    for place, make in FIXTURES.items():
        (root / place).mkdir(parents=True)
        (root / place / "model.xml").write_text(make(), encoding="utf-8")
    _write_yaml(root / "scenes/kitchen_layouts/test/layout001.yaml", layout())
    _write_yaml(root / "scenes/kitchen_layouts/test/layout002.yaml", layout_without_targets())
    _write_yaml(root / "scenes/kitchen_styles/test/style001.yaml", style())
    for kind, entries in REGISTRY.items():
        _write_yaml(root / f"fixtures/fixture_registry/{kind}.yaml", entries)
    _write_textures(root)
    write_objects(root, _categories())
    (root / MARKER).write_text(json.dumps({"stand_in": "boxes made by Hylo's tests"}), encoding="utf-8")


def _write_yaml(path: Path, document: dict[str, Any]) -> None:
    # JSON is YAML.
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _write_textures(root: Path) -> None:
    for name in sorted({*_TEXTURE.findall(json.dumps(REGISTRY)), *_CLASS_TEXTURES}):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(flat_png(80 + zlib.crc32(name.encode()) % 150))


def flat_png(level: int, edge: int = 8) -> bytes:
    """A square picture of one grey."""
    rows = (b"\x00" + bytes([level] * 3 * edge)) * edge

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _categories() -> dict[str, dict[str, Any]]:
    """The package's table of categories as it is written; importing its users would turn it into objects."""
    source = Path(str(import_module("robocasa").__file__)).parent / "models" / "objects" / "kitchen_objects.py"
    text = source.read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(text, str(source), "exec"), scope)  # noqa: S102 - a file of the installed package under test
    return scope["OBJ_CATEGORIES"]
