"""One verdict out of the verdicts of components."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.aggregation import Aggregation, aggregate_rewards
from hylo_eval.verify.verdict import Reward, Status, infra_error, invalid_task, scored

rewards = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Aggregation.ALL, 0.0),
        (Aggregation.MEAN, 0.75),
        (Aggregation.MAX, 1.0),
        (Aggregation.MIN, 0.5),
        (Aggregation.PRODUCT, 0.5),
    ],
)
def test_each_policy_combines_a_whole_and_a_half(policy, expected):
    """1 and 1/2: not all, 3/4 on average, 1 at best, 1/2 at worst, 1/2 as a product."""
    verdict = aggregate_rewards([scored(1.0), scored(0.5)], expected_total=2, policy=policy)
    assert (verdict.status, verdict.reward) == (Status.SCORED, expected)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Aggregation.ALL, 0.0),
        (Aggregation.MEAN, 0.25),
        (Aggregation.MAX, 1.0),
        (Aggregation.MIN, 0.0),
        (Aggregation.PRODUCT, 0.0),
    ],
)
def test_missing_components_count_as_zero(policy, expected):
    """One full component of four required ones earns no more than the three missing zeros allow."""
    verdict = aggregate_rewards([scored(1.0)], expected_total=4, policy=policy)
    assert verdict.reward == expected
    assert verdict.detail["missing"] == 3


@pytest.mark.parametrize("total", [10**30, 10**400])
@pytest.mark.parametrize("policy", Aggregation)
def test_the_missing_components_are_never_written_out(policy, total):
    """However many components a task requires, one full one earns its share: next to nothing but at its best."""
    verdict = aggregate_rewards([scored(1.0)], expected_total=total, policy=policy)
    assert verdict.status is Status.SCORED
    expected = {Aggregation.MAX: 1.0, Aggregation.MEAN: 1e-30 if total == 10**30 else 0.0}.get(policy, 0.0)
    assert verdict.reward == pytest.approx(expected, rel=1e-15, abs=0.0)
    assert verdict.detail["missing"] == total - 1


@pytest.mark.parametrize("policy", Aggregation)
def test_no_component_at_all_earns_nothing(policy):
    """Two missing components are two zeros."""
    assert aggregate_rewards([], expected_total=2, policy=policy).reward == 0.0


def test_infrastructure_errors_come_before_invalid_tasks_and_before_credit():
    """Any unscored component discards the credit; the infrastructure error is the one reported."""
    verdicts = [scored(1.0), invalid_task("bad key"), infra_error("down")]
    verdict = aggregate_rewards(verdicts, expected_total=3, policy=Aggregation.MAX)
    assert (verdict.status, verdict.reward, verdict.detail["component"]) == (Status.INFRA_ERROR, 0.0, 2)
    verdict = aggregate_rewards(verdicts[:2], expected_total=3, policy=Aggregation.MAX)
    assert (verdict.status, verdict.detail["component"]) == (Status.INVALID_TASK, 1)


def test_a_malformed_component_is_an_infrastructure_error():
    """A reward outside [0, 1] is nobody's score."""
    verdict = aggregate_rewards([Reward(1.5), scored(1.0)], expected_total=2, policy=Aggregation.MAX)
    assert verdict.status is Status.INFRA_ERROR


@pytest.mark.parametrize("total", [0, -1, True, 2.0, "2", None])
def test_a_total_that_counts_nothing_is_the_tasks_fault(total):
    """The number of components is a positive integer."""
    assert aggregate_rewards([], expected_total=total, policy=Aggregation.ALL).status is Status.INVALID_TASK


def test_an_unknown_policy_and_too_many_verdicts_are_the_tasks_fault():
    """Neither is guessed around."""
    assert aggregate_rewards([], expected_total=1, policy="median").status is Status.INVALID_TASK
    many = [scored(1.0)] * 3
    assert aggregate_rewards(many, expected_total=2, policy=Aggregation.MEAN).status is Status.INVALID_TASK


def test_rounding_is_to_even_and_bounded():
    """Two thirds at two digits are 0.67; more than six digits are refused."""
    verdicts = [scored(1.0), scored(1.0)]
    rounded = aggregate_rewards(verdicts, expected_total=3, policy=Aggregation.MEAN, round_digits=2)
    assert rounded.reward == 0.67
    refused = aggregate_rewards(verdicts, expected_total=3, policy=Aggregation.MEAN, round_digits=7)
    assert refused.status is Status.INVALID_TASK


@given(rewards, st.sampled_from(Aggregation))
def test_the_order_of_components_does_not_matter(values, policy):
    """Aggregation is symmetric, and its result is a reward."""
    verdicts = [scored(value) for value in values]
    forward = aggregate_rewards(verdicts, expected_total=len(values), policy=policy).reward
    backward = aggregate_rewards(verdicts[::-1], expected_total=len(values), policy=policy).reward
    # Below the smallest normal float a product keeps fewer digits.
    assert math.isclose(forward, backward, rel_tol=1e-12, abs_tol=1e-300)
    assert 0.0 <= forward <= 1.0


@given(rewards)
def test_the_policies_are_ordered(values):
    """The product is at most the least, the least at most the mean, the mean at most the best."""
    verdicts = [scored(value) for value in values]
    product, least, mean, best = (
        aggregate_rewards(verdicts, expected_total=len(values), policy=policy).reward
        for policy in (Aggregation.PRODUCT, Aggregation.MIN, Aggregation.MEAN, Aggregation.MAX)
    )
    assert product <= least
    assert least <= mean + 1e-12
    assert mean <= best + 1e-12
