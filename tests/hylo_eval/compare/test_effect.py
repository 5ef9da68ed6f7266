"""Effect sizes, and what the evidence could and could not show."""

from __future__ import annotations

import pytest

from hylo_eval.compare.effect import attainability, measure_effect, scenarios
from hylo_eval.compare.pairing import paired_compare
from hylo_eval.compare.power import minimal_detectable_effect
from hylo_eval.compare.table import PairTable
from hylo_eval.compare.tango import tango_interval


def test_rates_difference_and_ratio():
    """50 both, 30 to 10, 10 neither: 0.8 against 0.6."""
    effect = measure_effect(PairTable(both_succeeded=50, candidate_wins=30, parent_wins=10, both_failed=10))
    assert (effect.candidate_rate, effect.parent_rate) == (0.8, 0.6)
    assert effect.difference == pytest.approx(0.2)
    assert effect.risk_ratio == pytest.approx(4 / 3)
    assert effect.discordant_rate == 0.4
    assert effect.interval == tango_interval(30, 10, 100, level=0.95)
    assert effect.decision_interval == tango_interval(30, 10, 100, level=0.9)
    assert effect.minimal_detectable_effect == minimal_detectable_effect(100, discordant=0.4)
    assert (effect.smallest_attainable_p, effect.discordant_needed, effect.wins_needed) == (2.0**-40, 5, 26)


def test_without_pairs_there_are_no_rates():
    """No pair: every rate is None, and the interval excludes nothing."""
    effect = measure_effect(PairTable())
    rates = (
        effect.candidate_rate,
        effect.parent_rate,
        effect.difference,
        effect.risk_ratio,
        effect.discordant_rate,
    )
    assert rates == (None,) * 5
    assert (effect.interval.low, effect.interval.high, effect.minimal_detectable_effect) == (-1.0, 1.0, None)


def test_a_parent_that_never_succeeded_has_no_ratio():
    """A ratio to zero is not a number."""
    assert measure_effect(PairTable(candidate_wins=3, both_failed=2)).risk_ratio is None


def test_the_sentence_on_what_could_be_shown():
    """Too few discordant pairs: the wins needed and the wins there are; otherwise the critical number."""
    assert attainability(PairTable(candidate_wins=3, both_succeeded=40)) == (
        "5 wins without a loss are needed for p <= 0.05; there are 3 discordant pairs, 3 of them won"
    )
    assert attainability(PairTable(candidate_wins=7, parent_wins=3)) == (
        "9 of 10 discordant pairs must be won for p <= 0.05; 7 were won"
    )


def test_the_scenarios_turn_abstentions_step_by_step():
    """As scored 6:0; with one agent error failed 6:1; with every abstention against the candidate 6:3."""
    candidate = {f"t#{i}": 1.0 for i in range(6)} | {"t#6": None, "t#7": None, "t#8": 0.0}
    parent = {f"t#{i}": 0.0 for i in range(6)} | {"t#6": 1.0, "t#7": 1.0, "t#8": None}
    table = paired_compare(candidate, parent, candidate_reasons={"t#6": "agent_error", "t#7": "infra"}).table
    scored, errors, worst = scenarios(table)
    assert [(s.name, s.table.candidate_wins, s.table.parent_wins) for s in (scored, errors, worst)] == [
        ("as scored", 6, 0),
        ("agent errors failed", 6, 1),
        ("worst case", 6, 3),
    ]
    assert (scored.p_value, errors.p_value, worst.p_value) == (1 / 64, 8 / 128, 130 / 512)
    assert (scored.difference, worst.difference) == (1.0, pytest.approx(1 / 3))
