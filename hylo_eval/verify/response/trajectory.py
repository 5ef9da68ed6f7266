"""The distance of a predicted visual trace from the true one, as in VABench.

Both traces are resampled at equal steps of their own length, so that how densely a model draws its trace
does not matter; the figure is the root mean square of the distances between corresponding samples, in
pixels.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from hylo_eval.verify.response.coordinates import read_items
from hylo_eval.verify.response.measure import Measure
from hylo_eval.verify.response.parsing import LenientParser
from hylo_eval.verify.response.similarity import soft_similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.verify.response.coordinates import Item

TRAJECTORY_RMSE_ID = "trajectory_rmse_v0"
TRAJECTORY_SIMILARITY_ID = "trajectory_soft_rmse_v0"
DEFAULT_SAMPLE_COUNT = 20
_LARGEST_COORDINATE = 1e150


def resample(points: Sequence[Item], sample_count: int) -> list[Item]:
    """Points at equal steps of arc length along a polyline, both ends included.

    Args:
        points: The corners of the polyline, at least one, in pixels.
        sample_count: How many samples, at least two.

    Returns:
        The samples; a polyline without length gives the same point everywhere.

    Raises:
        ValueError: There is no point, or there are fewer than two samples to take.
    """
    if not points or sample_count < 2:
        raise ValueError(f"resampling needs a point and at least 2 samples, not {len(points)} and {sample_count}")
    lengths = [math.dist(start, end) for start, end in pairwise(points)]
    total = math.fsum(lengths)
    samples: list[Item] = []
    piece, passed = 0, 0.0
    for index in range(sample_count):
        target = total * (index / (sample_count - 1))
        while piece < len(lengths) - 1 and passed + lengths[piece] < target:
            passed += lengths[piece]
            piece += 1
        if total == 0.0:
            samples.append(points[0])
            continue
        share = min(max((target - passed) / lengths[piece], 0.0), 1.0) if lengths[piece] else 0.0
        start, end = points[piece], points[piece + 1]
        samples.append((start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])))
    samples[-1] = points[-1]
    return samples


def trajectory_rmse_px(predicted: Sequence[Item], truth: Sequence[Item], sample_count: int) -> float:
    """Root mean square distance of two polylines after resampling, in pixels.

    Raises:
        ValueError: One has no point, or there are fewer than two samples to take.
    """
    pairs = zip(resample(predicted, sample_count), resample(truth, sample_count), strict=True)
    distances = [math.dist(first, second) for first, second in pairs]
    return math.hypot(*distances) / math.sqrt(sample_count)


def score_trajectory_rmse(prediction: object, truth: object, *, sample_count: int = DEFAULT_SAMPLE_COUNT) -> Measure:
    """The root mean square distance of a predicted trace from the true one, in pixels; lower is better.

    Args:
        prediction: A list of points in pixels, in order, or text that holds one.
        truth: The true trace, likewise.
        sample_count: How many samples are compared.

    Returns:
        The figure; None with a reason if the prediction is no trace, because no finite distance says so.
        Where failures must count in a mean, use `score_trajectory_similarity`.

    Raises:
        ValueError: The truth is no trace, or the sample count is below two.
    """
    true_points = _trace(truth)
    if true_points is None:
        raise ValueError("truth must be a list of at least one point [x, y]")
    metadata: dict[str, float | str] = {"sample_count": float(sample_count)}
    points = _trace(prediction)
    if points is None:
        reason = "the prediction is no list of points"
        return Measure(id=TRAJECTORY_RMSE_ID, value=None, reason=reason, metadata=metadata)
    rmse = trajectory_rmse_px(points, true_points, sample_count)
    return Measure(id=TRAJECTORY_RMSE_ID, value=rmse, metadata=metadata)


def score_trajectory_similarity(
    prediction: object, truth: object, *, half_life_px: float, sample_count: int = DEFAULT_SAMPLE_COUNT
) -> Measure:
    """exp(-ln 2 · (RMSE / half-life)²) of two traces, in [0, 1]; a prediction that is no trace scores 0.

    Args:
        prediction: A list of points in pixels, in order, or text that holds one.
        truth: The true trace, likewise.
        half_life_px: The root mean square distance that scores 0.5.
        sample_count: How many samples are compared.

    Raises:
        ValueError: The truth is no trace, the sample count is below two, or the half-life is not positive.
    """
    if not (half_life_px > 0.0 and math.isfinite(half_life_px)):
        raise ValueError(f"half_life_px must be a positive number, not {half_life_px!r}")
    distance = score_trajectory_rmse(prediction, truth, sample_count=sample_count)
    metadata = {**distance.metadata, "half_life_px": half_life_px}
    if distance.value is None:
        return Measure(id=TRAJECTORY_SIMILARITY_ID, value=0.0, reason=distance.reason, metadata=metadata)
    metadata["rmse_px"] = distance.value
    similarity = soft_similarity(distance.value, half_life_px)
    return Measure(id=TRAJECTORY_SIMILARITY_ID, value=similarity, metadata=metadata)


def _trace(value: object) -> list[Item] | None:
    """The points of a trace; None if there are none, or if one is too far away for squares to be finite."""
    table = read_items("point", LenientParser().parse(value))
    if table is None or not len(table):
        return None
    if max(max(map(abs, column)) for column in table.columns) > _LARGEST_COORDINATE:
        return None
    return list(table)
