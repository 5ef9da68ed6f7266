"""Whether what is installed can be imported at all: a wrong numpy or a missing system library shows only then."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from hylo_eval.doctor.child import ChildOutcome, run_child
from hylo_eval.doctor.findings import Finding
from hylo_eval.families import Family, install_command

DEADLINE_SECONDS: Final = 120.0
"""Importing robosuite for the first time compiles for up to a minute on a slow machine."""


def try_imports(family: Family, environment: Mapping[str, str]) -> ChildOutcome:
    """Import a family's modules in a process of its own, without drawing."""
    statements = "\n".join(f"import {module}" for module in family.imports)
    quiet = {**environment, "MUJOCO_GL": "disable", "PYTHONWARNINGS": "ignore"}
    return run_child([sys.executable, "-P", "-c", statements], deadline_seconds=DEADLINE_SECONDS, environment=quiet)


def import_finding(family: Family, outcome: ChildOutcome) -> Finding | None:
    """What an import that failed says; None when it worked."""
    if outcome.returncode == 0:
        return None
    return Finding(
        check=family.name,
        outcome="broken",
        text=f"is installed, but importing {' and '.join(family.imports)} fails: {outcome.reason}",
        fix=f"{install_command(f'hylo-eval[{family.extra}]')} --force-reinstall",
    )
