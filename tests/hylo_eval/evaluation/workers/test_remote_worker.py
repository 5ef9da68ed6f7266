"""A seat on another machine, with pretended workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs

from hylo_eval.evaluation.phases import PHASE_NAMES, Deadlines
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP
from hylo_eval.evaluation.workers.remote_worker import RemoteWorker
from tests.episodes import instance, task
from tests.hylo_eval.evaluation.pretended import EPISODES, interpreter
from tests.hylo_eval.evaluation.setups import recipe


@contextmanager
def seat(folder: Path, does: str) -> Iterator[RemoteWorker]:
    """A worker that is ready."""
    python = interpreter(folder, EPISODES + does)
    deadlines = attrs.asdict(Deadlines())
    worker = RemoteWorker(recipe(folder).to_dict(), python=python, environment={}, deadlines=deadlines, name="actor-0")
    try:
        assert worker.set_up(task().to_dict())["type"] == "ready"
        yield worker
    finally:
        worker.close()


def test_a_signal_that_the_seat_did_not_get_is_a_loss(tmp_path: Path) -> None:
    """An agent that signals its own process is no operator: given back, its episode would be begun for ever."""
    with seat(tmp_path, "send(type='cancelled'); sys.exit()") as worker:
        event = worker.run(instance().to_dict(), 1)
        assert (event["type"], event["what"]) == ("lost", TOLD_TO_STOP)
        # The next episode has a worker again.
        assert worker.run(instance(seed=4).to_dict(), 1)["type"] == "lost"


def test_a_worker_that_was_started_for_an_episode_says_what_it_has_made(tmp_path: Path) -> None:
    """Another node may hold another file of the agent or the environment: its episodes are of another run."""
    with seat(tmp_path, "outcome(command)") as worker:
        assert "made" not in worker.run(instance().to_dict(), 1)
        worker.recycle()
        made = worker.run(instance(seed=4).to_dict(), 1)["made"]
        assert made["sources"] == ["", ""]
        assert made["agent"]["name"]


def test_what_is_interrupted_is_cancelled(tmp_path: Path) -> None:
    """The operator's wish costs no try."""
    with seat(tmp_path, "send(type='cancelled'); sys.exit()") as worker:
        worker.interrupt()
        assert worker.run(instance().to_dict(), 1) == {"type": "cancelled"}


def test_a_worker_that_hangs_before_its_first_step_is_not_waited_for(tmp_path: Path) -> None:
    """Whether it was told to stop while it made its env, or before there was anybody to tell."""
    with seat(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        while True: time.sleep(1)") as worker:
        with ThreadPoolExecutor(1) as threads:
            episode = threads.submit(worker.run, instance().to_dict(), 1)
            while worker.doing()["phase"] != "make":
                assert not episode.done()
            worker.interrupt()
            assert episode.result() == {"type": "cancelled"}
        assert worker.run(instance(seed=4).to_dict(), 1)["type"] == "cancelled"


def test_what_is_no_event_is_a_loss(tmp_path: Path) -> None:
    """Its agent may write to any descriptor; the seat has another worker for the next episode."""
    with seat(tmp_path, "os.write(events, b'warning: x\\n')") as worker:
        event = worker.run(instance().to_dict(), 1)
        assert (event["type"], event["phase"], event["what"]) == ("lost", "step", "sent what is no event")
        assert worker.run(instance(seed=4).to_dict(), 1)["type"] == "lost"


def test_a_worker_that_found_its_trace_disturbed_is_a_loss(tmp_path: Path) -> None:
    """As on this machine."""
    with seat(tmp_path, "send(type='disturbed', how='CLOSED')") as worker:
        event = worker.run(instance().to_dict(), 1)
        assert (event["type"], event["what"]) == ("lost", "found its trace closed")


def test_the_phase_is_told_while_an_episode_runs(tmp_path: Path) -> None:
    """By another thread than the one that waits for the episode; where there is no worker, nothing is done."""
    writes = "import mmap, struct\n        board = mmap.mmap(int(os.environ['HYLO_WORKER_BOARD']), 32)\n        "
    step = "board[:24] = struct.pack('=qdq', 1, time.monotonic() - 30, 6)\n        "
    waits = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.001)\n        outcome(command)"
    with seat(tmp_path, writes + step + waits) as worker, ThreadPoolExecutor(1) as threads:
        episode = threads.submit(worker.run, instance().to_dict(), 1)
        while worker.doing()["phase"] != PHASE_NAMES[6]:
            assert not episode.done()
        assert worker.doing()["seconds"] >= 0.0
        (tmp_path / "go").touch()
        assert episode.result()["type"] == "outcome"
        worker.recycle()
        assert worker.doing() == {"phase": "idle", "seconds": 0.0}
