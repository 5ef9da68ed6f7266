"""The recorded scenes tell another simulator from the known-good one."""

import importlib.util
import math

import numpy as np
import pytest

from hylo_eval.benchmarks import benchmark_files, load_benchmark
from hylo_eval.envs.libero.fingerprint import FINGERPRINTS, differences


def as_recorded(recorded):
    """An observation that looks exactly as recorded."""
    observation = {
        key: np.array(value) for key, value in (*recorded.positions_m.items(), *recorded.orientations.items())
    }
    for key, levels in recorded.brightness.items():
        observation[key] = np.full((4, 4, 3), levels)
    return observation


@pytest.mark.parametrize("recorded", FINGERPRINTS, ids=lambda item: item.benchmark)
def test_the_recorded_scene_differs_in_nothing(recorded):
    """A scene equals itself, with pictures or without, and a quaternion equals its negative."""
    observation = as_recorded(recorded)
    assert differences(recorded, observation) == ()
    for key in recorded.brightness:
        del observation[key]
    for key in recorded.orientations:
        observation[key] = -observation[key]
    assert differences(recorded, observation) == ()


def test_each_kind_of_change_is_named():
    """A shift by 5 mm, a turn by 10 degrees, a darker floor and a lost pose: each is one sentence about its key."""
    recorded = FINGERPRINTS[1]
    observation = as_recorded(recorded)
    observation["basket_1_pos"] = observation["basket_1_pos"] + [0.003, 0.0, 0.004]
    half = math.radians(5)
    x, y, z, w = observation["alphabet_soup_1_quat"]
    observation["alphabet_soup_1_quat"] = np.array(  # the same, then turned about z
        [
            x * math.cos(half) - y * math.sin(half),
            x * math.sin(half) + y * math.cos(half),
            z * math.cos(half) + w * math.sin(half),
            w * math.cos(half) - z * math.sin(half),
        ]
    )
    observation["agentview_image"] = observation["agentview_image"] - 10.0
    found = differences(recorded, observation)
    assert [sentence.split()[0] for sentence in found] == [
        "basket_1_pos",
        "alphabet_soup_1_quat",
        "agentview_image",
    ]
    assert "5.0 mm" in found[0]
    assert "10.0 degrees" in found[1]
    observation["basket_1_pos"] = np.full(3, np.nan)
    assert "basket_1_pos" in differences(recorded, observation)[0]


@pytest.mark.libero
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libero") is None, reason="needs the libero extra")
@pytest.mark.parametrize("recorded", FINGERPRINTS, ids=lambda item: item.benchmark)
def test_the_installed_simulator_is_the_known_good_one(recorded):
    """Settled poses and the mean colour of both pictures are those recorded with the known-good versions."""
    from hylo_eval.envs.libero import LiberoFactory

    benchmark = load_benchmark(benchmark_files()[recorded.benchmark])
    instance = next(
        item for item in benchmark.instances("heldout") if item.spec.id == recorded.task and item.seed == recorded.seed
    )
    env = LiberoFactory(instance.spec, cameras=True, camera_height=128, camera_width=128)
    observation, _ = env.reset(seed=instance.seed, options={"instance": instance})
    env.close()
    assert differences(recorded, observation) == ()
