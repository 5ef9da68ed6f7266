"""The sign-flip test against plain enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare import sign_flip
from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.sign_flip import sign_flip_test

whole = st.lists(st.integers(-6, 6), max_size=9)


def enumerated(differences) -> float:
    """The share of all sign assignments whose sum is at least the observed one."""
    flips = itertools.product((1, -1), repeat=len(differences))
    sums = [math.fsum(s * d for s, d in zip(signs, differences, strict=True)) for signs in flips]
    return sum(total >= math.fsum(differences) - 1e-9 for total in sums) / len(sums)


@given(whole)
@settings(deadline=None)
def test_whole_differences_are_counted_exactly(differences):
    """Counting subset sums equals listing all flips."""
    test = sign_flip_test(differences)
    assert test.p_value == enumerated(differences)
    assert test.reverse_p_value == enumerated([-d for d in differences])
    assert (test.method, test.draws) == ("exact", 0)


@given(st.lists(st.sampled_from([0.1, -0.3, 0.7, 1.25, -2.5, 0.0]), max_size=9))
@settings(deadline=None)
def test_real_differences_are_enumerated(differences):
    """Up to twenty real differences give the share over all flips, ties up to rounding included."""
    assert sign_flip_test(differences).p_value == pytest.approx(enumerated(differences), abs=1e-12)


@given(st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None)
def test_differences_of_one_are_mcnemars_test(wins, losses):
    """On wins and losses the sign-flip test is the exact McNemar test."""
    test = sign_flip_test([1] * wins + [-1] * losses + [0] * 3)
    exact = exact_mcnemar(wins, losses)
    assert (test.p_value, test.reverse_p_value) == pytest.approx((exact.p_value, exact.reverse_p_value), rel=1e-14)


def test_counting_in_doubles_agrees_with_counting_in_integers(monkeypatch):
    """Beyond the size counted in integers the result is the same to rounding."""
    differences = [(-1) ** (i % 3) * (i % 11) for i in range(200)]
    counted = sign_flip_test(differences)
    monkeypatch.setattr(sign_flip, "_INTEGER_BITS", 0)
    summed = sign_flip_test(differences)
    assert summed.p_value == pytest.approx(counted.p_value, rel=1e-12)
    assert summed.reverse_p_value == pytest.approx(counted.reverse_p_value, rel=1e-12)


def test_sampling_is_seeded_and_close_to_the_exact_value():
    """Many real differences are flipped at random: repeatable, never 0, within five standard errors."""
    differences = [0.5 + 0.001 * i for i in range(13)] + [-0.5 - 0.0013 * i for i in range(12)]
    exact = enumerated_by_halves(differences)
    one = sign_flip_test(differences, draws=20_000, seed=3)
    assert one == sign_flip_test(list(reversed(differences)), draws=20_000, seed=3)
    assert (one.method, one.draws) == ("sampled", 20_000)
    assert abs(one.p_value - exact) < 5 * math.sqrt(exact * (1 - exact) / 20_000)
    assert sign_flip_test([0.1] * 60, draws=99).p_value == 1 / 100


def enumerated_by_halves(differences) -> float:
    """The exact p-value of 25 differences, by splitting the flips into two lists."""
    half = len(differences) // 2
    sums = []
    for part in (differences[:half], differences[half:]):
        totals = [0.0]
        for value in part:
            totals = [t + s * value for t in totals for s in (1, -1)]
        sums.append(sorted(totals))
    need, count, position = math.fsum(differences) - 1e-9, 0, len(sums[1])
    for total in sums[0]:
        while position > 0 and total + sums[1][position - 1] >= need:
            position -= 1
        count += len(sums[1]) - position
    return count / 2 ** len(differences)


def test_bad_values_are_refused():
    """NaN, text and a number of draws below one are refused by name."""
    with pytest.raises(ContractError, match=r"differences\[1\]: must be a finite number"):
        sign_flip_test([1.0, math.nan])
    with pytest.raises(ContractError, match="draws: must be a whole number of at least 1"):
        sign_flip_test([1.0], draws=0)
    with pytest.raises(ContractError, match="seed"):
        sign_flip_test([1.0], seed=-1)
