"""Logs made of samples that a test says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hylo_core import Score
from hylo_core.canonical import digest
from hylo_eval.evallog.building import LogBuilder
from hylo_eval.evallog.facts import EpisodeFacts
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark
from hylo_eval.evallog.v02 import EvalLog, EvalSpec, LoggedState, Sample, ScorerDeclaration

SUCCESS = ScorerDeclaration(ref="hylo_eval.scoring.success:Success", binary=True, unit="")
STEPS = ScorerDeclaration(ref="hylo_eval.scoring.counts:Steps", binary=False, unit="")


def spec(**changes: Any) -> EvalSpec:
    """Success and steps of a small benchmark."""
    members: dict[str, Any] = {
        "run_id": "golden-run",
        "benchmark": LoggedBenchmark(
            id="golden", version="1.0", digest=f"sha256:{'5f' * 32}", split="heldout", requires_privileged=False
        ),
        "agent": LoggedAgent(name="golden-agent", version="2.1", components={"weights": "sha256:9d", "größe": "ä"}),
        "scorers": {"success": SUCCESS, "steps": STEPS},
        "manifest": {"schema": "hylo.manifest/v0.1", "versions": {"mujoco": "3.3.0"}, "max_attempts": 3},
        "scored_by": {"version": "0.1.0", "source_digest": f"sha256:{'00' * 32}"},
    }
    return EvalSpec(**{**members, **changes})


def sample(task: str, seed: int, success: float | None, steps: float | None = None, **changes: Any) -> Sample:
    """A sample; without success it abstains for the agent's error."""
    members: dict[str, Any] = {
        "key": f"{task}#{seed}",
        "task_id": task,
        "seed": seed,
        "episode_id": f"{task}-{seed}-0123456789.1",
        "status": "agent_error" if success is None else "completed",
        "scores": {"success": _score(success), "steps": _score(steps if steps is not None else success)},
        "trace": f"episodes/{task}-{seed}-0123456789.1.jsonl",
        "trace_sha256": digest(["trace", task, seed]),
        "behaviour_sha256": digest(["behaviour", task, seed]),
        "tags": (task[0], "all"),
        "steps": int(steps or 0),
        "initial_state": LoggedState(task=f"sha256:{'aa' * 32}", state=f"state {seed % 2}", model=""),
    }
    return Sample(**{**members, **changes})


def build(*samples: Sample, facts: Mapping[str, EpisodeFacts] | None = None, **changes: Any) -> EvalLog:
    """The log of some samples."""
    builder = LogBuilder()
    for item in samples:
        builder.add(item, (facts or {}).get(item.key, EpisodeFacts()))
    return builder.finish(status=changes.pop("status", "complete"), spec=spec(**changes))


def golden() -> EvalLog:
    """The log of the golden file: two tasks, a failure, an abstention, an agent error, and a modified trace."""
    facts = EpisodeFacts(
        started_at="2026-01-02T03:04:05.678+00:00",
        finished_at="2026-01-02T03:04:06.789+00:00",
        replies=Counter({-300: 1, -200: 38, -100: 1}),
        disagreement=True,
    )
    samples = (
        sample("lift", 10000, 1.0, 12.0),
        sample("lift", 10001, 0.0, 40.0, status="safety_abort"),
        sample("lift", 10002, None),
        sample("stack", 10000, 1.0, 30.0, differences=("behaviour digest is sha256:11, sha256:22 is on record",)),
        sample("stack", 10001, 1.0, 31.0),
    )
    return build(*samples, facts={"lift#10000": facts, "stack#10001": facts})


def _score(value: float | None) -> Score:
    return Score.abstain("agent_error", "ValueError: unseen object") if value is None else Score(value)
