"""Scores of text responses: the Trace contract, binary success, and the siblings for pointing and trajectories.

All of them read the recorded text and ``params["truth"]`` of the task, nothing else. A response that cannot be
parsed is a failure with a number; a scorer abstains only where there is no response (the agent or the
infrastructure failed), where the task has no truth of its kind, and where a failure has no finite figure
(``trajectory_rmse``). A truth that breaks its contract raises, which the harness records as ``scorer_error``:
a mistake of the benchmark is not a failure of the model.

Trace coordinates are pixels. Where the task's prompt asks for another frame, the adapter runs before scoring, and
the frame stands in the score's metadata as ``coordinate_unit`` and ``coordinate_order``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hylo_core.frozen import thaw
from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import NO_ACTION, NO_TRAJECTORY, NO_TRUTH, REASONS, abstention

if TYPE_CHECKING:
    from hylo_eval.verify.response.frames import CoordinateFrame
    from hylo_eval.verify.response.measure import Measure
    from hylo_eval.verify.response.truth import ResponseTruth


class TraceResponseScorer:
    """``overall`` of the Trace contract, in [0, 1]; its figures are the metadata, its reason the explanation.

    Args:
        coordinate_frame: The frame the responses are in, in place of the one each task states.
    """

    name = "response"

    def __init__(self, coordinate_frame: CoordinateFrame | None = None) -> None:
        self._frame = coordinate_frame

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Score the response.

        Raises:
            ContractError: The task's truth breaks its contract.
        """
        from hylo_eval.verify.response.truth import is_correct, read_truth, score_against

        text = response_of(trace)
        if isinstance(text, Score):
            return text
        truth = read_truth(task.spec.params)
        found = score_against(text, truth, self._frame)
        metadata = {**found.values, **found.metadata, "correct": float(is_correct(found, truth))}
        return Score(found.values["overall"], found.reason or "", metadata)


class ResponseSuccess:
    """1 when the answer is right and, in annotation mode, the annotation reward is at least the task's tau, else 0.

    What ``success`` means for a task of the predicate ``response_correct``.

    Args:
        coordinate_frame: The frame the responses are in, in place of the one each task states.
    """

    name = "response_success"
    binary = True

    def __init__(self, coordinate_frame: CoordinateFrame | None = None) -> None:
        self._response = TraceResponseScorer(coordinate_frame)

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Judge the response; raises as :meth:`TraceResponseScorer.score`."""
        score = self._response.score(trace, task)
        if score.value is None:
            return score
        figures = score.metadata
        kept = {
            name: figures[name]
            for name in ("answer_reward", "annotation_reward", "coordinate_unit", "coordinate_order")
        }
        correct = figures["correct"] == 1.0
        return Score(float(correct), "the response is correct" if correct else score.explanation, kept)


class _MeasureScorer:
    """Extracts what a response predicts, brings it to pixels, and measures it against one member of the truth."""

    name: ClassVar[str]
    _KIND: ClassVar[str] = "point_set"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Measure the response.

        Raises:
            ContractError: The task's truth breaks its contract.
        """
        from hylo_eval.verify.response.contracts import ANNOTATION_KINDS
        from hylo_eval.verify.response.frames import to_pixels
        from hylo_eval.verify.response.truth import read_truth

        text = response_of(trace)
        if isinstance(text, Score):
            return text
        truth = read_truth(task.spec.params)
        if not self._applies(truth):
            return Score.abstain(NO_TRUTH, REASONS[NO_TRUTH])
        predicted = to_pixels(predicted_points(text), ANNOTATION_KINDS[self._KIND], truth.frame, truth.image_size)
        measure = self._measure(predicted, truth)
        if measure.value is None:
            return Score.abstain(NO_TRAJECTORY, measure.reason or REASONS[NO_TRAJECTORY])
        metadata = {"measure": measure.id, **measure.metadata, **truth.frame.metadata()}
        return Score(measure.value, measure.reason or "", metadata)

    def _applies(self, truth: ResponseTruth) -> bool:
        raise NotImplementedError

    def _measure(self, predicted: object, truth: ResponseTruth) -> Measure:
        raise NotImplementedError


class PointsInRegion(_MeasureScorer):
    """Share of the predicted points inside the task's ``region``; a response without points scores 0."""

    name = "points_in_region"

    def _applies(self, truth: ResponseTruth) -> bool:
        return truth.region is not None

    def _measure(self, predicted: object, truth: ResponseTruth) -> Measure:
        from hylo_eval.verify.response.pointing import score_points_in_region
        from hylo_eval.verify.response.regions import read_region

        region = thaw(truth.region)
        return score_points_in_region(predicted, read_region(region["kind"], region["value"]))


class ExactCount(_MeasureScorer):
    """1 when the response predicts exactly ``expected_count`` points, else 0."""

    name = "exact_count"
    binary = True

    def _applies(self, truth: ResponseTruth) -> bool:
        return truth.expected_count is not None

    def _measure(self, predicted: object, truth: ResponseTruth) -> Measure:
        from hylo_eval.verify.response.pointing import score_exact_count

        return score_exact_count(predicted, truth.expected_count or 0)


class TrajectoryRmse(_MeasureScorer):
    """Root mean square distance of the predicted from the true visual trace; less is better.

    Abstains where the response holds no trace: look at ``trajectory_similarity``, which counts it as 0, beside it.
    """

    name = "trajectory_rmse"
    unit = "px"
    _KIND = "point_sequence"

    def _applies(self, truth: ResponseTruth) -> bool:
        return truth.trajectory is not None

    def _measure(self, predicted: object, truth: ResponseTruth) -> Measure:
        from hylo_eval.verify.response.trajectory import score_trajectory_rmse

        return score_trajectory_rmse(predicted, thaw(truth.trajectory), sample_count=truth.sample_count)


class TrajectorySimilarity(TrajectoryRmse):
    """The distance of :class:`TrajectoryRmse` on the soft scale of the contract's points; no trace scores 0."""

    name = "trajectory_similarity"
    unit = ""

    def _measure(self, predicted: object, truth: ResponseTruth) -> Measure:
        from hylo_eval.verify.response.half_life import resolve_half_life_px
        from hylo_eval.verify.response.trajectory import score_trajectory_similarity

        size = None if truth.image_size is None else list(truth.image_size)
        half_life_px = resolve_half_life_px(truth.point_half_life_px, (size,))
        return score_trajectory_similarity(
            predicted, thaw(truth.trajectory), half_life_px=half_life_px, sample_count=truth.sample_count
        )


def response_of(trace: EpisodeTrace) -> str | Score:
    """The text of the last step, or the abstention of an episode without one."""
    abstained = abstention(trace)
    if abstained is not None:
        return abstained
    text = trace.steps[-1].applied if trace.steps else None
    return text if isinstance(text, str) else Score.abstain(NO_ACTION, REASONS[NO_ACTION])


def predicted_points(text: str) -> object:
    """Where a response points: its annotation, else its answer, else the whole text.

    Benchmarks of pointing ask for a bare list of points, those of the Trace contract for an annotation.
    """
    from hylo_eval.verify.response.extraction import extract_trace_prediction

    answer, annotation, _ = extract_trace_prediction(text)
    return next((value for value in (annotation, answer) if value is not None), text)
