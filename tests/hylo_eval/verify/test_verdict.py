"""The verdict: which values are one, and what becomes of the others."""

import math

import pytest

from hylo_eval.verify.verdict import (
    Reward,
    Status,
    infra_error,
    invalid_task,
    malformation,
    scored,
    validated,
    zero,
)


@pytest.mark.parametrize(
    "verdict",
    [
        scored(1),
        scored(0.25, note="half of a half"),
        zero("no_output"),
        invalid_task("no key"),
        infra_error("down", at=3),
    ],
)
def test_what_the_constructors_build_is_well_formed(verdict):
    """Every verdict built by the layer's own functions can be recorded as it is."""
    assert malformation(verdict) is None
    assert validated(verdict) is verdict


@pytest.mark.parametrize(
    "verdict",
    [
        None,
        1.0,
        {"reward": 1.0},
        Reward(1.5),
        Reward(-0.1),
        Reward(math.nan),
        Reward(math.inf),
        Reward(reward=True),
        Reward("1"),
        Reward(1.0, "scored"),
        Reward(0.5, Status.INVALID_TASK),
        Reward(1.0, Status.INFRA_ERROR),
        Reward(1.0, Status.SCORED, ["detail"]),
        Reward(1.0, Status.SCORED, {"value": math.nan}),
        Reward(1.0, Status.SCORED, {"value": object()}),
        Reward(10**400, Status.SCORED),
    ],
)
def test_a_malformed_verdict_becomes_an_infrastructure_error(verdict):
    """Nothing but a finite reward in [0, 1] with a JSON detail is recorded; no credit survives otherwise."""
    assert malformation(verdict)
    replaced = validated(verdict)
    assert (replaced.status, replaced.reward) == (Status.INFRA_ERROR, 0.0)


def test_a_detail_nested_beyond_json_is_malformed():
    """A detail that the JSON encoder cannot walk is refused instead of ending the grader."""
    detail = {}
    for _ in range(100_000):
        detail = {"deeper": detail}
    problem = malformation(Reward(1.0, Status.SCORED, detail))
    assert problem is not None
    assert "not JSON" in problem
    while detail:
        detail = detail.pop("deeper")
