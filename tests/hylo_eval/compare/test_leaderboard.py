"""Rankings with groups that cannot be told apart."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.leaderboard import Leaderboard, compact_letters, rank
from hylo_eval.compare.pairing import paired_compare

LABELS = "pqrstu"


def board(alpha: float = 0.05, **successes: int) -> Leaderboard:
    """Agents of which the one with n succeeds on the first n of forty instances."""
    scores = {name: {f"t#{seed}": float(seed < count) for seed in range(40)} for name, count in successes.items()}
    pairs = {two: paired_compare(scores[two[0]], scores[two[1]]) for two in combinations(scores, 2)}
    return rank(scores, {}, pairs, alpha=alpha)


@given(st.sets(st.sampled_from(list(combinations(LABELS, 2)))))
def test_two_labels_share_a_letter_exactly_when_they_are_not_told_apart(different):
    """Whatever the pairs are; and no letter is there in vain."""
    letters = dict(zip(LABELS, compact_letters(LABELS, different), strict=True))
    for two in combinations(LABELS, 2):
        assert bool(set(letters[two[0]]) & set(letters[two[1]])) == (two not in different)
    groups = [{label for label in LABELS if letter in letters[label]} for letter in set("".join(letters.values()))]
    assert not any(one < other for one in groups for other in groups)


def test_the_letters_of_a_chain():
    """First and last differ, the middle one from neither: ab in the middle."""
    assert compact_letters(("x", "y", "z"), {("z", "x")}) == ("a", "ab", "b")
    assert compact_letters(("x", "y"), ()) == ("a", "a")


def test_p_values_are_two_sided_and_adjusted_over_all_pairs():
    """Seven straight wins: 2 / 128, and the smallest of three p-values counts three times."""
    found = board(a=10, b=17, c=17)
    by_pair = {(test.first, test.second): test for test in found.tests}
    assert by_pair["a", "b"].p_value == 2 / 128
    assert by_pair["a", "b"].adjusted_p == 6 / 128
    assert by_pair["b", "c"].adjusted_p == 1.0
    assert found.told_apart("b", "a")
    assert not found.told_apart("b", "c")


def test_ranks_are_ranges():
    """Behind those shown to be better, before those shown to be worse."""
    found = board(a=10, b=17, c=17)
    assert [(item.label, item.letters, item.best_rank, item.worst_rank) for item in found.standings] == [
        ("b", "a", 1, 2), ("c", "a", 1, 2), ("a", "b", 3, 3),
    ]  # fmt: skip
    close = board(a=10, b=14, c=18)
    # 4 wins: 1/8; 8 wins: 2/256, times three is 0.023: only a and c are told apart.
    assert [(item.label, item.letters, item.best_rank, item.worst_rank) for item in close.standings] == [
        ("c", "a", 1, 2), ("b", "ab", 1, 3), ("a", "b", 2, 3),
    ]  # fmt: skip


def test_abstentions_are_shown_beside_the_rate():
    """The rate is that of the scored instances; an agent that was never scored comes last."""
    scores = {"a": {"t#0": 1.0, "t#1": None}, "b": {"t#0": None, "t#1": None}}
    pairs = {("a", "b"): paired_compare(scores["a"], scores["b"])}
    first, last = rank(scores, {"a": {"t#1": "infra"}}, pairs).standings
    assert (first.rate, first.coverage, first.abstentions) == (1.0, 0.5, {"infra": 1})
    assert (last.label, last.rate, last.interval, last.abstentions) == ("b", None, None, {"unstated": 2})


def test_what_is_no_leaderboard_is_refused():
    """One agent, a missing pair, a level that is none."""
    with pytest.raises(ContractError, match="must hold 2 to 40 runs, not 1"):
        board(a=1)
    with pytest.raises(ContractError, match="lacks"):
        rank({"a": {}, "b": {}}, {}, {})
    with pytest.raises(ContractError, match="alpha"):
        board(a=1, b=2, alpha=1.0)
