"""A seat on another machine, with pretended workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from hylo_eval.evaluation.lost_episode import TOLD_TO_STOP
from hylo_eval.evaluation.phases import Deadlines
from hylo_eval.evaluation.remote_worker import RemoteWorker
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


def test_what_is_interrupted_is_cancelled(tmp_path: Path) -> None:
    """The operator's wish costs no try."""
    with seat(tmp_path, "send(type='cancelled'); sys.exit()") as worker:
        worker.interrupt()
        assert worker.run(instance().to_dict(), 1) == {"type": "cancelled"}
