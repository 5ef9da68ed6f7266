"""Handing out episodes to worker processes: pretended ones that end, refuse or lie as a test says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError
from hylo_eval.evaluation.executor import Work
from hylo_eval.evaluation.phases import Deadlines
from hylo_eval.evaluation.worker import Episode
from hylo_eval.evaluation.workers import local_processes, lookahead
from hylo_eval.evaluation.workers.limits import WorkerLimits
from hylo_eval.evaluation.workers.local_processes import LocalProcesses
from hylo_eval.evaluation.workers.losses import MAX_FAILED_STARTS, MAX_LOST_IN_A_ROW
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP
from hylo_eval.queue import Ending, Item, Lease, RunQueue, State
from hylo_eval.traces.layout import RunFolder
from tests.episodes import task
from tests.hylo_eval.evaluation.pretended import EPISODES, interpreter
from tests.hylo_eval.evaluation.setups import plan, recipe, setup


class Executed:
    """An executor over a pretended interpreter, and a run of four episodes for it.

    Args:
        folder: For both.
        body: What the interpreter does.
        options: For the executor.
    """

    def __init__(self, folder: Path, body: str, *, max_attempts: int = 1000, **options: Any) -> None:
        self.run = RunFolder.at(folder, "run")
        self.run.create()
        self.plan = plan()
        self.queue = RunQueue.create(
            self.run.queue,
            config={},
            items=(Item(key=item.key, task=item.task, position=at) for at, item in enumerate(self.plan.declared)),
            max_attempts=max_attempts,
        )
        told: dict[str, Any] = {"workers": 1, "python": interpreter(folder, body), "limits": WorkerLimits(), **options}
        self.executor = LocalProcesses(recipe(self.run.path), **told)
        self.folder = folder
        self.finished: list[Episode] = []

    def prepare(self) -> Any:
        """Start the first worker."""
        return self.executor.prepare(task())

    def execute(self, **options: Any) -> None:
        """Work it off."""
        self.prepare()
        members: dict[str, Any] = {"queue": self.queue, "run": self.run, "instance": self.plan.instance}
        self.executor.execute(Work(**members, finished=self.finished.append, **options))

    def endings(self) -> Counter[Ending]:
        """How the attempts ended."""
        return Counter(attempt.ending for attempt in self.queue.attempts())


@pytest.fixture
def executed(tmp_path: Path):
    """Make an executor; its processes are gone at the end."""
    made: list[Executed] = []

    def make(body: str, **options: Any) -> Executed:
        made.append(Executed(tmp_path, body, **options))
        return made[-1]

    yield make
    for item in made:
        item.executor.close()
        item.queue.close()


def test_the_first_worker_says_what_the_run_is_made_of(executed: Any) -> None:
    """The supervisor imports no simulator: what stands in the manifest comes from the worker."""
    assert executed(EPISODES + "pass").prepare() == (setup(), ())


def test_a_worker_refuses_in_its_own_words(executed: Any) -> None:
    """With what mends it; nothing is tried again."""
    body = "next(commands()); send(type='refused', message='no such option', fix='leave it out'); time.sleep(60)"
    with pytest.raises(EvalError, match="no such option") as caught:
        executed(body).prepare()
    assert caught.value.fix == "leave it out"


def test_a_first_worker_that_dies_is_started_again(executed: Any, tmp_path: Path) -> None:
    """A simulator that crashes once while it starts is no reason to refuse the run."""
    body = f"path = {str(tmp_path / 'once')!r}\nif not os.path.exists(path):\n    open(path, 'w'); os.abort()\n"
    assert executed(body + EPISODES + "pass").prepare() == (setup(), ())


def test_a_first_worker_that_always_dies_is_a_refusal(executed: Any) -> None:
    """With how it ended and what it printed."""
    with pytest.raises(EvalError, match=rf"{MAX_FAILED_STARTS} times: exit code 9\nlibEGL.so is missing"):
        executed("print('libEGL.so is missing', flush=True); os._exit(9)").prepare()


def test_a_first_worker_that_does_not_come_up_is_a_refusal(executed: Any) -> None:
    """With the option that gives it longer."""
    limits = WorkerLimits(deadlines=Deadlines(make=0.2))
    with pytest.raises(EvalError, match=r"outlasted its deadline of 0\.2 s in make") as caught:
        executed("signal.pause()", limits=limits).prepare()
    assert "--deadline make=" in caught.value.fix


def test_a_stop_is_heard_while_the_first_worker_starts(executed: Any) -> None:
    """A simulator may take ten minutes to come up, or for ever."""
    with pytest.raises(KeyboardInterrupt):
        executed("signal.pause()", stop=lambda: True).prepare()


def test_every_episode_is_handed_out_once(executed: Any) -> None:
    """And each is told of when it has its outcome."""
    run = executed(EPISODES + "outcome(command)")
    run.execute()
    assert run.queue.counts()[State.DONE] == 4
    assert [episode.attempt for episode in run.finished] == [1] * 4


QUICK = "time.sleep(0.001); outcome(command, seconds=0.001)"


def test_short_episodes_are_handed_out_ahead_and_committed_together(executed: Any, tmp_path: Path) -> None:
    """A worker is given several in one go after its first; each has its outcome once, in the order they were given."""
    body = EPISODES + f"open({str(tmp_path / 'told')!r}, 'a').write(f'{{command[\"number\"]}}\\n'); " + QUICK
    run = executed(body)
    run.execute()
    assert run.endings() == {Ending.DONE: 4}
    assert (tmp_path / "told").read_text().split() == ["1", "2", "3", "4"]
    assert len({episode.instance.key for episode in run.finished}) == 4


def test_what_is_behind_a_long_episode_goes_back(executed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first was short, the second was not: others could have run what the worker holds. It begins none of it."""
    monkeypatch.setattr(lookahead, "STALLED_SECONDS", 0.1)
    monkeypatch.setattr(local_processes, "STALLED_SECONDS", 0.1)
    skip = "number = command['number']\n        if number in (3, 4): send(type='skipped', number=number); continue\n"
    does = skip + "        time.sleep(0.6 if number == 2 else 0.001); outcome(command, seconds=0.001)"
    run = executed(EPISODES + does)
    run.execute()
    assert run.endings() == {Ending.RELEASED: 2, Ending.DONE: 4}


