"""What a worker does, read by another process from shared memory, and how long it may take."""

from __future__ import annotations

import os
import struct
import time

import pytest

from hylo_core.trace import PHASES, EpisodeStatus
from hylo_eval import EvalError
from hylo_eval.evaluation.phases import IDLE, Deadlines, PhaseBoard, blame_for_breach


@pytest.fixture
def board():
    """A board, closed at the end."""
    made = PhaseBoard.create()
    yield made
    made.close()


def test_a_board_is_read_through_another_descriptor(board: PhaseBoard) -> None:
    """As a supervisor reads what a worker wrote: phase, time of the shared clock, and a number that grows."""
    worker = PhaseBoard(os.dup(board.descriptor))
    assert (board.read().sequence, board.read().phase) == (0, IDLE)
    before = time.monotonic()
    for sequence, phase in enumerate((*PHASES, IDLE), 1):
        worker.enter(phase)
        reading = board.read()
        assert (reading.sequence, reading.phase) == (sequence, phase)
        assert before <= reading.since <= time.monotonic()
    worker.close()


def test_the_same_phase_entered_again_is_another_reading(board: PhaseBoard) -> None:
    """A worker that takes a thousand short steps is not one that hangs in a step."""
    board.enter("step")
    first = board.read()
    board.enter("step")
    assert board.read() != first
    assert board.read() == board.read()


@pytest.mark.parametrize("code", [-1, 1000, 2**62])
def test_what_nobody_wrote_is_idle(board: PhaseBoard, code: int) -> None:
    """The worker's memory is whatever its simulator left there."""
    os.pwrite(board.descriptor, struct.pack("=qdq", 1, 0.0, code), 0)
    assert board.read().phase == IDLE


@pytest.mark.parametrize("since", [float("nan"), float("inf"), 1e300])
def test_a_phase_that_began_later_than_now_began_long_ago(board: PhaseBoard, since: float) -> None:
    """A worker whose memory was written to is late at some time, whatever stands there."""
    os.pwrite(board.descriptor, struct.pack("=qdq", 1, since, 2), 0)
    assert board.read().since == 0.0
    assert board.read() == board.read()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files know no seals here")
def test_whoever_writes_to_any_descriptor_does_not_reach_the_board(board: PhaseBoard) -> None:
    """Nor can it be cut, which would kill the process that reads it next; both sides write on through their memory."""
    worker = PhaseBoard(os.dup(board.descriptor))
    worker.close_to_others()
    for change in (
        lambda: os.write(worker.descriptor, b"warning"),
        lambda: os.ftruncate(worker.descriptor, 0),
        lambda: os.ftruncate(worker.descriptor, 1 << 20),
    ):
        with pytest.raises(PermissionError):
            change()
    worker.enter("act")
    board.withdraw(3)
    assert (board.read().phase, worker.withdrawn()) == ("act", 3)
    worker.close()


def test_a_child_that_was_forked_writes_to_its_parents_board(board: PhaseBoard) -> None:
    """The memory is shared, not copied."""
    child = os.fork()
    if child == 0:
        board.enter("reset")
        os._exit(0)
    os.waitpid(child, 0)
    assert board.read().phase == "reset"


def test_every_phase_has_a_deadline_and_idleness_has_none() -> None:
    """What is not named on the command line belongs to the phase it is part of."""
    limits = Deadlines(make=1, reset=2, step=3, act=4, close=5)
    expected = {"make": 1, "reset": 2, "step": 3, "filter": 3, "record": 3, "open": 4, "act": 4, "close": 5}
    assert {phase: limits.of(phase) for phase in PHASES} == expected
    assert limits.of(IDLE) is None


@pytest.mark.parametrize("seconds", [0, -1.0, 1e-9, 0.19, float("inf"), float("nan")])
def test_a_deadline_is_a_number_of_seconds_that_can_be_held(seconds: float) -> None:
    """The error names the phase; what is shorter than a look at it would have no effect."""
    with pytest.raises(EvalError, match=r"deadline of act must be at least 0\.2 seconds"):
        Deadlines(act=seconds)


def test_only_the_agents_phases_are_the_agents_fault() -> None:
    """Everything else is infrastructure and is tried again."""
    assert {phase for phase in PHASES if blame_for_breach(phase) is EpisodeStatus.AGENT_ERROR} == {"open", "act"}
    assert {blame_for_breach(phase) for phase in PHASES} == {EpisodeStatus.AGENT_ERROR, EpisodeStatus.TIMEOUT}
