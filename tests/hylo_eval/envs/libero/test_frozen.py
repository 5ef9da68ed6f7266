"""The shipped benchmark files say what the installed LIBERO says."""

import importlib.util

import pytest

from hylo_eval.benchmarks import benchmark_files, load_benchmark
from hylo_eval.envs.libero.freeze import PROTOCOLS, freeze
from hylo_eval.envs.libero.suites import HORIZONS, TASK_COUNTS

installed = pytest.mark.skipif(importlib.util.find_spec("libero") is None, reason="needs the libero extra")


def shipped(benchmark_id):
    """A shipped benchmark."""
    return load_benchmark(benchmark_files()[benchmark_id])


@pytest.mark.libero
@installed
@pytest.mark.parametrize("benchmark_id", PROTOCOLS)
def test_freezing_again_gives_the_shipped_file(benchmark_id):
    """Goals, instructions, horizons, order and hashes are those of the package, digest for digest."""
    assert freeze(benchmark_id).digest() == shipped(benchmark_id).digest()


def test_all_130_tasks_are_there():
    """Ten tasks a suite and ninety in libero_90, each from fifty recorded states with its suite's horizon."""
    for suite, horizon in HORIZONS.items():
        benchmark = shipped(suite)
        assert len(benchmark.tasks) == TASK_COUNTS[suite]
        assert {task.max_steps for task in benchmark.tasks} == {horizon}
        assert {task.init.count for task in benchmark.tasks} == {50}
        assert [task.params["task_index"] for task in benchmark.tasks] == list(range(len(benchmark.tasks)))
        assert dict(benchmark.splits) == {"heldout": tuple(range(50))}


def test_instructions_differ_from_the_bddl_files_in_29_tasks():
    """Both texts are frozen, since public runners send one and some data sets hold the other."""
    tasks = [task for suite in HORIZONS for task in shipped(suite).tasks]
    different = [task.id for task in tasks if task.instruction != task.params["bddl_language"].lower()]
    assert len(different) == 29
    assert {task.instruction_source for task in tasks} == {"bddl_file_name"}


def test_development_splits_divide_the_published_states():
    """Thirty, ten and ten of the fifty states; together all of them."""
    splits = shipped("libero_object_dev").splits
    assert {name: (seeds[0], len(seeds)) for name, seeds in splits.items()} == {
        "train": (0, 30),
        "validation": (30, 10),
        "heldout": (40, 10),
    }
    assert sorted(seed for seeds in splits.values() for seed in seeds) == list(range(50))


def test_development_tasks_are_the_published_ones():
    """The two benchmarks differ in their splits alone, so results pair by task digest."""
    published, development = shipped("libero_object"), shipped("libero_object_dev")
    assert [task.digest() for task in published.tasks] == [task.digest() for task in development.tasks]
