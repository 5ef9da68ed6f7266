"""The noise floor: how far two runs of one agent differ by chance alone, and how well that is known.

Run one agent twice and count the instances on which the two runs disagree. Noise favours neither run, so among n pairs
each is won by one side with probability s / 2, by the other with s / 2, where s is the share of disagreements. The
difference that noise alone reaches follows from s and n exactly; s itself is known only from the pairs that were run
twice, so its exact interval is carried along (Clopper & Pearson 1934, "The Use of Confidence or Fiducial Limits
Illustrated in the Case of the Binomial", Biometrika 26:404-413). Two runs that agree everywhere give an estimate of 0,
never a proof of it: with n pairs a share of about 3.7 / n cannot be excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_alpha, require_between, require_count
from hylo_eval.compare.discordance import mean_over_discordant
from hylo_eval.compare.mcnemar import discordant_pairs_needed, exact_mcnemar
from hylo_eval.compare.numeric import numpy, special_functions
from hylo_eval.compare.tango import Interval
from hylo_eval.numerals import counted, percent, points

if TYPE_CHECKING:
    from hylo_eval.compare.table import PairTable

LARGEST_MEASUREMENT: Final = 200_000
"""Pairs beyond which `NoiseFloor.pairs_to_settle` gives up."""

Standing = Literal["within", "unsettled", "above"]
"""Where a difference stands to the noise floor."""

_LEVEL: Final = 0.95


@attrs.frozen(kw_only=True)
class NoiseFloor:
    """What noise alone does to a comparison of so many pairs.

    Attributes:
        n_pairs: Pairs that were scored in both runs of the one agent.
        discordant: Pairs on which they disagree.
        discordant_rate: Their share; 0 for a deterministic agent and simulator, and for luck.
        discordant_interval: Its exact 95 % interval.
        compared_pairs: Pairs of the comparison that `effect` is about.
        effect: The largest difference of success rates that noise alone reaches in that many pairs with a probability
            above `alpha`, by the share that was found.
        effect_high: The same by the upper end of its interval: what these runs cannot exclude.
        alpha: One-sided significance level.
        two_sided_p: Exact McNemar p-value for the two runs differing at all. A small one means that something other
            than chance changed between them.
    """

    n_pairs: int
    discordant: int
    discordant_rate: float
    discordant_interval: Interval
    compared_pairs: int
    effect: float
    effect_high: float
    alpha: float
    two_sided_p: float

    def for_pairs(self, compared_pairs: int) -> NoiseFloor:
        """The floor of a comparison of so many pairs, from the same two runs.

        Raises:
            ContractError: There are no pairs.
        """
        shares = (self.discordant_rate, self.discordant_interval.high)
        effect, high = _reaches(compared_pairs, shares, self.alpha)
        return attrs.evolve(self, compared_pairs=compared_pairs, effect=effect, effect_high=high)

    def standing(self, difference: float) -> Standing:
        """Where a difference of success rates stands to the floor.

        Returns:
            "within" the floor; "above" it, also by the upper end; or "unsettled": above the estimate only.
        """
        if abs(difference) <= self.effect:
            return "within"
        return "above" if abs(difference) > self.effect_high else "unsettled"

    def pairs_to_settle(self, difference: float) -> int | None:
        """How many pairs of one agent run twice would show that a difference lies above the noise.

        Returns:
            The fewest pairs that, disagreeing as often as the measured ones, leave no floor at or above the difference
            within their interval. None unless that is "unsettled", and where nobody could run as many.
        """

        def settled(n_pairs: int) -> bool:
            disagreeing = self.discordant_rate * n_pairs
            high = _limit(disagreeing + 1.0, n_pairs - disagreeing, upper=True)
            return noise_reach(self.compared_pairs, discordant=high, alpha=self.alpha) < abs(difference)

        if self.standing(difference) != "unsettled" or not settled(LARGEST_MEASUREMENT):
            return None
        too_few, enough = self.n_pairs, LARGEST_MEASUREMENT
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if settled(middle):
                enough = middle
            else:
                too_few = middle
        return enough


def noise_floor(table: PairTable, *, alpha: float = 0.05) -> NoiseFloor:
    """Measure the noise floor from the same agent run twice on the same instances.

    Args:
        table: First run as candidate, second run as parent.
        alpha: One-sided significance level of the gate it is meant for.

    Returns:
        The floor of a comparison of as many pairs as were measured.

    Raises:
        ContractError: There are fewer pairs than any difference at `alpha` takes, or `alpha` is outside (0, 1/2).
    """
    require_alpha(alpha)
    needed = discordant_pairs_needed(alpha)
    if table.n_pairs < needed:
        raise ContractError(
            f"holds {counted(table.n_pairs, 'scored pair')}, too few to measure noise: "
            f"no difference of fewer than {needed} is significant "
            f"at {alpha:g}. fix: run at least {needed} instances twice, better some hundred",
            path="table",
        )
    test = exact_mcnemar(table.candidate_wins, table.parent_wins)
    return measured_floor(
        table.n_pairs,
        table.discordant,
        compared_pairs=table.n_pairs,
        alpha=alpha,
        two_sided_p=min(1.0, 2.0 * min(test.p_value, test.reverse_p_value)),
    )


def _reaches(compared_pairs: int, shares: tuple[float, float], alpha: float) -> tuple[float, float]:
    """What noise reaches at a share of discordant pairs and at the upper end of its interval.

    One discordant pair more may reach a step less, as a lead is even or odd with their number; the end reaches no less.
    """
    effect, high = (noise_reach(compared_pairs, discordant=share, alpha=alpha) for share in shares)
    return effect, max(effect, high)


def measured_floor(
    n_pairs: int, discordant: int, *, compared_pairs: int, alpha: float, two_sided_p: float = 1.0
) -> NoiseFloor:
    """The floor from counts alone, such as those of a record.

    Args:
        n_pairs: Pairs that were scored in both runs of the one agent.
        discordant: Pairs on which they disagree.
        compared_pairs: Pairs of the comparison that the floor is about.
        alpha: One-sided significance level.
        two_sided_p: Exact p-value for the two runs differing at all, where it is known.

    Raises:
        ContractError: A count is out of range, or `alpha` is outside (0, 1/2).
    """
    require_count(n_pairs, "n_pairs", at_least=1)
    require_count(discordant, "discordant")
    if discordant > n_pairs:
        raise ContractError(f"{discordant} disagreements do not fit into {counted(n_pairs, 'pair')}", path="discordant")
    share = discordant / n_pairs
    interval = Interval(
        low=_limit(discordant, n_pairs - discordant + 1, upper=False),
        high=_limit(discordant + 1, n_pairs - discordant, upper=True),
        level=_LEVEL,
        method="clopper-pearson",
    )
    effect, effect_high = _reaches(compared_pairs, (share, interval.high), alpha)
    return NoiseFloor(
        n_pairs=n_pairs,
        discordant=discordant,
        discordant_rate=share,
        discordant_interval=interval,
        compared_pairs=compared_pairs,
        effect=effect,
        effect_high=effect_high,
        alpha=alpha,
        two_sided_p=two_sided_p,
    )


def noise_reach(n_pairs: int, *, discordant: float, alpha: float = 0.05) -> float:
    """The largest difference that noise alone reaches, upward, with a probability above `alpha`.

    Args:
        n_pairs: Pairs of the comparison.
        discordant: Share of pairs on which two runs of one agent disagree, in [0, 1].
        alpha: One-sided significance level.

    Returns:
        A difference of success rates: the largest k / `n_pairs` with P(wins - losses >= k) > `alpha`; 0 where that is
        none.

    Raises:
        ContractError: An argument is outside its range.
    """
    require_count(n_pairs, "n_pairs", at_least=1)
    require_between(discordant, "discordant", 0.0, 1.0, closed=True)
    require_alpha(alpha)
    reached, missed = 0, n_pairs + 1
    while missed - reached > 1:
        middle = (reached + missed) // 2
        if _tail(n_pairs, discordant, middle) > alpha:
            reached = middle
        else:
            missed = middle
    return reached / n_pairs


def floor_words(floor: NoiseFloor) -> str:
    """What noise alone does, and what that rests on, as a clause."""
    effect, high = (
        points(share).removeprefix("+") if share else "no difference" for share in (floor.effect, floor.effect_high)
    )
    return (
        f"on {counted(floor.compared_pairs, 'pair')} noise alone reaches {effect} "
        f"with a probability above {floor.alpha:g}, and {high} at the upper end of that interval"
    )


def noise_words(floor: NoiseFloor, difference: float, *, of: str) -> str:
    """Where a difference stands to the noise floor, in one sentence without its full stop.

    Args:
        floor: What was measured, for as many pairs as the difference comes from.
        difference: A difference of success rates, other than 0.
        of: Which agent was run twice.
    """
    interval = floor.discordant_interval
    found = (
        f"{of} run twice disagreed in {floor.discordant} of {counted(floor.n_pairs, 'pair')}, "
        f"95 % interval {percent(interval.low)} to {percent(interval.high)}"
    )
    floors = floor_words(floor)
    head = f"the difference of {points(difference)}"
    standing = floor.standing(difference)
    if standing != "unsettled":
        return f"{head} is {standing} the noise floor: {found}; {floors}"
    needed = floor.pairs_to_settle(difference)
    more = "" if needed is None else f"; {needed} pairs that disagree no more often would settle it"
    return f"{head} is above the noise floor, but that rests on too few pairs to be sure: {found}; {floors}{more}"


def _limit(a: float, b: float, *, upper: bool) -> float:
    """One end of the Clopper-Pearson interval: a quantile of Beta(a, b)."""
    if b <= 0:
        return 1.0
    if a <= 0:
        return 0.0
    tail = (1.0 - _LEVEL) / 2.0
    return float(special_functions().betaincinv(a, b, 1.0 - tail if upper else tail))


def _tail(n_pairs: int, discordant: float, lead: int) -> float:
    """P(wins - losses >= lead) where each pair is won or lost with probability `discordant` / 2, for lead >= 1."""

    def chance(pairs: Any) -> Any:
        wins = numpy().ceil((pairs + lead) / 2.0)
        return special_functions().betainc(wins, pairs - wins + 1.0, 0.5)

    return mean_over_discordant(n_pairs, discordant, chance, at_least=lead)
