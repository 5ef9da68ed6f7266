"""Shards and prefixes of a selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import Benchmark
from hylo_eval import EvalError, plan_run
from hylo_eval.evaluation.plan import Planned
from tests.episodes import benchmark, task


def make(tasks: int, seeds: int) -> Benchmark:
    """So many tasks of so many seeds."""
    return benchmark(*(task(f"family/task{number}") for number in range(tasks)), seeds=tuple(range(50, 50 + seeds)))


def shards(bench: Benchmark, count: int) -> list[tuple[Planned, ...]]:
    """Every part; one that is left without an instance is refused, and empty here."""
    found: list[tuple[Planned, ...]] = []
    for number in range(1, count + 1):
        try:
            found.append(plan_run(bench, shard=f"{number}/{count}").declared)
        except EvalError as error:
            assert "nothing is left" in error.message
            found.append(())
    return found


def spread(items: Iterable[Planned], tasks: int) -> int:
    """How far the tasks are apart in episodes."""
    counts = Counter(item.task for item in items)
    return max((counts[f"family/task{number}"] for number in range(tasks)), default=0) - min(
        (counts[f"family/task{number}"] for number in range(tasks)), default=0
    )


sizes = st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 9))


@given(sizes)
def test_shards_are_disjoint_and_cover_everything(size: tuple[int, int, int]) -> None:
    """Each instance is in exactly one part, in the order it has in the whole."""
    tasks, seeds, count = size
    bench = make(tasks, seeds)
    whole, parts = plan_run(bench).declared, shards(bench, count)
    assert Counter(item for part in parts for item in part) == Counter(whole)
    for part in parts:
        assert [item for item in whole if item in set(part)] == list(part)


@given(sizes)
def test_every_shard_has_its_share_of_every_task(size: tuple[int, int, int]) -> None:
    """Of each task, two parts differ by one episode at most; so does every prefix of a part, between two tasks."""
    tasks, seeds, count = size
    bench = make(tasks, seeds)
    parts = shards(bench, count)
    for number in range(tasks):
        held = [sum(item.task == f"family/task{number}" for item in part) for part in parts]
        assert max(held) - min(held) <= 1
    for part in parts:
        assert all(spread(part[:length], tasks) <= 1 for length in range(len(part) + 1))


@pytest.mark.parametrize("count", [2, 5, 10])
def test_no_shard_sees_one_initial_state_alone(count: int) -> None:
    """Also where the number of parts divides the number of seeds: the remainder differs from task to task."""
    for part in shards(make(10, 10), count):
        assert len({item.episode_index for item in part}) > 1
        assert len({item.task for item in part}) == 10


@given(sizes, st.data())
def test_a_number_of_episodes_is_a_balanced_prefix(size: tuple[int, int, int], data: st.DataObject) -> None:
    """``--max-episodes`` takes the first of the declared order, of a part as of the whole."""
    tasks, seeds, _ = size
    bench = make(tasks, seeds)
    number = data.draw(st.integers(1, tasks * seeds))
    taken = plan_run(bench, max_episodes=number).declared
    assert taken == plan_run(bench).declared[:number]
    assert spread(taken, tasks) <= 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "1/0", "-1/2", "1/2/3", "a/b", "01/2", "1/2 ", "1/٣"])
def test_what_is_no_part_is_refused(shard: str) -> None:
    """The error says how a part is named."""
    with pytest.raises(EvalError, match="--shard takes I/N"):
        plan_run(benchmark(), shard=shard)


def test_instances_keep_the_position_they_have_in_the_split() -> None:
    """Whatever is narrowed: an instance of a part is the instance of the whole, and so is its seed."""
    bench = make(3, 6)
    whole = {item.key: item for item in plan_run(bench).instances}
    for options in ({"shard": "2/3"}, {"max_episodes": 7}, {"tasks": ("task1",)}, {"key": "family/task2#53"}):
        plan = plan_run(bench, **options)
        assert all(whole[item.key] == item == plan.instance(item.key) for item in plan.instances)
