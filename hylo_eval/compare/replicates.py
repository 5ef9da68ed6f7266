"""Where the variance of repeated runs of the same instances lies: in the scenes, or in policy and simulator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_finite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@attrs.frozen(kw_only=True)
class VarianceSplit:
    """Where the variance of a score comes from, by one-way analysis of variance with random scenes.

    Attributes:
        n_scenes: Instances with at least one value.
        n_values: Values in all.
        policy: Variance between repetitions of one instance: what more repetitions would average out.
        scene: Variance between instances: what only more instances average out. Never negative.
    """

    n_scenes: int
    n_values: int
    policy: float
    scene: float

    @property
    def scene_share(self) -> float | None:
        """The share of variance between instances (intraclass correlation); None without variance."""
        total = self.policy + self.scene
        return self.scene / total if total else None


def variance_split(replicates: Mapping[str, Sequence[float]]) -> VarianceSplit:
    """Split the variance of repeated scores into scene and policy.

    With K instances, n(i) values each and N in all: policy = MSW, scene = max(0, (MSB - MSW) / n0) with
    n0 = (N - sum n(i)**2 / N) / (K - 1) (Searle, Casella & McCulloch, "Variance Components", section 3.6).

    Args:
        replicates: Instance key -> its scores, or its paired differences, over the repetitions.

    Raises:
        ContractError: Fewer than two instances have values, no instance has two, or a value is not finite.
    """
    scenes = [
        [require_finite(value, f"replicates[{key!r}]") for value in values]
        for key, values in sorted(replicates.items())
        if values
    ]
    n_values = sum(len(values) for values in scenes)
    if len(scenes) < 2 or n_values == len(scenes):
        raise ContractError("needs at least two instances, and two values for one of them", path="replicates")
    grand = math.fsum(value for values in scenes for value in values) / n_values
    means = [math.fsum(values) / len(values) for values in scenes]
    between = math.fsum(len(values) * (mean - grand) ** 2 for values, mean in zip(scenes, means, strict=True))
    within = math.fsum((value - mean) ** 2 for values, mean in zip(scenes, means, strict=True) for value in values)
    policy = within / (n_values - len(scenes))
    size = (n_values - sum(len(values) ** 2 for values in scenes) / n_values) / (len(scenes) - 1)
    scene = max(0.0, (between / (len(scenes) - 1) - policy) / size)
    return VarianceSplit(n_scenes=len(scenes), n_values=n_values, policy=policy, scene=scene)


def split_runs(runs: Sequence[Mapping[str, float | None]]) -> VarianceSplit | None:
    """The split of the scores of repeated runs; None where no instance was scored twice.

    Args:
        runs: Of each repetition: instance key -> score, or None where it abstained.
    """
    values: dict[str, list[float]] = {}
    for scores in runs:
        for key, score in scores.items():
            if score is not None:
                values.setdefault(key, []).append(score)
    if len(values) < 2 or all(len(found) < 2 for found in values.values()):
        return None
    return variance_split(values)
