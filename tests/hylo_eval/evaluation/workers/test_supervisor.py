"""A worker process seen from its supervisor: what arrives of it, how long it may take, how it ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import attrs
import pytest

from hylo_core.trace import PHASES
from hylo_eval import EvalError
from hylo_eval.evaluation.phases import IDLE, Deadlines, PhaseBoard
from hylo_eval.evaluation.workers import supervisor
from hylo_eval.evaluation.workers.events import GarbledEvent
from hylo_eval.evaluation.workers.supervisor import STOP_SECONDS, WorkerProcess, describe_exit
from tests.episodes import instance, task
from tests.hylo_eval.evaluation.pretended import events_of, started
from tests.hylo_eval.evaluation.setups import recipe

WAITS = "signal.pause()"
SECOND = Deadlines(make=1, reset=1, step=1, act=1, close=1)


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    """With the option that chooses another; nothing stays open."""
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(EvalError, match="cannot be started: No such file") as caught:
        WorkerProcess(python=str(tmp_path / "none"), environment={}, name="worker-0")
    assert "--python" in caught.value.fix
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_events_arrive_whole_and_in_order(tmp_path: Path) -> None:
    """However the pipe cuts them; those sent before the end are not lost with it."""
    body = """
    for number in range(300):
        send(type="skipped", number=number, filler="x" * 1000)
    os.write(events, b'{"type":"cancel'); time.sleep(0.05); os.write(events, b'led"}\\n{"type":"half')
    """
    with started(tmp_path, body) as process:
        found = events_of(process)
    assert [event["number"] for event in found[:-1]] == list(range(300))
    assert found[-1] == {"type": "cancelled"}


@pytest.mark.parametrize("line", [b"no", b"", b'{"type":"gone"}', b'{"type":"ready"}', b"\xff", b"{" * 5000])
def test_what_is_no_event_is_refused(tmp_path: Path, line: bytes) -> None:
    """An agent may write to any descriptor; it is told apart from a worker that speaks."""
    with (
        started(tmp_path, f"os.write(events, {line!r} + b'\\n')") as process,
        pytest.raises(GarbledEvent, match="sent what is no event"),
    ):
        events_of(process)


def test_an_event_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not gathered until memory runs out."""
    monkeypatch.setattr(supervisor, "MAX_EVENT_BYTES", 1 << 20)
    body = "while True: os.write(events, b'x' * 65536)"
    with started(tmp_path, body) as process, pytest.raises(GarbledEvent, match="an event of more than"):
        events_of(process)


def test_what_is_printed_without_end_is_read_in_portions(tmp_path: Path) -> None:
    """The supervisor comes back to its deadlines, and the log ends somewhere; the last words are kept."""
    body = "while True: os.write(1, b'warning: nan\\n' * 5000)"
    with started(tmp_path, body) as process:
        process.log_to(tmp_path / "logs" / "worker-0.log")
        while not process.last_words():
            assert not process.ended(0.01)
            assert process.read_output()
        assert all(process.read_output() for _ in range(20))
        assert process.end().startswith("SIGKILL")
        assert "warning: nan" in process.last_words()
    assert b"warning: nan" in (tmp_path / "logs" / "worker-0.log").read_bytes()


def test_what_was_printed_before_there_was_a_log_stands_in_it(tmp_path: Path) -> None:
    """The run folder is made after the first worker is up."""
    with started(tmp_path, "print('loading', flush=True); print('done', file=sys.stderr, flush=True)") as process:
        assert process.ended(60)
        process.read_output()
        process.log_to(tmp_path / "logs" / "x.log")
    assert (tmp_path / "logs" / "x.log").read_text() == "loading\ndone\n"


def test_a_deadline_is_seen_twice_before_it_is_believed(tmp_path: Path) -> None:
    """A phase that changes between two looks is not the one that was late."""
    with started(tmp_path, WAITS) as process:
        process.board.enter("step")
        late = process.board.read().since + 1.5
        assert process.breach(SECOND, late) is None
        breach = process.breach(SECOND, late)
        assert breach is not None
        assert (breach.phase, breach.deadline, breach.seconds) == ("step", 1, pytest.approx(1.5))
        process.board.enter("step")
        assert process.breach(SECOND, process.board.read().since + 1.5) is None
        assert process.breach(SECOND, process.board.read().since + 0.5) is None


def test_an_interpreter_that_does_not_come_up_is_late_in_make(tmp_path: Path) -> None:
    """It has written nothing yet."""
    with started(tmp_path, WAITS) as process:
        looks = [process.breach(SECOND, process.started + 2) for _ in range(2)]
        assert looks[0] is None
        assert looks[1] is not None
        assert looks[1].phase == "make"


