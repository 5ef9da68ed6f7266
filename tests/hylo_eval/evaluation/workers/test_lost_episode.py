"""What the attempt of a worker that is gone came to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hylo_eval import read_trace, run_episode
from hylo_eval.evaluation.workers.lost_episode import Loss, LostEpisodes
from hylo_eval.queue import Outcome
from hylo_eval.traces.layout import RunFolder, episode_id
from tests.episodes import FunctionAgent, ScriptedEnv, instance
from tests.hylo_eval.evaluation.setups import BENCHMARK, setup


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run that has begun."""
    folder = RunFolder.at(tmp_path, "run")
    folder.create()
    return folder


def lost(run: RunFolder, **changes: Any) -> Outcome | None:
    """The outcome of the second attempt at an instance."""
    told: dict[str, Any] = {
        "phase": "step",
        "what": "died: SIGSEGV",
        "words": "Fatal Python error",
        "breached": False,
        "started_at": 12.0,
        "worker": "worker-0",
    }
    losses = LostEpisodes(run=run, benchmark=BENCHMARK, setup=setup())
    return losses.outcome_of_worker(instance(), 2, Loss(**{**told, **changes}))


def record(run: RunFolder, **options: Any) -> bytes:
    """Run the attempt's episode to its end."""
    path = run.trace(episode_id(instance().key, 2))
    run_episode(ScriptedEnv(**options), FunctionAgent(), instance(), trace_path=path, benchmark=BENCHMARK, attempt=2)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("phase", "breached", "status", "error"),
    [
        ("act", False, "worker_lost", "act: WorkerLost: died: SIGSEGV"),
        ("act", True, "agent_error", "act: DeadlineExceeded: died: SIGSEGV"),
        ("open", True, "agent_error", "open: DeadlineExceeded: died: SIGSEGV"),
        ("step", True, "timeout", "step: DeadlineExceeded: died: SIGSEGV"),
        ("make", True, "timeout", "make: DeadlineExceeded: died: SIGSEGV"),
        ("record", False, "worker_lost", "step: WorkerLost: died: SIGSEGV"),
    ],
)
def test_phase_and_deadline_say_who_is_to_blame(
    run: RunFolder, phase: str, breached: bool, status: str, error: str
) -> None:
    """A death is infrastructure wherever it happens; a breach in the agent's phases is the agent's."""
    outcome = lost(run, phase=phase, breached=breached)
    assert outcome is not None
    assert (outcome.status, outcome.error, outcome.worker) == (status, error, "worker-0")
    trace = read_trace(run.path / outcome.trace)
    assert (trace.trace_sha256, trace.behaviour_sha256) == (outcome.trace_sha256, outcome.behaviour_sha256)
    assert trace.episode_id.endswith(".2")
    assert trace.errors[0].volatile["printed"] == "Fatal Python error"


def test_an_episode_that_had_ended_keeps_its_outcome(run: RunFolder) -> None:
    """The worker died after the trace had its name: what ``close`` does then changes nothing."""
    written = record(run, success_at=(4,), on_step=lambda index: {"disagreement": index == 2})
    outcome = lost(run, phase="close", breached=True)
    assert outcome is not None
    assert (outcome.status, outcome.steps, outcome.success, outcome.error) == ("completed", 5, True, "")
    assert (outcome.disagreements, outcome.trace_bytes) == (1, len(written))
    assert (run.path / outcome.trace).read_bytes() == written


def test_a_failure_that_was_on_record_stays_the_failure(run: RunFolder) -> None:
    """An env that raises in a step and then hangs while it is closed has raised in a step."""

    def fail(index: int) -> None:
        raise OSError("EGL_BAD_ALLOC")

    record(run, on_step=fail)
    outcome = lost(run, phase="close", breached=True)
    assert outcome is not None
    assert (outcome.status, outcome.error) == ("env_error", "step: OSError: EGL_BAD_ALLOC")


def test_what_was_cancelled_has_not_taken_place(run: RunFolder) -> None:
    """A worker that was told to stop and died before it could say so."""
    path = run.trace(episode_id(instance().key, 2))
    with pytest.raises(KeyboardInterrupt):
        run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=path, attempt=2, stop=lambda: True)
    assert lost(run) is None


def test_an_episode_that_waited_for_the_env_before_it_has_not_taken_place(run: RunFolder) -> None:
    """The worker was lost in ``close``, before anything of this one was begun."""
    assert lost(run, phase="close") is None
    assert list(run.episodes.iterdir()) == []


def test_which_worker_was_lost_is_no_part_of_the_behaviour(tmp_path: Path) -> None:
    """An agent that hangs behaves the same on every worker."""
    digests: set[str] = set()
    for name in ("worker-0", "worker-3"):
        folder = RunFolder.at(tmp_path, name)
        folder.create()
        outcome = lost(folder, phase="act", breached=True, worker=name, words=name)
        assert outcome is not None
        digests.add(outcome.behaviour_sha256)
    assert len(digests) == 1


def test_an_attempt_that_nobody_stopped_is_that_of_a_lost_worker(run: RunFolder) -> None:
    """An agent that signals its own process loses the attempt; the trace keeps how far it came, and one end."""
    path = run.trace(episode_id(instance().key, 2))
    asked = iter([False, False, True])
    with pytest.raises(KeyboardInterrupt):
        run_episode(
            ScriptedEnv(), FunctionAgent(), instance(), trace_path=path, attempt=2, stop=lambda: next(asked, True)
        )
    losses = LostEpisodes(run=run, benchmark=BENCHMARK, setup=setup())
    loss = Loss(phase="step", what="was told to stop", started_at=12.0, worker="worker-0")
    outcome = losses.outcome_of_told_to_stop(instance(), 2, loss)
    trace = read_trace(run.path / outcome.trace)
    assert (outcome.status, str(trace.status), outcome.steps, len(trace.steps)) == ("worker_lost", "worker_lost", 2, 2)
    assert [item.name for item in run.episodes.iterdir()] == [path.name]
