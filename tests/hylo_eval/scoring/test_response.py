"""Scorers of text responses: figures somebody can derive, and who abstains when."""

import json
import math

import pytest

from hylo_core.errors import ContractError
from hylo_core.trace import EpisodeStatus
from hylo_eval.evaluation.scores import score_trace
from hylo_eval.scoring.response import (
    ExactCount,
    PointsInRegion,
    ResponseSuccess,
    TraceResponseScorer,
    TrajectoryRmse,
    TrajectorySimilarity,
)
from hylo_eval.scoring.success import Success, SuccessAtEnd, SuccessOnce
from hylo_eval.verify.response.frames import CoordinateFrame
from tests.responses import recorded, response_instance, truth

HALF_LIFE_PX = 0.035 * 800.0
"""Of a 640 x 480 picture: its diagonal is 800 pixels."""
ALL = (TraceResponseScorer(), ResponseSuccess(), Success(), SuccessOnce(), SuccessAtEnd())


def said(answer, annotation=None, **more):
    """A response that ends with an object."""
    payload = {"answer": answer} if annotation is None else {"answer": answer, "annotation": annotation}
    return f"well: {json.dumps(payload | more)}"


def score(scorer, text, **changes):
    """Score a text against the usual truth."""
    instance = response_instance(truth=truth(**changes))
    return scorer.score(recorded(text, instance), instance)


@pytest.mark.parametrize(
    ("text", "overall", "correct"),
    [
        (said(3, [100, 100]), 1.0, 1.0),
        (said(3, [100 + HALF_LIFE_PX, 100]), 0.75, 1.0),  # the annotation is exactly at tau
        (said(3, [100 + 2 * HALF_LIFE_PX, 100]), 0.5 + 0.5 * 0.0625, 0.0),  # the answer is right, the point is not
        (said(4, [100, 100]), 0.0, 0.0),  # gated: no point counts under a wrong answer
        ("I cannot tell.", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_the_overall_score_and_success_follow_the_contract(text, overall, correct):
    """Half of the answer, half of the annotation behind it; success needs both, the annotation at tau."""
    found = score(TraceResponseScorer(), text)
    assert found.value == pytest.approx(overall, abs=1e-12)
    assert found.metadata["correct"] == correct
    assert score(ResponseSuccess(), text).value == correct


def test_every_success_scorer_says_the_same_of_a_response():
    """``success``, ``success_once`` and ``success_at_end`` have one judge, whatever the env reported."""
    for text in (said(3, [100, 100]), said(4, [100, 100]), "nothing"):
        values = {scorer.name: score(scorer, text).value for scorer in ALL[1:]}
        assert len(set(values.values())) == 1, values


def test_in_answer_mode_the_answer_alone_decides():
    """No annotation is asked for, so none is missing."""
    alone = {"mode": "answer", "annotation": None, "annotation_tau": None}
    assert score(ResponseSuccess(), said(3), **alone).value == 1.0
    assert score(ResponseSuccess(), said(2), **alone).value == 0.0


def test_what_cannot_be_parsed_is_zero_with_flags_and_a_reason():
    """A failure of the model is a number, and says why."""
    found = score(TraceResponseScorer(), "no object here")
    assert (found.value, found.metadata["json_found"], found.metadata["zero_reward"]) == (0.0, 0.0, 1.0)
    assert "does not end with an object" in found.explanation


@pytest.mark.parametrize("scorer", [*ALL, PointsInRegion(), ExactCount()], ids=lambda scorer: scorer.name)
@pytest.mark.parametrize(
    ("status", "reason"), [(EpisodeStatus.AGENT_ERROR, "agent_error"), (EpisodeStatus.TIMEOUT, "infra")]
)
def test_without_a_response_every_scorer_abstains(scorer, status, reason):
    """An agent or a machine that failed said nothing that could be wrong."""
    instance = response_instance(truth=truth())
    found = scorer.score(recorded(None, instance, status), instance)
    assert (found.value, found.metadata["reason"]) == (None, reason)


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"answer": {"type": "integer"}}, "answer"),
        ({"annotation": {"type": "point", "value": [1, 2, 3]}}, "annotation.value"),
        ({"annotation": {"type": "pint", "value": [1, 2]}}, "annotation.type"),
        ({"annotation_type": "bbox"}, "annotation.value"),
        ({"annotation_tau": None}, "annotation_tau"),
        ({"annotation_tau": 1.5}, "annotation_tau"),
        ({"answer_weight": 0, "annotation_weight": 0}, "answer_weight"),
        ({"contract": {}}, "contract"),
        ({"image_size": [0, 10]}, "image_size"),
        ({"image_size": None, "coordinate_unit": "percent"}, "image_size"),
        ({"annotation": {"type": "point", "value": [640.5, 100]}}, r"annotation\.value: lies outside.*\[640\.5, 100\]"),
        ({"region": {"kind": "box", "value": [0, 0, 641, 5]}}, r"region\.value: lies outside"),
        ({"region": {"kind": "polygon", "value": [[0, 0], [9, 0], [9, 481]]}}, r"region\.value\[2\]: lies outside"),
        ({"region": {"kind": "circle", "value": [1, 2, 3]}}, "region"),
        ({"region": {"kind": "mask", "value": [["1"]]}}, "region: mask must hold"),
        ({"region": {"kind": "mask", "value": [[1, 1]]}}, r"region\.value: is a mask of 2 x 1 pixels"),
        ({"region": {"kind": "mask", "value": [[0]]}, "image_size": None}, r"region\.value: has no pixel set"),
        ({"trajectory": []}, "trajectory"),
        ({"trajectory": [[0, 0], [640, 481]]}, r"trajectory\[1\]: lies outside"),
        ({"annotaton_tau": 0.5}, "annotaton_tau"),
    ],
)
def test_a_broken_truth_is_the_benchmarks_error_and_no_score(broken, where):
    """It would otherwise look like a model that is always wrong."""
    with pytest.raises(ContractError, match=rf"params\.truth.*{where}"):
        score(TraceResponseScorer(), said(3, [100, 100]), **broken)
    instance = response_instance(truth=truth(**broken))
    scores = score_trace([Success()], recorded(said(3, [100, 100]), instance), instance)
    assert scores["success"].metadata["reason"] == "scorer_error"


