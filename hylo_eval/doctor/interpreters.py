"""Families that run in an interpreter of their own: what that is, and what of the family works in it.

The second is found out over there, by :mod:`hylo_eval.doctor.family_examination` run in that interpreter.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from typing import Any, Final, cast

from hylo_eval.child import run_child
from hylo_eval.doctor.findings import Finding
from hylo_eval.errors import EvalError
from hylo_eval.interpreters.looking import family_named, look_for
from hylo_eval.interpreters.own import is_own, safe_path
from hylo_eval.interpreters.registry import VARIABLE, Registered, read_registry

DEADLINE_SECONDS: Final = 300.0
"""Longer than what the examination of one family waits for."""

_MAX_ANSWER_BYTES: Final = 1024 * 1024
_OVER_THERE: Final = "hylo_eval.doctor.family_examination"


def other_interpreters() -> tuple[dict[str, Registered], tuple[Finding, ...]]:
    """The families that run elsewhere, and what is wrong with the registry that says so."""
    try:
        entries = read_registry()
    except EvalError as error:
        return {}, (Finding(check="env", outcome="broken", text=error.message, fix=error.fix),)
    return {name: entry for name, entry in entries.items() if not is_own(entry.python)}, ()


def interpreter_findings(entry: Registered, environment: Mapping[str, str]) -> tuple[Finding, ...]:
    """What a family's interpreter is, and what of the family works in it."""
    try:
        found = look_for(entry.name, entry.python)
    except EvalError as error:
        return (Finding(check=entry.name, outcome="broken", text=error.message, fix=error.fix),)
    shown = ", ".join(f"{name} {version}" for name, version in found.packages.items())
    text = f"runs in {entry.python}: Python {found.version}, Hylo {found.hylo}{f', {shown}' if shown else ''}"
    told = () if family_named(entry.name) is None else _findings_there(entry, environment)
    if any(finding.outcome in {"broken", "warning"} for finding in told):
        return (Finding(check=entry.name, outcome="info", text=text), *told)
    return (Finding(check=entry.name, outcome="ok", text=text),)


def _findings_there(entry: Registered, environment: Mapping[str, str]) -> tuple[Finding, ...]:
    with tempfile.TemporaryFile() as answer:
        command = [entry.python, *(["-P"] if safe_path() else []), "-m", _OVER_THERE, entry.name, str(answer.fileno())]
        outcome = run_child(
            command,
            deadline_seconds=DEADLINE_SECONDS,
            environment={**environment, VARIABLE: ""},
            keep=(answer.fileno(),),
        )
        answer.seek(0)
        data = answer.read(_MAX_ANSWER_BYTES)
    if outcome.returncode == 0:
        try:
            members = cast("list[dict[str, Any]]", json.loads(data))
            return tuple(Finding(**item) for item in members)
        except (ValueError, TypeError):
            pass
    return (Finding(check=entry.name, outcome="broken", text=f"could not be examined there: {outcome.reason}"),)
