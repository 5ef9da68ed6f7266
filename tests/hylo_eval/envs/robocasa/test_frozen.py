"""The shipped RoboCasa benchmarks, and that freezing them again gives the same."""

import pytest

from hylo_eval.benchmarks import benchmark_files, env_of, load_benchmark
from hylo_eval.envs.robocasa.catalogue import LEGACY_TASKS, catalogue
from hylo_eval.envs.robocasa.freeze import LEGACY, TASK_SETS, freeze
from hylo_eval.envs.robocasa.settings import read_settings
from hylo_eval.families import FREEZABLE


def shipped(benchmark_id):
    """A shipped benchmark."""
    return load_benchmark(benchmark_files()[benchmark_id])


@pytest.mark.parametrize(("benchmark_id", "task_set"), TASK_SETS.items())
def test_a_benchmark_holds_its_set_of_tasks_in_order(benchmark_id, task_set):
    """Each task in the target kitchens, with its own horizon."""
    benchmark = shipped(benchmark_id)
    names = catalogue().task_sets[task_set]
    assert [task.params["task"] for task in benchmark.tasks] == list(names)
    assert [task.max_steps for task in benchmark.tasks] == [catalogue().task(name).horizon for name in names]
    assert {task.params["objects"] for task in benchmark.tasks} == {"target"}
    assert env_of(benchmark)[0] == "robocasa"
    assert dict(benchmark.splits) == {"heldout": tuple(range(50))}


def test_the_old_atomic_tasks_keep_their_names():
    """24 tasks, of which two pairs are one class and differ by fixture."""
    tasks = shipped(LEGACY).tasks
    assert [task.id.removeprefix("robocasa_0x/") for task in tasks] == list(LEGACY_TASKS)
    assert len({task.digest() for task in tasks}) == 24


def test_every_task_can_be_read_by_the_env_and_has_a_kitchen():
    """No task of a shipped benchmark excludes all ten kitchens."""
    for benchmark_id in (*TASK_SETS, LEGACY):
        for task in shipped(benchmark_id).tasks:
            assert 1 <= len(read_settings(task).scenes) <= 10


def test_a_task_is_the_same_in_every_benchmark_that_holds_it():
    """The sets are parts of target50, digest for digest, so that their results pair."""
    whole = {task.id: task.digest() for task in shipped("robocasa_target50").tasks}
    for benchmark_id in ("robocasa_atomic_seen", "robocasa_composite_seen", "robocasa_composite_unseen"):
        for task in shipped(benchmark_id).tasks:
            assert whole[task.id] == task.digest()


def test_the_family_freezes_what_is_shipped():
    """``benchmark freeze robocasa`` writes all of them."""
    assert {name for name, (family, _) in FREEZABLE.items() if family == "robocasa"} == {*TASK_SETS, LEGACY}


@pytest.mark.robocasa
@pytest.mark.parametrize("benchmark_id", [*TASK_SETS, LEGACY])
def test_freezing_again_gives_the_shipped_file(benchmark_id):
    """Tasks, horizons, kitchens and the digest of the package's scenes, digest for digest."""
    assert freeze(benchmark_id).digest() == shipped(benchmark_id).digest()
