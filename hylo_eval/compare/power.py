"""What a paired comparison can see: exact power, pairs needed, and the minimal detectable effect.

A pair is won by the candidate with probability (psi + delta) / 2 and by the parent with (psi - delta) / 2,
where psi is the share of discordant pairs and delta the difference of success rates. The number D of
discordant pairs is Binomial(n, psi); given D, the candidate's wins are Binomial(D, (psi + delta) / (2 psi)).
The unconditional power of the exact one-sided test is the mean over D of the chance to reach the critical
number of wins (Duffy 1984, "Asymptotic and Exact Power for the McNemar Test and its Analogue with R Controls
per Case", Biometrics 40:1005-1015). The usual normal approximation asks for several percent too few pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_alpha, require_between, require_count
from hylo_eval.compare.discordance import mean_over_discordant
from hylo_eval.compare.mcnemar import discordant_pairs_needed
from hylo_eval.compare.numeric import numpy, special_functions
from hylo_eval.numerals import percent, size_in_points

LARGEST_PLAN = 200_000
"""Pairs beyond which `plan_pairs` refuses: no simulator run is that long."""


@attrs.frozen(kw_only=True)
class PairsPlan:
    """How many pairs an effect needs.

    Attributes:
        effect: The difference of success rates to be detected.
        discordant: The share of pairs expected to be discordant.
        alpha: One-sided significance level.
        power: The probability asked for.
        n_pairs: The fewest pairs with at least that power.
        power_at_n_pairs: The exact power they have.
        n_pairs_steady: The fewest pairs from which on the power never falls below the target again: exact
            power is a saw-tooth, so a pair more can be a little worse. Plan with this number when pairs may
            drop out.
    """

    effect: float
    discordant: float
    alpha: float
    power: float
    n_pairs: int
    power_at_n_pairs: float
    n_pairs_steady: int


def exact_power(n_pairs: int, *, effect: float, discordant: float, alpha: float = 0.05) -> float:
    """The probability that the exact one-sided McNemar test rejects, for this many scored pairs.

    Args:
        n_pairs: Scored pairs.
        effect: True difference of success rates, at most `discordant` in size.
        discordant: True share of discordant pairs, in (0, 1].
        alpha: One-sided significance level.

    Returns:
        The exact unconditional power.

    Raises:
        ContractError: An argument is outside its range.
    """
    require_count(n_pairs, "n_pairs")
    require_alpha(alpha)
    _require_effect(effect, discordant)
    return _power(n_pairs, effect, discordant, alpha)


def plan_pairs(*, effect: float, discordant: float, alpha: float = 0.05, power: float = 0.8) -> PairsPlan:
    """The pairs needed to detect an effect, from exact power rather than an approximation.

    Args:
        effect: Difference of success rates to be detected, in (0, discordant].
        discordant: Expected share of discordant pairs, for example that of a pilot run.
        alpha: One-sided significance level.
        power: Probability with which the effect is to be detected, in (0, 1).

    Raises:
        ContractError: An argument is outside its range, or more than `LARGEST_PLAN` pairs would be needed.
    """
    require_alpha(alpha)
    require_between(power, "power", 0.0, 1.0)
    _require_effect(effect, discordant)
    if effect <= 0:
        raise ContractError(f"must be above 0 to be detected, got {effect!r}", path="effect")
    reached = _first_crossing(effect, discordant, alpha, power)
    # Around the crossing the saw-tooth can reach the target earlier, or miss it again a little later.
    reach = 16 + 2 * math.isqrt(reached)
    around = range(max(1, reached - reach), reached + reach + 1)
    powers = {n: _power(n, effect, discordant, alpha) for n in around}
    enough = next(n for n in around if powers[n] >= power)
    steady = next((n + 1 for n in reversed(around) if powers[n] < power), enough)
    return PairsPlan(
        effect=effect,
        discordant=discordant,
        alpha=alpha,
        power=power,
        n_pairs=enough,
        power_at_n_pairs=powers[enough],
        n_pairs_steady=steady,
    )


def minimal_detectable_effect(
    n_pairs: int, *, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference of success rates that this many pairs detect with this power.

    It is taken at the given share of discordant pairs. A difference larger than that share cannot be had
    without more discordant pairs, so beyond it every discordant pair is a win and the share is the effect:
    in that way runs without a single discordant pair have an answer too.

    Args:
        n_pairs: Scored pairs.
        discordant: Share of discordant pairs, usually the observed one, in [0, 1].
        alpha: One-sided significance level.
        power: Probability with which the effect is to be detected, in (0, 1).

    Returns:
        The effect, to 1e-9 and on the safe side; None where not even a difference of 1 would be detected.

    Raises:
        ContractError: An argument is outside its range.
    """
    require_count(n_pairs, "n_pairs")
    require_between(discordant, "discordant", 0.0, 1.0, closed=True)
    require_alpha(alpha)
    require_between(power, "power", 0.0, 1.0)
    if n_pairs < discordant_pairs_needed(alpha):
        return None
    too_small, enough = 0.0, 1.0
    while enough - too_small > 1e-9:
        middle = (too_small + enough) / 2.0
        if _power(n_pairs, middle, max(discordant, middle), alpha) >= power:
            enough = middle
        else:
            too_small = middle
    return enough


