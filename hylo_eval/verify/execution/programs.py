"""Where a program is found, ahead of starting it."""

# ruff: noqa: PTH113
# The paths are texts: path objects would show in what a short program costs.

from __future__ import annotations

import os
from collections.abc import Mapping


def program_path(name: str, variables: Mapping[bytes, bytes] | None = None) -> str | None:
    """The program of a name among the folders of ``PATH``; None to leave the search to the start.

    The start converts every folder of ``PATH`` and then tries them one by one in the new process, which costs more.
    What is named by a path is not searched for, and a folder to search may be relative to where the program runs.

    Args:
        name: What a command names.
        variables: The command's variables, whose ``PATH`` counts; None for this process's own.
    """
    if os.sep in name:
        return None
    if variables is None:
        path = os.environ.get("PATH", os.defpath)
    else:
        path = os.fsdecode(variables.get(b"PATH", os.fsencode(os.defpath)))
    folders = path.split(os.pathsep)
    if not all(folder.startswith(os.sep) for folder in folders):
        return None
    for folder in folders:
        program = f"{folder}/{name}"
        if os.access(program, os.X_OK) and os.path.isfile(program):
            return program
    return None
