"""The noise floor."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.noise import measured_floor, noise_floor, noise_reach, noise_words
from hylo_eval.compare.table import PairTable


def tail(n_pairs: int, share: Fraction, lead: int) -> Fraction:
    """P(wins - losses >= lead) by going through every outcome of every pair."""
    chance = {1: share / 2, -1: share / 2, 0: 1 - share}
    total = Fraction(0)
    for outcomes in product((1, 0, -1), repeat=n_pairs):
        if sum(outcomes) >= lead:
            probability = Fraction(1)
            for outcome in outcomes:
                probability *= chance[outcome]
            total += probability
    return total


@pytest.mark.parametrize("share", [Fraction(1, 9), Fraction(1, 4), Fraction(2, 3), Fraction(1)])
@pytest.mark.parametrize("n_pairs", [1, 5, 8])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_reach_is_the_largest_lead_that_is_no_surprise(share: Fraction, n_pairs: int, alpha: float) -> None:
    """By enumeration in exact arithmetic."""
    leads = [lead for lead in range(1, n_pairs + 1) if tail(n_pairs, share, lead) > alpha]
    assert noise_reach(n_pairs, discordant=float(share), alpha=alpha) == max(leads, default=0) / n_pairs


def test_without_disagreement_noise_reaches_nothing() -> None:
    """The estimate is 0; what twenty agreements cannot exclude stands beside it: (1 - s)**20 = 0.025."""
    floor = noise_floor(PairTable(both_succeeded=12, both_failed=8))
    assert (floor.discordant_rate, floor.effect, floor.two_sided_p) == (0.0, 0.0, 1.0)
    assert floor.discordant_interval.low == 0.0
    assert floor.discordant_interval.high == pytest.approx(1.0 - 0.025 ** (1 / 20))
    assert floor.effect_high == noise_reach(20, discordant=floor.discordant_interval.high) == 0.15


def test_the_interval_is_the_exact_one() -> None:
    """Clopper and Pearson: at its ends the observed count has a tail of 2.5 %."""
    floor = noise_floor(PairTable(both_succeeded=90, candidate_wins=6, parent_wins=4))
    low, high = floor.discordant_interval.low, floor.discordant_interval.high

    def binomial(count: int, share: float) -> float:
        from math import comb

        return comb(100, count) * share**count * (1 - share) ** (100 - count)

    assert sum(binomial(count, low) for count in range(10, 101)) == pytest.approx(0.025)
    assert sum(binomial(count, high) for count in range(11)) == pytest.approx(0.025)
    assert floor.two_sided_p == pytest.approx(2 * 386 / 1024)


@given(st.integers(5, 300), st.integers(0, 300), st.integers(1, 400))
@example(263, 262, 304)
def test_the_upper_end_reaches_as_far_at_least(n_pairs: int, discordant: int, compared: int) -> None:
    """And a difference is within the floor, unsettled or above it, in that order."""
    floor = measured_floor(n_pairs, min(discordant, n_pairs), compared_pairs=compared, alpha=0.05)
    assert 0.0 <= floor.effect <= floor.effect_high <= 1.0
    standings = [floor.standing(lead / compared) for lead in range(1, compared + 1)]
    assert standings == sorted(standings, key=("within", "unsettled", "above").index)
    assert floor.standing(-1.0) == floor.standing(1.0)


def test_more_pairs_settle_it() -> None:
    """The fewest that do, by their own upper end; nothing settles a difference that the estimate itself reaches."""
    floor = measured_floor(20, 0, compared_pairs=100, alpha=0.05)
    assert floor.standing(0.03) == "unsettled"
    needed = floor.pairs_to_settle(0.03)
    assert needed is not None
    enough, too_few = (
        measured_floor(count, 0, compared_pairs=100, alpha=0.05).effect_high for count in (needed, needed - 1)
    )
    assert enough < 0.03 <= too_few
    assert measured_floor(20, 10, compared_pairs=100, alpha=0.05).pairs_to_settle(0.03) is None
    assert floor.pairs_to_settle(0.5) is None


def test_the_floor_falls_with_the_pairs_compared() -> None:
    """Noise averages out: by the square root, give or take a pair."""
    few = measured_floor(100, 20, compared_pairs=100, alpha=0.05)
    many = few.for_pairs(10_000)
    assert many.discordant_interval == few.discordant_interval
    assert many.effect == pytest.approx(few.effect / 10, abs=0.002)
    assert many.effect == pytest.approx(1.645 * (0.2 / 10_000) ** 0.5, abs=2e-4)


def test_the_words_say_where_a_difference_stands() -> None:
    """With everything it rests on."""
    floor = measured_floor(20, 0, compared_pairs=20, alpha=0.05)
    assert noise_words(floor, 0.2, of="act 1") == (
        "the difference of +20.0 points is above the noise floor: act 1 run twice disagreed in 0 of 20 pairs, 95 % "
        "interval 0.0 % to 16.8 %; on 20 pairs noise alone reaches no difference with a probability above 0.05, and 15.0 "
        "points at the upper end of that interval"
    )
    assert "is above the noise floor, but that rests on too few pairs" in noise_words(floor, -0.1, of="act 1")
    loud = measured_floor(20, 10, compared_pairs=20, alpha=0.05)
    assert "the difference of -10.0 points is within the noise floor" in noise_words(loud, -0.1, of="act 1")


def test_too_few_pairs_are_refused() -> None:
    """With the number it takes."""
    with pytest.raises(
        ContractError, match="holds 4 scored pairs, too few to measure noise: no difference of fewer than 5"
    ):
        noise_floor(PairTable(both_failed=4))
    with pytest.raises(ContractError, match=r"no difference of fewer than 7 is significant at 0.01"):
        noise_floor(PairTable(both_failed=6), alpha=0.01)
    with pytest.raises(ContractError, match="3 disagreements do not fit into 2 pairs"):
        measured_floor(2, 3, compared_pairs=2, alpha=0.05)
