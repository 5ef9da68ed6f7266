"""Preparing raw attempts for grading."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.preparation import (
    InvalidPreparation,
    PreparationCategory,
    PreparationError,
    PreparationFailure,
    TextNormalization,
    TextPolicy,
    episode_failure,
    prepare_text,
)
from hylo_eval.verify.verdict import InvalidTask, Status, malformation

EVERYTHING = {"ignore_case": True, "ignore_punctuation": True, "ignore_numbers": True}


@pytest.mark.parametrize(("status", "category"), list(itertools.product(Status, PreparationCategory)))
def test_only_the_agents_own_failure_is_a_scored_zero(status, category):
    """invalid_task stays, scored needs the agent, everything else is masked as an infrastructure error."""
    failure = PreparationFailure(status=status, category=category, error_type="x", message="it broke", stage="capture")
    expected = {
        (Status.SCORED, PreparationCategory.AGENT): Status.SCORED,
        (Status.INVALID_TASK, PreparationCategory.AGENT): Status.INVALID_TASK,
        (Status.INVALID_TASK, PreparationCategory.UNKNOWN): Status.INVALID_TASK,
    }.get((status, category), Status.INFRA_ERROR)
    assert (failure.verdict.status, failure.verdict.reward) == (expected, 0.0)
    assert malformation(failure.verdict) is None
    assert failure.verdict.detail["source_status"] == status


@given(st.text(), st.lists(st.text(), min_size=1), st.sampled_from(TextPolicy))
def test_the_raw_attempt_is_kept(candidate, references, policy):
    """Whatever the policy does, the captured texts and their order are still there."""
    prepared = prepare_text(candidate, references, TextNormalization(policy=policy))
    assert (prepared.raw.candidate, prepared.raw.references) == (candidate, tuple(references))


@given(st.text(), st.sampled_from([TextPolicy.EXACT_MATCH_V1, TextPolicy.COLLAPSED_V1]), st.booleans())
def test_normalisation_is_idempotent(text, policy, ignore):
    """Normalising twice is normalising once, for ASCII and beyond."""
    normalization = TextNormalization(policy=policy, ignore_punctuation=ignore, ignore_numbers=not ignore)
    once = normalization.apply(text)
    assert normalization.apply(once) == once


@given(st.text())
def test_identity_changes_nothing(text):
    """The policy identity is one."""
    assert TextNormalization().apply(text) == text


@pytest.mark.parametrize(
    ("policy", "options", "prepared"),
    [
        (TextPolicy.EXACT_MATCH_V1, {}, " The  Mug, No. 7! "),
        (TextPolicy.EXACT_MATCH_V1, {"ignore_case": True}, " the  mug, no. 7! "),
        (TextPolicy.EXACT_MATCH_V1, {"ignore_punctuation": True}, " The  Mug No 7 "),
        (TextPolicy.EXACT_MATCH_V1, {"ignore_numbers": True}, " The  Mug, No. ! "),
        (TextPolicy.COLLAPSED_V1, EVERYTHING, "the mug no"),
    ],
)
def test_each_option_removes_what_it_names(policy, options, prepared):
    """Case, punctuation and digits go one by one, on both sides alike."""
    text = " The  Mug, No. 7! "
    result = prepare_text(text, [text], TextNormalization(policy=policy, **options))
    assert (result.candidate, result.references) == (prepared, (prepared,))


@pytest.mark.parametrize("option", EVERYTHING)
def test_identity_refuses_options(option):
    """An option that would change nothing is refused."""
    with pytest.raises(InvalidTask, match="identity"):
        TextNormalization(**{option: True})


@pytest.mark.parametrize("references", [[], "text", ["a", 1], None])
def test_broken_references_are_the_tasks_defect(references):
    """They are reported before the candidate is looked at."""
    with pytest.raises(InvalidPreparation) as caught:
        prepare_text(None, references, TextNormalization())
    assert isinstance(caught.value, InvalidTask)
    assert caught.value.verdict.status is Status.INVALID_TASK


def test_no_answer_is_a_zero_and_a_wrong_capture_is_masked():
    """None is what the agent did; any other type is what the capture did."""
    with pytest.raises(PreparationError) as missing:
        prepare_text(None, ["a"], TextNormalization())
    assert (missing.value.verdict.status, missing.value.verdict.reward) == (Status.SCORED, 0.0)
    with pytest.raises(PreparationError) as wrong:
        prepare_text(b"a", ["a"], TextNormalization())
    assert wrong.value.verdict.status is Status.INFRA_ERROR


def test_episodes_are_graded_or_abstain_by_their_status():
    """Behaviour is graded; crashes of the agent or of the infrastructure abstain and are told apart."""
    assert [episode_failure(status) for status in ("completed", "safety_abort", "sim_unstable")] == [None] * 3
    for status, category in (("agent_error", "agent"), ("env_error", "unknown"), ("cancelled", "unknown")):
        failure = episode_failure(status, "the socket closed")
        assert failure is not None
        assert (failure.category, failure.error_type) == (category, status)
        assert failure.verdict.status is Status.INFRA_ERROR
        assert failure.verdict.detail["error"] == "the socket closed"
    with pytest.raises(ValueError, match="no status"):
        episode_failure("finished")