def test_a_worker_that_dies_costs_the_episode_it_ran_and_not_those_behind_it(executed: Any, tmp_path: Path) -> None:
    """They were not begun: they go back, and no try of theirs is counted."""
    once = f"open({str(tmp_path / 'once')!r}, 'x')"
    does = (
        f"if command['number'] == 2:\n            try: {once}; os._exit(5)\n            except OSError: pass\n        "
    )
    run = executed(EPISODES + does + QUICK)
    run.execute()
    endings = run.endings()
    assert (endings[Ending.DONE], endings[Ending.RETRIED]) == (4, 1)


@pytest.mark.parametrize("limits", [{"recycle_after": 1}, {"max_rss_mb": 1}], ids=["episodes", "memory"])
def test_a_worker_alone_that_is_replaced_leaves_nothing_undone(
    executed: Any, tmp_path: Path, limits: dict[str, int]
) -> None:
    """While it closes its env nobody works; the run goes on with the next one."""
    body = f"open({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}}\\n')\n" + EPISODES
    run = executed(body + "outcome(command); send = lambda **_: None", limits=WorkerLimits(**limits))
    if "max_rss_mb" in limits:
        (tmp_path / "python").write_text(
            (tmp_path / "python").read_text().replace("resident_bytes=1", f"resident_bytes={2 << 20}")
        )
    run.execute()
    assert run.queue.counts()[State.DONE] == 4
    assert len(set((tmp_path / "pids").read_text().split())) == 4


def test_a_run_in_which_every_worker_is_lost_ends(executed: Any) -> None:
    """That is no single bad episode; nothing stays leased."""
    run = executed(EPISODES + "os._exit(5)")
    with pytest.raises(EvalError, match=f"{MAX_LOST_IN_A_ROW} workers in a row were lost") as caught:
        run.execute()
    assert "the last one died: exit code 5 in make" in caught.value.message
    assert run.endings() == {Ending.RETRIED: MAX_LOST_IN_A_ROW}
    assert run.queue.counts()[State.PENDING] == 4


