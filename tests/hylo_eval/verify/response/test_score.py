"""The scorer as a whole: the documented examples, the recorded cases, a table of our own."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from hylo_eval.verify import (
    TRACE_ANNOTATION_LOG_TYPES,
    is_trace_reward_input,
    resolve_reward_contract,
    score_trace_response,
    score_trace_response_detailed,
)

REPOSITORY = Path(__file__).parents[4]
CASES = REPOSITORY.parent / "shared" / "cases" / "trace" / "cases.jsonl"
BOX = [0, 0, 10, 10]


def score(response, answer=4, answer_type="integer", annotation=BOX, annotation_type="bbox", **options):
    contract = resolve_reward_contract(answer_type=answer_type, annotation_type=annotation_type)
    return score_trace_response(
        response=response,
        answer_gt={"type": answer_type, "value": answer},
        annotation_gt={"type": annotation_type, "value": annotation},
        reward_contract=contract.to_dict(),
        **options,
    )


def test_first_documented_example_prints_what_it_says(capsys):
    """The answer-mode example of the contract gives its printed output."""
    result = score_trace_response(
        response='{"answer":7}',
        answer_gt={"type": "integer", "value": 7},
        annotation_gt={"type": "bbox", "value": [10, 20, 30, 40]},
        reward_contract={
            "reward_contract_version": "v0",
            "answer": {"id": "answer_exact_match_v0", "type": "integer"},
            "annotation": {"id": "bbox_soft_iou_v0", "type": "bbox"},
        },
        trace_reward_mode="answer",
    )
    print({key: result[key] for key in ("overall", "answer_reward", "format", "format_schema_ok")})
    expected = "{'overall': 1.0, 'answer_reward': 1.0, 'format': 1.0, 'format_schema_ok': 1.0}\n"
    assert capsys.readouterr().out == expected


def test_second_documented_example_prints_what_it_says(capsys):
    """A box of IoU 1/3 with a right answer gives two thirds, to the last digit."""
    result = score('{"answer":2,"annotation":[5,0,15,10]}', answer=2, trace_reward_mode="answer_and_annotation")
    print({k: result[k] for k in ("overall", "answer_reward", "annotation_reward", "annotation_parse_ok")})
    assert capsys.readouterr().out == (
        "{'overall': 0.6666666666666666, 'answer_reward': 1.0, "
        "'annotation_reward': 0.3333333333333333, 'annotation_parse_ok': 1.0}\n"
    )


def decoded(value):
    """The values that JSON cannot hold, written as tagged objects in the case file."""
    if isinstance(value, dict):
        if value.keys() == {"$set"}:
            return {decoded(item) for item in value["$set"]}
        if value.keys() == {"$tuple"}:
            return tuple(decoded(item) for item in value["$tuple"])
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: decoded(item) for key, item in value.items()}
    return [decoded(item) for item in value] if isinstance(value, list) else value


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases do not stand beside this checkout")
def test_recorded_cases_reproduce():
    """Every shared case gives its recorded figures within 2e-6, leaves out what must be absent, or raises."""
    failures = []
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        try:
            result = score_trace_response(**decoded(case["kwargs"]))
        except ValueError:
            if case.get("raises") != "ValueError":
                failures.append(case["id"])
            continue
        wanted = {**case.get("expected", {}), **case.get("expected_extra", {})}
        is_equal = all(abs(result.get(name, math.inf) - figure) <= 2e-6 for name, figure in wanted.items())
        if case.get("raises") or not is_equal or any(name in result for name in case.get("absent", ())):
            failures.append(case["id"])
    assert not failures


OBJECT = '{"answer": 4, "annotation": [0, 0, 10, 10]}'


@pytest.mark.parametrize(
    ("response", "overall", "response_format"),
    [
        (OBJECT, 1.0, 1.0),
        (f"  {OBJECT} \n", 1.0, 1.0),
        (f"I see it. {OBJECT}", 1.0, 1.0),
        (f"```json\n{OBJECT}\n```", 1.0, 1.0),
        (f"```JSON {OBJECT}```\n\n", 1.0, 1.0),
        (f"```python\nprint(4)\n```\nso\n```json\n{OBJECT}\n```", 1.0, 1.0),
        (f"a stray ``` fence\n```json\n{OBJECT}\n```", 1.0, 1.0),
        (f'a 5" peg {OBJECT}', 1.0, 1.0),
        (f"an open {{ brace {OBJECT}", 1.0, 1.0),
        (f'both {{ and 5" at once {OBJECT}', 1.0, 1.0),
        (f'```json\n{{"answer": 9}}\n``` no: {OBJECT}', 1.0, 1.0),
        ("{'answer': 4, 'annotation': (0, 0, 10, 10),}", 1.0, 1.0),
        (f"{OBJECT} done", 1.0, 0.0),
        (f"[{OBJECT}]", 1.0, 0.0),
        (f"<ANSWER>{OBJECT}</answer>", 1.0, 0.0),
        (f"```python\n{OBJECT}\n```", 1.0, 0.0),
        (f"```\nIt is {OBJECT} I think\n```", 1.0, 0.0),
        ('{"answer": 4, "annotation": [0, 0, 10, 10], "why": 1}', 1.0, 0.0),
        ('{"answer": 4}', 0.5, 0.0),
        ("4", 0.5, 0.0),
        ("<answer>4</answer>", 0.0, 0.0),
        ("```\n4\n```", 0.0, 0.0),
        ('{"reply": ' + OBJECT + "}", 0.0, 0.0),
        ('{"reply": ' + OBJECT, 0.0, 0.0),
        ("", 0.0, 0.0),
        ("[]", 0.0, 0.0),
    ],
)
def test_places_and_formats(response, overall, response_format):
    """The object counts wherever it is recovered; the format asks for it at the end."""
    result = score(response)
    assert (result["overall"], result["format"]) == (overall, response_format)


def test_flags_tell_structure_from_json_from_schema():
    """A final block that is no JSON has structure; a final mapping of other keys is JSON, too."""
    flags = ("format_structure_ok", "format_json_ok", "format_schema_ok")
    assert [score("```\nfour\n```")[flag] for flag in flags] == [1.0, 0.0, 0.0]
    assert [score('{"value": 4}')[flag] for flag in flags] == [1.0, 1.0, 0.0]
    assert [score("four")[flag] for flag in flags] == [0.0, 0.0, 0.0]
    assert [score("{value: 4}")[flag] for flag in flags] == [1.0, 0.0, 0.0]


def test_a_brace_within_an_open_string_closes_nothing():
    """Braces in strings do not count, so a string without its closing quote leaves no final object."""
    for text in ('{"answer": "4}', '{\n  "answer": "4\n}', '{"answer": "4\\"}'):
        assert score(text)["format_structure_ok"] == 0.0
    assert score("A peg: {'answer': '5\" peg'}", trace_reward_mode="answer")["format"] == 1.0


@pytest.mark.parametrize(
    ("options", "task", "overall"),
    [
        ({}, 0.75, 0.75),
        ({"trace_reward_mode": "answer"}, 1.0, 1.0),
        ({"trace_reward_mode": None}, 1.0, 1.0),
        ({"answer_weight": 1, "annotation_weight": 3}, 0.625, 0.625),
        ({"answer_weight": 0, "annotation_weight": 1e308}, 0.5, 0.5),
        ({"answer_weight": 1e308, "annotation_weight": 1e308}, 0.75, 0.75),
        (
            {"trace_annotation_reward_formula": "additive", "answer_weight": 3, "annotation_weight": 1},
            0.875,
            0.875,
        ),
        ({"format_weight": 0.2}, 0.75, 0.8),
        ({"format_weight": 1}, 0.75, 1.0),
    ],
)
def test_composition(options, task, overall):
    """Half a box and a right answer compose by the documented formulas."""
    result = score('{"answer": 4, "annotation": [0, 0, 10, 5]}', **options)
    assert result["annotation_reward"] == 0.5
    assert result["task_reward_raw"] == result["task_reward_gated"] == pytest.approx(task, abs=1e-15)
    assert result["overall"] == pytest.approx(overall, abs=1e-15)
    assert result["zero_reward"] == 0.0


def test_wrong_answer_is_gated_and_not_additive():
    """A wrong answer zeroes the gated reward and leaves the annotation's share of the additive one."""
    response = '{"answer": 5, "annotation": [0, 0, 10, 10]}'
    assert score(response)["overall"] == 0.0
    assert score(response)["zero_reward"] == 1.0
    assert score(response, trace_annotation_reward_formula="linear")["overall"] == 0.5


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("format_weight", -0.1),
        ("format_weight", 1.1),
        ("format_weight", math.nan),
        ("format_weight", "0.5"),
        ("format_weight", True),
        ("point_half_life_px", 0),
        ("point_half_life_px", -4.0),
        ("point_half_life_px", math.nan),
        ("point_half_life_px", math.inf),
        ("point_half_life_px", "wide"),
        ("trace_reward_mode", "annotate"),
        ("trace_reward_mode", 3),
        ("trace_reward_mode", ["answer"]),
        ("trace_answer_scoring", "fuzzy"),
        ("trace_answer_scoring", "  "),
        ("trace_annotation_reward_formula", "max"),
        ("answer_weight", -1),
        ("answer_weight", 10**400),
        ("annotation_weight", math.inf),
        ("annotation_weight", None),
    ],
)
@pytest.mark.parametrize("response", ["", OBJECT])
def test_invalid_options_raise_and_are_named(option, value, response):
    """An invalid option raises whatever the response is, and the text names it."""
    with pytest.raises(ValueError, match=option):
        score(response, **{option: value})


