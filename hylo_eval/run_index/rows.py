"""The tables of the index, and the rows that a run gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from hylo_core.errors import clean_text
from hylo_eval.compare.agent_labels import agent_name_of
from hylo_eval.evallog.v02 import EvalLog, LogHeader
from hylo_eval.run_index.folders import FoundRun, index_name
from hylo_eval.versions import stand_in_sentence

TABLES: Final[Mapping[str, tuple[Mapping[str, type], tuple[str, ...], tuple[tuple[str, str, str], ...]]]] = {
    "runs": (
        {
            "run_id": str,
            "status": str,
            "problem": str,
            "benchmark": str,
            "split": str,
            "benchmark_version": str,
            "benchmark_digest": str,
            "tasks_digest": str,
            "agent": str,
            "agent_version": str,
            "agent_digest": str,
            "agent_settings": str,
            "created_at": str,
            "started_at": str,
            "finished_at": str,
            "n_episodes": int,
            "n_scored": int,
            "stand_ins": str,
            "scorer": str,
            "binary": int,
            "unit": str,
            "mean": float,
            "low": float,
            "high": float,
            "total_steps": int,
            "reply_p50": float,
            "reply_p95": float,
            "reply_p99": float,
            "config_digest": str,
            "hylo_version": str,
            "path": str,
            "fingerprint": str,
        },
        ("run_id",),
        (),
    ),
    "samples": (
        {
            "id": str,
            "run_id": str,
            "key": str,
            "task_id": str,
            "seed": int,
            "episode_id": str,
            "status": str,
            "steps": int,
            "trace": str,
            "trace_sha256": str,
            "behaviour_sha256": str,
        },
        ("id",),
        (("run_id", "runs", "run_id"),),
    ),
    "scores": (
        {"sample_id": str, "scorer": str, "value": float, "reason": str, "explanation": str},
        ("sample_id", "scorer"),
        (("sample_id", "samples", "id"),),
    ),
    "means": (
        {
            "run_id": str,
            "scoring": str,
            "scorer": str,
            "mean": float,
            "low": float,
            "high": float,
            "n_attempted": int,
            "n_scored": int,
            "problem": str,
        },
        ("run_id", "scoring", "scorer"),
        (("run_id", "runs", "run_id"),),
    ),
    "comparisons": (
        {
            "id": str,
            "kind": str,
            "created_at": str,
            "benchmark": str,
            "split": str,
            "metric": str,
            "mode": str,
            "verdict": str,
            "exit_code": int,
            "n_pairs": int,
            "p_value": float,
            "reasons": str,
            "path": str,
            "problem": str,
            "fingerprint": str,
        },
        ("id",),
        (),
    ),
    "comparison_runs": (
        {
            "comparison_id": str,
            "position": int,
            "role": str,
            "run_id": str,
            "agent": str,
            "agent_version": str,
            "agent_settings": str,
        },
        ("comparison_id", "position"),
        (("comparison_id", "comparisons", "id"),),
    ),
}
"""Table -> columns, primary key, foreign keys. ``means.scoring`` is empty for the run's own log.

``comparison_runs.run_id`` is no foreign key: a record outlives the runs it names.
"""


_MAX_SETTINGS: Final = 65536
"""Longer settings are not listed."""


def run_row(run: FoundRun) -> dict[str, Any]:
    """The row of a run; what is not on record is empty or None."""
    row: dict[str, Any] = dict.fromkeys(TABLES["runs"][0])
    row |= {name: "" for name, kind in TABLES["runs"][0].items() if kind is str}
    row |= {
        "run_id": index_name(run.folder),
        "path": clean_text(str(run.folder.path)),
        "status": run.status,
        "problem": run.problem,
        "fingerprint": run.fingerprint,
    }
    manifest = run.manifest or (run.log.eval.manifest if run.log else {})
    row |= {
        "benchmark": _text(manifest, "benchmark", "id"),
        "split": _text(manifest, "benchmark", "split"),
        "benchmark_version": _text(manifest, "benchmark", "version"),
        "benchmark_digest": _text(manifest, "benchmark", "digest"),
        "tasks_digest": _text(manifest, "tasks_digest"),
        "agent": _text(manifest, "agent", "name"),
        "agent_version": _text(manifest, "agent", "version") or ("unknown" if manifest else ""),
        **_agent_columns(manifest),
        "created_at": _text(manifest, "created_at"),
        "config_digest": _text(manifest, "config_digest"),
        "hylo_version": _text(manifest, "hylo", "version"),
        "stand_ins": clean_text(stand_in_sentence("the run", manifest.get("versions"))),
    }
    return row if run.log is None else row | _log_columns(run.log)


def _agent_columns(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What tells two settings of one agent apart: the digest of its manifest, its components and options as JSON."""
    agent = agent_name_of(manifest)
    settings = json.dumps(agent.agent_settings, sort_keys=True)
    return {
        "agent_digest": agent.agent_digest,
        "agent_settings": settings if len(settings) <= _MAX_SETTINGS else "",
    }


