"""Success over the versions of an agent: each against its parent, and against one fixed baseline.

Against the parent alone, a slow drift never shows: each step is too small to be seen. The baseline stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from hylo_eval.compare.holm import holm_adjust
from hylo_eval.compare.pairing import PairedComparison, Scores
from hylo_eval.compare.tango import Interval, tango_interval
from hylo_eval.scoring.intervals import wilson_interval


@attrs.frozen(kw_only=True)
class Change:
    """A version against an earlier one.

    Attributes:
        reference: Label of the earlier one.
        comparison: Their pairs, the later version as candidate.
        interval: Tango's 95 % interval of the difference of success rates.
    """

    reference: str
    comparison: PairedComparison
    interval: Interval

    @property
    def difference(self) -> float | None:
        """Difference of success rates; None without pairs."""
        found = self.comparison
        return (found.candidate_wins - found.parent_wins) / found.n_pairs if found.n_pairs else None


@attrs.frozen(kw_only=True)
class TrendStep:
    """One version.

    Attributes:
        label: Its label, such as the run id.
        successes: Scored instances that succeeded.
        n_scored: Scored instances.
        interval: Wilson's 95 % interval; None where nothing was scored.
        from_parent: Against the version before; None for the first.
        from_baseline: Against the baseline; None for the baseline itself.
        regression_p: One-sided exact p-value for being worse than the baseline, adjusted by Holm over all versions;
            None for the baseline itself.
    """

    label: str
    successes: int
    n_scored: int
    interval: tuple[float, float] | None
    from_parent: Change | None
    from_baseline: Change | None
    regression_p: float | None

    @property
    def rate(self) -> float | None:
        """Share of scored instances that succeeded."""
        return self.successes / self.n_scored if self.n_scored else None


@attrs.frozen(kw_only=True)
class VersionResult:
    """What a trend is made from: one version's scores and its comparisons.

    Attributes:
        label: Its label.
        scores: Instance key -> 1, 0 or None.
        parent: Label of the version before, and the comparison with it; None for the first.
        baseline: The comparison with the baseline; None for the baseline itself.
    """

    label: str
    scores: Scores
    parent: tuple[str, PairedComparison] | None = None
    baseline: tuple[str, PairedComparison] | None = None


def trend_over_versions(versions: Sequence[VersionResult]) -> tuple[TrendStep, ...]:
    """The trend over versions, oldest first."""
    adjusted = iter(holm_adjust([item.baseline[1].reverse_p_value for item in versions if item.baseline is not None]))
    return tuple(_step(item, None if item.baseline is None else next(adjusted)) for item in versions)


def _step(item: VersionResult, regression_p: float | None) -> TrendStep:
    found = [score for score in item.scores.values() if score is not None]
    successes = round(sum(found))
    return TrendStep(
        label=item.label,
        successes=successes,
        n_scored=len(found),
        interval=wilson_interval(successes, len(found)),
        from_parent=None if item.parent is None else _change(*item.parent),
        from_baseline=None if item.baseline is None else _change(*item.baseline),
        regression_p=regression_p,
    )


def _change(reference: str, found: PairedComparison) -> Change:
    interval = tango_interval(found.candidate_wins, found.parent_wins, found.n_pairs)
    return Change(reference=reference, comparison=found, interval=interval)
