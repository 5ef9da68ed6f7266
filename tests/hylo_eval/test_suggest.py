"""Names that people typed."""

from __future__ import annotations

from hylo_eval.suggest import did_you_mean, quoted


def test_a_name_is_repeated_as_far_as_any_name_goes() -> None:
    """A run id of the greatest length is whole; the rest of a longer one is counted, and control codes are spelled."""
    assert quoted("night-1") == "'night-1'"
    assert quoted("x" * 128) == repr("x" * 128)
    assert quoted("x" * 130) == f"'{'x' * 128}... (2 more characters)'"
    assert quoted("a\x1b[2J") == "'a\\x1b[2J'"


def test_only_near_names_are_suggested() -> None:
    """By their letters."""
    assert did_you_mean("reach_fixd", ["reach_fixed", "libero_90"]) == "; did you mean 'reach_fixed'?"
    assert did_you_mean("zzz", ["reach_fixed"]) == ""


def test_no_name_is_suggested_twice() -> None:
    """What several runs have is one name, and leaves room for others."""
    assert did_you_mean("x0.jsonl", ["x1.jsonl"] * 3 + ["y"]) == "; did you mean 'x1.jsonl'?"
    assert did_you_mean("ab", ["abc"] * 3 + ["abd"]).count(" or ") == 1