def test_a_signal_that_the_run_did_not_get_is_that_attempts_loss(
    executed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that signals its own process is no operator: its episodes are abstained and the run comes to its end."""
    monkeypatch.setattr(local_processes, "SIGNAL_SECONDS", 0.0)
    run = executed(EPISODES + "send(type='cancelled'); sys.exit()", max_attempts=6)
    run.execute()
    assert run.endings() == {Ending.RETRIED: MAX_LOST_IN_A_ROW, Ending.ABSTAINED: 4}
    assert {attempt.outcome.error for attempt in run.queue.attempts()} == {f"step: WorkerLost: {TOLD_TO_STOP}"}


def test_a_signal_that_reaches_a_worker_before_the_run_is_the_operators(executed: Any) -> None:
    """A scheduler signals every process of a job, in any order; what was under way costs nothing."""
    told = iter([False] * 3)
    run = executed(EPISODES + "send(type='cancelled'); sys.exit()")
    with pytest.raises(KeyboardInterrupt):
        run.execute(stop=lambda: next(told, True))
    assert run.endings() == {Ending.RELEASED: 1}
    assert run.queue.counts()[State.PENDING] == 4


def test_a_death_is_seen_although_a_child_holds_the_pipes(executed: Any) -> None:
    """It is a lost worker, and not the agent's fault for being late."""
    does = "if os.fork() == 0: time.sleep(600)\n        os._exit(5)"
    run = executed(EPISODES + does, limits=WorkerLimits(deadlines=Deadlines(act=600)))
    with pytest.raises(EvalError, match="died: exit code 5"):
        run.execute()
    assert {attempt.outcome.status for attempt in run.queue.attempts()} == {"worker_lost"}


def test_a_fault_that_is_no_episodes_ends_the_run_and_releases_what_was_leased(executed: Any) -> None:
    """It is told in the worker's own words."""
    run = executed(EPISODES + "send(type='fault', message='the disk is full', fix='make room')")
    with pytest.raises(EvalError, match="the disk is full"):
        run.execute()
    assert run.endings() == {Ending.RELEASED: 1}
    assert run.queue.counts()[State.PENDING] == 4


TRACE = "'episodes/../../passwd'"
SHA = "'sha256:' + '0' * 64"


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("os.write(events, b'warning: x' * 9)", "sent what is no event"),
        ("os.write(events, bytes(range(256)))", "sent what is no event"),
        ("send(type='dance')", "sent what is no event"),
        ("send(type='gone')", "sent what is no event"),
        ("send(type='outcome')", "sent what is no event"),
        ("send(type='fault', message=3)", "sent what is no event"),
        ("send(type='skipped', number=1)", "sent the event 'skipped' where none belongs"),
        ("send(type='outcome', number=77, attempt=1, outcome={})", "sent the event 'outcome' where none belongs"),
        ("outcome(command, colour='red')", "sent an outcome that is none"),
        (f"outcome(command, trace={TRACE}, trace_sha256={SHA})", "sent an outcome that is none"),
        (f"outcome(command, trace='episodes/b.1.jsonl', trace_sha256={SHA})", "sent the outcome of another episode"),
        ("send(type='disturbed')", "sent what is no event"),
        ("send(type='disturbed', how='REMOVED')", "found its trace removed"),
    ],
)
def test_a_worker_that_says_what_it_must_not_is_lost_and_the_run_goes_on(
    executed: Any, tmp_path: Path, does: str, reason: str
) -> None:
    """What arrives from it may be its agent's. It costs one attempt, though the outcome follows in the same breath."""
    lies = (
        f"if command['seed'] == 0 and command['attempt'] == 1:\n            {does}; os.write(events, b'\\n')\n        "
    )
    run = executed(EPISODES + lies + "outcome(command)")
    run.execute()
    assert run.queue.counts()[State.DONE] == 4
    lost = [attempt for attempt in run.queue.attempts() if attempt.ending is Ending.RETRIED]
    assert [(attempt.outcome.status, attempt.outcome.error) for attempt in lost] == [
        ("worker_lost", f"step: WorkerLost: {reason}")
    ]
    assert len(run.finished) == 4


