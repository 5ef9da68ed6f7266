"""The variance of repeated scores, split into scene and policy."""

from __future__ import annotations

import random

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.replicates import split_runs, variance_split


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
    """One scene, or no repetition at all."""
    with pytest.raises(ContractError, match="at least two instances"):
        variance_split({"a#0": [1.0, 2.0]})
    with pytest.raises(ContractError, match="two values for one of them"):
        variance_split({"a#0": [1.0], "b#0": [2.0]})


def test_runs_are_split_by_the_instances_that_were_scored_twice():
    """Abstentions drop out; where nothing was scored twice there is nothing to split."""
    first, second = {"a#0": 1.0, "b#0": 0.0, "c#0": None}, {"a#0": 0.0, "b#0": 0.0, "c#0": 1.0}
    split = split_runs([first, second])
    assert split == variance_split({"a#0": [1.0, 0.0], "b#0": [0.0, 0.0], "c#0": [1.0]})
    assert split_runs([first]) is None
    assert split_runs([{"a#0": 1.0}, {"a#0": 0.0}]) is None
