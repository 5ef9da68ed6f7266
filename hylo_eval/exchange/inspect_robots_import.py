"""A log of inspect-robots as ours.

One that we exported comes back as it was. Of any other, each epoch of a scene becomes an episode, scored with what the
log says; what it does not say stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import attrs

from hylo_core.canonical import digest
from hylo_core.errors import ContractError, SchemaError, clean_text
from hylo_core.schema import EVALLOG_SCHEMA
from hylo_core.score import Score
from hylo_eval.evallog.building import LogBuilder
from hylo_eval.evallog.consistency import Contradiction, LogContradiction, find_contradictions
from hylo_eval.evallog.document import parse_object, read_bytes
from hylo_eval.evallog.facts import EpisodeFacts
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark
from hylo_eval.evallog.v02 import EvalLog, EvalSpec, Sample, ScorerDeclaration
from hylo_eval.exchange.inspect_robots import EXTENSION, LOG_VERSION
from hylo_eval.exchange.inspect_robots_check import exported_contradictions, foreign_contradictions

UNKNOWN: Final = "unknown"
IMPORTED_SPLIT: Final = "imported"
_STATUSES: Final[Mapping[str, str]] = {"success": "complete", "cancelled": "partial", "error": "partial"}

Members: TypeAlias = "dict[str, Any]"


def read_inspect_robots(path: Path) -> EvalLog:
    """Read a log of inspect-robots.

    Raises:
        EvalError: The file cannot be read, or is no such log.
        LogContradiction: Its numbers contradict each other: somebody changed it.
        ContractError: A member is not what it should be; the text names file and path.
    """
    members = parse_object(read_bytes(path), path)
    if members.get("version") != LOG_VERSION or isinstance(members.get("version"), bool):
        raise SchemaError(
            f"must be {LOG_VERSION}, the log schema of inspect-robots, not {members.get('version')!r}",
            path="version",
            source=str(path),
        )
    if EXTENSION in members:
        return _ours(members, path)
    try:
        return _foreign(members, path)
    except ContractError as error:
        raise error.under("", source=str(path)) from None


def _ours(members: Members, path: Path) -> EvalLog:
    """The log under our own key, when the rest says the same."""
    extension = _take(members, EXTENSION, dict)
    if extension.pop("version", None) != EVALLOG_SCHEMA:
        raise SchemaError(f"must be {EVALLOG_SCHEMA!r}", path=f"{EXTENSION}.version", source=str(path))
    try:
        log = EvalLog.from_dict(extension)
    except ContractError as error:
        raise error.under(EXTENSION, source=str(path)) from None
    for contradictions in (
        [attrs.evolve(one, path=f"{EXTENSION}.{one.path}") for one in find_contradictions(log)],
        [
            attrs.evolve(one, basis=f"the log under {EXTENSION!r} gives")
            for one in exported_contradictions(members, log)
        ],
    ):
        _refuse(contradictions, path, fix="export it again")
    return log


def _refuse(contradictions: Sequence[Contradiction], path: Path, *, fix: str) -> None:
    if contradictions:
        raise LogContradiction(str(path), tuple(contradictions), fix=fix)


def _foreign(members: Members, path: Path) -> EvalLog:
    spec = _take(members, "eval", dict, under="")
    scenes = list(_scenes(members))
    samples = [sample for index, scene in enumerate(scenes) for sample in _samples(scene, f"samples[{index}]")]
    _refuse(list(foreign_contradictions(members)), path, fix="import the file that inspect-robots wrote")
    names = dict.fromkeys(score for sample in samples for score in sample.scores)
    samples = [attrs.evolve(sample, scores=_complete(sample, list(names))) for sample in samples]
    task, policy = (clean_text(_take(spec, part, str, under="eval")) for part in ("task", "policy"))
    builder = LogBuilder()
    stats = _object(members.get("stats"))
    times = [clean_text(str(stats.get(part) or "")) for part in ("started_at", "completed_at")]
    facts = EpisodeFacts(started_at=times[0] or clean_text(str(spec.get("created") or "")), finished_at=times[1])
    for sample in samples:
        builder.add(sample, facts)
    # What has to be the same for two runs to be comparable, as far as the log says it.
    same = {name: spec.get(name) for name in ("embodiment", "environment_id", "environment_revision", "max_steps")}
    identity = digest({"task": task, "scenes": [sample.key for sample in samples], **same})
    return attrs.evolve(
        builder.finish(
            status=_STATUSES.get(str(members.get("status")), "unknown"),
            spec=EvalSpec(
                run_id=path.stem,
                benchmark=LoggedBenchmark(
                    id=task, version=UNKNOWN, digest=identity, split=IMPORTED_SPLIT, requires_privileged=False
                ),
                agent=LoggedAgent(
                    name=policy,
                    version=str(spec.get("policy_checkpoint") or UNKNOWN),
                    components=_object(spec.get("policy_config")),
                ),
                scorers={score: ScorerDeclaration(ref="", binary=None, unit="") for score in names},
                manifest={},
                scored_by={},
            ),
        )
    )


def _samples(scene: Members, path: str) -> Iterator[Sample]:
    """An episode an epoch."""
    scene_id = clean_text(_take(scene, "scene_id", str, under=path))
    epochs = _take(scene, "epochs", list, under=path)
    reasons = _list(scene.get("termination_reasons"))
    for epoch, scores in enumerate(epochs):
        if not isinstance(scores, dict):
            raise ContractError("must be a mapping from scorers to numbers", path=f"{path}.epochs[{epoch}]")
        reason = reasons[epoch] if epoch < len(reasons) and isinstance(reasons[epoch], str) else ""
        numbers = cast("Members", scores)
        # They record an errored trial as an epoch without scores.
        status = "completed" if numbers else str(scene.get("status") or UNKNOWN)
        yield Sample(
            key=f"{scene_id}#{epoch}",
            task_id=scene_id,
            seed=epoch,
            episode_id=f"{scene_id}#{epoch}",
            status=status,
            scores={
                clean_text(name): _score(value, f"{path}.epochs[{epoch}].{name}", clean_text(reason))
                for name, value in numbers.items()
            },
            trace="",
        )


def _score(value: Any, path: str, reason: str) -> Score:
    if value is None:
        return Score.abstain("unspecified", reason)
    if not isinstance(value, (bool, int, float)) or not math.isfinite(value):
        raise ContractError("must be a number or null", path=path)
    return Score(float(value), explanation=reason)


def _complete(sample: Sample, names: list[str]) -> dict[str, Score]:
    """Every scorer for every episode: an errored trial has none on record."""
    missing = Score.abstain("error" if sample.status == "error" else "unspecified")
    return {name: sample.scores.get(name, missing) for name in names}


def _scenes(members: Members) -> Iterator[Members]:
    for index, scene in enumerate(_take(members, "samples", list, under="")):
        if not isinstance(scene, dict):
            raise ContractError("must be a mapping", path=f"samples[{index}]")
        yield cast("Members", scene)


def _take(members: Mapping[str, Any], name: str, kind: type, *, under: str = "") -> Any:
    value = members.get(name)
    if not isinstance(value, kind):
        raise ContractError(
            f"must be of type {kind.__name__}, not {type(value).__name__}", path=f"{under}.{name}" if under else name
        )
    return value


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _object(value: Any) -> Members:
    return cast("Members", value) if isinstance(value, dict) else {}
