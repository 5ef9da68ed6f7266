"""Success latched over each chunk of actions: the verdict of the first success, and where its evaluator stops."""

import numpy as np
import pytest

from hylo_core.spec import AgentSpec
from hylo_eval import read_trace
from hylo_eval.rollout.episode import run_episode
from hylo_eval.scoring.success import SuccessOnce, SuccessPerChunk
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task


class ChunkAgent(FunctionAgent):
    """Replies with chunks of four actions."""

    def __init__(self):
        super().__init__(lambda observation, replies: np.full((4, 2), 0.1))
        self.spec = AgentSpec(chunk_length=4, replan=4)


def scored(tmp_path, success_at, **changes):
    """The score of an episode of ten steps in chunks of 4, 4 and 2."""
    spec = task(stop_on_success=False, **changes)
    result = run_episode(
        ScriptedEnv(success_at=success_at), ChunkAgent(), instance(spec=spec), trace_path=tmp_path / "trace.jsonl"
    )
    trace = read_trace(result.path)
    once = SuccessOnce().score(trace, trace.instance)
    score = SuccessPerChunk().score(trace, trace.instance)
    assert score.value == once.value
    return score


@pytest.mark.parametrize(
    ("success_at", "first", "stop"), [((0,), 1, 4), ((3,), 4, 4), ((4, 5), 5, 8), ((9,), 10, None)]
)
def test_it_is_latched_and_read_at_the_end_of_its_chunk(tmp_path, success_at, first, stop):
    """Success that is lost again within the chunk counts; the evaluator stops at the chunk's end."""
    score = scored(tmp_path, success_at)
    assert score.value == 1.0
    assert dict(score.metadata) == {"first_step": first, "steps": stop}


def test_no_success_is_a_failure_and_success_at_reset_an_abstention(tmp_path):
    """As for the first success."""
    (tmp_path / "a").mkdir()
    assert scored(tmp_path / "a", ()).value == 0.0
    assert scored(tmp_path, (-1,)).value is None
