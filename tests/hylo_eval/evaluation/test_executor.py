"""Working off a queue: what is claimed, what becomes of an outcome, and what an interruption leaves."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import plan_run
from hylo_eval.errors import DisturbedTrace, EvalError
from hylo_eval.evaluation.executor import InProcess, Work, close_agent
from hylo_eval.evaluation.file_size import FileSizeLimit
from hylo_eval.evaluation.worker import Episode, Worker
from hylo_eval.queue import Item, Lease, Outcome, Owner, RunQueue, State
from hylo_eval.traces.layout import RunFolder
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task
from tests.hylo_eval.evaluation.setups import BENCHMARK

OWNER = Owner.here()


def outcome(status: str) -> Outcome:
    """An outcome of an attempt that left no trace."""
    return Outcome.without_trace(status, "as told", started_at=0.0)


class Offered:
    """A run of two tasks of two seeds, and its work."""

    def __init__(self, folder: Path, *, max_attempts: int = 2, **options: Any) -> None:
        self.run = RunFolder.at(folder, "run")
        self.run.create()
        self.plan = plan_run(benchmark(task("unit/a"), task("unit/b"), seeds=(0, 1)))
        self.queue = RunQueue.create(
            self.run.queue,
            config={},
            items=(Item(key=item.key, task=item.task, position=at) for at, item in enumerate(self.plan.declared)),
            max_attempts=max_attempts,
        )
        self.finished: list[Episode] = []
        self.started: list[tuple[str, int, str]] = []
        self.work = Work(
            queue=self.queue,
            run=self.run,
            instance=self.plan.instance,
            started=lambda instance, attempt, worker: self.started.append((instance.key, attempt, worker)),
            finished=self.finished.append,
            **options,
        )

    def claim(self) -> Lease:
        """The next item."""
        lease = self.work.claim(OWNER, None)
        assert lease is not None
        return lease

    def in_process(self, env: Any = None, agent: FunctionAgent | None = None, **options: Any) -> InProcess:
        """An executor that makes scripted envs."""
        agent = agent or FunctionAgent()
        worker = Worker(
            env_factory=env or ScriptedEnv,
            env_options={},
            agent=agent,
            safety=None,
            run=self.run,
            benchmark=BENCHMARK,
            stop=self.work.stop,
        )
        return InProcess(worker, agent, {}, {}, **options)


@pytest.fixture
def offered(tmp_path: Path):
    """Make a run; its queue is closed at the end."""
    made: list[Offered] = []

    def make(**options: Any) -> Offered:
        made.append(Offered(tmp_path, **options))
        return made[-1]

    yield make
    for item in made:
        item.queue.close()


@pytest.mark.parametrize("status", ["completed", "agent_error", "safety_abort", "sim_unstable"])
def test_an_outcome_that_is_no_fault_of_the_infrastructure_counts(offered: Any, status: str) -> None:
    """At the first attempt, and it is told of."""
    run = offered()
    run.work.settle(run.claim(), outcome(status))
    assert [(episode.attempt, episode.result.end.status) for episode in run.finished] == [(1, status)]
    assert run.queue.counts()[State.DONE] == 1


@pytest.mark.parametrize("status", ["env_error", "timeout", "worker_lost"])
def test_a_fault_of_the_infrastructure_is_tried_again(offered: Any, status: str) -> None:
    """It is told of when the last try has failed, and then the item is abstained."""
    run = offered()
    key = run.claim().key
    (lease,) = run.queue.leases()
    run.work.settle(lease, outcome(status))
    assert run.finished == []
    while (lease := run.claim()).key != key:
        pass
    run.work.settle(lease, outcome(status))
    assert [(episode.instance.key, episode.attempt) for episode in run.finished] == [(key, 2)]
    assert run.queue.counts()[State.ABSTAINED] == 1


def test_an_outcome_that_comes_too_late_is_nobodys(offered: Any) -> None:
    """Another has the item: nothing is told and nothing is changed."""
    run = offered()
    lease = run.claim()
    run.queue.release(lease)
    run.work.settle(lease, outcome("completed"))
    run.work.settle(lease, outcome("env_error"))
    assert run.finished == []
    assert run.queue.counts()[State.PENDING] == 4


def test_when_the_time_is_over_nothing_is_begun_and_nobody_is_waited_for(offered: Any) -> None:
    """What others work on comes to its end with them."""
    run = offered(until=time.monotonic() - 1.0)
    assert run.work.claim(OWNER, None) is None
    run.queue.claim(Owner.here())
    assert not run.work.others_hold_leases()
    assert run.queue.counts()[State.PENDING] == 3


def test_where_time_may_run_out_the_declared_order_is_kept(offered: Any) -> None:
    """What is done then is a balanced prefix, whatever env is open."""
    run = offered(until=time.monotonic() + 1000, in_order=True)
    claimed = [run.work.claim(OWNER, "unit/a") for _ in range(4)]
    assert [lease.position for lease in claimed if lease] == [0, 1, 2, 3]


def test_in_this_process_every_episode_is_run_once(offered: Any) -> None:
    """One after the other; each attempt is told of before it begins."""
    run = offered()
    executor = run.in_process(closes_agent=True)
    executor.execute(run.work)
    executor.close()
    assert {key for key, _, _ in run.started} == {item.key for item in run.plan.declared}
    assert {attempt for _, attempt, _ in run.started} == {1}
    assert run.queue.counts()[State.DONE] == 4
    assert executor.agent.closed == 1  # type: ignore[attr-defined]
    executor.close()
    assert executor.agent.closed == 1  # type: ignore[attr-defined]


def test_an_interruption_gives_the_item_back(offered: Any) -> None:
    """At its old place and without a failure; the attempt's number is not given again."""
    asked = iter([False] * 4)
    run = offered(stop=lambda: next(asked, True))
    with pytest.raises(KeyboardInterrupt):
        run.in_process().execute(run.work)
    assert run.queue.leases() == ()
    assert run.queue.counts() == {State.PENDING: 4, State.LEASED: 0, State.DONE: 0, State.ABSTAINED: 0}
    assert run.claim().attempt == 2


