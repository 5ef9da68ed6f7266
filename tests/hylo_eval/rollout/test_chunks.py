"""The chunk buffer owns what it hands out."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from hylo_core import AgentSpec
from hylo_eval import Reply
from hylo_eval.errors import AgentError
from hylo_eval.rollout.chunks import ChunkBuffer, choice, takes_integers, volatile_of


def filled(actions: Any, *, replan: int = 1, integers: bool = False) -> ChunkBuffer:
    """A buffer for actions of two entries."""
    buffer = ChunkBuffer((2,), AgentSpec(chunk_length=8, replan=replan), integers=integers)
    buffer.fill(Reply(actions))
    return buffer


def test_an_agent_that_fills_its_buffer_again_changes_nothing_that_it_gave() -> None:
    """The rest of a chunk is executed as it was returned, whatever the agent writes into its own array later."""
    own = np.array([[1.0, 2.0], [3.0, 4.0]])
    buffer = filled(own, replan=2)
    own[:] = 9.0
    assert [buffer.pop().tolist(), buffer.pop().tolist()] == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("actions", [np.zeros(2), np.zeros((1, 2)), [0.0, 0.0]])
def test_what_an_action_is_cannot_be_written_to(actions: Any) -> None:
    """An environment that clips in place must not change what the trace says reached it."""
    with pytest.raises(ValueError, match="read-only"):
        filled(actions).pop()[0] = 1.0


@pytest.mark.parametrize("dtype", ["f2", ">f4", ">f8", "longdouble", "i1", "u1", "u8", ">i4"])
def test_odd_widths_and_integers_become_plain_floats(dtype: str) -> None:
    """An integer 0 clipped to 0.25 must not be cut back to 0 behind the filter."""
    action = filled(np.array([1, 0]).astype(dtype)).pop()
    assert (action.dtype, action.tolist()) == (np.float64, [1.0, 0.0])


def test_plain_floats_keep_their_width_and_integers_stay_where_they_are_asked_for() -> None:
    """A float32 policy is recorded in float32, the index of a choice as an index."""
    assert filled(np.zeros(2, np.float32)).pop().dtype == np.float32
    assert filled(np.zeros(2, np.int64), integers=True).pop().dtype == np.int64
    assert takes_integers(gymnasium.spaces.Discrete(3))
    assert not takes_integers(gymnasium.spaces.Box(-1, 1, (2,)))


def test_one_action_is_no_chunk_of_several() -> None:
    """An agent on record with a replan count of 2 is not asked at every step instead."""
    with pytest.raises(AgentError, match="the reply holds 1 action, fewer than the replan count 2"):
        filled(np.zeros(2), replan=2)


def test_a_masked_array_is_no_action() -> None:
    """What stands below a mask is nobody's intention."""
    with pytest.raises(AgentError, match="masked"):
        filled(np.ma.array([1.0, 2.0], mask=[True, False]))


@pytest.mark.parametrize("action", [7, -1, 0.5])
def test_a_choice_that_does_not_exist_is_the_agents_fault(action: float) -> None:
    """It never reaches the simulator, whose assertion would be counted as infrastructure."""
    with pytest.raises(AgentError, match=r"is not in Discrete\(2\)"):
        choice(gymnasium.spaces.Discrete(2), np.asarray(action))


def test_a_choice_is_handed_over_as_an_int() -> None:
    """As Gymnasium's Discrete wants it."""
    assert choice(gymnasium.spaces.Discrete(2), np.asarray(1)) == 1


def test_seconds_of_numpy_are_seconds() -> None:
    """They are measured with whatever clock the client has, and are written as a plain number."""
    kept = volatile_of(Reply(np.zeros(2), transport_seconds=np.float64(0.5)))
    assert type(kept["transport_seconds"]) is float


@pytest.mark.parametrize("seconds", [True, -1.0])
def test_seconds_are_no_flag_and_not_negative(seconds: Any) -> None:
    """Nothing is coerced in silence."""
    with pytest.raises(AgentError, match="transport_seconds"):
        volatile_of(Reply(np.zeros(2), transport_seconds=seconds))


def test_the_metadata_of_a_reply_is_a_mapping() -> None:
    """The trace's member ``reply`` has one shape."""
    with pytest.raises(AgentError, match="mapping"):
        volatile_of(Reply(np.zeros(2), metadata=[1]))  # type: ignore[arg-type]
