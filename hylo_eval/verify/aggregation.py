"""One verdict out of the verdicts of a task's components."""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from typing import TYPE_CHECKING

from hylo_eval.verify.verdict import Reward, Status, invalid_task, scored, validated

if TYPE_CHECKING:
    from collections.abc import Sequence


class Aggregation(StrEnum):
    """How the rewards of required components become one."""

    ALL = "all"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    PRODUCT = "product"


def aggregate_rewards(
    verdicts: Sequence[Reward],
    *,
    expected_total: int,
    policy: Aggregation,
    round_digits: int | None = None,
) -> Reward:
    """Combines the verdicts of the components that a task requires.

    A component without a verdict counts as zero. An unscored component discards all credit; infrastructure
    errors are reported before invalid tasks.

    Args:
        verdicts: The verdicts of the components that were graded.
        expected_total: How many components the task requires.
        policy: ``all`` gives 1 when every component is 1, else 0; ``mean`` divides by ``expected_total``;
            ``max`` takes the best; ``min`` and ``product`` are 0 when a component is missing.
        round_digits: Decimal digits, 0 to 6, that the result is rounded to (half to even); None for no
            rounding.

    Returns:
        The combined verdict; ``invalid_task`` for a bad total, policy or rounding, or for too many verdicts.
    """
    if isinstance(expected_total, bool) or not isinstance(expected_total, int) or expected_total <= 0:
        return invalid_task(f"expected_total must be a positive integer, not {expected_total!r:.40}")
    if not isinstance(policy, Aggregation):
        return invalid_task(f"the policy {policy!r:.40} is not one of {', '.join(Aggregation)}")
    if round_digits is not None and (
        isinstance(round_digits, bool) or not isinstance(round_digits, int) or not 0 <= round_digits <= 6
    ):
        return invalid_task("round_digits must be an integer from 0 to 6, or None")
    if len(verdicts) > expected_total:
        return invalid_task(f"{len(verdicts)} verdicts for {expected_total} components")
    components = [validated(verdict) for verdict in verdicts]
    for status in (Status.INFRA_ERROR, Status.INVALID_TASK):
        for index, component in enumerate(components):
            if component.status is status:
                detail = {"component": index, "cause": component.detail, "total": expected_total}
                return Reward(0.0, status, detail)
    rewards = [component.reward for component in components]
    missing = expected_total - len(rewards)
    combined = _combined(rewards, expected_total, policy)
    if round_digits is not None:
        scale = 10**round_digits
        combined = round(combined * scale) / scale
    passed = sum(reward == 1.0 for reward in rewards)
    return scored(combined, passed=passed, total=expected_total, missing=missing)


def _combined(rewards: list[float], total: int, policy: Aggregation) -> float:
    """The policy over ``total`` components, those without a reward being zeros that are never written out."""
    if not rewards:
        return 0.0
    is_whole = len(rewards) == total
    match policy:
        case Aggregation.ALL:
            return float(is_whole and all(reward == 1.0 for reward in rewards))
        case Aggregation.MEAN:
            # A sum of many rewards close to 1 may exceed their number by a rounding.
            return min(math.fsum(rewards) / total, 1.0) if total <= sys.float_info.max else 0.0
        case Aggregation.MAX:
            return max(rewards)
        case Aggregation.MIN:
            return min(rewards) if is_whole else 0.0
        case Aggregation.PRODUCT:
            return math.prod(rewards) if is_whole else 0.0
