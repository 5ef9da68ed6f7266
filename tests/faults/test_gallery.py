"""Every fault costs the attempt it happens in, and nothing else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from hylo_eval import read_trace
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP
from hylo_eval.queue import Ending, State
from tests.faults.disturbed import SHORT_DEADLINES, Disturbed


def late(phase: str) -> str:
    """The error of an attempt that was ended for its deadline."""
    return f"{phase}: DeadlineExceeded: outlasted its deadline of {SHORT_DEADLINES[phase]} s in {phase}"


LOST = {
    "segfault-step": ("worker_lost", "step: WorkerLost: died: SIGSEGV"),
    "segfault-act": ("worker_lost", "act: WorkerLost: died: SIGSEGV"),
    "kill-act": ("worker_lost", "act: WorkerLost: died: SIGKILL"),
    "leave-step": ("worker_lost", "step: WorkerLost: died: exit code 0"),
    "orphan-step": ("worker_lost", "step: WorkerLost: died: SIGKILL"),
    "hang-make": ("timeout", late("make")),
    "swallow-reset": ("timeout", late("reset")),
    "hang-step": ("timeout", late("step")),
    "flood-step": ("timeout", late("step")),
    "fail-make": ("env_error", "make: RuntimeError: EGL_BAD_ALLOC"),
    "fail-reset": ("env_error", "reset: RuntimeError: EGL_BAD_ALLOC"),
    "fail-step": ("env_error", "step: RuntimeError: EGL_BAD_ALLOC"),
    "stop-step": ("worker_lost", f"step: WorkerLost: {TOLD_TO_STOP}"),
    "scribble-reset": ("worker_lost", "step: WorkerLost: sent what is no event"),
    "scribble-act": ("worker_lost", "step: WorkerLost: sent what is no event"),
    "scrawl-act": ("worker_lost", "step: WorkerLost: found its trace longer or shorter than what it had written"),
    "limit-act": ("worker_lost", "step: WorkerLost: found a limit on the size of files that it was not started with"),
    "shut-step": ("worker_lost", "WorkerLost: died: "),
}
"""Task -> status and error of the one attempt that its fault costs."""
IN_ANY_PHASE = ("shut-step",)
"""Tasks whose worker goes on after its fault for a moment: how far it came when that was noticed is chance."""
AGENT = {
    "hang-act": late("act"),
    "fail-act": "act: RuntimeError: EGL_BAD_ALLOC",
}
"""Task -> error of the episode in which the agent fails, which is not tried again."""
FREE = ("steady", "hang-close", "segfault-close", "fail-close", "chatter-step", "litter-step")
"""Tasks whose fault costs nothing, because the episode has ended, or because it is none."""


SHORT = (
    "segfault-step",
    "orphan-step",
    "swallow-reset",
    "hang-step",
    "fail-make",
    "fail-reset",
    "fail-step",
    "hang-act",
    "fail-act",
    "segfault-close",
    "fail-close",
    "stop-step",
    "scribble-act",
    "scrawl-act",
    "limit-act",
    "shut-step",
    "chatter-step",
    "litter-step",
    "steady",
)
"""Each kind of fault and each phase once, without those that take long."""


@pytest.mark.parametrize(
    "tasks", [SHORT, pytest.param((*LOST, *AGENT, *FREE), marks=pytest.mark.slow)], ids=["short", "all"]
)
def test_every_fault_costs_its_attempt_and_nothing_else(
    disturbed: Callable[..., Disturbed], tasks: tuple[str, ...]
) -> None:
    """One failed attempt for each fault of the infrastructure; then the episode is what it would have been."""
    run = disturbed("steady", *(task for task in tasks if task != "steady"))
    expected = run.undisturbed()
    assert run.run(run.command("--max-attempts", 2)) == 0, run.printed()
    assert run.survivors() == []

    results, behaviours = run.results(), run.behaviours()
    broken = {f"faults/{task}#1" for task in AGENT if task in tasks}
    assert {key for key, result in results.items() if result.outcome.status != "completed"} == broken
    assert {key for key in expected if behaviours[key] != expected[key]} == broken
    for key in broken:
        result, error = results[key], AGENT[key.removeprefix("faults/").removesuffix("#1")]
        assert (result.state, result.outcome.status, result.outcome.error) == (State.DONE, "agent_error", error)
        assert read_trace(run.runs / "run" / result.outcome.trace).errors[0].step in {2, None}

    failed = [attempt for attempt in run.attempts() if attempt.ending not in {Ending.DONE, Ending.RELEASED}]
    assert {attempt.ending for attempt in failed} == {Ending.RETRIED}
    seen = {attempt.key.split("#")[0].removeprefix("faults/"): attempt.outcome for attempt in failed}
    assert set(seen) == set(LOST) & set(tasks)
    for task, outcome in seen.items():
        status, error = LOST[task]
        assert outcome.status == status
        said = outcome.error.split(": ", 1)[1] if task in IN_ANY_PHASE else outcome.error
        assert said.startswith(error)
    assert set(Counter(attempt.key for attempt in failed).values()) == {1}
    ended = Counter(attempt.key for attempt in run.attempts() if attempt.ending is Ending.DONE)
    assert ended == dict.fromkeys(expected, 1)


@pytest.mark.slow
def test_what_fails_again_and_again_abstains_and_touches_no_other_episode(disturbed: Callable[..., Disturbed]) -> None:
    """After --max-attempts the episode has its last failure as outcome; the run ends with 3 and has scored the rest."""
    run = disturbed("steady", "fail-step", "leave-reset")
    expected = run.undisturbed()
    assert run.run(run.command("--max-attempts", 2), forever=True) == 3, run.printed()
    results, behaviours = run.results(), run.behaviours()
    lost = {"faults/fail-step#1": "env_error", "faults/leave-reset#1": "worker_lost"}
    assert {key: result.outcome.status for key, result in results.items() if result.state is State.ABSTAINED} == lost
    assert {key: (results[key].attempt, behaviours[key] == expected[key]) for key in expected} == {
        key: (2, False) if key in lost else (1, True) for key in expected
    }
    assert run.survivors() == []


@pytest.mark.slow
def test_observations_that_are_no_numbers_reach_the_trace_and_no_other_episode(
    disturbed: Callable[..., Disturbed],
) -> None:
    """The episode goes on, as with a sensor that has no reading, and the trace shows where it began."""
    run = disturbed("steady", "nan-step")
    expected = run.undisturbed()
    assert run.run(run.command(workers=1)) == 0, run.printed()
    behaviours = run.behaviours()
    assert {key for key in expected if behaviours[key] != expected[key]} == {"faults/nan-step#1"}
    trace = read_trace(run.runs / "run" / run.results()["faults/nan-step#1"].outcome.trace)
    finite = [bool(np.isfinite(step.observation["position"]).all()) for step in trace.steps]
    assert finite[:5] == [True, True, True, False, True]


def test_a_worker_whose_memory_grows_is_replaced(disturbed: Callable[..., Disturbed]) -> None:
    """An env that leaks 160 MB an episode never runs two in one process when 200 MB are allowed."""
    run = disturbed("leak", max_steps=2)
    expected = run.undisturbed()
    assert run.run(run.command("--max-rss-mb", 200, workers=1)) == 0, run.printed()
    assert run.behaviours() == expected
    made = [line.split()[2] for line in run.notes() if line.startswith("made") and int(line.split()[2]) != os.getpid()]
    assert len(made) == len(set(made)) == 2
    traces = [read_trace(run.runs / "run" / result.outcome.trace) for result in run.results().values()]
    assert {str(trace.start.volatile["pid"]) for trace in traces} == set(made)
