"""``response_tabletop``: questions about tabletop scenes; one scene record yields the whole task.

:func:`tabletop_task` turns a scene into picture digest, prompt, answer, annotation and contract, and is all there is:
nothing about a task is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.benchmark import Benchmark
from hylo_eval.errors import EvalError
from hylo_eval.response_benchmarks.tasks import response_task

if TYPE_CHECKING:
    from hylo_core.task import TaskSpec
    from hylo_eval.envs.response.scene import Question, Scene, Thing

BENCHMARK_ID = "response_tabletop"
ANNOTATION_TAU = 0.5
"""A point at the half-life (20 px here), or a box whose IoU is a half, is just good enough."""

_FORMS: Mapping[str, str] = {
    "bbox": "[x0, y0, x1, y1]",
    "bbox_set": "[[x0, y0, x1, y1], …]",
    "bbox_map": '{"<colour>": [x0, y0, x1, y1], …}',
    "point": "[x, y]",
    "point_set": "[[x, y], …]",
    "point_sequence": "[[x, y], …]",
    "point_set_map": '{"<colour>": [[x, y], …], …}',
    "segment": "[[x0, y0], [x1, y1]]",
    "segment_set": "[[[x0, y0], [x1, y1]], …]",
}
"""How an annotation of each type is written."""


@attrs.frozen(kw_only=True)
class Asked:
    """A question with its truth, before it is put into a task.

    Attributes:
        text: The question in words.
        answer_type: The type of the answer.
        answer: The true answer.
        answer_form: How the answer is written, for the prompt.
        annotation_type: The type of the annotation; empty where only the answer is asked for.
        annotation: The true annotation, in pixels.
        siblings: Members of the truth for the sibling scorers.
    """

    text: str
    answer_type: str
    answer: Any
    answer_form: str
    annotation_type: str = ""
    annotation: Any = None
    siblings: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


def freeze(benchmark_id: str) -> Benchmark:
    """The definition of ``response_tabletop``; needs no simulator.

    Raises:
        EvalError: It is another id.
    """
    from hylo_eval.response_benchmarks.tabletop_scenes import tabletop_scenes

    if benchmark_id != BENCHMARK_ID:
        raise EvalError(f"{benchmark_id!r} is no benchmark of tabletop scenes; there is {BENCHMARK_ID!r}")
    return Benchmark(
        id=BENCHMARK_ID,
        version="1.0",
        tasks=tuple(tabletop_task(scene) for scene in tabletop_scenes()),
        splits={"heldout": (0,)},
        metadata={
            "env": "response",
            "description": "Questions about drawn tabletop scenes: counts, letters, points, boxes, segments, paths.",
        },
    )


def tabletop_task(scene: Scene) -> TaskSpec:
    """The task of a scene: a pure function of the record."""
    from hylo_eval.envs.response.drawing import draw
    from hylo_eval.traces.encoding import picture_digest

    asked = _QUESTIONS[scene.question.ask](scene, scene.question)
    return response_task(
        task_id=f"{BENCHMARK_ID}/{scene.name}",
        prompt=_prompt(scene, asked),
        truth=_truth(scene, asked),
        shown={"scene": scene.to_dict(), "picture_digest": picture_digest(draw(scene))},
        tags=(scene.question.ask, asked.answer_type, asked.annotation_type or "answer_only"),
    )


def _truth(scene: Scene, asked: Asked) -> Any:
    from hylo_eval.verify.response.contracts import resolve_reward_contract
    from hylo_eval.verify.response.truth import ResponseTruth

    with_annotation = bool(asked.annotation_type)
    contract = resolve_reward_contract(
        answer_type=asked.answer_type,
        # A contract names an annotation type even where only answers are scored.
        annotation_type=asked.annotation_type or "bbox",
    )
    annotation = {"type": asked.annotation_type, "value": asked.annotation}
    return ResponseTruth(
        answer={"type": asked.answer_type, "value": asked.answer},
        annotation=annotation if with_annotation else None,
        contract=contract.to_dict(),
        mode="answer_and_annotation" if with_annotation else "answer",
        image_size=(scene.width, scene.height),
        answer_weight=0.5,
        annotation_weight=0.5,
        annotation_tau=ANNOTATION_TAU if with_annotation else None,
        **asked.siblings,
    )


def _prompt(scene: Scene, asked: Asked) -> str:
    end = "End your reply with one JSON object and nothing after it: "
    lines = ["The picture shows a table from above.", asked.text]
    if not asked.annotation_type:
        lines.append(f'{end}{{"answer": {asked.answer_form}}}')
        return "\n".join(lines)
    size = f"{scene.width} x {scene.height}"
    lines.append(f"Coordinates are pixels of the {size} picture: x to the right, y down, from its top left corner.")
    lines.append(f'{end}{{"answer": {asked.answer_form}, "annotation": {_FORMS[asked.annotation_type]}}}')
    return "\n".join(lines)


_INTEGER = "<integer>"
_COLOUR = '"<red, green, blue, yellow or purple>"'


def _centres(things: Sequence[Thing]) -> list[list[int]]:
    return [list(thing.centre) for thing in things]


def _ends(thing: Thing) -> list[list[int]]:
    return [list(end) for end in thing.ends]


def _hit(thing: Thing) -> dict[str, Any]:
    return {"region": {"kind": "box", "value": list(thing.box)}, "expected_count": 1}


def _count_points(scene: Scene, question: Question) -> Asked:
    things = scene.of_kind(question.kind, question.colour)
    return Asked(
        text=f"How many {question.colour} balls are there? Point at the centre of each of them.",
        answer_type="integer",
        answer=len(things),
        answer_form=_INTEGER,
        annotation_type="point_set",
        annotation=_centres(things),
        siblings={"expected_count": len(things)},
    )


def _count_boxes(scene: Scene, question: Question) -> Asked:
    things = scene.of_kind(question.kind)
    return Asked(
        text="How many mugs are there? Give the bounding box of each of them, with its handle.",
        answer_type="integer",
        answer=len(things),
        answer_form=_INTEGER,
        annotation_type="bbox_set",
        annotation=[list(thing.box) for thing in things],
    )


def _count_segments(scene: Scene, question: Question) -> Asked:
    things = scene.of_kind(question.kind)
    return Asked(
        text="How many pencils are there? Give the two ends of each of them.",
        answer_type="integer",
        answer=len(things),
        answer_form=_INTEGER,
        annotation_type="segment_set",
        annotation=[_ends(thing) for thing in things],
    )


def _nearest_card(scene: Scene, question: Question) -> Asked:
    from hylo_eval.response_benchmarks.tabletop_scenes import squared_distance

    (target,) = scene.of_kind(question.kind, question.colour)
    card = min(scene.of_kind("card"), key=lambda item: squared_distance(item.centre, target.centre))
    return Asked(
        text=f"Which card is nearest to the {question.colour} {question.kind}: A, B, C or D? "
        "Point at the centre of that card.",
        answer_type="option_letter",
        answer=card.label,
        answer_form='"<letter>"',
        annotation_type="point",
        annotation=list(card.centre),
        siblings=_hit(card),
    )


def _largest_block(scene: Scene, question: Question) -> Asked:
    block = max(scene.of_kind(question.kind), key=lambda item: item.size)
    return Asked(
        text="Which colour is the largest square block? Give its bounding box, without the shadow.",
        answer_type="string",
        answer=block.colour,
        answer_form=_COLOUR,
        annotation_type="bbox",
        annotation=list(block.box),
    )


def _longest_pencil(scene: Scene, question: Question) -> Asked:
    from hylo_eval.response_benchmarks.tabletop_scenes import squared_distance

    pencil = max(scene.of_kind(question.kind), key=lambda item: squared_distance(*item.ends))
    return Asked(
        text="Which colour is the longest pencil? Give its two ends.",
        answer_type="string",
        answer=pencil.colour,
        answer_form=_COLOUR,
        annotation_type="segment",
        annotation=_ends(pencil),
    )


def _cards_in_order(scene: Scene, question: Question) -> Asked:
    cards = sorted(scene.of_kind(question.kind), key=lambda item: item.centre)
    return Asked(
        text="A number stands on each card. List the numbers from left to right, "
        "and point at the centres of the cards in the same order.",
        answer_type="index_list",
        answer=[int(card.label) for card in cards],
        answer_form="[<integer>, …]",
        annotation_type="point_sequence",
        annotation=_centres(cards),
        siblings={"expected_count": len(cards)},
    )


def _cord_corners(scene: Scene, question: Question) -> Asked:
    (cord,) = scene.of_kind(question.kind)
    path = [list(point) for point in cord.points]
    return Asked(
        text=f"A {question.colour} cord lies on the table in straight stretches. How many corners does it have between "
        "its two ends? Trace it: its left end, each corner, its right end.",
        answer_type="integer",
        answer=len(path) - 2,
        answer_form=_INTEGER,
        annotation_type="point_sequence",
        annotation=path,
        siblings={"trajectory": path},
    )


def _box_by_colour(scene: Scene, question: Question) -> Asked:
    blocks = scene.of_kind(question.kind)
    return Asked(
        text="How many square blocks are there? No two have the same colour: give the bounding box of each, "
        "without the shadow, under the name of its colour (red, green, blue, yellow, purple).",
        answer_type="integer",
        answer=len(blocks),
        answer_form=_INTEGER,
        annotation_type="bbox_map",
        annotation={block.colour: list(block.box) for block in blocks},
    )


def _points_by_colour(scene: Scene, question: Question) -> Asked:
    balls = scene.of_kind(question.kind)
    groups = {colour: _centres(scene.of_kind("ball", colour)) for colour in sorted({ball.colour for ball in balls})}
    return Asked(
        text="How many balls are there? Point at the centre of each, "
        "grouped by colour (red, green, blue, yellow, purple).",
        answer_type="integer",
        answer=len(balls),
        answer_form=_INTEGER,
        annotation_type="point_set_map",
        annotation=groups,
    )


def _ball_on_plate(scene: Scene, question: Question) -> Asked:
    (plate,) = scene.of_kind("plate")
    left, top, right, bottom = plate.box
    (ball,) = (
        item for item in scene.of_kind(question.kind) if left < item.centre[0] < right and top < item.centre[1] < bottom
    )
    return Asked(
        text="Which colour is the ball that lies on the plate? Point at the centre of that ball.",
        answer_type="string",
        answer=ball.colour,
        answer_form=_COLOUR,
        annotation_type="point",
        annotation=list(ball.centre),
        siblings=_hit(ball),
    )


def _is_there(scene: Scene, question: Question) -> Asked:
    return Asked(
        text=f"Is there a {question.colour} mug on the table?",
        answer_type="boolean",
        answer=bool(scene.of_kind(question.kind, question.colour)),
        answer_form="<true or false>",
    )


_QUESTIONS: Mapping[str, Callable[[Scene, Question], Asked]] = {
    "count_points": _count_points,
    "count_boxes": _count_boxes,
    "count_segments": _count_segments,
    "nearest_card": _nearest_card,
    "largest_block": _largest_block,
    "longest_pencil": _longest_pencil,
    "cards_in_order": _cards_in_order,
    "cord_corners": _cord_corners,
    "box_by_colour": _box_by_colour,
    "points_by_colour": _points_by_colour,
    "ball_on_plate": _ball_on_plate,
    "is_there": _is_there,
}