def test_a_worker_that_does_not_begin_what_it_was_given_is_late_in_make(tmp_path: Path) -> None:
    """Also where it wrote that it is idle after it was told: it may hang between the two."""
    with started(tmp_path, WAITS) as process:
        worker = PhaseBoard(os.dup(process.board.descriptor))
        worker.enter(IDLE)
        assert [process.breach(SECOND, time.monotonic() + 100) for _ in range(2)] == [None, None]
        process.assign((instance(), 1))
        worker.enter(IDLE)
        assert process.doing().phase == "make"
        looks = [process.breach(SECOND, process.doing().since + 1.5) for _ in range(2)]
        assert looks[1] is not None
        worker.enter("act")
        assert process.doing().phase == "act"
        worker.close()


def test_a_worker_that_has_said_what_came_of_it_is_idle_again(tmp_path: Path) -> None:
    """Nothing is expected of it until it is given something."""
    with started(tmp_path, "next(commands()); send(type='cancelled')\n" + WAITS) as process:
        process.assign((instance(), 1))
        process.board.enter(IDLE)
        assert process.doing().phase == "make"
        while not list(process.receive()):
            assert not process.ended(0.01)
        assert process.doing().phase == IDLE


def test_time_in_which_the_supervisor_itself_was_stopped_is_not_counted(tmp_path: Path) -> None:
    """The whole machine may have slept: the phase begins now."""
    with started(tmp_path, WAITS) as process:
        process.board.enter("reset")
        woken = process.board.read().since + 1000
        process.give_time(woken)
        assert [process.breach(SECOND, woken + 0.5) for _ in range(2)] == [None, None]
        assert process.breach(SECOND, woken + 1.5) is not None


@pytest.mark.parametrize("phase", sorted(PHASES))
def test_a_worker_that_was_interrupted_has_no_long_time_to_get_to_a_step(tmp_path: Path, phase: str) -> None:
    """Imports, envs and resets may take minutes, and nothing is lost with them; a step, a reply, a close is waited for."""
    with started(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS) as process:
        process.board.enter(phase)
        later = time.monotonic() + STOP_SECONDS + 5
        assert [process.breach(Deadlines(), later) for _ in range(2)] == [None, None]
        process.ask_to_stop(interrupt=True)
        assert [process.breach(Deadlines(), time.monotonic()) for _ in range(2)] == [None, None]
        assert bool(process.breach(Deadlines(), later)) == (phase in {"make", "reset", "open"})


def test_what_a_worker_has_started_ends_with_it(tmp_path: Path) -> None:
    """The group is killed, also when its first process has ended by itself; how that one ended is said."""
    body = """
    child = os.fork()
    if child == 0:
        signal.pause()
    print(child, flush=True)
    os._exit(7)
    """
    with started(tmp_path, body) as process:
        assert process.ended(60)
        assert process.exited()
        process.read_output()
        child = int(process.last_words())
        os.kill(child, 0)
        assert process.end() == "exit code 7"
        assert process.end() == "exit code 7"
        until = time.monotonic() + 60
        while Path("/proc", str(child)).exists() and b"Z" not in Path("/proc", str(child), "stat").read_bytes():
            assert time.monotonic() < until
            time.sleep(0.005)


def test_a_command_to_a_worker_that_is_gone_raises_nothing(tmp_path: Path) -> None:
    """That it is gone is noticed where its events end."""
    with started(tmp_path, "") as process:
        assert process.ended(60)
        process.set_up(recipe(tmp_path), task())
        process.assign((instance(), 1))
        process.ask_to_stop(interrupt=True)
        assert events_of(process) == []


def test_a_task_is_sent_once(tmp_path: Path) -> None:
    """Its episodes name it; another version of the same id is not confused with it within a run."""
    body = "for command in commands(): send(type='skipped', number=1, command=command)"
    with started(tmp_path, body) as process:
        for seed in (1, 2):
            process.assign((instance(seed=seed), 1))
        process.assign((attrs.evolve(instance(), spec=task("unit/other")), 3))
        process.ask_to_stop()
        heard = [event["command"] for event in events_of(process)]
    assert [(item["type"], item.get("task"), item.get("attempt")) for item in heard] == [
        ("task", None, None),
        ("episode", "unit/task", 1),
        ("episode", "unit/task", 1),
        ("task", None, None),
        ("episode", "unit/other", 3),
    ]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-signal.SIGSEGV, "SIGSEGV"),
        (-signal.SIGKILL, "SIGKILL (the system's memory may have run out)"),
        (-200, "signal 200"),
    ],
)
def test_an_exit_code_is_described_in_words(code: int, words: str) -> None:
    """Signals have names."""
    assert describe_exit(code) == words
