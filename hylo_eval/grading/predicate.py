"""The success predicate, asked again: the recorded actions are replayed in the simulator.

A replay that leaves the recording would judge another episode. It is a failure of the grader, with the step at which
they part, and no judgement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hylo_core.canonical import digest
from hylo_core.spec import AgentSpec
from hylo_core.trace import AgentInfo, EpisodeStatus, EpisodeTrace, GradeEvent
from hylo_eval.agents.protocol import Reply, StatelessSession
from hylo_eval.errors import AgentError, EvalError
from hylo_eval.numerals import counted
from hylo_eval.rollout.episode import run_episode
from hylo_eval.traces.reader import read_trace

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.task import TaskInstance, TaskSpec

_REPLAYED: Final = (EpisodeStatus.COMPLETED, EpisodeStatus.SIM_UNSTABLE, EpisodeStatus.AGENT_ERROR)
"""How a replay may end. A recording that was cut short (a safety abort) ends where its actions do."""


class PredicateGrader:
    """Replays each episode and reports its success by the task's own meaning (``success_at``), 1 or 0.

    Args:
        make_env: Makes the env of a task; one is kept open at a time.
        identity: What ``make_env`` was made from, as JSON; part of the digest.
        tolerance: How far a number of a low-dimensional observation may lie from the recorded one.
        now: The time of grading.
    """

    name = "predicate"

    def __init__(
        self,
        make_env: Callable[[TaskSpec], gymnasium.Env[Any, Any]],
        *,
        identity: Mapping[str, Any],
        tolerance: float = 1e-6,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not 0 <= tolerance < float("inf"):
            raise EvalError(
                f"option 'tolerance' must be a finite number of at least 0, not {tolerance:g}",
                fix="tolerance=0.01, say",
            )
        self.digest = digest({"grader": "predicate", "env": identity, "tolerance": tolerance})
        self._make_env = make_env
        self._tolerance = tolerance
        self._now = now
        self._open: tuple[str, gymnasium.Env[Any, Any]] | None = None

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Replay and compare."""
        metadata: dict[str, Any] = {}
        try:
            replay = self._replay(trace, task)
            failed = _failure(trace, replay, self._tolerance)
            metadata = _comparison(trace, replay)
        except EvalError as error:
            replay, failed = None, str(error)
        value = None if failed or replay is None else float(_success(replay, task))
        return GradeEvent(
            grader=self.name,
            value=value,
            ref=task.spec.success.name or task.spec.success.expr or task.spec.success.ref or "",
            digest=self.digest,
            explanation="" if value is None else f"{'success' if value else 'failure'} in the replay",
            error=failed,
            metadata=metadata,
            volatile={"graded_at": self._now().isoformat(timespec="milliseconds")},
        )

    def close(self) -> None:
        """Close the env."""
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()

    def _replay(self, trace: EpisodeTrace, task: TaskInstance) -> EpisodeTrace:
        if not trace.steps:
            raise EvalError(
                "no action reached the environment, so there is nothing to replay", fix="run the episode again"
            )
        with tempfile.TemporaryDirectory(prefix="hylo-replay-") as folder:
            result = run_episode(
                self._env(task), _RecordedActions(trace), task, trace_path=Path(folder, "replay.jsonl")
            )
            return read_trace(result.path, digests="none")

    def _env(self, task: TaskInstance) -> gymnasium.Env[Any, Any]:
        key = task.spec.digest()
        if self._open is None or self._open[0] != key:
            self.close()
            self._open = key, self._make_env(task.spec)
        return self._open[1]


class _RecordedActions:
    """An agent that repeats what reached the environment; safety filters have had their say already."""

    info = AgentInfo(name="replay", version="1")
    spec = AgentSpec()

    def __init__(self, trace: EpisodeTrace) -> None:
        self._actions = iter(trace.steps)

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        """Begin; the actions are those of one episode."""
        del instance, instruction, seed
        return StatelessSession(self._act)

    def close(self) -> None:
        """Nothing is held."""

    def _act(self, _: Mapping[str, Any]) -> Reply:
        import numpy as np

        step = next(self._actions, None)
        if step is None:
            raise AgentError("the recording ends here")
        return Reply(step.applied if isinstance(step.applied, str) else np.array(step.applied, dtype=np.float64))


def _success(replay: EpisodeTrace, task: TaskInstance) -> bool:
    at_end = task.spec.success_at == "end"
    return replay.steps[-1].success if at_end else any(step.success for step in replay.steps)


def _failure(trace: EpisodeTrace, replay: EpisodeTrace, tolerance: float) -> str:
    """Why the replay is no replay of the recording; empty when it is one."""
    if replay.status not in _REPLAYED or replay.reset is None or trace.reset is None:
        said = f": {replay.errors[-1].error_type}: {replay.errors[-1].message}" if replay.errors else ""
        return f"the replay ended as {replay.status}{said}"[:1000]
    for name in ("state_digest", "model_digest"):
        recorded, found = getattr(trace.reset, name), getattr(replay.reset, name)
        if recorded and found and recorded != found:
            return (
                f"the replay begins in another scene: its {name.replace('_', ' ')} is {found}, {recorded} is on record"
            )
    if _distance(trace.reset.observation, replay.reset.observation) > tolerance:
        return "the replay begins with another observation than the recording"
    for recorded, found in zip(trace.steps, replay.steps, strict=False):
        distance = _distance(recorded.observation, found.observation)
        if distance > tolerance:
            return f"the replay leaves the recording at step {recorded.index}, by {distance:g}: it is another episode"
    if len(replay.steps) != len(trace.steps):
        return f"the replay ended after {counted(len(replay.steps), 'step')}, the recording after {len(trace.steps)}"
    return ""


def _comparison(trace: EpisodeTrace, replay: EpisodeTrace) -> dict[str, Any]:
    pairs = zip(trace.steps, replay.steps, strict=False)
    differing = [recorded.index for recorded, found in pairs if recorded.success != found.success]
    comparison: dict[str, Any] = {
        "steps": len(replay.steps),
        "first_success": next((step.index for step in replay.steps if step.success), None),
        "steps_judged_otherwise": len(differing),
    }
    if differing:
        comparison["first_judged_otherwise"] = differing[0]
    if replay.start.versions != trace.start.versions:
        comparison["versions"] = dict(replay.start.versions)
    return comparison


def _distance(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> float:
    """The largest difference of two observations' numbers; infinite where they differ in anything else."""
    if recorded.keys() != found.keys():
        return float("inf")
    return max((_difference(recorded[key], found[key]) for key in recorded), default=0.0)


def _difference(recorded: Any, found: Any) -> float:
    if isinstance(recorded, Sequence) and not isinstance(recorded, str):
        ours, theirs = cast("Sequence[Any]", recorded), cast("Sequence[Any]", found)
        if isinstance(found, str) or not isinstance(found, Sequence) or len(ours) != len(theirs):
            return float("inf")
        return max(map(_difference, ours, theirs), default=0.0)
    # NaN is the same as NaN here, and so is text as the same text.
    if recorded == found or (recorded != recorded and found != found):  # noqa: PLR0124 - NaN differs from itself
        return 0.0
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (recorded, found))
    distance = abs(recorded - found) if numbers else float("inf")
    return distance if distance == distance else float("inf")  # noqa: PLR0124 - as above
