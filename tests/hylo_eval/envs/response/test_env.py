"""The one-step environment: what it shows, what it refuses, and that it judges nothing."""

import ast
from pathlib import Path

import attrs
import numpy as np
import pytest

from hylo_core.task import Predicate, TaskInstance
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs import response
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.response import ResponseEnv
from hylo_eval.errors import AgentError, EnvError

PICTURE = {"path": "a.png", "sha256": "0" * 64, "width": 4, "height": 3}


@pytest.fixture
def task():
    """A shipped task."""
    return find_benchmark("response_tabletop").tasks[0]


def instance(task):
    """Its one instance."""
    return TaskInstance(spec=task, seed=0, episode_index=0, split="heldout")


def changed(task, **params):
    """The task with other params; None takes one away."""
    members = {**task.params, **params}
    return attrs.evolve(task, params={name: value for name, value in members.items() if value is not None})


def test_it_keeps_the_contract(task):
    """Every rule of the conformance check."""
    report = check_env(ResponseEnv, task)
    report.require()
    kept = {finding.rule for finding in report.findings if finding.outcome == "kept"}
    assert {"reset_purity", "success", "observations", "step_types", "observation_untouched"} <= kept


def test_it_shows_prompt_and_picture_and_ends_with_the_first_answer(task):
    """The prompt is the instruction with its braces; the picture has the size the truth states."""
    env = ResponseEnv(task)
    observation, info = env.reset(seed=0, options={"instance": instance(task)})
    assert observation["prompt"] == info["instruction"]
    assert '{"answer": <integer>, "annotation": [[x, y], …]}' in observation["prompt"]
    width, height = task.params["truth"]["image_size"]
    assert observation["image"].shape == (height, width, 3)
    assert observation["image"].dtype == np.uint8
    _, reward, terminated, truncated, _ = env.step("4")
    assert (reward, terminated, truncated) == (0.0, True, False)


def test_it_judges_nothing(task):
    """Even the truth itself is no success to the env, which says who decides; nothing here imports the verdicts."""
    env = ResponseEnv(task)
    env.reset(seed=0, options={"instance": instance(task)})
    answer = task.params["truth"]["answer"]["value"]
    *_, info = env.step(f'{{"answer": {answer}}}')
    assert info["success"] is False
    assert "response_correct" in env.env_spec.success_source
    for file in Path(response.__file__).parent.glob("*.py"):
        imported = [
            node.module or "" for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
        ]
        assert not [name for name in imported if name.startswith(("hylo_eval.verify", "hylo_eval.scoring"))]


@pytest.mark.parametrize("action", [3, np.zeros(2), b"text"])
def test_only_text_is_a_response(task, action):
    """Anything else is the agent's error."""
    env = ResponseEnv(task)
    env.reset(seed=0, options={"instance": instance(task)})
    with pytest.raises(AgentError, match="a response is text"):
        env.step(action)


def test_a_text_beyond_all_bounds_is_an_agent_error(task, monkeypatch):
    """Recorded as one, not stored."""
    monkeypatch.setattr("hylo_eval.envs.response.env.MAX_RESPONSE_CHARACTERS", 10)
    env = ResponseEnv(task)
    env.reset(seed=0, options={"instance": instance(task)})
    env.step("x" * 10)
    with pytest.raises(AgentError, match="11 characters"):
        env.step("x" * 11)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"truth": None}, "needs the param 'truth'"),
        ({"scene": None}, "needs either"),
        ({"picture_digest": None}, "needs either"),
        ({"picture_digest": "sha256:0"}, "drawn differently here"),
        ({"scene": {"width": 4}}, "params.scene"),
        ({"answer": 3}, "no param 'answer'"),
        ({"scene": None, "picture_digest": None, "images": []}, "is empty"),
        ({"scene": None, "picture_digest": None, "images": [PICTURE]}, "nobody said where"),
    ],
)
def test_params_it_does_not_understand_are_refused(task, params, reason):
    """Before anything is asked."""
    with pytest.raises(EnvError, match=reason):
        ResponseEnv(changed(task, **params))


def test_another_predicate_is_refused(task):
    """This env reports no success of its own."""
    with pytest.raises(EnvError, match="response_correct"):
        ResponseEnv(attrs.evolve(task, success=Predicate("builtin", "env_success")))
