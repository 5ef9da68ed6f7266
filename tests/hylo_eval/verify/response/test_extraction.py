"""Recovery of the object, apart from the format, and the searches it rests on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify import (
    evaluate_trace_response_format,
    extract_trace_answer_for_scoring,
    extract_trace_prediction,
)
from hylo_eval.verify.response import spans
from hylo_eval.verify.response.spans import (
    BraceScan,
    code_blocks,
    final_object_start,
    tagged_blocks,
)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ('{"answer": 9} no, {"answer": 4}', 4),
        ('{"answer": 9} no, {"answer": 4} end', 4),
        ('{"answer": 9} {"answer": 4} {"answer": 9} end', 4),
        ('<answer>{"answer": 9}</answer> {"answer": 4} end', 4),
        ('{"answer": 4} <answer>{"answer": 9}</answer>', 4),
        ('<Answer>{"answer": 4}</ANSWER> end', 4),
        ('```\n{"answer": 4}\n``` end', 4),
        ('```\nwork {"n": 1}\n{"answer": 4} {"answer": 9}\n```', 9),
        ('```\nit is {"answer": 4} {"answer": 9}\n```', 4),
        ('a 5" peg: {"answer": 4} end', 4),
        ('the "{" sign: {"answer": 4} end', 4),
        ('a stray { then {"answer": 4} end', 4),
        ('[{"answer": 4}]', 4),
        ('{"answer": {"a": "}"}} end', {"a": "}"}),
        ('{"\\u0061nswer": 4} end', 4),
    ],
)
def test_the_last_place_wins_and_equal_texts_count_once(response, answer):
    """Places are tried from the last to the first, each text at its first place."""
    assert extract_trace_prediction(response) == (answer, None, True)


@pytest.mark.parametrize(
    "response",
    [
        "",
        "4",
        "<answer>4</answer>",
        '{"reply": {"answer": 4}}',
        '{"answer": 4',
        '{"reply": {"answer": 4} x',
        "{answer: 4}",
    ],
)
def test_nothing_is_found(response):
    """Atomic text, nested objects and broken ones are no object."""
    assert extract_trace_prediction(response) == (None, None, False)


def test_answer_for_scoring_is_text():
    """Text stays, other values are JSON, and without an answer there is None."""
    assert extract_trace_answer_for_scoring('{"answer": " Left "}') == " Left "
    assert extract_trace_answer_for_scoring('{"answer": [1.0, "B"]}') == '[1,"b"]'
    assert extract_trace_answer_for_scoring('{"annotation": []}') is None


def test_format_report():
    """The report names the text the response ends with and what it holds."""
    report = evaluate_trace_response_format('so {"answer": 4}', trace_reward_mode="answer")
    assert report["format"] == 1.0
    assert (report["answer_block"], report["payload"]) == ('{"answer": 4}', {"answer": 4})
    with pytest.raises(ValueError, match="trace_reward_mode"):
        evaluate_trace_response_format("", trace_reward_mode="both")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("{}", 0),
        ("a {b {c}}", 2),
        ('{"}": "{"}', 0),
        ('{"a": "\\"}"}', 0),
        ('{"a": "\\\\"}', 0),
        ('5" {"a": 1}', 3),
        ("x { y {z}", 6),
        ("}", -1),
        ("a}}", -1),
        ("{a", -1),
    ],
)
def test_start_of_the_final_object(text, start):
    """The matching brace is found from the end, whatever stands before it."""
    assert final_object_start(text) == start


def test_blocks_and_tags_pair_from_the_left():
    """Fences pair in order; a tag opens once; what is not closed is none."""
    assert list(code_blocks("```json\na\n``` x ```JSON b``` ```c")) == ["a", "b"]
    assert list(tagged_blocks("<answer>a<answer>b</answer></answer><ANSWER>c</Answer><answer>d")) == [
        "a<answer>b",
        "c",
    ]


def flat_objects(text):
    """The outermost balanced braces of text without quotes and backslashes, counted by hand."""
    objects, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "{":
            start = index if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                objects.append(text[start : index + 1])
    return objects if depth == 0 else None


@given(st.text("{} a\n", max_size=30))
def test_balanced_objects_are_those_of_a_count(text):
    """Where every brace closes, the scan finds what counting finds."""
    expected = flat_objects(text)
    if expected is not None:
        assert BraceScan(text, with_key_only=False).objects() == expected


@given(st.lists(st.sampled_from(["{", "}", '"', "\\", "\n", "answer", ":", " ", "'"]), max_size=24).map("".join))
def test_leaving_out_keyless_braces_loses_no_key(text):
    """The quick scan finds every flat object with a key that the full scan finds."""
    full = BraceScan(text, with_key_only=False).objects()
    quick = BraceScan(text, with_key_only=True).objects()
    assert set(quick) <= set(full)
    assert {item for item in full if '"answer":' in item} <= set(quick)


@given(st.text(st.sampled_from('{}"\\\n,x'), max_size=16).map(lambda text: text + "}"))
def test_an_object_without_objects_inside_is_found_as_any_other(text):
    """The short way to the start of a flat object leads where the scan from the end leads."""
    start = final_object_start(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "_is_plain", lambda *_: False)
        assert final_object_start(text) == start
