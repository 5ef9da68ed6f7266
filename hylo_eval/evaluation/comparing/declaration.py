"""The declaration of a sequential gate: which rule two runs are looked at under, fixed at the first look.

It lies in the candidate's run folder, ``sequential/<digest of the parent run>.json``, and is never written over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from hylo_eval.compare.evidence import RunConditions
from hylo_eval.compare.gate import GatePolicy
from hylo_eval.compare.ledger import Ledger, RunIdentity
from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.evaluation.comparing.records import FOLDER
from hylo_eval.traces.documents import read_document
from hylo_eval.traces.files import write_once
from hylo_eval.traces.layout import RunFolder

_RESTORE: Final = "restore the declaration as the first look wrote it, or run the agents again"
DECLARATION_SCHEMA: Final = "hylo.sequential/v0.1"
MAX_DECLARATION_BYTES: Final = 1024 * 1024


def declare(run: RunFolder, policy: GatePolicy, candidate: RunConditions, parent: RunConditions) -> str:
    """Declare the rule of all looks at these two runs, or hold it against the one that was declared.

    Args:
        run: The candidate's run folder.
        policy: A policy with a sequential rule.
        candidate: The candidate's run.
        parent: The parent's.

    Returns:
        When it was declared, ISO 8601.

    Raises:
        EvalError: Another rule was declared, or the declaration cannot be read or written.
    """
    wanted = _declared(policy, candidate, parent)
    path = _path(run, parent.identity)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    document = {"schema": DECLARATION_SCHEMA, "declared_at": now, **wanted}
    try:
        path.parent.mkdir(exist_ok=True)
        write_once(path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    except FileExistsError:
        found = _read(path)
    except OSError as error:
        raise cannot_write(f"the declaration {path}", error) from error
    else:
        return now
    differing = [name for name, value in wanted.items() if found.get(name) != value]
    if differing:
        listed = ", ".join(f"{name} {found.get(name)!r}, now {wanted[name]!r}" for name in differing)
        raise EvalError(
            f"the first look at these runs declared another rule: {listed}",
            fix="look under the declared rule; for another one, run the agents again",
        )
    return str(found.get("declared_at", "unknown"))


def refuse_mixing(
    policy: GatePolicy,
    runs: Iterable[tuple[RunFolder, RunConditions]],
    ledger: Ledger,
) -> None:
    """Refuse to look at two runs under a fixed rule and a sequential one: their errors would add up.

    Args:
        policy: The policy that is to be applied.
        runs: The candidate and the parent.
        ledger: The looks on record.

    Raises:
        EvalError: The other kind of rule has been applied to them.
    """
    (ours, candidate), (theirs, parent) = runs
    if policy.rule.sequential:
        fixed = [look for look in ledger.of_pair(candidate.identity, parent.identity) if not look.sequential]
        if fixed:
            raise EvalError(
                f"these two runs were judged by a fixed rule already ({FOLDER}/{fixed[0].id}.json): to look early must "
                "be declared at the first look",
                fix="leave --sequential out, or run the agents again",
            )
        return
    for run, other in ((ours, parent), (theirs, candidate)):
        path = _path(run, other.identity)
        if path.exists():
            raise EvalError(
                f"these two runs are looked at under a sequential rule ({path.parent.name}/{path.name} in the run): "
                "judging them by a fixed rule too would use the same evidence twice",
                fix="look on under that rule with --sequential",
                again=("--sequential",),
            )


def _path(run: RunFolder, parent: RunIdentity) -> Path:
    name = hashlib.sha256(orjson.dumps(parent)).hexdigest()[:16]
    return run.path / "sequential" / f"{name}.json"


def _declared(policy: GatePolicy, candidate: RunConditions, parent: RunConditions) -> dict[str, Any]:
    rule = policy.rule
    return {
        "candidate": candidate.run_id,
        "parent": parent.run_id,
        "metric": policy.metric,
        "alpha": rule.alpha,
        "agent_errors": rule.agent_errors,
        "worst_case": rule.worst_case,
        "min_pairs": rule.min_pairs,
        "min_coverage": rule.min_coverage,
        "safety_must_not_rise": policy.safety_must_not_rise,
        "allow": sorted(policy.allow),
        "keys_digest": candidate.keys_digest,
    }


def _read(path: Path) -> Mapping[str, Any]:
    return read_document(
        path,
        what="the declaration",
        schema=DECLARATION_SCHEMA,
        max_bytes=MAX_DECLARATION_BYTES,
        restore=_RESTORE,
    )
