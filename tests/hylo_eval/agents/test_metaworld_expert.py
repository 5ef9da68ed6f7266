"""The packaged experts of Meta-World."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from hylo_eval.benchmarks import find_benchmark
from hylo_eval.errors import AgentError

pytestmark = pytest.mark.metaworld
pytest.importorskip("metaworld")

from hylo_eval.agents.conformance import check_agent  # noqa: E402 - after the skip
from hylo_eval.agents.metaworld_expert import MetaworldExpert  # noqa: E402
from hylo_eval.envs.metaworld import MetaworldEnv  # noqa: E402


@pytest.fixture(scope="module")
def shown(recorded):
    task = next(task for task in find_benchmark("metaworld_mt10").tasks if task.id == "metaworld/door-open-v3")
    return recorded(MetaworldEnv, task)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_conforms(noise, shown):
    """With and without noise, the agent keeps every rule of the contract."""
    instance, spec, observations = shown
    check_agent(MetaworldExpert, instance, observations, env_spec=spec, noise=noise).require()


def test_without_noise_it_is_the_packaged_expert(shown):
    """The answer is the expert's own, clipped to the action bounds."""
    from metaworld.policies import SawyerDoorOpenV3Policy

    instance, _, observations = shown
    session = MetaworldExpert().open_episode(instance, "", 0)
    with pytest.warns(UserWarning, match="too high"):
        expected = np.clip(SawyerDoorOpenV3Policy().get_action(observations[0]["observation"]), -1, 1)
    assert np.array_equal(session.act(observations[0]).actions, expected.astype(np.float64))


def test_a_task_without_an_expert_is_refused(shown):
    """An instance of another family is refused by name."""
    instance = attrs.evolve(shown[0], spec=find_benchmark("reach_fixed").tasks[0])
    with pytest.raises(AgentError, match="testing/reach_fixed"):
        MetaworldExpert().open_episode(instance, "", 0)
