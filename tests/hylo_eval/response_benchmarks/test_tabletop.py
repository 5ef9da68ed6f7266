"""``response_tabletop``: every task follows from its scene record, and the scenes are as clear as they claim."""

import math

import numpy as np
import pytest

from hylo_core.frozen import thaw
from hylo_eval.benchmarks import benchmark_files, find_benchmark
from hylo_eval.envs.response.drawing import draw
from hylo_eval.envs.response.scene import ASKS, Scene
from hylo_eval.errors import EvalError
from hylo_eval.freezing import compare_with_shipped, freeze_benchmark
from hylo_eval.response_benchmarks.tabletop import freeze, tabletop_task
from hylo_eval.verify.response.truth import is_correct, read_truth, score_against

BENCHMARK = find_benchmark("response_tabletop")
SCENES = {task.id: Scene.from_dict(thaw(task.params["scene"])) for task in BENCHMARK.tasks}


def of_ask(ask):
    """The tasks and scenes of one question."""
    return [(task, SCENES[task.id]) for task in BENCHMARK.tasks if SCENES[task.id].question.ask == ask]


def test_the_shipped_file_is_what_freeze_writes():
    """Down to the digest of every picture."""
    assert compare_with_shipped(freeze_benchmark("response_tabletop")) == ()


def test_there_are_at_least_forty_tasks_of_every_kind():
    """Counts, letters, points, boxes, segments, sets, maps, paths, and an answer alone."""
    assert len(BENCHMARK.tasks) >= 40
    assert {scene.question.ask for scene in SCENES.values()} == set(ASKS)
    types = {task.params["truth"].get("annotation", {}).get("type") for task in BENCHMARK.tasks}
    assert types == {
        None, "point", "point_set", "point_sequence", "point_set_map", "bbox", "bbox_set", "bbox_map",
        "segment", "segment_set",
    }  # fmt: skip


@pytest.mark.parametrize("task", BENCHMARK.tasks[::7], ids=lambda task: task.id)
def test_one_record_yields_the_whole_task(task):
    """Picture digest, prompt, answer, annotation, contract: nothing is written by hand."""
    assert tabletop_task(SCENES[task.id]).digest() == task.digest()


@pytest.mark.parametrize("task", BENCHMARK.tasks, ids=lambda task: task.id)
def test_the_truth_itself_is_a_correct_response(task):
    """And has full marks, in the format its prompt asks for."""
    import json

    truth = read_truth(task.params)
    payload = {"answer": thaw(truth.answer["value"])}
    if truth.mode == "answer_and_annotation":
        payload["annotation"] = thaw(truth.annotation["value"])
    score = score_against(json.dumps(payload), truth)
    assert (score.values["overall"], score.values["format"], score.reason) == (1.0, 1.0, None)
    assert is_correct(score, truth)


def test_things_do_not_touch_but_for_the_ball_on_its_plate():
    """No box meets another, and all lie within the picture."""
    for scene in SCENES.values():
        for index, thing in enumerate(scene.things):
            left, top, right, bottom = thing.box
            assert min(left, top) > 0
            assert right < scene.width
            assert bottom < scene.height
            for other in scene.things[:index]:
                if {thing.kind, other.kind} == {"ball", "plate"}:
                    continue
                apart = right < other.box[0] or other.box[2] < left or bottom < other.box[1] or other.box[3] < top
                assert apart, scene.name


def test_superlatives_are_clear():
    """The nearest, largest and longest by a third at least."""
    for task, scene in of_ask("nearest_card"):
        (target,) = scene.of_kind(scene.question.kind, scene.question.colour)
        near, second = sorted(math.dist(card.centre, target.centre) for card in scene.of_kind("card"))[:2]
        assert second >= 1.3 * near, task.id
    for task, scene in of_ask("largest_block"):
        sizes = sorted(block.size for block in scene.of_kind("block"))
        assert sizes[-1] >= 1.3 * sizes[-2], task.id
    for task, scene in of_ask("longest_pencil"):
        lengths = sorted(math.dist(*pencil.ends) for pencil in scene.of_kind("pencil"))
        assert lengths[-1] >= 1.3 * lengths[-2], task.id


def test_yes_and_no_are_equally_often_right():
    """So that always saying one of them is a guess."""
    answers = [task.params["truth"]["answer"]["value"] for task, _ in of_ask("is_there")]
    assert sorted(answers) == [False, False, True, True]


def test_no_two_pictures_are_the_same():
    """48 tasks are 48 questions."""
    assert len({task.params["picture_digest"] for task in BENCHMARK.tasks}) == len(BENCHMARK.tasks)
    first, second = (draw(scene) for scene in list(SCENES.values())[:2])
    assert not np.array_equal(first, second)


def test_another_id_is_refused():
    """This module makes one benchmark."""
    with pytest.raises(EvalError, match="response_tabletop"):
        freeze("response_kitchen")
    assert "response_tabletop" in benchmark_files()
