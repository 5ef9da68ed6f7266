"""What the contracts refuse, with the exact path and sentence, from Python, from JSON and from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hylo_core import (
    ActionSlice,
    AgentInfo,
    AgentSpec,
    Benchmark,
    EnvSpec,
    InitStateRef,
    Predicate,
    Score,
    SeedInit,
    StateSpec,
    TaskInstance,
    TaskSpec,
)
from hylo_core.errors import ContractError
from hylo_core.trace import ArrayLayout
from hylo_eval.benchmarks import load_benchmark
from hylo_eval.errors import EvalError


def task_members(**changes: Any) -> dict[str, Any]:
    """The JSON form of a valid task, changed."""
    members: dict[str, Any] = {
        "id": "a/b",
        "version": "1",
        "instruction": "go",
        "init": {"kind": "seed"},
        "success": {"kind": "builtin", "name": "env_success"},
        "max_steps": 10,
    }
    return {**members, **changes}


def benchmark_members(**changes: Any) -> dict[str, Any]:
    """The JSON form of a valid benchmark, changed."""
    return {"id": "b", "version": "1", "tasks": [task_members()], "splits": {"heldout": [0, 1]}, **changes}


def deep(levels: int) -> dict[str, Any]:
    """Nested mappings."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


TASKS: list[tuple[dict[str, Any], str, str]] = [
    ({"max_steps": "10"}, "max_steps", "must be an integer, not '10'"),
    ({"max_steps": 10.0}, "max_steps", "must be an integer, not 10.0"),
    ({"max_steps": True}, "max_steps", "must be an integer, not True"),
    ({"max_steps": None}, "max_steps", "must be an integer, not None"),
    ({"max_steps": 0}, "max_steps", "must be at least 1, not 0"),
    ({"max_steps": 2**53}, "max_steps", "must be below 2**53, the largest integer JSON readers keep exactly"),
    ({"id": 3}, "id", "must be text, not 3"),
    ({"id": ""}, "id", "must not be empty"),
    ({"id": "a#b"}, "id", "must not contain '#', the separator of instance keys: 'a#b'"),
    ({"id": "a\ud800"}, "id", "holds a lone surrogate, which UTF-8 cannot encode"),
    ({"version": 1}, "version", "must be text, not 1"),
    ({"tags": "abc"}, "tags", "must be a list, not 'abc'"),
    ({"tags": ["x", 1]}, "tags[1]", "must be text, not 1"),
    ({"stop_on_success": 1}, "stop_on_success", "must be true or false, not 1"),
    ({"success_at": "last"}, "success_at", "must be one of 'once', 'end', not 'last'"),
    ({"params": []}, "params", "must be a mapping, not [] (list)"),
    ({"params": {"x": 2**53}}, "params.x", "holds the integer 9007199254740992, which JSON readers round; write it as text"),
    ({"params": {"x": [0.0, float("nan")]}}, "params.x[1]", "holds nan; JSON has only finite numbers"),
    ({"params": {"x": float("-inf")}}, "params.x", "holds -inf; JSON has only finite numbers"),
    ({"params": {"x": {1: 2}}}, "params.x", "has the key 1 of type int; keys are text"),
    ({"params": {"a b": "\udfff"}}, "params.'a b'", "holds a lone surrogate, which UTF-8 cannot encode"),
    ({"params": {"x": {1, 2}}}, "params.x", "holds a set; only JSON values are allowed (convert it explicitly)"),
    ({"params": deep(66)}, "params" + ".a" * 65, "is nested deeper than 64 levels"),
    ({"instruction": "take {0}"}, "instruction", "has the field '{0}'; a field is a plain name such as {obj}, and literal braces are written {{ and }}"),
    ({"instruction": "take {a"}, "instruction", "has a single '{' at character 5; write it twice for a literal brace"),
    (
        {"success_at": "end"},
        "stop_on_success",
        "must be false when success_at is 'end': an episode that stops at its first success says nothing about its end",
    ),
]  # fmt: skip

