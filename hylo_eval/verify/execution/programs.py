"""Where a program is found, ahead of starting it."""

# ruff: noqa: PTH113
# The paths are texts: path objects would show in what a short program costs.

from __future__ import annotations

import os


def program_path(name: str) -> str | None:
    """The program of a name among the folders of this process's ``PATH``; None to leave the search to the start.

    The start converts every folder of ``PATH`` and then tries them one by one in the new process, which costs more.
    What is named by a path is not searched for, and a folder to search may be relative to where the program runs.
    """
    if os.sep in name:
        return None
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if not all(folder.startswith(os.sep) for folder in folders):
        return None
    for folder in folders:
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None
