"""Comparisons for a claim about new tasks: the task, not the episode, is what was sampled.

Episodes of one task share what makes it hard, so they are no independent evidence about a task nobody has
run. Here each cluster (a task, or an initial state run several times) counts as one unit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from hylo_eval.compare.breakdown import compare_by
from hylo_eval.compare.mcnemar import smallest_attainable_p
from hylo_eval.compare.sign_flip import SignFlipTest, sign_flip_test
from hylo_eval.compare.table import PairTable, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hylo_eval.compare.pairing import Scores

CLUSTER_SCOPE = "new tasks"
"""What a clustered comparison makes a claim about."""


@attrs.frozen(kw_only=True)
class DurkalskiTest:
    """Durkalski's test: asymptotic in the number of clusters, so it is shown beside the exact one.

    Durkalski, Palesch, Lipsitz & Rust (2003), "Analysis of clustered matched-pair data", Statistics in
    Medicine 22:2417-2428. With d = (candidate's wins - parent's wins) / pairs in each cluster,
    z = sum d / sqrt(sum d**2).

    Attributes:
        z: The statistic; 0.0 where no cluster leans either way.
        p_value: Upper normal tail of z (1.0 where no cluster leans): evidence that the candidate is better.
        reverse_p_value: Lower normal tail of z.
    """

    z: float
    p_value: float
    reverse_p_value: float


@attrs.frozen(kw_only=True)
class ClusterComparison:
    """A candidate against its parent with clusters as the units.

    Attributes:
        n_clusters: Clusters with at least one scored pair.
        n_pairs: Scored pairs in them.
        mean_difference: Mean over clusters of the difference of success rates within the cluster, each
            cluster counting the same; None where there is no cluster.
        sign_flip: Exact sign-flip test of (candidate's wins - parent's wins) by cluster.
        durkalski: The asymptotic test beside it.
        smallest_attainable_p: The sign-flip p-value if every cluster that leans at all leant to the
            candidate: with few tasks no outcome can be significant.
        scope: What the claim is about.
    """

    n_clusters: int
    n_pairs: int
    mean_difference: float | None
    sign_flip: SignFlipTest
    durkalski: DurkalskiTest
    smallest_attainable_p: float
    scope: str = CLUSTER_SCOPE

    @property
    def p_value(self) -> float:
        """One-sided sign-flip p-value for "the candidate is better on tasks like these"."""
        return self.sign_flip.p_value

    @property
    def reverse_p_value(self) -> float:
        """One-sided sign-flip p-value for "the parent is better on tasks like these"."""
        return self.sign_flip.reverse_p_value


def cluster_compare(clusters: Mapping[str, PairTable], *, draws: int = 20_000, seed: int = 0) -> ClusterComparison:
    """Compare two agents with clusters of pairs as the units.

    With one pair a cluster the sign-flip test is McNemar's.

    Args:
        clusters: Cluster label -> the paired outcomes in it; every pair belongs to one cluster.
        draws: Flips to draw where there are too many clusters to count all flips.
        seed: Seed of those draws.

    Raises:
        ContractError: `draws` or `seed` is no valid count.
    """
    tables = [table for _, table in sorted(clusters.items()) if table.n_pairs]
    leads = [table.candidate_wins - table.parent_wins for table in tables]
    rates = [lead / table.n_pairs for lead, table in zip(leads, tables, strict=True)]
    sign_flip = sign_flip_test(leads, draws=draws, seed=seed)
    return ClusterComparison(
        n_clusters=len(tables),
        n_pairs=sum(table.n_pairs for table in tables),
        mean_difference=math.fsum(rates) / len(rates) if rates else None,
        sign_flip=sign_flip,
        durkalski=_durkalski(rates),
        smallest_attainable_p=smallest_attainable_p(sign_flip.n_nonzero),
    )


def cluster_tables(runs: Iterable[tuple[Scores, Scores]], cluster_of: Callable[[str], str]) -> dict[str, PairTable]:
    """Collect the pairs of one or several repeated runs by cluster, for `cluster_compare`.

    Args:
        runs: (candidate's scores, parent's scores) of each repetition; pairs are made by key within it.
        cluster_of: The cluster of an instance key: `task_of` for a claim about new tasks, the key itself or
            its initial state for repetitions of the same scenes.

    Raises:
        ContractError: As `paired_compare`.
    """
    collected: dict[str, list[PairTable]] = {}
    for candidate, parent in runs:
        for row in compare_by(candidate, parent, lambda key: (cluster_of(key),)):
            collected.setdefault(row.label, []).append(row.comparison.table)
    return {label: merged(tables) for label, tables in sorted(collected.items())}


def _durkalski(rates: list[float]) -> DurkalskiTest:
    squares = math.fsum(rate * rate for rate in rates)
    if squares == 0:
        return DurkalskiTest(z=0.0, p_value=1.0, reverse_p_value=1.0)
    z = math.fsum(rates) / math.sqrt(squares)
    scaled = z / math.sqrt(2.0)
    return DurkalskiTest(z=z, p_value=math.erfc(scaled) / 2.0, reverse_p_value=math.erfc(-scaled) / 2.0)