def test_weights_without_a_positive_sum_raise_in_every_mode():
    """Two zero weights raise, in answer mode, too."""
    with pytest.raises(ValueError, match="positive sum"):
        score(OBJECT, answer_weight=0, annotation_weight=0, trace_reward_mode="answer")


def test_one_is_a_weight_although_true_is_none():
    """The cache of checked options tells 1 from True."""
    assert score(OBJECT, format_weight=1)["overall"] == 1.0
    with pytest.raises(ValueError, match="format_weight"):
        score(OBJECT, format_weight=True)


def test_returned_names_are_the_public_ones():
    """38 names always; details of the type only for a scored annotation."""
    without = score('{"answer": 4}')
    assert len(without) == 38
    assert all(type(figure) is float for figure in without.values())
    extra = score(OBJECT).keys() - without.keys()
    assert extra == {
        "annotation_assigned_count",
        "annotation_assigned_iou_mean",
        "annotation_pred_size",
        "annotation_gt_size",
    }
    flags = Counter({name: without[f"annotation_type_{name}"] for name in TRACE_ANNOTATION_LOG_TYPES})
    assert flags == Counter({"bbox": 1.0})


def test_unusable_truth_is_zero_with_flags():
    """Without a value in the truth, or with an unknown type, nothing is scored and nothing raises."""
    result = score_trace_response(
        response=OBJECT, answer_gt={"type": "integer"}, annotation_gt={"type": "blob"}, reward_contract={}
    )
    assert (result["answer_parse_ok"], result["annotation_parse_ok"], result["overall"]) == (0.0, 0.0, 0.0)
    assert sum(result[f"annotation_type_{name}"] for name in TRACE_ANNOTATION_LOG_TYPES) == 0.0
    nothing = score_trace_response(response=None, answer_gt=None, annotation_gt=None, reward_contract=None)
    assert nothing["overall"] == 0.0