def test_outcomes_before_what_is_none_count(executed: Any) -> None:
    """They arrive together: the first is the episode's, what follows is nobody's."""
    does = "outcome(command)\n        if command['number'] == 1: os.write(events, b'warning: x\\n')"
    run = executed(EPISODES + does)
    run.execute()
    assert run.queue.counts()[State.DONE] == 4
    first = min(run.queue.attempts(), key=lambda attempt: attempt.position)
    assert (first.attempt, first.ending) == (1, Ending.DONE)
    assert len({episode.instance.key for episode in run.finished}) == 4


def test_a_first_worker_whose_descriptors_are_written_to_is_a_refusal(executed: Any) -> None:
    """An agent that does so while it is made is not one to evaluate; the reason is said."""
    with pytest.raises(EvalError, match=rf"{MAX_FAILED_STARTS} times: sent what is no event"):
        executed("os.write(events, b'warning: x\\n'); time.sleep(60)").prepare()


def test_what_was_handed_out_ahead_is_on_record_as_begun_with_the_outcome_before_it(
    executed: Any, tmp_path: Path
) -> None:
    """Else its loss would not be counted if everything ended now: the third episode ends only after it is on record."""
    waits = f"while command['number'] == 3 and not os.path.exists({str(tmp_path / 'begun')!r}): time.sleep(0.001)"
    run = executed(EPISODES + waits + "\n        " + QUICK, limits=WorkerLimits(deadlines=Deadlines(make=20)))
    begun: list[str] = []
    begin = run.queue.begin

    def spy(lease: Lease) -> None:
        begin(lease)
        begun.append(lease.key)
        (tmp_path / "begun").touch()

    run.queue.begin = spy
    run.execute()
    assert begun[0] == run.finished[2].instance.key


def test_a_worker_that_made_another_agent_is_refused(executed: Any, tmp_path: Path) -> None:
    """Its episodes would stand under a manifest that is not theirs."""
    first = f"""
    import pathlib
    made = pathlib.Path({str(tmp_path / "made")!r})
    for command in commands():
        if command["type"] == "setup":
            ready(command, dict(setup["agent"], version="2") if made.exists() else setup["agent"])
            made.touch()
        else:
            os._exit(1)
    """
    with pytest.raises(EvalError, match="made another agent than the first worker"):
        executed(first).execute()


def test_a_worker_that_found_other_files_is_refused(executed: Any, tmp_path: Path) -> None:
    """Where somebody edits agent or environment while a run goes on, the workers that are started later have both."""
    first = f"""
    import pathlib
    made = pathlib.Path({str(tmp_path / "made")!r})
    for command in commands():
        if command["type"] == "setup":
            ready(command, sources=("", "sha256:edited") if made.exists() else ("", ""))
            made.touch()
        else:
            os._exit(1)
    """
    with pytest.raises(EvalError, match="found another file of the agent, the environment or a safety filter"):
        executed(first).execute()


def test_a_stop_ends_what_does_not_end_by_itself(executed: Any) -> None:
    """A worker that ignores it is ended by the deadline of its phase, and its episode is given back."""
    asked = iter([False, False])
    does = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        while True: time.sleep(1)"
    run = executed(EPISODES + does, limits=WorkerLimits(deadlines=Deadlines(make=2)))
    with pytest.raises(KeyboardInterrupt):
        run.execute(stop=lambda: next(asked, True))
    assert run.endings() == {Ending.RELEASED: 1}


def test_there_is_at_least_one_worker(tmp_path: Path) -> None:
    """The error names the option."""
    with pytest.raises(EvalError, match="--workers must be at least 1, not 0"):
        LocalProcesses(recipe(tmp_path), workers=0, python="python", limits=WorkerLimits())
