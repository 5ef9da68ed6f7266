"""Scores read from grades, and the agreement of graders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import GradeEvent, Scorer
from hylo_eval import plugins
from hylo_eval.scoring.agreement import cohen_kappa, pairwise_agreement
from hylo_eval.scoring.graded import GradedSuccess, VerifierReward, judged_successes, success_of
from hylo_eval.scoring.intervals import wilson_interval
from tests.answered import answered

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def grade(grader: str, value: float | None, **members: Any) -> GradeEvent:
    """A grade."""
    return GradeEvent(grader=grader, value=value, **members)


def score(scorer: Any, *events: GradeEvent, **changes: Any) -> Any:
    """What a scorer says of an episode with these grades."""
    trace = answered("x", grades=events, **changes)
    return scorer.score(trace, trace.instance)


def test_the_reward_is_the_verifiers_latest_as_it_is() -> None:
    """Of any size; other graders do not matter."""
    assert (
        score(VerifierReward(), grade("verifier", 0.2), grade("verifier", -3.5), grade("operator", 1.0)).value == -3.5
    )


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((), "not_graded"),
        ((grade("operator", 1.0),), "not_graded"),
        ((grade("verifier", 1.0), grade("verifier", None, error="gone")), "infra"),
        ((grade("verifier", None),), "no_judgement"),
    ],
)
def test_a_verifier_that_failed_is_an_abstention(events: tuple[GradeEvent, ...], reason: str) -> None:
    """Never a zero, and no older reward in its stead."""
    found = score(VerifierReward(), *events)
    assert (found.value, found.metadata["reason"]) == (None, reason)


@pytest.mark.parametrize(
    ("value", "metadata", "success"),
    [
        (1.0, {}, True),
        (0.51, {}, True),
        (0.5, {}, False),
        (0.0, {}, False),
        (7.0, {"range": [0.0, 10.0]}, True),
        (5.0, {"range": [0.0, 10.0]}, False),
        (7.0, {}, None),
        (-0.1, {}, None),
        (0.7, {"range": [1, 0]}, True),
        (0.7, {"range": "wide"}, True),
    ],
)
def test_success_is_above_one_half_of_the_range(value: float, metadata: Any, success: bool | None) -> None:
    """Half done is not done; what lies outside the range says nothing."""
    assert success_of(grade("x", value, metadata=metadata)) is success
    assert success_of(grade("x", value, metadata=metadata, error="but")) is None
    found = score(GradedSuccess(), grade("x", value, metadata=metadata))
    assert found.value == (None if success is None else float(success))
    assert found.metadata.get("reason") == ("not_applicable" if success is None else None)


@pytest.mark.parametrize(
    ("events", "value", "reason"),
    [
        ((), None, "not_graded"),
        ((grade("a", 1.0), grade("b", 0.9)), 1.0, None),
        ((grade("a", 1.0), grade("b", 0.0)), None, "graders_disagree"),
        ((grade("a", 0.0), grade("a", 1.0)), 1.0, None),
        ((grade("a", 1.0), grade("b", None, error="gone")), 1.0, None),
        ((grade("a", 1.0), grade("b", None)), 1.0, None),
        ((grade("b", None, error="gone"),), None, "infra"),
        ((grade("b", None),), None, "no_judgement"),
    ],
)
def test_success_is_what_the_graders_agree_on(events: Any, value: float | None, reason: str | None) -> None:
    """The latest of each; without a usable grade, and where they differ, there is none."""
    found = score(GradedSuccess(), *events)
    assert (found.value, found.metadata.get("reason")) == (value, reason)


def test_one_graders_success_alone() -> None:
    """By its name."""
    scorer = GradedSuccess("a")
    assert scorer.name == "graded_success:a"
    assert score(scorer, grade("a", 1.0), grade("b", 0.0)).value == 1.0
    assert score(scorer, grade("b", 0.0)).metadata["reason"] == "not_graded"


@pytest.mark.parametrize("scorer", [VerifierReward(), GradedSuccess()])
def test_an_episode_without_behaviour_abstains_whatever_its_grades_say(scorer: Scorer) -> None:
    """As under every scorer; what a safety filter stopped is no success, though a judge liked it."""
    events = grade("verifier", 1.0)
    assert score(scorer, events, status="agent_error").metadata["reason"] == "agent_error"
    assert score(scorer, events, status="env_error").metadata["reason"] == "infra"
    assert score(GradedSuccess(), events, status="safety_abort").value == 0.0


def test_they_have_short_names() -> None:
    """And the bare names make them."""
    assert plugins.load("scorers", "verifier_reward") is VerifierReward
    assert plugins.load("scorers", "graded_success") is GradedSuccess


def test_kappa_of_a_known_table() -> None:
    """Cohen's kappa of 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, expected 0.5, so 0.4."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = cohen_kappa(pairs, graders=("a", "b"))
    assert found is not None
    assert (found.n, found.both_success, found.only_first, found.only_second, found.both_failure) == (50, 20, 5, 10, 15)
    assert found.observed == pytest.approx(0.7)
    assert found.expected == pytest.approx(0.5)
    assert found.kappa == pytest.approx(0.4)
    low, high = wilson_interval(35, 50) or (0.0, 0.0)
    assert found.interval == pytest.approx((2 * low - 1, 2 * high - 1))


@given(PAIRS)
def test_kappa_is_symmetric_bounded_and_inside_its_interval(pairs: list[tuple[bool, bool]]) -> None:
    """Swapping the graders, or success and failure, changes neither kappa nor interval."""
    found = cohen_kappa(pairs)
    assert found is not None
    swapped = cohen_kappa([(second, first) for first, second in pairs])
    negated = cohen_kappa([(not first, not second) for first, second in pairs])
    assert swapped is not None
    assert negated is not None
    if len(set(sum(pairs, ()))) == 1:
        assert (found.kappa, found.interval, swapped.kappa, negated.kappa) == (None, None, None, None)
        return
    assert found.kappa is not None
    assert found.interval is not None
    assert swapped.kappa == pytest.approx(found.kappa)
    assert negated.kappa == pytest.approx(found.kappa)
    assert -1.0 <= found.interval[0] <= found.kappa + 1e-12
    assert found.kappa - 1e-12 <= found.interval[1] <= 1.0
    assert (found.kappa == pytest.approx(1.0)) == all(first == second for first, second in pairs)


def test_full_agreement_of_few_is_not_certain() -> None:
    """Ten equal judgements leave an interval; the usual large-sample error would be zero."""
    found = cohen_kappa([(True, True)] * 5 + [(False, False)] * 5)
    assert found is not None
    assert found.kappa == 1.0
    assert found.interval is not None
    assert found.interval[0] < 0.5
    assert found.interval[1] == 1.0
    assert cohen_kappa([]) is None


def test_every_two_graders_are_compared_on_what_both_judged() -> None:
    """A failure, and a grade that says nothing, is no judgement."""
    episodes = [{"a": True, "b": True}, {"a": False}, {"b": True, "c": False}, {"a": True, "b": False, "c": True}]
    found = {agreement.graders: agreement.n for agreement in pairwise_agreement(episodes)}
    assert found == {("a", "b"): 2, ("a", "c"): 1, ("b", "c"): 2}
    trace = answered("x", grades=(grade("a", 1.0), grade("b", None, error="gone"), grade("c", 0.5)))
    assert judged_successes(trace) == {"a": True, "c": False}