def test_no_response_is_no_answer():
    """What is no text scores zero, even where the truth is None or empty."""
    for truth in (None, "", "None"):
        assert score(None, answer=truth, answer_type="string")["answer_reward"] == 0.0


@pytest.mark.parametrize(
    "annotation_side",
    [
        None,
        {},
        {"type": "bbox"},
        {"id": "bbox_soft_iou_v1", "type": "bbox"},
        {"id": "bbox_set_soft_iou_v0", "type": "bbox"},
        {"id": "bbox_soft_iou_v0", "type": "point"},
        {"id": "bbox_soft_iou_v0", "type": None},
        {"id": 7, "type": "bbox"},
    ],
)
def test_contract_that_does_not_match_scores_no_annotation(annotation_side):
    """A wrong id, or a wrong type that is present, gives no annotation reward."""
    result = score_trace_response(
        response=OBJECT,
        answer_gt={"type": "integer", "value": 4},
        annotation_gt={"type": "bbox", "value": BOX},
        reward_contract={"annotation": annotation_side},
    )
    assert (result["annotation_reward"], result["annotation_parse_ok"], result["answer_reward"]) == (
        0.0,
        0.0,
        1.0,
    )


@pytest.mark.parametrize("side", [{"id": "bbox_soft_iou_v0"}, {"id": " bbox_soft_iou_v0 ", "type": "bbox "}])
def test_contract_without_a_type_or_with_space_matches(side):
    """A missing type passes, and names are stripped."""
    result = score_trace_response(
        response=OBJECT,
        answer_gt={"type": "integer", "value": 4},
        annotation_gt={"type": " bbox", "value": BOX},
        reward_contract={"annotation": side},
    )
    assert result["annotation_reward"] == 1.0


