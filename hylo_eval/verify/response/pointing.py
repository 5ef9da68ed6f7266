"""Scores of pointing: how many predicted points hit, and whether they are as many as asked for.

These are the measures of Where2Place (RoboPoint), RefSpatial, RoboSpatial-Home and PointArena, under ids of
our own. A failure counts as wrong and is never dropped: an item that is no point is a miss among the
others, a response without points scores 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hylo_eval.verify.response.coordinates import as_list, point
from hylo_eval.verify.response.measure import Measure
from hylo_eval.verify.response.parsing import LenientParser, as_mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.verify.response.coordinates import Item
    from hylo_eval.verify.response.regions import Region

EXACT_COUNT_ID = "exact_count_v0"
ONE_POINT_PER_REGION_ID = "one_point_per_region_v0"


def points_in_region_id(region: Region) -> str:
    """The id of the hit share for a kind of region, for example `points_in_mask_v0`."""
    return f"points_in_{region.kind}_v0"


def score_points_in_region(prediction: object, region: Region) -> Measure:
    """The share of predicted points that lie in a region.

    Args:
        prediction: A list of points in pixels, one bare point, or text that holds one of these.
        region: Where the points should be.

    Returns:
        A value in [0, 1], with the counts `points`, `hits` and `unreadable`.
    """
    items = _point_items(prediction)
    name = points_in_region_id(region)
    if not items:
        reason = "the prediction is no list of points" if items is None else "there is no point"
        return Measure(id=name, value=0.0, reason=reason, metadata={"points": 0.0, "hits": 0.0, "unreadable": 0.0})
    points = [point(item) for item in items]
    hits = int(region.holds(_array([item for item in points if item is not None])).sum())
    unreadable = points.count(None)
    counts: dict[str, float | str] = {
        "points": float(len(points)),
        "hits": float(hits),
        "unreadable": float(unreadable),
    }
    reason = None if hits == len(points) else f"{len(points) - hits} of {len(points)} points miss the {region.kind}"
    return Measure(id=name, value=hits / len(points), reason=reason, metadata=counts)


def score_exact_count(prediction: object, expected_count: int) -> Measure:
    """1 if there are exactly as many predicted items as asked for, each of them a point, else 0.

    Args:
        prediction: A list of points, one bare point, or text that holds one of these.
        expected_count: How many there should be; 0 asks for an empty list.

    Raises:
        ValueError: The expected count is negative or no integer.
    """
    if isinstance(expected_count, bool) or not isinstance(expected_count, int) or expected_count < 0:
        raise ValueError(f"expected_count must be an integer of at least 0, not {expected_count!r}")
    items = _point_items(prediction)
    given = -1 if items is None else len(items)
    metadata: dict[str, float | str] = {"expected": float(expected_count), "given": float(max(given, 0))}
    if items is None:
        reason = "the prediction is no list of points"
    elif any(point(item) is None for item in items):
        reason = "the prediction holds something that is no point"
    elif given != expected_count:
        reason = f"there are {given} points, not {expected_count}"
    else:
        return Measure(id=EXACT_COUNT_ID, value=1.0, metadata=metadata)
    return Measure(id=EXACT_COUNT_ID, value=0.0, reason=reason, metadata=metadata)


def score_one_point_per_region(prediction: object, regions: Sequence[Region]) -> Measure:
    """1 if the points are as many as the regions and each can have a region of its own that holds it, else 0.

    Args:
        prediction: A list of points in pixels, one bare point, or text that holds one of these.
        regions: Where the points should be; they may overlap.

    Returns:
        1 or 0, with the count `regions_hit` of the best pairing.
    """
    counted = score_exact_count(prediction, len(regions))
    points = [found for item in _point_items(prediction) or () if (found := point(item)) is not None]
    matched = _largest_pairing(points, regions)
    metadata = {**counted.metadata, "regions_hit": float(matched)}
    reason = counted.reason
    if reason is None and matched < len(regions):
        reason = f"{len(regions) - matched} of {len(regions)} regions have no point of their own"
    value = 1.0 if reason is None else 0.0
    return Measure(id=ONE_POINT_PER_REGION_ID, value=value, reason=reason, metadata=metadata)


def _point_items(prediction: object) -> Sequence[object] | None:
    """The items of a list that should be points; a bare point is a list of one; None if there is no list."""
    parsed = LenientParser().parse(prediction)
    if as_mapping(parsed) is not None:
        return None
    return [parsed] if point(parsed) is not None else as_list(parsed)


def _largest_pairing(points: Sequence[Item], regions: Sequence[Region]) -> int:
    """How many regions can have a point of their own: the size of a maximum bipartite matching."""
    if not points or not regions:
        return 0
    import numpy as np
    from scipy import sparse
    from scipy.sparse import csgraph

    array = _array(points)
    hits = cast("Any", sparse).csr_matrix(np.stack([region.holds(array) for region in regions], axis=1))
    paired: Sequence[int] = cast("Any", csgraph).maximum_bipartite_matching(hits, perm_type="column").tolist()
    return sum(1 for region in paired if region >= 0)


def _array(points: Sequence[Item]) -> NDArray[np.float64]:
    """Points as regions take them: shape (n, 2)."""
    import numpy as np

    return np.array(points, dtype=np.float64).reshape(-1, 2)
