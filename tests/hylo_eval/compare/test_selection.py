"""The luck in choosing the best of several."""

from __future__ import annotations

import itertools
from math import comb

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.selection import expected_best_of_equal


def test_the_best_of_twenty_equal_checkpoints_reads_ninety():
    """Twenty agents with a true .80 on 50 episodes: the best one shows .90 on average."""
    assert expected_best_of_equal(20, n_episodes=50, success_rate=0.8) == pytest.approx(0.90, abs=0.01)


def test_a_small_case_is_the_mean_over_all_outcomes():
    """Three agents on four episodes: enumerate all 125 results."""
    chance = [comb(4, k) * 0.3**k * 0.7 ** (4 - k) for k in range(5)]
    mean = sum(
        max(result) / 4 * chance[result[0]] * chance[result[1]] * chance[result[2]]
        for result in itertools.product(range(5), repeat=3)
    )
    assert expected_best_of_equal(3, n_episodes=4, success_rate=0.3) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_one_agent_shows_its_own_rate(rate):
    """Without a choice there is no luck in it."""
    assert expected_best_of_equal(1, n_episodes=30, success_rate=rate) == pytest.approx(rate)


def test_bad_arguments_are_refused():
    """No agent, no episode, and a rate that is none are refused by name."""
    for arguments, name in (
        ((0, 5, 0.5), "n_agents"),
        ((1, 0, 0.5), "n_episodes"),
        ((1, 5, 1.5), "success_rate"),
    ):
        with pytest.raises(ContractError, match=name):
            expected_best_of_equal(arguments[0], n_episodes=arguments[1], success_rate=arguments[2])