JSON_ONLY_TASKS: list[tuple[dict[str, Any], str, str]] = [
    ({"max_step": 10}, "max_step", "is not a key of TaskSpec; did you mean 'max_steps'?"),
    ({"init": {"kind": "sed"}}, "init.kind", "must be one of 'seed', 'init_state', 'snapshot', not 'sed'"),
    ({"init": "seed"}, "init", "must be a mapping with a 'kind', not 'seed'"),
    ({"init": {"kind": "init_state", "uri": "x", "count": "5"}}, "init.count", "must be an integer, not '5'"),
    ({"init": {"kind": "init_state", "uri": "x", "count": 0}}, "init.count", "must be at least 1, not 0"),
    ({"init": {"kind": "seed", "uri": "x"}}, "init.uri", "is not a key of SeedInit; known keys: "),
    ({"success": {"kind": "builtin"}}, "success.name", "is needed by a predicate of kind 'builtin'"),
    ({"success": {"kind": "builtin", "name": "done"}}, "success.name", "must be one of 'env_success', 'response_correct', not 'done'"),
    ({"success": {"kind": "maybe"}}, "success.kind", "must be one of 'builtin', 'expr', 'callable', not 'maybe'"),
    ({"success": {"kind": "expr", "expr": "(on a  b)"}}, "success.expr", "is not in canonical form; write '(on a b)'"),
    ({"success": {"kind": "expr", "expr": "on a b"}}, "success.expr", "must be one bracketed expression, such as (on bowl_1 plate_1)"),
    ({"success": {"kind": "expr", "expr": "(on a b)", "name": "env_success"}}, "success.name", "means nothing to a predicate of kind 'expr'; leave it out"),
    ({"success": {"kind": "callable", "ref": "os.system"}}, "success.ref", "cannot load 'os.system': a reference has the form package.module:Attr or package.module:Attr.method"),
]  # fmt: skip

BENCHMARKS: list[tuple[dict[str, Any], str, str]] = [
    ({"tasks": []}, "tasks", "must hold at least one task"),
    ({"splits": {}}, "splits", "must have at least one split"),
    ({"splits": {"": [1]}}, "splits", "has a split without a name"),
    ({"splits": {1: [1]}}, "splits", "has the key 1; keys are text"),
    ({"max_steps": {1: 5}}, "max_steps", "has the key 1; keys are text"),
    ({"splits": {"heldout": []}}, "splits.heldout", "has no seeds"),
    ({"splits": {"heldout": [1, 1]}}, "splits.heldout[1]", "is seed 1, again in this split; a seed stands once in a split and in one split only"),
    ({"splits": {"train": [1], "heldout": [0, 1]}}, "splits.heldout[1]", "is seed 1, also in split 'train'; a seed stands once in a split and in one split only"),
    ({"splits": {"heldout": [2**31]}}, "splits.heldout[0]", "must be in [0, 2147483648), not 2147483648"),
    ({"splits": {"heldout": [-1]}}, "splits.heldout[0]", "must be in [0, 2147483648), not -1"),
    ({"splits": {"heldout": [True]}}, "splits.heldout[0]", "must be an integer, not True"),
    ({"splits": {"heldout": "01"}}, "splits.heldout", "must be a list, not '01'"),
    ({"metadata": {"x": 1}}, "metadata.x", "must be text, not 1"),
    ({"max_steps": {"c": 3}}, "max_steps.c", "names a task that is not in the benchmark"),
    ({"max_steps": {"a/b": "3"}}, "max_steps.a/b", "must be an integer, not '3'"),
    ({"episodes_per_task": 0}, "episodes_per_task", "must be at least 1, not 0"),
    ({"requires_privileged": "no"}, "requires_privileged", "must be true or false, not 'no'"),
]  # fmt: skip

JSON_ONLY_BENCHMARKS: list[tuple[dict[str, Any], str, str]] = [
    ({"tasks": [task_members(), task_members()]}, "tasks[1].id", "repeats 'a/b' of tasks[0]"),
    ({"tasks": [task_members(), task_members(id="c", max_steps="3")]}, "tasks[1].max_steps", "must be an integer, not '3'"),
    ({"tasks": [task_members(init={"kind": "init_state", "uri": "x", "count": 1})]}, "splits.heldout[1]", "must be below 1, the number of initial states of 'a/b', not 1"),
    ({"task": []}, "task", "is not a key of Benchmark; did you mean 'tasks'?"),
]  # fmt: skip


def refused(build: Callable[[], object]) -> ContractError:
    """The refusal of a call that must refuse."""
    with pytest.raises(ContractError) as caught:
        build()
    return caught.value


@pytest.mark.parametrize(("changes", "path", "reason"), TASKS + JSON_ONLY_TASKS)
def test_the_codec_refuses_a_bad_task(changes: dict[str, Any], path: str, reason: str) -> None:
    """A bad member of a JSON document is named by path, with one sentence, and the file stands first."""
    error = refused(lambda: TaskSpec.from_dict(task_members(**changes), source="tasks.toml"))
    assert (error.path, error.reason) == (path, reason)
    assert str(error) == f"tasks.toml: {path}: {reason}"


@pytest.mark.parametrize(("changes", "path", "reason"), TASKS)
def test_construction_refuses_a_bad_task(changes: dict[str, Any], path: str, reason: str) -> None:
    """The same value given in Python meets the same refusal."""
    members = task_members(init=SeedInit(), success=Predicate("builtin", "env_success"))
    error = refused(lambda: TaskSpec(**{**members, **changes}))
    assert (error.path, error.reason) == (path, reason)


