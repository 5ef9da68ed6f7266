"""A log as inspect-robots 0.60.0 reads it (its log schema 1), with our own log whole under one key of its own.

Its readers accept a number or null in metrics and epochs, no key they do not know below the top level, and no null
where they expect an object. One instance is one scene with one epoch; an abstention is null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

import orjson

from hylo_core.frozen import thaw
from hylo_core.schema import EVALLOG_SCHEMA
from hylo_core.trace import INFRASTRUCTURE, EpisodeStatus
from hylo_eval.evallog.v02 import EvalLog, Sample
from hylo_eval.exchange.outline import EpisodeOutline

LOG_VERSION: Final = 1
EXTENSION: Final = "hylo"
"""The top-level key under which the whole of our log stands."""

_ERRORS: Final = (EpisodeStatus.AGENT_ERROR, *INFRASTRUCTURE)
_REASONS: Final[Mapping[str, str]] = {"success": "success", "horizon": "max_steps", "truncated": "truncated"}
"""Why an episode ended: our word -> theirs; others stay as they are."""


Transcripts: TypeAlias = "Mapping[str, list[dict[str, Any]]]"
"""Instance key -> messages; see :mod:`hylo_eval.exchange.inspect_robots_frames`."""


def encode_inspect_robots(
    log: EvalLog,
    outline_of: Callable[[Sample], EpisodeOutline] | None = None,
    *,
    transcripts: Transcripts | None = None,
    frames_dir: str | None = None,
) -> bytes:
    """The document.

    Args:
        log: What to export.
        outline_of: Instruction and end of an episode, from its trace; None leaves them out.
        transcripts: Messages that show an episode's frames.
        frames_dir: Where the frames are, ``frames/<name>`` beside the document; None without frames.
    """
    document = to_inspect_robots(log, outline_of)
    document["stats"]["frames_dir"] = frames_dir
    for scene in document["samples"]:
        scene["policy_transcripts"] = [(transcripts or {}).get(scene["scene_id"])]
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def to_inspect_robots(log: EvalLog, outline_of: Callable[[Sample], EpisodeOutline] | None = None) -> dict[str, Any]:
    """The document as JSON, without frames; see :func:`encode_inspect_robots`."""
    manifest = thaw(log.eval.manifest)
    statuses = Counter(_scene_status(sample) for sample in log.samples)
    return {
        "version": LOG_VERSION,
        "status": "success" if log.status != "partial" else "cancelled",
        "eval": {
            "task": log.benchmark.id,
            "policy": log.agent.name,
            "embodiment": _member(manifest, "env", "ref") or "unknown",
            "created": _member(manifest, "created_at") or log.stats.started_at or "unknown",
            "inspect_robots_version": f"hylo-eval {log.eval.scored_by.get('version', 'unknown')}",
            "git_commit": None,
            "policy_config": {"version": log.agent.version, "components": thaw(log.agent.components)},
            "embodiment_info": {"renderer": _member(manifest, "renderer") or "unknown"},
            "seed": None,
            "max_steps": None,
            "max_seconds": None,
            "environment_id": _versions(manifest),
            "environment_revision": log.benchmark.digest,
            "policy_checkpoint": log.agent.version,
            "grader": None,
            "grader_config": {},
        },
        "results": {
            "total_scenes": len(log.samples),
            "total_trials": len(log.samples),
            "metrics": {name: statistics.mean for name, statistics in log.results.overall.items()},
            "errored_trials": statuses["error"],
        },
        "stats": {
            "started_at": log.stats.started_at,
            "completed_at": log.stats.finished_at,
            "duration_s": _seconds_between(log.stats.started_at, log.stats.finished_at),
            "total_steps": log.stats.total_steps or 0,
            "mean_inference_latency_s": None,
            "frames_dir": None,
        },
        "samples": [_scene(sample, outline_of(sample) if outline_of else EpisodeOutline()) for sample in log.samples],
        "error": None,
        EXTENSION: {"version": EVALLOG_SCHEMA, **log.to_dict()},
    }


def _scene(sample: Sample, outline: EpisodeOutline) -> dict[str, Any]:
    values = {name: score.value for name, score in sample.scores.items()}
    silent = next((score.explanation for score in sample.scores.values() if score.value is None), "")
    status = _scene_status(sample)
    reason = outline.reason if sample.status == EpisodeStatus.COMPLETED else sample.status
    return {
        "scene_id": sample.key,
        "status": status,
        "reduced": values,
        "epochs": [values],
        "error": (silent or sample.status) if status == "error" else None,
        "instruction": outline.instruction,
        "scene_metadata": {"task_id": sample.task_id, "seed": sample.seed, "tags": list(sample.tags)},
        "operator_judgements": [None],
        "judgement_sources": [None],
        "operator_notes": [None],
        "operator_messages": [[]],
        "trial_metadata": [{"episode_id": sample.episode_id, "trace_sha256": sample.trace_sha256}],
        "termination_reasons": [None if reason is None else _REASONS.get(reason, reason)],
        "policy_transcripts": [None],
    }


def _scene_status(sample: Sample) -> str:
    if sample.status in _ERRORS:
        return "error"
    return "cancelled" if sample.status == EpisodeStatus.CANCELLED else "success"


def _versions(manifest: Mapping[str, Any]) -> str | None:
    versions = manifest.get("versions")
    if not isinstance(versions, dict) or not versions:
        return None
    listed: list[str] = [f"{name}-{version}" for name, version in sorted(thaw(versions).items())]
    return " ".join(listed)


def _member(manifest: Mapping[str, Any], *path: str) -> str | None:
    found: Any = manifest
    for name in path:
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else None


def _seconds_between(first: str, last: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
