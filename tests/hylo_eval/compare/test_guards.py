"""Conditions beside the success rate."""

from __future__ import annotations

import random

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.continuous import compare_continuous
from hylo_eval.compare.guards import margin_guard, rise_guard
from hylo_eval.compare.permutation import paired_permutation


def interventions(changes):
    """Paired comparison of intervention counts that changed by these numbers."""
    parent = {f"t#{i}": 10.0 for i in range(len(changes))}
    candidate = {f"t#{i}": 10.0 + change for i, change in enumerate(changes)}
    return paired_permutation(candidate, parent, higher_is_better=False)


def test_a_significant_rise_fails():
    """Five rises out of five: p = 1/32 for a rise."""
    guard = rise_guard("safety interventions", interventions([1, 2, 1, 3, 1]))
    assert (guard.name, guard.verdict) == ("safety interventions", "fail")
    assert guard.words == "safety interventions: mean change +1.6, p = 0.0312 for a rise"


def test_a_rise_by_chance_passes():
    """One more intervention in five pairs is no significant rise, though the mean rose."""
    assert rise_guard("safety interventions", interventions([1, 0, 0, 0, 0])).verdict == "pass"


def test_equal_candidates_are_rarely_blocked():
    """Under equality the paired test blocks about alpha of candidates, comparing means nearly half."""
    generator, runs = random.Random(9), 200
    blocked = naive = 0
    for _ in range(runs):
        comparison = interventions([generator.choice((-1, 0, 1)) for _ in range(30)])
        blocked += rise_guard("safety interventions", comparison).verdict == "fail"
        naive += comparison.mean_difference > 0
    assert blocked / runs < 0.09
    assert naive / runs > 0.35


@pytest.mark.parametrize(("limit", "verdict"), [(0.5, "fail"), (3.0, "inconclusive"), (7.0, "pass")])
def test_a_margin_is_held_against_the_interval(limit, verdict):
    """The rise lies in [1, 6]: above 0.5, around 3, below 7."""
    candidate = {f"t#{i}": float(i) + 1 for i in range(6)}
    comparison = compare_continuous(candidate, dict.fromkeys(candidate, 0.0), higher_is_better=False)
    assert margin_guard("latency (s)", comparison, limit=limit).verdict == verdict


def test_a_margin_on_means_uses_the_bootstrap_interval():
    """Every pair rose by exactly 2: the interval is a point."""
    assert margin_guard("interventions", interventions([2, 2, 2]), limit=1.9).verdict == "fail"
    assert margin_guard("interventions", interventions([2, 2, 2]), limit=2.0).verdict == "pass"


def test_too_little_evidence_is_inconclusive():
    """No pair for a rise, no interval for a margin."""
    assert rise_guard("safety interventions", interventions([])).verdict == "inconclusive"
    few = compare_continuous({"t#0": 1.0}, {"t#0": 0.0}, higher_is_better=False)
    assert margin_guard("latency (s)", few, limit=1.0).verdict == "inconclusive"
    none = compare_continuous({}, {}, higher_is_better=False)
    assert margin_guard("latency (s)", none, limit=1.0).verdict == "inconclusive"


def test_the_direction_must_be_lower_is_better():
    """A guard against a rise on a score for which higher is better is a mistake."""
    up = paired_permutation({"t#0": 1.0}, {"t#0": 0.0}, higher_is_better=True)
    with pytest.raises(ContractError, match="higher_is_better=False"):
        rise_guard("reward", up)
    with pytest.raises(ContractError, match="higher_is_better=False"):
        margin_guard("reward", up, limit=1.0)
