"""The scene that an environment hands over at reset stands in the trace, whole."""

import json

from hylo_eval import read_trace
from hylo_eval.rollout.episode import run_episode
from tests.episodes import FunctionAgent, ScriptedEnv, instance


class SceneEnv(ScriptedEnv):
    """Hands over a scene."""

    def __init__(self, scene):
        super().__init__()
        self.scene = scene

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return observation, info | ({} if self.scene is None else {"snapshot": self.scene})


def traced(tmp_path, scene):
    """The trace of an episode in a scene."""
    return run_episode(SceneEnv(scene), FunctionAgent(), instance(), trace_path=tmp_path / "trace.jsonl")


def test_a_scene_is_read_back_and_is_part_of_the_behaviour(tmp_path):
    """Another scene is another behaviour digest."""
    scene = {"kitchen": 3, "state": {"qpos": [0.1, 1 / 3]}, "objects": [{"name": "apple", "size": None}]}
    digests = []
    for name, value in (("a", scene), ("b", {**scene, "kitchen": 4})):
        (tmp_path / name).mkdir()
        result = traced(tmp_path / name, value)
        trace = read_trace(result.path)
        assert trace.reset is not None
        assert dict(trace.reset.snapshot) == value
        digests.append(trace.behaviour_sha256)
    assert digests[0] != digests[1]


def test_without_one_the_trace_says_nothing_of_it(tmp_path):
    """Families without snapshots write the lines they always wrote."""
    result = traced(tmp_path, None)
    (reset,) = [line for line in map(json.loads, result.path.read_text().splitlines()) if line["type"] == "reset"]
    assert "snapshot" not in reset
    trace = read_trace(result.path)
    assert trace.reset is not None
    assert trace.reset.snapshot == {}


def test_a_scene_that_is_no_mapping_is_the_environment_s_error(tmp_path):
    """Nothing is coerced."""
    result = traced(tmp_path, "a kitchen")
    assert result.end.status == "env_error"
    assert "info['snapshot'] must be a mapping" in result.error.message
