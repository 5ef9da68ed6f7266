"""Counts as sentences have them."""

from hylo_eval.compare.effect import attainability
from hylo_eval.compare.pairing import PairTable
from hylo_eval.compare.words import not_as_recorded
from hylo_eval.numerals import counted


def test_one_is_singular_and_everything_else_plural():
    """Also nothing; and words that take no s."""
    assert [counted(n, "pair") for n in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]
    assert [counted(n, "loss", "losses") for n in (0, 1, 2)] == ["0 losses", "1 loss", "2 losses"]


def test_one_discordant_pair_is_one():
    """In the sentence on what it could have shown."""
    assert attainability(PairTable(candidate_wins=1, parent_wins=0)).endswith(
        "there is 1 discordant pair, 1 of them won"
    )


def test_changed_traces_are_counted_in_words():
    """One of them is one."""
    assert not_as_recorded(1) == "1 trace is not the one that was recorded"
    assert not_as_recorded(2) == "2 traces are not the ones that were recorded"
