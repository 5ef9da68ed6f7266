"""The EvalLog between its versions: pure functions from dict to dict, without the member ``version``.

They expect a document that its own version accepts: readers check first and migrate then, so that an error names what
stands in the file. Up, nothing is lost: what v0.1 does not know is unknown in v0.2 (no reference, no digest, no
interval), and what its free ``results`` hold beyond the means and counts is kept under ``other``. Down, what v0.1 has
no place for is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNSPECIFIED = "unspecified"
"""The reason of an abstention on record without one."""

_MEAN = "_mean"


def evallog_v01_to_v02(document: Mapping[str, Any]) -> dict[str, Any]:
    """From numbers by sample to scores with room for why."""
    samples: Sequence[Mapping[str, Any]] = document["samples"]
    results: Mapping[str, Any] = document["results"]
    means = {key.removesuffix(_MEAN): value for key, value in results.items() if _is_mean(key, value)}
    scorers = dict.fromkeys([*means, *(name for sample in samples for name in sample["scores"])])
    overall = {name: _recorded_mean(name, mean, samples) for name, mean in means.items()}
    first = next(iter(overall.values()), None)
    counts = {
        "n_episodes": len(samples),
        "n_scored": first["n_scored"] if first else 0,
        "n_modified": 0,
        **{name: results[name] for name in ("n_episodes", "n_scored", "n_modified") if _is_count(results.get(name))},
    }
    known = {*(f"{name}{_MEAN}" for name in means), *(name for name in counts if _is_count(results.get(name)))}
    return {
        "status": "unknown",
        "eval": {
            "run_id": document["run_id"],
            "benchmark": document["benchmark"],
            "agent": document["agent"],
            "scorers": {name: {"ref": "", "binary": None, "unit": ""} for name in scorers},
            "manifest": {},
            "scored_by": {},
        },
        "results": {
            **counts,
            "overall": overall,
            "macro": {},
            "tasks": {},
            "tags": {},
            "other": {key: value for key, value in results.items() if key not in known},
        },
        "stats": {
            "started_at": "",
            "finished_at": "",
            "total_steps": None,
            "reply_seconds": None,
            "statuses": _count(sample["status"] for sample in samples),
            "initial_states": None,
            "disagreements": None,
        },
        "samples": [
            {**sample, "scores": {name: {"value": value} for name, value in sample["scores"].items()}}
            for sample in samples
        ],
    }


def evallog_v02_to_v01(document: Mapping[str, Any]) -> dict[str, Any]:
    """The flat form: numbers by sample."""
    spec: Mapping[str, Any] = document["eval"]
    results: Mapping[str, Any] = document["results"]
    counted = ("n_episodes", "n_scored", *(["n_modified"] if results["n_modified"] else []))
    kept = ("key", "task_id", "seed", "episode_id", "status")
    return {
        "run_id": spec["run_id"],
        "benchmark": spec["benchmark"],
        "agent": spec["agent"],
        "results": {
            **{f"{name}{_MEAN}": statistics["mean"] for name, statistics in results["overall"].items()},
            **{name: results[name] for name in counted},
            **results["other"],
        },
        "samples": [
            {
                **{name: sample[name] for name in kept},
                "scores": {name: score["value"] for name, score in sample["scores"].items()},
                "trace": sample["trace"],
            }
            for sample in document["samples"]
        ],
    }


def _recorded_mean(name: str, mean: float | None, samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = [sample["scores"][name] for sample in samples if name in sample["scores"]]
    silent = values.count(None)
    return {
        "mean": mean,
        "n_attempted": len(values),
        "n_scored": len(values) - silent,
        "abstained": {UNSPECIFIED: silent} if silent else {},
        "interval": None,
        "worst_case": None,
    }


def _is_mean(key: str, value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return len(key) > len(_MEAN) and key.endswith(_MEAN) and (value is None or number)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(names: Any) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return dict(sorted(counted.items()))
