"""The laws every contract keeps: round trip, digest, immutability."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from hypothesis import given

from hylo_core import (
    AgentInfo,
    AgentSpec,
    Benchmark,
    EnvSpec,
    InitStateRef,
    Predicate,
    Score,
    SeedInit,
    TaskInstance,
    TaskSpec,
)
from hylo_core.canonical import canonical_json, digest
from hylo_core.contract import Contract
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze, thaw
from tests import strategies

GOLDEN = Path(__file__).parents[1] / "golden" / "digests.json"


def pick_up() -> TaskSpec:
    """A task with every kind of member, whose digest is on record."""
    return TaskSpec(
        id="kitchen/pick_up_the_bowl",
        version="1.2",
        instruction="pick up the {colour} bowl",
        init=InitStateRef("libero://libero_10/pick_up_the_bowl.pruned_init", 50),
        success=Predicate("expr", expr="(And (On bowl_1 plate_1))"),
        max_steps=520,
        params={"layout": [1, 2.5, None, {"nested": True}], "größe": "ä"},
        tags=("kitchen", "pick"),
    )


@given(strategies.task_specs())
def test_a_task_survives_its_json_form(task: TaskSpec) -> None:
    """Structure undoes unstructure, through JSON text as well."""
    assert TaskSpec.from_dict(task.to_dict()) == task
    assert TaskSpec.from_dict(json.loads(task.to_json())).digest() == task.digest()


@given(strategies.benchmarks())
def test_a_benchmark_survives_its_json_form(benchmark: Benchmark) -> None:
    """Structure undoes unstructure for a whole benchmark."""
    assert Benchmark.from_dict(benchmark.to_dict()) == benchmark
    assert Benchmark.from_dict(json.loads(benchmark.to_json())).digest() == benchmark.digest()


@given(strategies.benchmarks())
def test_instances_are_the_split_task_by_task(benchmark: Benchmark) -> None:
    """Each task meets the split's seeds in order, capped and never repeated; keys are unique."""
    seeds = benchmark.splits["heldout"][: benchmark.episodes_per_task]
    instances = benchmark.instances("heldout")
    expected = [(task.id, seed, index) for task in benchmark.tasks for index, seed in enumerate(seeds)]
    assert [(item.spec.id, item.seed, item.episode_index) for item in instances] == expected
    assert len({item.key for item in instances}) == len(instances)


def test_the_digests_on_record_hold() -> None:
    """A released digest never changes: runs of last year stay comparable."""
    task = pick_up()
    instance = TaskInstance(spec=task, seed=7, episode_index=7, split="heldout")
    benchmark = Benchmark(
        id="kitchen", version="1", tasks=(task,), splits={"heldout": (0, 7)}, metadata={"env": "libero"}
    )
    agent = AgentInfo(name="policy", version="3", components={"weights": "sha256:00"})
    current = {
        "task": task.digest(),
        "instance": instance.digest(),
        "benchmark": benchmark.digest(),
        "agent": agent.digest(),
        "env_spec": EnvSpec(control_hz=20).digest(),
        "agent_spec": AgentSpec(chunk_length=8, replan=4).digest(),
        "score": Score(0.5, "half", {"reason": "x"}).digest(),
    }
    assert current == json.loads(GOLDEN.read_text())


def test_a_digest_is_the_same_in_another_process_with_another_hash_seed() -> None:
    """Digests do not depend on the order of sets or dicts in a process."""
    code = "from tests.hylo_core.test_contracts import pick_up; print(pick_up().digest())"
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {pick_up().digest()}


def test_a_new_field_with_a_default_changes_no_digest() -> None:
    """Members equal to their default are left out of the JSON form."""

    @attrs.frozen(kw_only=True)
    class Before(Contract):
        name: str

    @attrs.frozen(kw_only=True)
    class After(Contract):
        name: str
        added: int = 3

    assert Before(name="x").digest() == After(name="x").digest()
    assert After(name="x", added=4).digest() != Before(name="x").digest()


def test_one_and_one_point_zero_are_the_same_number() -> None:
    """RFC 8785 writes both as 1, so a file that says 1.0 is the same benchmark."""
    assert attrs.evolve(pick_up(), params={"x": 1}).digest() == attrs.evolve(pick_up(), params={"x": 1.0}).digest()
    assert EnvSpec(control_hz=20).digest() == EnvSpec(control_hz=20.0).digest()
    assert digest({"x": -0.0}) == digest({"x": 0})


@given(strategies.json_values)
def test_freezing_and_thawing_keeps_the_value(value: object) -> None:
    """Thaw undoes freeze, up to lists for tuples, and the canonical bytes are equal."""
    frozen = freeze(value)
    assert thaw(frozen) == value
    assert canonical_json(frozen) == canonical_json(value)


def test_a_contract_cannot_be_changed_from_outside() -> None:
    """Neither through an attribute, nor a member, nor the dict it was built from."""
    given_params = {"objects": ["bowl"], "pose": {"x": 1.0}}
    task = attrs.evolve(pick_up(), params=given_params)
    before = task.digest()
    given_params["objects"].append("plate")
    given_params["pose"]["x"] = 2.0
    assert task.digest() == before
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        task.id = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        task.params["new"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        task.params._members = {}  # type: ignore[attr-defined]


def test_contracts_can_be_copied_pickled_and_hashed() -> None:
    """What crosses a process border arrives equal."""
    instance = TaskInstance(spec=pick_up(), seed=7, episode_index=7, split="heldout")
    assert copy.deepcopy(instance) == instance
    assert pickle.loads(pickle.dumps(instance)) == instance  # noqa: S301 - our own bytes
    assert len({instance, copy.copy(instance)}) == 1


def test_a_frozen_mapping_behaves_as_a_mapping() -> None:
    """Equality and hash ignore the order of keys; the repr is a dict's."""
    first, second = FrozenMapping({"a": 1, "b": 2}), FrozenMapping({"b": 2, "a": 1})
    assert first == second == {"a": 1, "b": 2}
    assert hash(first) == hash(second)
    assert repr(first) == "{'a': 1, 'b': 2}"


@given(strategies.any_json)
def test_whatever_json_comes_only_contract_errors_leave(value: object) -> None:
    """cattrs' and rfc8785's own exceptions never reach a user."""
    for cls in (TaskSpec, TaskInstance, Benchmark, AgentInfo, EnvSpec, AgentSpec, Score):
        try:
            cls.from_dict(value)  # type: ignore[arg-type]
        except ContractError as error:
            assert str(error)


@given(strategies.task_specs(), strategies.any_json)
def test_a_spoiled_member_is_refused_with_its_name(task: TaskSpec, value: object) -> None:
    """Any JSON in place of any member either fits or is refused under a path that begins with that member."""
    for name in task.to_dict():
        spoiled = {**task.to_dict(), name: value}
        try:
            TaskSpec.from_dict(spoiled)
        except ContractError as error:
            # Two members can contradict each other: then the error may stand at the other one.
            assert error.path.split(".")[0].split("[")[0] in {name, "stop_on_success"}


def test_contracts_without_members_are_equal() -> None:
    """A seed init is the kind alone."""
    assert SeedInit().to_dict() == {"kind": "seed"}
    assert SeedInit() == SeedInit()
