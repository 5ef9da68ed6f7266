"""Benchmarks from providers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hylo_core.errors import ContractError
from hylo_core.task import TaskSpec
from hylo_eval import EvalError
from hylo_eval.benchmarks import dump_benchmark, env_of, parse_benchmark
from hylo_eval.sampling.providers import make_provider, sample_benchmark
from tests.episodes import task

REF = f"{__name__}:Counting"


class Counting:
    """Numbers its tasks from the seed on."""

    id, version, env = "counting", "2", "reach"
    splits = ("easy", "hard")

    def __init__(self, *, step: int = 1) -> None:
        self.step = step

    def tasks(self, split: str, count: int, seed: int) -> tuple[TaskSpec, ...]:
        return tuple(task(f"{split}/{seed + self.step * number}") for number in range(count))


class Short(Counting):
    def tasks(self, split: str, count: int, seed: int) -> tuple[TaskSpec, ...]:
        return super().tasks(split, count - 1, seed)


class Nothing:
    id = version = "x"


def broken() -> Any:
    raise RuntimeError("no")


def test_what_is_drawn_becomes_a_benchmark_that_says_how() -> None:
    """One split, named as the provider's; options, seed and count are in the digest; a file holds all of it."""
    made = make_provider(REF, {"step": "10"})
    drawn = sample_benchmark(made, benchmark_id="mine", split=None, count=3, seed=5, episodes=2)
    assert [item.id for item in drawn.tasks] == ["easy/5", "easy/15", "easy/25"]
    assert dict(drawn.splits) == {"easy": (0, 1)}
    assert env_of(drawn) == ("reach", {})
    assert drawn.metadata["provider.ref"] == REF
    assert json.loads(drawn.metadata["provider.options"]) == {"step": 10}
    assert {name: drawn.metadata[f"provider.{name}"] for name in ("id", "version", "split", "count", "seed")} == {
        "id": "counting",
        "version": "2",
        "split": "easy",
        "count": "3",
        "seed": "5",
    }
    import tomllib

    assert parse_benchmark(tomllib.loads(dump_benchmark(drawn))).digest() == drawn.digest()
    other = sample_benchmark(make_provider(REF, {}), benchmark_id="mine", split=None, count=3, seed=5, episodes=2)
    assert other.digest() != drawn.digest()


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("robocas", {}, "no provider 'robocas'.*robocasa"),
        (REF, {"stop": "1"}, "stop"),
        (REF, {"step": "x"}, "step"),
        (f"{__name__}:Nothing", {}, "which is no provider: it lacks env, splits, tasks"),
        (f"{__name__}:broken", {}, "cannot be made: RuntimeError: no"),
    ],
)
def test_what_is_no_provider_is_refused(name: str, options: dict[str, str], reason: str) -> None:
    """And an option that it does not have."""
    with pytest.raises(EvalError, match=reason):
        make_provider(name, options)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"split": "harder"}, "no split 'harder'.*hard"),
        ({"seed": -1}, "--seed must lie from 0 to 2147483647, not -1"),
        ({"seed": 2**31}, "--seed must lie from 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes: dict[str, Any], reason: str) -> None:
    """Before anything is drawn."""
    asked = {"benchmark_id": "x", "split": None, "count": 1, "seed": 0, **changes}
    with pytest.raises(EvalError, match=reason):
        sample_benchmark(make_provider(REF, {}), **asked)


def test_a_provider_that_draws_too_few_breaks_its_contract() -> None:
    """A list is as long as it was asked for."""
    with pytest.raises(ContractError, match="asked 'counting' for 3 tasks and got 2"):
        sample_benchmark(make_provider(f"{__name__}:Short", {}), benchmark_id="x", split=None, count=3, seed=0)
