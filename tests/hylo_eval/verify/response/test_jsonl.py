"""The JSONL reader: what a line may hold, and errors that say where."""

import json

import pytest

from hylo_core.errors import ContractError
from hylo_eval.verify import score_trace_response
from hylo_eval.verify.response.jsonl import parse_response_records

LINE = {"image": "a.png", "prompt": "How many?", "answer": 3}


def parse(*records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return parse_response_records(lines, source="set.jsonl")


def test_plain_line():
    """A plain answer gets the type its JSON has; the id is the line number; blank lines are skipped."""
    first, second = parse(
        "", LINE, "  ", {**LINE, "id": 7, "image": ["a.png", "b.png"], "image_size": {"w": 4, "h": 3}}
    )
    assert (first.id, first.images, first.answer_gt) == ("2", ("a.png",), {"type": "integer", "value": 3})
    assert (first.annotation_gt, first.image_size) == (None, None)
    assert (second.id, second.images, second.image_size) == ("7", ("a.png", "b.png"), (4.0, 3.0))


@pytest.mark.parametrize(
    ("answer", "answer_type"),
    [
        (True, "boolean"),
        (3, "integer"),
        (0.5, "number"),
        ("left", "string"),
        ([2, 0], "index_list"),
        ([[1, 0]], "matrix"),
        ({"a": 1}, "object"),
    ],
)
def test_type_of_a_plain_answer(answer, answer_type):
    """The type follows the JSON value; a typed answer keeps its own."""
    assert parse({**LINE, "answer": answer})[0].answer_gt == {"type": answer_type, "value": answer}
    typed = {"type": "option_letter", "value": "B"}
    assert parse({**LINE, "answer": typed})[0].answer_gt == typed


def test_record_is_what_the_scorer_takes():
    """Truth and contract of a record score a right response with 1."""
    annotation = {"type": "point", "value": [5, 5]}
    line = {
        "images": ["a.png"],
        "prompt": "Where?",
        "answer_gt": {"type": "integer", "value": 1},
        "annotation_gt": annotation,
    }
    (record,) = parse(line)
    result = score_trace_response(
        response='{"answer": 1, "annotation": [5, 5]}',
        answer_gt=record.answer_gt,
        annotation_gt=record.annotation_gt,
        reward_contract=record.reward_contract,
    )
    assert result["overall"] == result["format"] == 1.0


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("{", "set.jsonl: line 2: the line is no JSON"),
        ("[]", "set.jsonl: line 2: the line must hold"),
        ('{"answer": NaN}', "set.jsonl: line 2: the line is no JSON"),
        ("[" * 100_000, "set.jsonl: line 2: the line is no JSON"),
        ({**LINE, "anwser": 1}, "line 2.anwser"),
        ({**LINE, "answer_gt": 1}, "line 2.answer_gt"),
        ({"image": "a.png", "prompt": "x"}, "line 2.answer"),
        ({**LINE, "prompt": " "}, "line 2.prompt"),
        ({**LINE, "image": []}, "line 2.image"),
        ({**LINE, "image": [1]}, "line 2.image"),
        ('{"answer": 1e999}', "1e999 is larger than any number"),
        ('{"answer": 3, "answer": 4}', "the member 'answer' stands twice"),
        ('{"metadata": {"a": 1, "b": 2, "a": 3}}', "the member 'a' stands twice"),
        ('\ufeff{"answer": 3}', "set.jsonl: line 2: the line is no JSON"),
        ({**LINE, "image_size": [0, 1]}, "line 2.image_size"),
        ({**LINE, "image_size": [720, 1280, [4, 4]]}, "line 2.image_size"),
        ({**LINE, "image_size": [[4, 4]]}, "line 2.image_size"),
        ({**LINE, "id": True}, "line 2.id"),
        ({**LINE, "id": "1"}, "line 2.id"),
        ({**LINE, "answer": {"type": "", "value": 1}}, "line 2.answer.type"),
        ({**LINE, "annotation": [1, 2]}, "line 2.annotation"),
        ({**LINE, "annotation": {"type": "blob", "value": 1}}, "line 2.annotation.type"),
        ({**LINE, "annotation": {"type": "point", "value": [1]}}, "line 2.annotation.value"),
        ({**LINE, "reward_contract": {}}, "line 2.reward_contract"),
        ({**LINE, "metadata": 3}, "line 2.metadata"),
    ],
)
def test_errors_name_file_line_and_field(line, place):
    """Whatever is wrong, the error says where it stands."""
    with pytest.raises(ContractError) as caught:
        parse(LINE, line)
    assert place in str(caught.value)
    assert caught.value.source == "set.jsonl"


def test_a_repeated_member_is_found_among_many():
    """The search is no comparison of each with each: a line of the longest size would be refused after an hour."""
    members = ",".join(f'"{number}":1' for number in range(100_000))
    with pytest.raises(ContractError, match="the member '99999' stands twice"):
        parse(f'{{{members},"99999":2}}')


def test_a_file_without_records_is_refused():
    """Nothing to ask is an error, not an empty set."""
    with pytest.raises(ContractError, match="there is no record"):
        parse("", " ")