def test_legacy_scorer_gets_the_answer_as_text():
    """The callback is called with the answer's text and the truth; its score is the answer reward."""
    calls = []

    def scorer(*, response, ground_truth):
        calls.append((response, ground_truth))
        return 0.25, None, None, None

    result = score(
        '{"answer": {"B": 1.0}}',
        trace_answer_scoring="strict",
        legacy_strict_scorer=scorer,
        trace_reward_mode="answer",
    )
    assert calls == [('{"b":1}', 4)]
    assert (result["overall"], result["answer_parse_ok"]) == (0.25, 0.0)


def test_legacy_scoring_needs_a_callback_that_scores_in_range():
    """Without a callback, and with one that returns no share, the option is named."""
    with pytest.raises(ValueError, match="legacy_strict_scorer"):
        score(OBJECT, trace_answer_scoring="legacy")
    with pytest.raises(ValueError, match="legacy_strict_scorer"):
        score(OBJECT, trace_answer_scoring="legacy", legacy_strict_scorer=lambda **_: (math.nan, 1, 1, 1))


def test_reason_is_text_beside_the_figures():
    """A perfect response has no reason; any other says what is missing, never in the figures."""
    arguments = {
        "answer_gt": {"type": "integer", "value": 4},
        "annotation_gt": {"type": "bbox", "value": BOX},
        "reward_contract": resolve_reward_contract(answer_type="integer", annotation_type="bbox").to_dict(),
    }
    assert score_trace_response_detailed(response=OBJECT, **arguments).reason is None
    failed = score_trace_response_detailed(response='{"answer": 5, "annotation": [1, 2]} x', **arguments)
    assert failed.reason == "the response does not end with an object; the answer is wrong; the annotation is no bbox"
    assert failed.metadata == {"coordinate_unit": "pixel", "coordinate_order": "xy"}
    assert all(isinstance(figure, float) for figure in failed.values.values())


def test_input_mapping_is_recognised_by_its_three_keys():
    """All three keys are needed."""
    assert is_trace_reward_input({"answer_gt": 1, "annotation_gt": 2, "reward_contract": 3, "more": 4})
    assert not is_trace_reward_input({"answer_gt": 1, "annotation_gt": 2})
