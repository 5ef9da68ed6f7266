"""From scores to a summary: mean, interval, coverage, abstentions by reason, worst-case bounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from hylo_core.score import Score, Scorer
from hylo_eval.errors import EvalError
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
        binary: Whether the scorer says 0 or 1 (it declares ``binary = True``).
        unit: The unit of the mean, ``s`` for seconds; empty for counts and shares (it declares ``unit``).
        interval: Wilson's 95 % interval of a binary score; None for others and without scores.
        worst_case: Mean of a binary score with every abstention failed, and with every one succeeded.
    """

    scorer: str
    mean: float | None
    n_attempted: int
    n_scored: int
    abstained: Mapping[str, int]
    binary: bool
    unit: str = ""
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


def summarise_scorer(scorer: Scorer, scores: Iterable[Score]) -> ScoreSummary:
    """Summarise the scores of a scorer, as it declares itself; raises as :func:`summarise`."""
    binary = getattr(scorer, "binary", False) is True
    return summarise(scorer.name, scores, binary=binary, unit=str(getattr(scorer, "unit", "")))


def summarise(scorer: str, scores: Iterable[Score], *, binary: bool, unit: str = "") -> ScoreSummary:
    """Summarise the scores of one scorer.

    Raises:
        EvalError: A scorer that declares itself binary says another number than 0 or 1.
    """
    given = list(scores)
    values = [score.value for score in given if score.value is not None]
    abstained = Counter(str(score.metadata.get("reason", "unspecified")) for score in given if score.value is None)
    strays = [value for value in values if value not in (0.0, 1.0)] if binary else []
    if strays:
        raise EvalError(
            f"scorer {scorer!r} declares itself binary and says {strays[0]:g}",
            fix="have it say 0, 1 or nothing, or declare it as not binary",
        )
    successes = int(sum(values)) if binary else 0
    attempted = len(given)
    return ScoreSummary(
        scorer=scorer,
        mean=mean_of(values),
        n_attempted=attempted,
        n_scored=len(values),
        abstained=dict(sorted(abstained.items())),
        binary=binary,
        unit=unit,
        interval=wilson_interval(successes, len(values)) if binary else None,
        worst_case=_bounds(successes, len(values), attempted) if binary and attempted else None,
    )


def mean_of(values: list[float]) -> float | None:
    """The mean of finite numbers; None when there is none."""
    if not values:
        return None
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # The sum is beyond the largest float; the mean is not.
        return math.fsum(value / len(values) for value in values)


def _bounds(successes: int, scored: int, attempted: int) -> tuple[float, float]:
    return successes / attempted, (successes + attempted - scored) / attempted
