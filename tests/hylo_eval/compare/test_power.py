"""Exact power against brute-force enumeration."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.mcnemar import critical_wins
from hylo_eval.compare.power import (
    critical_wins_table,
    exact_power,
    minimal_detectable_effect,
    plan_pairs,
)


def enumerated_power(pairs: int, effect: float, discordant: float, alpha: float) -> float:
    """The probability of every outcome (wins, losses, ties) whose exact p-value reaches alpha, added up."""
    win, loss = (discordant + effect) / 2, (discordant - effect) / 2
    total = 0.0
    for wins in range(pairs + 1):
        for losses in range(pairs - wins + 1):
            tosses = wins + losses
            if sum(comb(tosses, k) for k in range(wins, tosses + 1)) / 2**tosses <= alpha:
                ways = comb(pairs, wins) * comb(pairs - wins, losses)
                total += ways * win**wins * loss**losses * (1 - discordant) ** (pairs - tosses)
    return total


@pytest.mark.parametrize(
    ("pairs", "effect", "discordant"),
    [
        (4, 0.5, 0.5),
        (5, 1.0, 1.0),
        (10, 0.3, 0.5),
        (20, 0.2, 0.2),
        (25, 0.1, 0.4),
        (12, 0.9, 1.0),
        (30, -0.1, 0.3),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 1 / 32, 0.01])
def test_power_is_the_sum_over_all_outcomes(pairs, effect, discordant, alpha):
    """The conditional sum equals plain enumeration."""
    found = exact_power(pairs, effect=effect, discordant=discordant, alpha=alpha)
    assert found == pytest.approx(enumerated_power(pairs, effect, discordant, alpha), abs=1e-12)


def test_without_an_effect_power_is_the_error_of_the_first_kind():
    """At effect 0 the exact test rejects at most alpha of the time."""
    assert 0.02 < exact_power(200, effect=0.0, discordant=0.5) <= 0.05


@given(st.integers(1, 60), st.floats(0.05, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=60)
def test_a_larger_effect_is_never_harder_to_see(pairs, discordant, one, other):
    """Power does not fall as the effect grows at the same share of discordant pairs."""
    small, large = sorted((one * discordant, other * discordant))
    weaker = exact_power(pairs, effect=small, discordant=discordant)
    assert exact_power(pairs, effect=large, discordant=discordant) >= weaker - 1e-12


@pytest.mark.parametrize(
    ("effect", "discordant", "power"),
    [(0.1, 0.2, 0.8), (0.1, 0.1, 0.8), (0.3, 1.0, 0.8), (0.5, 0.6, 0.9), (0.9, 1.0, 0.8), (1.0, 1.0, 0.99)],
)
def test_the_pairs_planned_are_the_fewest(effect, discordant, power):
    """No smaller number of pairs has the power; from the steady number on, every number has."""
    plan = plan_pairs(effect=effect, discordant=discordant, power=power)
    powers = [exact_power(n, effect=effect, discordant=discordant) for n in range(2 * plan.n_pairs_steady + 40)]
    assert plan.n_pairs == next(n for n, reached in enumerate(powers) if reached >= power)
    assert plan.n_pairs_steady == max(n for n, reached in enumerate(powers) if reached < power) + 1
    assert plan.power_at_n_pairs == powers[plan.n_pairs]


def test_the_normal_approximation_asks_for_too_few_pairs():
    """For .10 at .20 discordant the usual formula gives 122 pairs; exactly, 134 are needed."""
    z_alpha, z_power, psi, delta = 1.6448536, 0.8416212, 0.2, 0.1
    approximate = ((z_alpha * psi**0.5 + z_power * (psi - delta**2) ** 0.5) / delta) ** 2
    plan = plan_pairs(effect=delta, discordant=psi)
    assert 121 < approximate < 122.5
    assert plan.n_pairs == 134


@pytest.mark.parametrize(("pairs", "discordant"), [(100, 0.2), (50, 0.5), (40, 0.1), (30, 0.0), (20, 1.0), (5, 0.3)])
def test_the_minimal_detectable_effect_is_the_boundary(pairs, discordant):
    """At the effect the power is reached, a hair below it is not; past the share, the share grows with it."""
    effect = minimal_detectable_effect(pairs, discordant=discordant)
    assert exact_power(pairs, effect=effect, discordant=max(discordant, effect)) >= 0.8
    below = effect - 1e-6
    assert exact_power(pairs, effect=below, discordant=max(discordant, below)) < 0.8


def test_too_few_pairs_detect_nothing():
    """With 4 pairs no outcome reaches 0.05, so there is no detectable effect."""
    assert minimal_detectable_effect(4, discordant=0.5) is None
    assert exact_power(4, effect=1.0, discordant=1.0) == 0.0


@pytest.mark.parametrize("alpha", [0.05, 1 / 32, 0.3, 1e-6])
def test_the_table_of_critical_wins_agrees_with_the_test(alpha):
    """The recurrence gives the number that searching the exact test gives."""
    table = critical_wins_table(2400, alpha)
    for pairs in [*range(260), *range(260, 2400, 97)]:
        assert table[pairs] == (critical_wins(pairs, alpha) or pairs + 1)


def test_no_number_of_wins_suffices_below_the_pairs_needed():
    """Up to four discordant pairs 0.05 cannot be reached: the entry is one more than there are."""
    assert critical_wins_table(3, 0.05) == (1, 2, 3, 4)
    assert critical_wins_table(5, 0.05) == (1, 2, 3, 4, 5, 5)


def test_impossible_plans_are_refused():
    """An effect beyond the discordant share, none at all, or beyond any run, is refused by name."""
    with pytest.raises(
        ContractError, match=r"effect: a difference of 30 points needs at least 30.0 % discordant pairs"
    ):
        plan_pairs(effect=0.3, discordant=0.2)
    with pytest.raises(ContractError, match="effect: must be above 0"):
        plan_pairs(effect=0.0, discordant=0.2)
    with pytest.raises(ContractError, match="needs more than 200000 pairs"):
        plan_pairs(effect=0.0001, discordant=0.2)
    with pytest.raises(ContractError, match="needs more than 200000 pairs"):
        plan_pairs(effect=1e-200, discordant=0.2)
    with pytest.raises(ContractError, match="discordant: must be above 0"):
        exact_power(10, effect=0.0, discordant=0.0)
    with pytest.raises(ContractError, match="power: must lie in"):
        plan_pairs(effect=0.1, discordant=0.2, power=1.0)
