"""Where an episode's answer stands, and what its absence means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval import EvalError
from hylo_eval.verify.file_ops.reading import MAX_ANSWER_BYTES
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.trace_answer import AnswerPlace, AnswerSource, failed_behaviour
from tests.answered import answered, episode, step
from tests.strategies import json_values

REPLY = {"text": "C", "choices": [{"text": "D"}], "calls": [{"name": "grasp", "arguments": {"width": 1.0}}], "no": None}
TRACE = episode(
    step(0, "first", reply={"text": "A"}, note="early"),
    step(1, "second", reply=REPLY, note="late"),
    step(2, "last", inference=False, note="latest"),
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("action", "last"),
        ("reply:text", "C"),
        ("reply:choices.0.text", "D"),
        ("reply_json:calls", '[{"name": "grasp", "arguments": {"width": 1.0}}]'),
        ("reply_json:text", '"C"'),
        ("observation:note", "latest"),
    ],
)
def test_an_answer_is_read_where_the_source_says(source, text):
    """From the last action, the last reply (not the last step's, which came from the chunk) or observation."""
    parsed = AnswerSource.parse(source)
    assert parsed.read(TRACE) == text
    assert str(parsed) == source


@pytest.mark.parametrize(
    ("source", "status", "error_type"),
    [
        ("reply:no", "scored", "no_output"),
        ("reply_json:no", "scored", "no_output"),
        ("reply:absent", "infra_error", "not_recorded"),
        ("reply:choices.1.text", "infra_error", "not_recorded"),
        ("reply:choices.-1.text", "infra_error", "not_recorded"),
        ("reply:text.upper", "infra_error", "not_recorded"),
        ("reply:calls", "infra_error", "invalid_capture"),
        ("observation:absent", "infra_error", "not_recorded"),
    ],
)
def test_no_answer_is_a_zero_only_when_the_agent_says_so(source, status, error_type):
    """A null is the agent's; a member that is not there may be a mistyped path, and is masked."""
    failure = AnswerSource.parse(source).read(TRACE)
    assert not isinstance(failure, str)
    assert (failure.verdict.status, failure.error_type) == (status, error_type)
    assert failure.verdict.reward == 0.0


def test_an_action_of_numbers_is_no_text():
    """The task has no text actions: nothing the agent did wrong."""
    failure = AnswerSource().read(answered([0.0, 1.0]))
    assert not isinstance(failure, str)
    assert failure.error_type == "invalid_capture"


def test_an_earlier_reply_does_not_stand_in_for_the_last():
    """The last reply has no metadata, so there is no answer."""
    trace = episode(step(0, "x", reply={"text": "C"}), step(1, "y"))
    failure = AnswerSource.parse("reply:text").read(trace)
    assert not isinstance(failure, str)
    assert failure.error_type == "not_recorded"


def test_an_answer_reads_as_its_file_would():
    """Lines end alike on every system, and lone surrogates are replaced."""
    assert AnswerSource().read(answered("a\r\nb\rc\ud800")) == "a\nb\nc?"


def test_an_oversized_answer_is_a_zero():
    """As an oversized file is; the largest accepted one is read."""
    assert AnswerSource().read(answered("a" * MAX_ANSWER_BYTES)) == "a" * MAX_ANSWER_BYTES
    failure = AnswerSource().read(answered("é" * (MAX_ANSWER_BYTES // 2) + "a"))
    assert not isinstance(failure, str)
    assert (failure.verdict.status, failure.error_type) == ("scored", "output_too_large")


@given(json_values.filter(lambda value: value is not None))
def test_a_decoded_value_survives_as_json(value):
    """What the mode decodes is what the reply held, down to 1 against 1.0."""
    text = AnswerSource.parse("reply_json:v").read(episode(step(0, "x", reply={"v": value})))
    assert isinstance(text, str)
    assert repr(decode_json(text)) == repr(value)


@pytest.mark.parametrize("value", [float("nan"), object(), {1: [float("inf")]}])
def test_a_value_that_is_no_json_is_masked(value):
    """The trace file cannot hold it, so nobody's answer is this."""
    failure = AnswerSource.parse("reply_json:v").read(episode(step(0, "x", reply={"v": value})))
    assert not isinstance(failure, str)
    assert failure.verdict.status == "infra_error"


@pytest.mark.parametrize("text", ["", "actions", "action:x", "reply", "reply:", "reply:a..b", "observation:", "file:x"])
def test_a_source_that_says_nothing_is_refused(text):
    """With the list of what there is, or what is missing."""
    with pytest.raises(EvalError, match="answer source"):
        AnswerSource.parse(text)


@given(st.sampled_from(["reply", "reply_json"]), st.lists(st.text("ab0.", min_size=1), min_size=1, max_size=3))
def test_no_path_makes_reading_fail(place, names):
    """Whatever the path, the outcome is a text or a typed failure."""
    path = ".".join(names)
    if all(path.split(".")):
        read = AnswerSource(AnswerPlace(place), path).read(episode(step(0, "x", reply={"a": [{"b": "t"}]})))
        assert isinstance(read, str) or read.error_type in ("not_recorded", "invalid_capture")


@pytest.mark.parametrize("status", ["completed", "safety_abort", "sim_unstable", "agent_error", None])
def test_a_stopped_episode_is_a_failure_by_itself(status):
    """Only the two outcomes that are the agent's behaviour."""
    expected = status if status in ("safety_abort", "sim_unstable") else ""
    assert failed_behaviour(answered("x", status=status)) == expected
