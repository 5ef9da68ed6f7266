"""Pairing two maps of scores by key."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.pairing import compare_table, paired_compare, with_failures
from hylo_eval.compare.table import PairTable

scores = st.sampled_from([0.0, 1.0, None])
runs = st.dictionaries(st.integers(0, 60).map("task#{}".format), st.tuples(scores, scores), max_size=40)


def sides(run):
    """The two maps of a run drawn as key -> (candidate, parent)."""
    return {key: pair[0] for key, pair in run.items()}, {key: pair[1] for key, pair in run.items()}


def test_each_pair_lands_in_its_cell():
    """Wins, losses, both kinds of tie, abstentions by side and reason, and unmatched keys are all counted."""
    candidate = {
        "a#0": 1.0,
        "a#1": 1.0,
        "a#2": 0.0,
        "a#3": 0.0,
        "a#4": None,
        "a#5": 1.0,
        "a#6": None,
        "x#0": 1.0,
    }
    parent = {
        "a#0": 1.0,
        "a#1": 0.0,
        "a#2": 1.0,
        "a#3": 0.0,
        "a#4": 1.0,
        "a#5": None,
        "a#6": None,
        "y#1": 0.0,
    }
    result = paired_compare(
        candidate,
        parent,
        candidate_reasons={"a#4": "agent_error", "a#6": "infra"},
        parent_reasons={"a#5": "infra"},
    )
    assert (result.n_pairs, result.candidate_wins, result.parent_wins, result.ties) == (4, 1, 1, 2)
    assert (result.table.both_succeeded, result.table.both_failed) == (1, 1)
    assert result.candidate_abstentions == {"agent_error": 1, "infra": 1}
    assert result.parent_abstentions == {"infra": 1, "unstated": 1}
    assert (result.only_candidate, result.only_parent) == (("x#0",), ("y#1",))
    assert result.coverage == 4 / 9


def test_five_to_nothing_is_one_in_thirty_two():
    """The reference value of the exact one-sided test."""
    keys = [f"t#{i}" for i in range(5)]
    assert paired_compare(dict.fromkeys(keys, 1.0), dict.fromkeys(keys, 0.0)).p_value == 1 / 32


@pytest.mark.parametrize("maps", [({}, {}), ({"t#0": None}, {"t#0": 1.0}), ({"t#0": 1.0}, {"t#1": 0.0})])
def test_without_pairs_nothing_is_shown(maps):
    """No scored pair: p is 1, in both directions."""
    result = paired_compare(*maps)
    assert (result.n_pairs, result.p_value, result.reverse_p_value, result.log10_p) == (0, 1.0, 1.0, 0.0)


def test_booleans_and_integers_are_binary_scores():
    """True, 1 and 1.0 are the same success."""
    assert paired_compare({"t#0": True, "t#1": 1}, {"t#0": False, "t#1": 0}).candidate_wins == 2


@pytest.mark.parametrize("score", [0.5, -1.0, 2, math.nan, math.inf, "1", [1.0]])
@pytest.mark.parametrize("side", ["candidate", "parent"])
@pytest.mark.parametrize("matched", [True, False])
def test_a_graded_score_is_refused_with_side_and_key(score, side, matched):
    """Any score but 0 and 1 is refused, also on a key the other side lacks, and the way out is named."""
    odd = {"t#7": score}
    even = {"t#7": 1.0} if matched else {}
    maps = (odd, even) if side == "candidate" else (even, odd)
    with pytest.raises(ContractError, match=rf"{side}\['t#7'\].*paired_permutation"):
        paired_compare(*maps)


def test_a_reason_needs_an_abstention():
    """A reason for a scored or an unknown key, or an empty one, is refused."""
    with pytest.raises(ContractError, match="was scored on this key"):
        paired_compare({"t#0": 1.0}, {"t#0": 1.0}, candidate_reasons={"t#0": "infra"})
    with pytest.raises(ContractError, match="the parent has no such key"):
        paired_compare({"t#0": 1.0}, {"t#0": 1.0}, parent_reasons={"t#1": "infra"})
    with pytest.raises(ContractError, match="a reason is a word"):
        paired_compare({"t#0": None}, {"t#0": 1.0}, candidate_reasons={"t#0": ""})


@given(runs)
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_comparison(run):
    """Candidate and parent exchanged: every number changes sides and none changes value."""
    candidate, parent = sides(run)
    one, other = paired_compare(candidate, parent), paired_compare(parent, candidate)
    assert one.table == other.table.mirrored()
    assert (one.p_value, one.reverse_p_value) == (other.reverse_p_value, other.p_value)


@given(
    runs,
    st.sampled_from([(0.0, 0.0), (1.0, 1.0), (None, 0.0), (None, 1.0), (0.0, None), (1.0, None), (None, None)]),
)
@settings(deadline=None)
def test_a_tied_or_abstained_pair_leaves_p(run, pair):
    """Only discordant pairs are evidence."""
    before = paired_compare(*sides(run))
    after = paired_compare(*sides({**run, "new#0": pair}))
    assert (after.p_value, after.log10_p, after.mid_p) == (before.p_value, before.log10_p, before.mid_p)


@given(runs)
@settings(deadline=None)
def test_another_candidate_win_never_raises_p(run):
    """One more pair won by the candidate is never evidence against it."""
    after = paired_compare(*sides({**run, "new#0": (1.0, 0.0)}))
    assert after.p_value <= paired_compare(*sides(run)).p_value


@given(runs, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_keys_is_irrelevant(run, random):
    """Shuffling either map changes nothing."""
    candidate, parent = (list(side.items()) for side in sides(run))
    extra = [("only#1", 1.0), ("only#0", None)]
    straight = paired_compare(dict(candidate + extra), dict(parent))
    shuffled = candidate + extra
    random.shuffle(shuffled)
    random.shuffle(parent)
    assert paired_compare(dict(shuffled), dict(parent)) == straight


@given(runs)
@settings(deadline=None)
def test_the_worst_case_is_never_better(run):
    """Abstentions turned against the candidate never lower p, turned in its favour never raise it."""
    result = paired_compare(*sides(run))
    assert compare_table(result.table.worst_case()).p_value >= result.p_value
    assert compare_table(result.table.best_case()).p_value <= result.p_value


def test_a_table_of_counts_is_the_same_comparison():
    """Counting first and comparing keys give one result."""
    candidate = {f"t#{i}": float(i < 30) for i in range(40)}
    parent = {f"t#{i}": float(i % 2) for i in range(40)}
    table = PairTable(both_succeeded=15, candidate_wins=15, parent_wins=5, both_failed=5)
    assert paired_compare(candidate, parent) == compare_table(table)


def test_blamed_abstentions_become_failures():
    """Only abstentions for a blamed reason turn into a failure."""
    run = {"t#0": None, "t#1": None, "t#2": 1.0, "t#3": None}
    reasons = {"t#0": "agent_error", "t#1": "infra"}
    assert with_failures(run, reasons, ["agent_error"]) == {"t#0": 0.0, "t#1": None, "t#2": 1.0, "t#3": None}


def test_a_hundred_thousand_pairs_are_counted():
    """Counts of a large run are those of its construction, and p underflows with its logarithm kept."""
    count = 100_000
    candidate = {f"t#{i}": float(i % 10 < 7) for i in range(count)}
    parent = {f"t#{i}": float(i % 10 >= 5) for i in range(count)}
    result = paired_compare(candidate, parent)
    assert (result.candidate_wins, result.parent_wins, result.ties) == (
        count // 2,
        3 * count // 10,
        count // 5,
    )
    assert result.p_value == 0.0
    # log10 of P(X >= b) lies within log10(n) of log10 of the largest term, C(n, b) / 2**n.
    tosses, wins = 8 * count // 10, count // 2
    term = (math.lgamma(tosses + 1) - math.lgamma(wins + 1) - math.lgamma(tosses - wins + 1)) / math.log(10)
    assert 0 <= result.log10_p - (term - tosses * math.log10(2)) < math.log10(tosses)