def test_an_error_that_ends_the_run_gives_the_item_back(offered: Any) -> None:
    """A trace that cannot be written is no outcome."""
    run = offered()
    run.run.episodes.rmdir()
    with pytest.raises(EvalError, match="cannot write the trace"):
        run.in_process().execute(run.work)
    assert run.queue.counts()[State.PENDING] == 4


class Limiting(FunctionAgent):
    """Lets files grow up to so many bytes, and nobody lifts that but who may."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def open_episode(self, instance: Any, instruction: str, seed: int) -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return super().open_episode(instance, instruction, seed)


@contextmanager
def files_of_any_size_after() -> Iterator[None]:
    """The limit of this process is what it was, before pytest writes a line more: its output may be a file too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_limit_on_files_that_no_trace_reaches_holds_for_its_episode_alone(offered: Any) -> None:
    """The queue, which is larger than a trace, can be written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    run = offered()
    with files_of_any_size_after():
        run.in_process(agent=Limiting(16384)).execute(run.work)
        assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    assert run.queue.counts()[State.DONE] == 4


def test_a_limit_on_files_that_a_trace_reaches_ends_the_run_with_what_is_to_be_done(offered: Any) -> None:
    """No disk is full: the error names what was found and the option that isolates it; the item is given back."""
    run = offered()
    message = "a limit on the size of files that it was not started with"
    with files_of_any_size_after(), pytest.raises(DisturbedTrace, match=message) as caught:
        run.in_process(agent=Limiting(100)).execute(run.work)
    assert "--workers 1" in caught.value.fix
    assert run.queue.counts()[State.PENDING] == 4


@pytest.mark.parametrize("size", [0, 16384])
def test_a_limit_on_files_that_the_system_does_not_lift_ends_the_run(
    offered: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the trace was written: the queue could not be. The lease stays with this process, and goes with it."""
    run = offered()
    monkeypatch.setattr(FileSizeLimit, "restore", lambda limit: limit == FileSizeLimit.now())
    with files_of_any_size_after(), pytest.raises(DisturbedTrace, match="a limit on the size of files") as caught:
        run.in_process(agent=Limiting(size)).execute(run.work)
    assert "--workers 1" in caught.value.fix
    assert len(run.queue.leases()) == 1


def test_closing_an_env_is_a_phase_of_its_own(tmp_path: Path) -> None:
    """Between two tasks and after a failure; a supervisor sees what hangs."""
    phases: list[str] = []
    run = RunFolder.at(tmp_path, "run")
    run.create()
    worker = Worker(
        env_factory=ScriptedEnv,
        env_options={},
        agent=FunctionAgent(),
        safety=None,
        run=run,
        benchmark=BENCHMARK,
        on_phase=phases.append,
    )
    worker.open(task("unit/a"))
    worker.open(task("unit/a"))
    worker.open(task("unit/b"))
    worker.close()
    worker.close()
    assert phases == ["make", "close", "make", "close"]


@pytest.mark.parametrize("error", [OSError("EGL_BAD_DISPLAY"), SystemExit("EGL_BAD_DISPLAY")], ids=["error", "exit"])
def test_an_env_that_raises_when_it_is_closed_changes_nothing(
    error: BaseException, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every outcome is on disk; what it raised is said."""

    class Raises(ScriptedEnv):
        def close(self) -> None:
            raise error

    worker = Worker(
        env_factory=Raises,
        env_options={},
        agent=FunctionAgent(),
        safety=None,
        run=RunFolder.at(tmp_path, "run"),
        benchmark=BENCHMARK,
    )
    worker.open(task("unit/a"))
    worker.close()
    assert f"closing the environment raised {type(error).__name__}: EGL_BAD_DISPLAY" in caplog.text


def test_an_agent_that_raises_when_it_is_closed_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Every outcome is on disk; what it raised is said."""

    class Raises(FunctionAgent):
        def close(self) -> None:
            raise OSError("the socket is gone")

    close_agent(Raises())
    assert "closing the agent raised OSError: the socket is gone" in caplog.text


@pytest.mark.parametrize("fsync", [False, True])
@pytest.mark.parametrize("made", [False, True])
def test_the_trace_waits_for_the_disk_when_asked(
    tmp_path: Path, fsync: bool, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also that of an episode whose environment could not be made."""

    def unmakeable(spec: Any) -> Any:
        raise OSError("no display")

    forced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: forced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    run = RunFolder.at(tmp_path, "run")
    run.create()
    worker = Worker(
        env_factory=ScriptedEnv if made else unmakeable,
        env_options={},
        agent=FunctionAgent(),
        safety=None,
        run=run,
        benchmark=BENCHMARK,
        fsync=fsync,
    )
    plan = plan_run(benchmark())
    result = worker.attempt(plan.instance(plan.declared[0].key), 1)
    assert (result.end.status.value == "env_error") is not made
    assert forced == ([f"{result.path}.partial"] if fsync else [])
