"""Where the untyped numerical libraries come in: imported at the first use, bound as `Any`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def numpy() -> Any:
    """The numpy module."""
    return import_module("numpy")


def special_functions() -> Any:
    """The scipy.special module (0.2 s of CPU, against 1.1 s for scipy.stats)."""
    return import_module("scipy.special")