def _log_columns(log: LogHeader) -> dict[str, Any]:
    scorer = next(iter(log.results.overall), "")
    statistics = log.results.overall.get(scorer)
    declared = log.eval.scorers.get(scorer)
    interval = statistics.interval if statistics else None
    replies = log.stats.reply_seconds
    return {
        "benchmark": log.benchmark.id,
        "split": log.benchmark.split,
        "benchmark_version": log.benchmark.version,
        "benchmark_digest": log.benchmark.digest,
        "agent": log.agent.name,
        "agent_version": log.agent.version,
        "started_at": log.stats.started_at,
        "finished_at": log.stats.finished_at,
        "n_episodes": log.results.n_episodes,
        "n_scored": log.results.n_scored,
        "scorer": scorer,
        "binary": declared.binary if declared else None,
        "unit": declared.unit if declared else "",
        "mean": statistics.mean if statistics else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "total_steps": log.stats.total_steps,
        "reply_p50": replies.p50 if replies else None,
        "reply_p95": replies.p95 if replies else None,
        "reply_p99": replies.p99 if replies else None,
    }


def sample_rows(run_id: str, log: EvalLog) -> Iterator[dict[str, Any]]:
    """A row a sample."""
    for sample in log.samples:
        yield {
            "id": _sample_id(run_id, sample.key),
            "run_id": run_id,
            "key": sample.key,
            "task_id": sample.task_id,
            "seed": sample.seed,
            "episode_id": sample.episode_id,
            "status": sample.status,
            "steps": sample.steps,
            "trace": sample.trace,
            "trace_sha256": sample.trace_sha256,
            "behaviour_sha256": sample.behaviour_sha256,
        }


def score_rows(run_id: str, log: EvalLog) -> Iterator[dict[str, Any]]:
    """A row a score."""
    for sample in log.samples:
        for name, score in sample.scores.items():
            yield {
                "sample_id": _sample_id(run_id, sample.key),
                "scorer": name,
                "value": score.value,
                "reason": str(score.metadata.get("reason", "")) if score.value is None else "",
                "explanation": score.explanation,
            }


def mean_rows(run: FoundRun) -> Iterator[dict[str, Any]]:
    """A row a scorer of each scoring; a scoring that cannot be read has one row that says why."""
    logs: Sequence[tuple[str, LogHeader | None, str]] = [
        *([("", run.log, "")] if run.log else []),
        *((scoring.name, scoring.header, scoring.problem) for scoring in run.scorings),
    ]
    for name, header, problem in logs:
        empty = dict.fromkeys(TABLES["means"][0])
        row = {**empty, "run_id": index_name(run.folder), "scoring": name, "scorer": "", "problem": problem}
        for scorer, statistics in header.results.overall.items() if header else ():
            interval = statistics.interval
            yield row | {
                "scorer": scorer,
                "mean": statistics.mean,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "n_attempted": statistics.n_attempted,
                "n_scored": statistics.n_scored,
            }
        if problem:
            yield row


def _sample_id(run_id: str, key: str) -> str:
    return f"{run_id}/{key}"


def _text(members: Mapping[str, Any], *path: str) -> str:
    found: Any = members
    for name in path:
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""
