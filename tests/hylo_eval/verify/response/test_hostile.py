"""Whatever a response holds: no exception, no NaN, every reward and flag in [0, 1]."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.verify import (
    evaluate_trace_response_format,
    extract_trace_answer_for_scoring,
    extract_trace_prediction,
    score_trace_response,
)
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS

SIZE = 200_000
ITEMS = {"bbox": [0, 0, 5, 5], "point": [1, 2], "segment": [[0, 0], [3, 4]]}
ANSWERS = [("integer", 3), ("string", "x"), ("index_list", {1, 2}), ("object", {"a": [1]})]
NOT_SHARES = ("_count", "_size", "_len", "_px")


KINDS = tuple(ANNOTATION_KINDS.values())


def check(response, kinds=KINDS, answers=tuple(ANSWERS)):
    evaluate_trace_response_format(response)
    extract_trace_prediction(response)
    extract_trace_answer_for_scoring(response)
    for kind in kinds:
        item = ITEMS[kind.shape]
        values = {"scalar": item, "map": {"a": item}, "set_map": {"a": [item, item]}}
        for answer_type, answer in answers:
            result = score_trace_response(
                response=response,
                answer_gt={"type": answer_type, "value": answer},
                annotation_gt={"type": kind.name, "value": values.get(kind.arrangement, [item, item])},
                reward_contract={"annotation": {"id": kind.contract_id, "type": kind.name}},
                format_weight=0.3,
            )
            for name, figure in result.items():
                assert math.isfinite(figure), name
                assert 0.0 <= figure <= 1.0 or name.endswith(NOT_SHARES), name


def repeated(piece):
    return piece * (SIZE // len(piece))


LONG = {
    "open braces": repeated("{"),
    "open objects": repeated('{"answer":'),
    "braces and quotes": repeated('{"'),
    "quotes by line": repeated('{"\n') + "}",
    "escaped quotes": '{"' + repeated('\\"') + "}",
    "backslashes": '{"answer":"' + repeated("\\") + '"}',
    "alternating braces": repeated("}{"),
    "flat objects": repeated('{"a"}') + "}",
    "broken objects": "".join(f'{{"answer": x{index}}} ' for index in range(SIZE // 20)),
    "broken literals": "".join(f"{{'answer': x{index}}} " for index in range(SIZE // 20)),
    "fence and spaces": "```" + repeated(" ") + "x",
    "fences": repeated("``` a "),
    "tags": repeated("<answer>"),
    "closed tags": repeated('<answer>{"answer":1}</answer>') + " end",
    "deep lists": '{"answer":' + repeated("[") + repeated("]") + "}",
    "deep block": "```" + repeated("[") + "```",
    "deep parentheses": "{'answer':" + "(" * 30_000 + ")" * 30_000 + "}",
    "signs": "{'answer': " + repeated("-") + "1}",
    "sums": "{'answer': " + "1+" * 30_000 + "1j}",
    "joined strings": "{'answer': " + "'a' " * 15_000 + "}",
    "unclosed literal": "{'answer':'" + "\\'" * 30_000 + "}",
    "huge integer": '{"answer":' + repeated("9") + "}",
    "huge hexadecimal key": "{'answer': 3, 'annotation': {0x" + "f" * 60_000 + ": [1, 2]}}",
    "many points": '{"answer": 3, "annotation": [' + "[1,2]," * 20_000 + "[1,2]]}",
    "many boxes": '{"answer": 3, "annotation": [' + "[1,2,3,4]," * 20_000 + "[1,2,3,4]]}",
    "many keys": '{"annotation": {' + ",".join(f'"k{index}":"[1,2"' for index in range(12_000)) + "}}",
    "noise": "".join(random.Random(0).choices("{}[]\"'\\,:`<>/answer \n0123456789", k=SIZE)),
}


@pytest.mark.parametrize("name", sorted(LONG))
def test_long_responses(name):
    """Repetition without end, nesting without end, and what almost parses."""
    check(
        LONG[name],
        kinds=(ANNOTATION_KINDS["point_set_map"], ANNOTATION_KINDS["bbox_set"]),
        answers=ANSWERS[:1],
    )


SHORT = [
    '{"answer": 3, "annotation": [1.7e308, -1.7e308, -1.7e308, 1.7e308]}',
    '{"answer": 3, "annotation": [0, 0, 5e-324, 5e-324]}',
    '{"answer": 3, "annotation": [0, 1e200]}',
    '{"answer": 3, "annotation": [[1e308, 1e308], [-1e308, 5], [1e200, -1e200]]}',
    '{"answer": 3, "annotation": [[[1e308, 1e308], [-1e308, 5]], [[1e200, 0], [0, 0]]]}',
    '{"answer": 3, "annotation": [[1e308, 1e308, -1e308, -1e308], [0, 0, 1e200, 1e200]]}',
    '{"answer": 3, "annotation": {"a": [1e308, -1e308]}}',
    '{"answer": Infinity, "annotation": [Infinity, NaN]}',
    '{"answer": 3, "annotation": [0, 1' + "0" * 400 + "]}",
    '{"answer": ' + "[" * 499 + "]" * 499 + "}",
    "{'answer': {1j, None}, 'annotation': {(1, 2): [1, 2]}}",
    "{'answer': {" + ",".join(str(index * (2**61 - 1)) for index in range(500)) + "}}",
    '\x00{"answer": "\\u0000"}\x00',
    '{"answer": "\\ud800"}',
    "{'answer': '\ud800'}",
    "\ud800\ufeff{}",
    "``````",
    "```",
    "```json```",
    '{"answer": "```"}\n```',
    "{{{}}}}}{{",
    '"',
    "\\",
]


@pytest.mark.parametrize("response", SHORT)
def test_short_responses(response):
    """Numbers at the ends of the floats, sets of anything, NUL, lone surrogates, lone fences."""
    check(response)


PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        "\\",
        "```",
        "json",
        "<answer>",
        "</answer>",
        ":",
        ",",
        " ",
        "\n",
    ),
    *('"answer"', '"annotation"', "'answer'", '{"answer":3}', "[1,2]"),
    *("1", "-", "1e308", "0x1", "NaN", "null", "None", "a"),
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60))
def test_any_text(response):
    """No text of any kind raises or leaves [0, 1]."""
    check(response, kinds=(ANNOTATION_KINDS["point_set_map"], ANNOTATION_KINDS["bbox_set"]))


NUMBERS = st.floats() | st.integers()
SHAPES = st.recursive(NUMBERS, lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=8)


@settings(max_examples=100, deadline=None)
@given(SHAPES | st.dictionaries(st.sampled_from("ab"), SHAPES))
def test_any_annotation(annotation):
    """No numbers, however large, small or not finite, raise or leave [0, 1]."""
    check(f'{{"answer": 3, "annotation": {annotation!r}}}', answers=ANSWERS[:1])


@settings(max_examples=50)
@given(st.text("{}\"'[]: ansWER\n`", max_size=30))
def test_prose_before_the_object_changes_nothing(prose):
    """Whatever stands in the lines before a final object, the object is scored and its format is right."""
    response = f'{prose}\nSo: {{"answer": 3, "annotation": [0, 0, 5, 5]}}'
    kind = ANNOTATION_KINDS["bbox"]
    result = score_trace_response(
        response=response,
        answer_gt={"type": "integer", "value": 3},
        annotation_gt={"type": "bbox", "value": [0, 0, 5, 5]},
        reward_contract={"annotation": {"id": kind.contract_id}},
    )
    assert (result["overall"], result["format"]) == (1.0, 1.0)