@pytest.mark.parametrize(("changes", "path", "reason"), BENCHMARKS + JSON_ONLY_BENCHMARKS)
def test_the_codec_refuses_a_bad_benchmark(changes: dict[str, Any], path: str, reason: str) -> None:
    """A bad member anywhere in a benchmark is named by its whole path."""
    error = refused(lambda: Benchmark.from_dict(benchmark_members(**changes)))
    assert (error.path, error.reason) == (path, reason)


@pytest.mark.parametrize(("changes", "path", "reason"), BENCHMARKS)
def test_construction_refuses_a_bad_benchmark(changes: dict[str, Any], path: str, reason: str) -> None:
    """The same value given in Python meets the same refusal."""
    members = benchmark_members(tasks=(TaskSpec.from_dict(task_members()),))
    error = refused(lambda: Benchmark(**{**members, **changes}))
    assert (error.path, error.reason) == (path, reason)


@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        ("1", "must be an integer, not '1'"),
        (1.0, "must be an integer, not 1.0"),
        (True, "must be an integer, not True"),
        (-1, "must be in [0, 2147483648), not -1"),
        (2**31, "must be in [0, 2147483648), not 2147483648"),
        (5, "must be below 5, the number of initial states of 'a/b', not 5"),
    ],
)
def test_an_instance_refuses_a_bad_seed(seed: Any, reason: str) -> None:
    """A seed is an int in [0, 2**31) that names an initial state of its task."""
    spec = TaskSpec.from_dict(task_members(init={"kind": "init_state", "uri": "x", "count": 5}))
    error = refused(lambda: TaskInstance(spec=spec, seed=seed, episode_index=0, split="heldout"))
    assert (error.path, error.reason) == ("seed", reason)


@pytest.mark.parametrize(
    ("build", "path", "reason"),
    [
        (lambda: Score(float("nan")), "value", "must be finite, not nan"),
        (lambda: Score(True), "value", "must be a number, not True"),
        (lambda: Score("1"), "value", "must be a number, not '1'"),
        (lambda: InitStateRef("", 3), "uri", "must not be empty"),
        (lambda: ActionSlice(name="a", start=2, stop=2), "stop", "must be above start (2), not 2"),
        (lambda: ActionSlice(name="a", start=0, stop=1, low=1, high=0), "high", "must be at least low (1), not 0"),
        (
            lambda: EnvSpec(action=(ActionSlice(name="a", start=1, stop=2),)),
            "action[0].start",
            "must be 0: the slices cover the action once, in order",
        ),
        (lambda: EnvSpec(control_hz="20"), "control_hz", "must be a number, not '20'"),
        (lambda: AgentSpec(chunk_length=4, replan=5), "replan", "must be at most chunk_length (4), not 5"),
        (lambda: AgentInfo(name="a", trained_on="b/heldout"), "trained_on", "must be a list, not 'b/heldout'"),
        (lambda: AgentInfo(name="a", trained_on=[1]), "trained_on[0]", "must be text, not 1"),
        (lambda: ArrayLayout(shape=(2.0,)), "shape[0]", "must be an integer, not 2.0"),
        (lambda: StateSpec(name="a", privileged=1), "privileged", "must be true or false, not 1"),
    ],
)
def test_other_contracts_refuse_bad_members(build: Callable[[], object], path: str, reason: str) -> None:
    """Scores, initial states and specs check their members as tasks do."""
    error = refused(build)
    assert (error.path, error.reason) == (path, reason)


FILES = [
    ("id = 'b'\n", "env: is missing: the alias or reference of the env factory"),
    ("id = 'b'\nenv = 'reach'\n", "version: is missing"),
    ("id = 'b'\nversion = '1'\nenv = 'reach'\nsplits = {heldout=[0]}\ntasks = [{id='a'}]\n", "tasks[0].version: is missing"),
    ("id = [\n", "is not valid TOML: Invalid value (at end of document)"),
    ("id = 'b'\nmetadata = {env='x'}\n", "metadata.env: belongs at the top level, as 'env'"),
    ("env = 'reach'\nenv_options = 3\n", "env_options: must be a mapping"),
    ("env = 3\n", "env: must be text"),
    ("date = 1979-05-27\nenv = 'reach'\n[env_options]\nx = 1979-05-27\n", "env_options.x: holds a date; only JSON values are allowed (convert it explicitly)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), FILES)
def test_a_bad_file_is_named_with_the_place_in_it(text: str, message: str, tmp_path: Path) -> None:
    """An error in a benchmark file begins with the file's name."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(Exception, match=r"bad\.toml") as caught:
        load_benchmark(path)
    said = caught.value.message if isinstance(caught.value, EvalError) else str(caught.value)
    assert said == f"{path}: {message}"
