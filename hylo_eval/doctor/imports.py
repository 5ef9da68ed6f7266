"""Whether what is installed can be imported at all: a wrong numpy or a missing system library shows only then."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from hylo_eval.child import ChildOutcome, run_child
from hylo_eval.doctor.findings import Finding
from hylo_eval.installing import install_command

BASE_MODULES: Final = ("numpy", "scipy", "gymnasium", "orjson", "sqlite_utils")
"""Of the base installation: what is compiled, or brings compiled packages along."""
DEADLINE_SECONDS: Final = 120.0
"""Importing robosuite for the first time compiles for up to a minute on a slow machine."""


def try_imports(modules: tuple[str, ...], environment: Mapping[str, str]) -> ChildOutcome:
    """Import modules in a process of its own, without drawing."""
    statements = "\n".join(f"import {module}" for module in modules)
    quiet = {**environment, "MUJOCO_GL": "disable", "PYTHONWARNINGS": "ignore"}
    return run_child([sys.executable, "-P", "-c", statements], deadline_seconds=DEADLINE_SECONDS, environment=quiet)


def import_finding(
    check: str, modules: tuple[str, ...], outcome: ChildOutcome, *, requirements: tuple[str, ...]
) -> Finding | None:
    """What an import that failed says; None when it worked.

    Args:
        check: The name of the finding.
        modules: What was imported.
        outcome: How that ended.
        requirements: What to install again.
    """
    if outcome.returncode == 0:
        return None
    return Finding(
        check=check,
        outcome="broken",
        text=f"is installed, but importing {', '.join(modules)} fails: {outcome.reason}",
        fix=install_command("--force-reinstall", *requirements),
    )