@lru_cache(maxsize=4)
def critical_wins_table(largest: int, alpha: float) -> tuple[int, ...]:
    """The fewest wins with p <= alpha for 0, 1, ..., `largest` discordant pairs; n + 1 where none suffices.

    One toss more moves the critical number by 0 or 1, so the tails follow from one another:
    P(X' >= k) = P(X >= k) + P(X = k - 1) / 2.

    Raises:
        ContractError: `largest` is negative or no integer, or `alpha` is outside (0, 1/2).
    """
    require_count(largest, "largest")
    first = discordant_pairs_needed(require_alpha(alpha))
    table = [n + 1 for n in range(min(first, largest + 1))]
    if first > largest:
        return tuple(table)
    wins, tail = first, math.ldexp(1.0, -first)
    table.append(wins)
    at_wins = tail  # P(X = wins) at this many tosses
    for tosses in range(first + 1, largest + 1):
        # P(X = wins - 1) before this toss.
        below = at_wins * wins / (tosses - wins)
        tail += below / 2.0
        at_wins = (at_wins + below) / 2.0
        if tail > alpha:
            tail -= at_wins
            at_wins *= (tosses - wins) / (wins + 1)
            wins += 1
        table.append(wins)
    return tuple(table)


def _power(n_pairs: int, effect: float, discordant: float, alpha: float) -> float:
    win_rate = min(1.0, max(0.0, (discordant + effect) / (2.0 * discordant)))

    def chance(pairs: Any) -> Any:
        fewest, most = int(pairs[0]), int(pairs[-1])
        # Rounding the size up lets all sizes of one search share one table.
        table = critical_wins_table(1 << max(6, most.bit_length()), alpha)
        critical = numpy().asarray(table[fewest : most + 1], dtype=float)
        return special_functions().betainc(critical, pairs - critical + 1.0, win_rate)

    return mean_over_discordant(n_pairs, discordant, chance, at_least=discordant_pairs_needed(alpha))


def _first_crossing(effect: float, discordant: float, alpha: float, power: float) -> int:
    """Some number of pairs with enough power whose predecessor has too little, found from above."""
    normal = NormalDist()
    distance = -normal.inv_cdf(alpha) * math.sqrt(discordant)
    distance += normal.inv_cdf(power) * math.sqrt(max(discordant - effect * effect, 0.0))
    ratio = distance / effect
    enough = max(discordant_pairs_needed(alpha), math.ceil(min(ratio * ratio, LARGEST_PLAN)))
    while _power(min(enough, LARGEST_PLAN), effect, discordant, alpha) < power:
        if enough >= LARGEST_PLAN:
            raise ContractError(
                f"an effect of {size_in_points(effect)} at {percent(discordant)} discordant pairs needs more than "
                f"{LARGEST_PLAN} pairs",
                path="effect",
            )
        enough = enough + enough // 4 + 1
    enough, too_few = min(enough, LARGEST_PLAN), 0
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if _power(middle, effect, discordant, alpha) >= power:
            enough = middle
        else:
            too_few = middle
    return enough


def _require_effect(effect: float, discordant: float) -> None:
    require_between(discordant, "discordant", 0.0, 1.0, closed=True)
    if discordant <= 0:
        raise ContractError("must be above 0: without discordant pairs nothing can be detected", path="discordant")
    require_between(effect, "effect", -1.0, 1.0, closed=True)
    if abs(effect) > discordant:
        raise ContractError(
            f"a difference of {size_in_points(effect)} needs at least {percent(abs(effect))} discordant pairs, "
            f"got {percent(discordant)}",
            path="effect",
        )
