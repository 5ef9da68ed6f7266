"""Differences between two definitions of a benchmark."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.benchmark import Benchmark
from hylo_core.task import Predicate, SeedInit, TaskSpec
from hylo_eval.benchmark_changes import ABSENT, Change, changes


def task(name: str, **members: object) -> TaskSpec:
    given = {
        "id": name,
        "version": "1",
        "instruction": "go",
        "init": SeedInit(),
        "success": Predicate("builtin", name="env_success"),
        "max_steps": 10,
        **members,
    }
    return TaskSpec(**given)


def benchmark(*tasks: TaskSpec, **members: object) -> Benchmark:
    given = {
        "id": "b",
        "version": "1",
        "tasks": tasks or (task("a"),),
        "splits": {"heldout": (0, 1)},
        "metadata": {"env": "reach"},
        **members,
    }
    return Benchmark(**given)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (benchmark(task("a", max_steps=20)), Change("tasks[a].max_steps", "10", "20")),
        (benchmark(version="2"), Change("version", "'1'", "'2'")),
        (benchmark(metadata={"env": "fetch"}), Change("metadata.env", "'reach'", "'fetch'")),
        (benchmark(task("a", tags=("x",))), Change("tasks[a].tags", ABSENT, "['x']")),
        (benchmark(splits={"heldout": (0, 2)}), Change("splits.heldout", "[0, 1]", "[0, 2]")),
        (
            benchmark(splits={"heldout": tuple(range(50))}),
            Change("splits.heldout", "[0, 1]", "[0, 1, …, 49] (50 items)"),
        ),
        (benchmark(task("a", params={"x": {"y": 1}})), Change("tasks[a].params", ABSENT, "{x, …}")),
    ],
)
def test_a_difference_is_named_by_path_and_values(after, expected):
    """One changed member gives one change, at its path; tasks go by their id."""
    assert changes(benchmark(), after) == (expected,)


def test_an_added_task_is_one_change():
    """Not one for every field of it."""
    (change,) = changes(benchmark(), benchmark(task("a"), task("z/z.z")))
    assert (change.path, change.before) == ("tasks[z/z.z]", ABSENT)


def test_another_order_of_tasks_is_a_change():
    """A position on the command line names a task, so the order is part of a definition."""
    (change,) = changes(benchmark(task("a"), task("c"), task("b")), benchmark(task("a"), task("b"), task("c")))
    assert change == Change("tasks: order, from position 1", "c", "b")


def test_a_number_is_compared_by_value():
    """1 and 1.0 are the same number, and the digests agree."""
    first, second = (benchmark(task("a", params={"x": value})) for value in (1, 1.0))
    assert first.digest() == second.digest()
    assert changes(first, second) == ()


MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from("12"),
        "splits": st.sampled_from([{"heldout": (0,)}, {"heldout": (0, 1)}, {"train": (5,), "heldout": (0,)}]),
        "metadata": st.dictionaries(st.sampled_from(["env", "x.y"]), st.sampled_from("ab")),
        "tasks": st.permutations([task("a"), task("b"), task("c", max_steps=3)]).map(tuple),
        "requires_privileged": st.booleans(),
    },
)


@given(MEMBERS, MEMBERS)
def test_no_change_is_found_exactly_when_digests_agree(first, second):
    """A comparison that overlooks something would call a stale definition fresh."""
    before, after = (attrs.evolve(benchmark(), **members) for members in (first, second))
    assert (changes(before, after) == ()) is (before.digest() == after.digest())
