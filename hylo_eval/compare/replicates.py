"""What repeated runs of the same instances say about noise: the policy's, the simulator's, the scenes'."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_alpha, require_finite
from hylo_eval.compare.mcnemar import critical_wins, discordant_pairs_needed, exact_mcnemar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hylo_eval.compare.table import PairTable


@attrs.frozen(kw_only=True)
class NoiseFloor:
    """How far two runs of one agent differ.

    Attributes:
        n_pairs: Pairs scored in both runs.
        discordant_rate: Share of instances on which the two runs disagree; 0 for a deterministic agent and
            simulator.
        effect: The smallest difference of success rates that is significant with this many disagreements;
            anything smaller looks the same as running the agent again.
        two_sided_p: Exact McNemar p-value for the two runs differing at all. A small one means that
            something other than chance changed between them.
    """

    n_pairs: int
    discordant_rate: float
    effect: float
    two_sided_p: float


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


def noise_floor(table: PairTable, *, alpha: float = 0.05) -> NoiseFloor:
    """Measure the noise floor from the same agent run twice on the same instances.

    Args:
        table: First run as candidate, second run as parent.
        alpha: One-sided significance level of the gate it is meant for.

    Raises:
        ContractError: There are no scored pairs, or `alpha` is outside (0, 1/2).
    """
    require_alpha(alpha)
    if not table.n_pairs:
        raise ContractError("holds no scored pair, so there is no noise to measure", path="table")
    discordant = table.discordant
    wins = critical_wins(discordant, alpha)
    lead = discordant_pairs_needed(alpha) if wins is None else 2 * wins - discordant
    test = exact_mcnemar(table.candidate_wins, table.parent_wins)
    return NoiseFloor(
        n_pairs=table.n_pairs,
        discordant_rate=discordant / table.n_pairs,
        effect=min(1.0, lead / table.n_pairs),
        two_sided_p=min(1.0, 2.0 * min(test.p_value, test.reverse_p_value)),
    )


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
