"""The commands that install something, as somebody can paste them into a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

REGISTRY_VARIABLE: Final = "HYLO_INTERPRETERS"
"""Names the registry of interpreters; empty, it says that there is none."""


def install_command(*requirements: str, python: str = "") -> str:
    """The pip command for requirements, with the interpreter that is running now, or another one.

    ``python`` where that is what a shell would find, else the full path: a fix for another Python fixes nothing.
    """
    return shlex.join([python or _running(), "-m", "pip", "install", *requirements])


def module_command(module: str, *arguments: str) -> str:
    """The command that runs a module in the interpreter that is running now, wherever it is pasted."""
    return shlex.join([_running(), "-m", module, *arguments])


def install_apart(family: str) -> str:
    """The command that makes an environment of its own for a family, whose packages go with no other's."""
    return f"hylo-eval env add {family} --create"


def install_apart_here(family: str) -> str:
    """The same where the registry of interpreters may be switched off: it could not be registered."""
    switched_off = os.environ.get(REGISTRY_VARIABLE) == ""
    return f"unset {REGISTRY_VARIABLE}; {install_apart(family)}" if switched_off else install_apart(family)


def _running() -> str:
    found = shutil.which("python")
    running = Path(sys.executable)
    same = found is not None and Path(found).parent == running.parent
    return "python" if same or not sys.executable else str(running)
