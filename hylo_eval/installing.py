"""The commands that install something, as somebody can paste them into a shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


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


def _running() -> str:
    found = shutil.which("python")
    running = Path(sys.executable)
    same = found is not None and Path(found).parent == running.parent
    return "python" if same or not sys.executable else str(running)
