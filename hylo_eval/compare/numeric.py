"""Where the untyped numerical libraries come in: imported at the first use, bound as `Any`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def numpy() -> Any:
    """The numpy module."""
    return import_module("numpy")


def special_functions() -> Any:
    """The scipy.special module: it loads in a fraction of the time of scipy.stats."""
    return import_module("scipy.special")