def test_the_coordinate_frame_runs_before_scoring_and_is_recorded():
    """(208.33, 156.25) per mille, y first, is (100, 100) in 640 x 480 pixels."""
    text = said(3, [100 / 480 * 1000, 100 / 640 * 1000])
    found = score(TraceResponseScorer(), text, coordinate_unit="per_mille", coordinate_order="yx")
    assert found.value == pytest.approx(1.0)
    assert (found.metadata["coordinate_unit"], found.metadata["coordinate_order"]) == ("per_mille", "yx")
    given = TraceResponseScorer(CoordinateFrame(unit="per_mille", order="yx"))
    assert score(given, text).value == pytest.approx(1.0)
    plain = score(TraceResponseScorer(), text)
    assert (plain.value, plain.metadata["coordinate_unit"]) == (pytest.approx(0.5, abs=0.01), "pixel")


BOX = {"kind": "box", "value": [90, 90, 110, 110]}


@pytest.mark.parametrize(
    ("text", "share"),
    [
        (said(3, [100, 100]), 1.0),
        (said(3, [[100, 100], [300, 100]]), 0.5),
        (said([[100, 100], [110, 110]]), 1.0),  # pointing benchmarks put the points into the answer
        ("[(100, 100), (0, 0), (1, 1), (2, 2)]", 0.25),  # or say nothing but the points
        ("over there", 0.0),
    ],
)
def test_the_share_of_points_in_the_region(text, share):
    """Wherever the response has its points; a response without any is wrong, not dropped."""
    found = score(PointsInRegion(), text, region=BOX)
    assert found.value == share
    assert found.metadata["measure"] == "points_in_box_v0"
    assert found.metadata["coordinate_unit"] == "pixel"


def test_points_come_to_pixels_before_they_are_counted():
    """A share of the picture's sides, as RoboPoint's models answer."""
    found = score(PointsInRegion(), "[(0.15625, 0.20833)]", region=BOX, coordinate_unit="unit")
    assert (found.value, found.metadata["coordinate_unit"]) == (1.0, "unit")


@pytest.mark.parametrize(("text", "value"), [(said(3, [[1, 1], [2, 2]]), 1.0), (said(3, [1, 1]), 0.0), ("two", 0.0)])
def test_the_count_is_exact(text, value):
    """As many points as asked for, and each a point."""
    assert score(ExactCount(), text, expected_count=2).value == value


def test_the_trajectory_scorers_measure_the_same_distance():
    """A trace moved by 3 and 4 pixels is 5 pixels away everywhere."""
    path = [[0, 0], [100, 0], [100, 50]]
    text = said(3, [[x + 3, y + 4] for x, y in path])
    found = score(TrajectoryRmse(), text, trajectory=path)
    assert found.value == pytest.approx(5.0)
    similar = score(TrajectorySimilarity(), text, trajectory=path)
    assert similar.value == pytest.approx(math.exp(-math.log(2) * (5.0 / HALF_LIFE_PX) ** 2))
    assert similar.metadata["rmse_px"] == pytest.approx(5.0)


def test_no_trace_has_no_distance_and_no_similarity():
    """One abstains because no finite figure says so, its sibling counts a failure."""
    path = [[0, 0], [100, 0]]
    lost = score(TrajectoryRmse(), "around", trajectory=path)
    assert (lost.value, lost.metadata["reason"]) == (None, "no_trajectory")
    assert score(TrajectorySimilarity(), "around", trajectory=path).value == 0.0


@pytest.mark.parametrize(
    "scorer",
    [PointsInRegion(), ExactCount(), TrajectoryRmse(), TrajectorySimilarity()],
    ids=lambda scorer: scorer.name,
)
def test_a_task_without_such_a_truth_is_not_scored(scorer):
    """Under its own reason, so that a mixed benchmark can be scored whole."""
    found = score(scorer, said(3, [100, 100]))
    assert (found.value, found.metadata["reason"]) == (None, "no_truth")
