"""The return."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hylo_eval.scoring.reward import RewardSum
from tests.episodes import ScriptedEnv


def test_the_return_is_the_exact_sum(traced: Any) -> None:
    """Ten rewards of 0.1 are 1, not 0.9999999999999999."""
    trace = traced(ScriptedEnv(on_step=lambda _: {"reward": 0.1}))
    assert RewardSum().score(trace, trace.instance).value == 1.0


@pytest.mark.parametrize(
    "said", [{"reward": math.nan, "unstable": "why"}, {"reward": math.inf, "unstable": "why"}, {"reward": 1.7e308}]
)
def test_a_return_that_is_no_number_is_an_abstention(traced: Any, said: dict[str, Any]) -> None:
    """Not finite, alone or in the sum."""
    trace = traced(ScriptedEnv(on_step=lambda _: dict(said)))
    score = RewardSum().score(trace, trace.instance)
    assert (score.value, score.metadata["reason"]) == (None, "not_finite")
