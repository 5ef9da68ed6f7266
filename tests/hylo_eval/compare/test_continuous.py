"""Hodges-Lehmann, its interval, and the signed-rank test."""

from __future__ import annotations

import itertools
import math
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare import continuous
from hylo_eval.compare.continuous import compare_continuous, hodges_lehmann, signed_ranks

values = st.lists(st.integers(-50, 50).map(lambda v: v / 8), min_size=1, max_size=25)


def walsh(differences):
    """All averages of two differences, each with itself included, sorted."""
    return sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2))


@given(values)
@settings(deadline=None)
def test_the_estimate_is_the_median_of_the_walsh_averages(differences):
    """Counting averages finds the median that listing them gives."""
    assert hodges_lehmann(differences).estimate == pytest.approx(median(walsh(differences)), abs=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=25), st.sampled_from([0.8, 0.9, 0.95]))
@settings(deadline=None)
def test_the_interval_ends_are_walsh_averages_at_the_critical_rank(differences, level):
    """The ends are the (t+1)-th average from below and above, t the largest with P(T <= t) <= tail."""
    count = len(differences)
    ways = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    cut, below = -1, 0
    while below + ways[cut + 1] <= (1 - level) / 2 * 2**count * (1 + 1e-12):
        cut += 1
        below += ways[cut]
    interval = hodges_lehmann(differences, level=level).interval
    if cut < 0:
        assert interval is None
        return
    averages = walsh(differences)
    scale = max(abs(averages[0]), abs(averages[-1]), 1e-300)
    assert interval.low == pytest.approx(averages[cut], abs=1e-11 * scale)
    assert interval.high == pytest.approx(averages[-1 - cut], abs=1e-11 * scale)


def test_six_pairs_are_the_fewest_with_a_95_percent_interval():
    """2 / 2**5 is above 0.05 and 2 / 2**6 below it: from six pairs on, the extremes are the interval."""
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0]).interval is None
    interval = hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).interval
    assert (interval.low, interval.high) == (1.0, 6.0)


def test_the_normal_limit_meets_the_exact_critical_value(monkeypatch):
    """At the size where the method changes, both put the interval at nearly the same averages."""
    generator = random.Random(6)
    differences = [generator.gauss(0.2, 1.0) for _ in range(300)]
    exact = hodges_lehmann(differences)
    monkeypatch.setattr(continuous, "EXACT_RANK_PAIRS", 10)
    limit = hodges_lehmann(differences)
    assert limit.estimate == exact.estimate
    assert limit.interval.low == pytest.approx(exact.interval.low, abs=1e-3)
    assert limit.interval.high == pytest.approx(exact.interval.high, abs=1e-3)


def test_signed_ranks_share_ties_and_skip_zeros():
    """|1|, |2|, |2|, |5| have ranks 1, 2.5, 2.5, 4, returned doubled with their signs."""
    assert sorted(signed_ranks([2.0, 0.0, -1.0, -2.0, 5.0])) == [-5, -2, 5, 8]


@given(values)
@settings(deadline=None)
def test_the_wilcoxon_p_value_is_the_share_of_flips(differences):
    """The exact p-value equals listing the flips of the signed ranks."""
    short = differences[:10]
    ranks = signed_ranks(short)
    sums = [
        sum(s * r for s, r in zip(signs, ranks, strict=True)) for signs in itertools.product((1, -1), repeat=len(ranks))
    ]
    candidate = {f"t#{i}": value for i, value in enumerate(short)}
    found = compare_continuous(candidate, dict.fromkeys(candidate, 0.0), higher_is_better=True)
    assert found.p_value == sum(total >= sum(ranks) for total in sums) / len(sums)
    assert found.reverse_p_value == sum(total <= sum(ranks) for total in sums) / len(sums)


def test_lower_latency_is_better_when_said_so():
    """Six faster pairs: p = 1/64 for the candidate, the difference negative with its interval."""
    parent = {f"t#{i}": 0.5 for i in range(6)}
    candidate = {f"t#{i}": 0.4 - 0.01 * i for i in range(6)}
    found = compare_continuous(candidate, parent, higher_is_better=False)
    assert (found.n_pairs, found.p_value) == (6, 1 / 64)
    assert found.hodges_lehmann.estimate == pytest.approx(-0.125)
    assert found.hodges_lehmann.interval.high < 0


def test_one_wild_episode_moves_the_estimate_little():
    """An outlier that moves the mean by 100 leaves the estimate within the others' range."""
    assert 1.0 <= hodges_lehmann([1.0, 1.1, 1.2, 1.3, 1.4, 600.0]).estimate <= 1.4


def test_ten_thousand_pairs_need_no_list_of_averages():
    """The estimate of many pairs is that of their construction: symmetric around 0.25."""
    differences = [0.25 + (i - 5000) / 1000 for i in range(10_001)]
    assert hodges_lehmann(differences).estimate == pytest.approx(0.25, abs=1e-9)


def test_neighbouring_doubles_are_told_apart():
    """Differences one rounding step apart still give one of them."""
    differences = [1.0, 1.0, math.nextafter(1.0, 2.0)]
    assert hodges_lehmann(differences).estimate in differences


def test_without_pairs_there_is_no_estimate():
    """No pair: no estimate and p is 1; an empty list is refused where a value is asked for."""
    found = compare_continuous({}, {}, higher_is_better=True)
    assert (found.hodges_lehmann, found.p_value) == (None, 1.0)
    with pytest.raises(ContractError, match=r"len\(differences\)"):
        hodges_lehmann([])
