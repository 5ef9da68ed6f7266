"""Noise floor and variance split."""

from __future__ import annotations

import random

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.replicates import noise_floor, variance_split
from hylo_eval.compare.table import PairTable


def test_the_noise_floor_is_the_smallest_significant_difference():
    """Ten disagreements in 100: nine must go one way, so differences below (9 - 1) / 100 are noise."""
    floor = noise_floor(PairTable(both_succeeded=90, candidate_wins=6, parent_wins=4))
    assert (floor.discordant_rate, floor.effect) == (0.1, 0.08)
    assert exact_mcnemar(9, 1).p_value <= 0.05 < exact_mcnemar(8, 2).p_value
    assert floor.two_sided_p == pytest.approx(2 * 386 / 1024)


def test_a_deterministic_agent_still_has_a_floor():
    """Without disagreement five one-sided pairs are the least that can be significant."""
    floor = noise_floor(PairTable(both_succeeded=60, both_failed=40))
    assert (floor.discordant_rate, floor.effect, floor.two_sided_p) == (0.0, 0.05, 1.0)


def test_the_split_of_a_worked_example():
    """Scenes (1, 3) and (5, 7): MSW = 2, MSB = 16, so scene = (16 - 2) / 2 = 7."""
    split = variance_split({"a#0": [1.0, 3.0], "b#0": [5.0, 7.0]})
    assert (split.policy, split.scene, split.n_scenes, split.n_values) == (2.0, 7.0, 2, 4)
    assert split.scene_share == pytest.approx(7 / 9)


def test_the_split_recovers_simulated_variances():
    """Scenes of variance 4 and a policy of variance 1, unequal repetitions: both found within a tenth."""
    generator = random.Random(8)
    replicates = {}
    for scene in range(3000):
        centre = generator.gauss(0.0, 2.0)
        replicates[f"t#{scene}"] = [centre + generator.gauss(0.0, 1.0) for _ in range(2 + scene % 3)]
    split = variance_split(replicates)
    assert split.policy == pytest.approx(1.0, rel=0.1)
    assert split.scene == pytest.approx(4.0, rel=0.1)


def test_without_scene_effects_the_scene_part_is_zero():
    """Identical scene means leave nothing between scenes, never a negative variance."""
    split = variance_split({"a#0": [0.0, 1.0], "b#0": [1.0, 0.0]})
    assert (split.scene, split.policy) == (0.0, 0.5)
    assert variance_split({"a#0": [1.0, 1.0], "b#0": [1.0]}).scene_share is None


def test_what_cannot_be_split_is_refused():
    """One scene, or no repetition at all, and runs without a pair are refused."""
    with pytest.raises(ContractError, match="at least two instances"):
        variance_split({"a#0": [1.0, 2.0]})
    with pytest.raises(ContractError, match="two values for one of them"):
        variance_split({"a#0": [1.0], "b#0": [2.0]})
    with pytest.raises(ContractError, match="no scored pair"):
        noise_floor(PairTable())
