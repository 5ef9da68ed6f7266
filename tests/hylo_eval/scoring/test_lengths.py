"""That successes end first is said where episodes show it, and not of fixed lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.scoring.lengths import EpisodeLengths


@pytest.mark.parametrize(
    ("episodes", "end_first"),
    [
        ([], False),
        ([("a", 12, True)], False),
        ([("a", 12, True), ("a", 50, False)], True),
        ([("a", 50, True), ("a", 12, False)], False),
        ([("a", 12, True), ("a", 20, True)], True),
        ([("a", 12, False), ("a", 20, False)], False),
        ([("a", 50, True), ("b", 280, True)], False),
        ([("a", 10, True), ("a", 50, False), ("b", 30, True), ("b", 40, False)], True),
    ],
)
def test_what_the_episodes_show(episodes: list[tuple[str, int, bool]], end_first: bool) -> None:
    """Nothing of one episode or of failures alone; tasks with other horizons are held apart."""
    assert EpisodeLengths.of(episodes).successes_end_first is end_first


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans())))
def test_it_is_never_said_of_fixed_lengths(episodes: list[tuple[str, bool]]) -> None:
    """Each task has its horizon, and every episode runs to it."""
    horizons = {"a": 50, "b": 280, "c": 500}
    found = EpisodeLengths.of((task, horizons[task], succeeded) for task, succeeded in episodes)
    assert not found.successes_end_first


@given(st.lists(st.tuples(st.integers(1, 99), st.booleans()), min_size=1))
def test_it_is_said_where_success_ends_the_episode(episodes: list[tuple[int, bool]]) -> None:
    """Failures run to the horizon, successes do not: said as soon as one of each has ended."""
    found = EpisodeLengths.of(("a", steps if succeeded else 100, succeeded) for steps, succeeded in episodes)
    if {succeeded for _, succeeded in episodes} == {True, False}:
        assert found.successes_end_first
