"""From scores to a summary: mean, interval, coverage, abstentions by reason, worst-case bounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from hylo_core.score import Score
from hylo_eval.scoring.intervals import wilson_interval
from hylo_eval.scoring.outcome import INFRASTRUCTURE_REASONS


@attrs.frozen(kw_only=True)
class ScoreSummary:
    """What one scorer says about a set of episodes.

    Attributes:
        scorer: The scorer's name.
        mean: Of the scored episodes; None when none was scored.
        n_attempted: Episodes with an outcome.
        n_scored: Episodes with a number.
        abstained: Number of abstentions by reason.
        binary: Whether every number is 0 or 1.
        interval: Wilson's 95 % interval of a binary score; None for others and without scores.
        worst_case: Mean of a binary score with every abstention failed, and with every one succeeded.
    """

    scorer: str
    mean: float | None
    n_attempted: int
    n_scored: int
    abstained: Mapping[str, int]
    binary: bool
    interval: tuple[float, float] | None = None
    worst_case: tuple[float, float] | None = None

    @property
    def n_abstained(self) -> int:
        """Abstentions, whatever the reason."""
        return self.n_attempted - self.n_scored

    @property
    def n_infrastructure(self) -> int:
        """Abstentions for which the machine is to blame."""
        return sum(count for reason, count in self.abstained.items() if reason in INFRASTRUCTURE_REASONS)

    @property
    def coverage(self) -> float:
        """Share of the attempted episodes that were scored."""
        return self.n_scored / self.n_attempted if self.n_attempted else 0.0


def summarise(scorer: str, scores: Iterable[Score]) -> ScoreSummary:
    """Summarise the scores of one scorer."""
    given = list(scores)
    values = [score.value for score in given if score.value is not None]
    abstained = Counter(str(score.metadata.get("reason", "unspecified")) for score in given if score.value is None)
    binary = bool(values) and all(value in (0.0, 1.0) for value in values)
    successes = int(sum(values)) if binary else 0
    attempted = len(given)
    return ScoreSummary(
        scorer=scorer,
        mean=math.fsum(values) / len(values) if values else None,
        n_attempted=attempted,
        n_scored=len(values),
        abstained=dict(sorted(abstained.items())),
        binary=binary,
        interval=wilson_interval(successes, len(values)) if binary else None,
        worst_case=(successes / attempted, (successes + attempted - len(values)) / attempted) if binary else None,
    )
