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
