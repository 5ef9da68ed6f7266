"""Tasks in drawn kitchens: the same list everywhere, no task twice, balanced from the beginning."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.benchmark import TaskProvider
from hylo_core.draws import Draws
from hylo_eval import EvalError
from hylo_eval.envs.robocasa.catalogue import catalogue
from hylo_eval.envs.robocasa.provider import SPLITS, RoboCasaProvider, _without_repetition
from hylo_eval.envs.robocasa.settings import read_settings
from tests.interpreters import other_python

DIGEST_OF_100 = """
import hashlib
from hylo_eval.envs.robocasa.provider import RoboCasaProvider
drawn = [RoboCasaProvider(tasks="target50").tasks(split, 100, 7) for split in ("target", "pretrain", "all")]
print(hashlib.sha256("".join(task.digest() for tasks in drawn for task in tasks).encode()).hexdigest())
"""
GOLDEN = "0625c09b5cfdbe9fe21b1b14f1fd36c74dd7cc33b955a239057e41a22f9557ec"
"""What that prints: three lists of a hundred tasks. Another value means that every frozen list has changed."""


def in_interpreter(python: str, **environment: str) -> str:
    """The digest as another process prints it."""
    done = subprocess.run(
        [python, "-c", DIGEST_OF_100], env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_lists_are_the_ones_they_have_always_been() -> None:
    """In this process, and in processes whose sets and dictionaries are ordered by other hashes."""
    drawn = [RoboCasaProvider(tasks="target50").tasks(split, 100, 7) for split in ("target", "pretrain", "all")]
    digests = "".join(task.digest() for tasks in drawn for task in tasks)
    assert hashlib.sha256(digests.encode()).hexdigest() == GOLDEN
    assert {in_interpreter(sys.executable, PYTHONHASHSEED=seed) for seed in ("1", "2")} == {GOLDEN}


@pytest.mark.slow
def test_another_version_of_python_draws_the_same() -> None:
    """Digest by digest."""
    python = other_python()
    if python is None:
        pytest.skip("HYLO_OTHER_PYTHON names no interpreter of another version with this Hylo in it")
    assert in_interpreter(python) == GOLDEN


def test_a_provider_is_one() -> None:
    """By the protocol, with what writing a benchmark needs."""
    provider = RoboCasaProvider()
    assert isinstance(provider, TaskProvider)
    assert provider.env == "robocasa"
    assert provider.metadata == {"package": catalogue().source}


@given(st.sampled_from(SPLITS), st.integers(0, 2**31 - 1), st.integers(0, 25), st.integers(0, 25))
@settings(max_examples=25, deadline=None)
def test_a_shorter_list_is_the_beginning_of_a_longer_one(split: str, seed: int, short: int, more: int) -> None:
    """Every task of it is another one, by id and by digest, and the family can read it."""
    provider = RoboCasaProvider(tasks="target50")
    longer = provider.tasks(split, short + more, seed)
    assert provider.tasks(split, short, seed) == longer[:short]
    assert len({task.id for task in longer}) == len({task.digest() for task in longer}) == len(longer)
    for task in longer:
        found = read_settings(task)
        assert attrs.evolve(task, params=found.params()).digest() == task.digest()
        assert found.scenes[0] in catalogue().split(split).scenes
        assert found.objects == split


def test_the_tasks_take_turns() -> None:
    """After any number of tasks, no two kinds differ by more than one, while there are enough kitchens."""
    drawn = RoboCasaProvider().tasks("pretrain", 100, 1)
    for length in (1, 17, 18, 40, 100):
        counts = Counter(task.params["task"] for task in drawn[:length])
        assert max(counts.values()) - min(counts.values()) <= 1
        assert len(counts) == min(length, 18)


def test_another_set_of_tasks_changes_no_draw_of_a_task() -> None:
    """Each has a stream of its own."""
    one = RoboCasaProvider(tasks="OpenDrawer").tasks("pretrain", 5, 3)
    many = RoboCasaProvider(tasks="target50").tasks("pretrain", 250, 3)
    assert [task for task in many if task.params["task"] == "OpenDrawer"] == list(one)


def test_other_seeds_and_splits_draw_other_kitchens() -> None:
    """Ten of 2500 are the same ten in another order with a chance that nobody will see."""
    provider = RoboCasaProvider(tasks="OpenDrawer")
    lists = [provider.tasks("pretrain", 10, seed) for seed in range(5)] + [provider.tasks("all", 10, 0)]
    assert len({tuple(str(task.params["scenes"]) for task in drawn) for drawn in lists}) == 6


def test_all_that_there_is_can_be_drawn_once() -> None:
    """Ten target kitchens of a task without an object's category, ten times 22 of one with; then there is no more."""
    provider = RoboCasaProvider(tasks="OpenDrawer, PickPlaceCounterToMicrowave")
    scenes = {name: len(catalogue().split("target").scenes_of(catalogue().task(name))) for name in catalogue().tasks}
    categories = len(catalogue().task("PickPlaceCounterToMicrowave").object_categories)
    whole = scenes["OpenDrawer"] + scenes["PickPlaceCounterToMicrowave"] * categories
    drawn = provider.tasks("target", whole, 0)
    assert len({task.digest() for task in drawn}) == whole
    assert sum(task.params["task"] == "OpenDrawer" for task in drawn) == scenes["OpenDrawer"]
    with pytest.raises(EvalError, match=f"holds {whole} different tasks of these, not {whole + 1}"):
        provider.tasks("target", whole + 1, 0)


def test_categories_can_be_left_to_the_episode() -> None:
    """Then the seed of the episode draws the object, and there are as many tasks as kitchens."""
    provider = RoboCasaProvider(tasks="PickPlaceCounterToMicrowave", categories=False)
    kitchens = catalogue().split("target").scenes_of(catalogue().task("PickPlaceCounterToMicrowave"))
    drawn = provider.tasks("target", len(kitchens), 0)
    assert all("object_category" not in task.params for task in drawn)
    assert sorted(task.params["scenes"][0] for task in drawn) == sorted(kitchens)
    with pytest.raises(EvalError, match=f"holds {len(kitchens)} different tasks"):
        provider.tasks("target", len(kitchens) + 1, 0)


@given(st.integers(0, 200), st.text(max_size=5))
def test_walking_without_repetition_meets_everything_once(count: int, key: str) -> None:
    """It is a permutation."""
    assert sorted(_without_repetition(Draws(key), count)) == list(range(count))


def test_every_order_is_about_equally_likely() -> None:
    """Six orders of three in 6000 draws: each 1000 times, give or take five standard deviations of 29."""
    orders = Counter(tuple(_without_repetition(Draws(f"order|{number}"), 3)) for number in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 145 for count in orders.values())


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ("atomic_sen", "no task or set 'atomic_sen'.*atomic_seen"),
        ("OpenDrawr", "no task or set 'OpenDrawr'.*OpenDrawer"),
        ("OpenDrawer,OpenDrawr", "no task 'OpenDrawr'.*OpenDrawer"),
        ("OpenDrawer,OpenDrawer", "'OpenDrawer' is named twice"),
        ("", "no task or set ''"),
    ],
)
def test_a_name_that_names_nothing_is_refused(tasks: str, reason: str) -> None:
    """With the near ones."""
    with pytest.raises(EvalError, match=reason):
        RoboCasaProvider(tasks=tasks)


def test_a_split_that_there_is_not_is_refused() -> None:
    """The package's own names count."""
    with pytest.raises(EvalError, match="no split 'heldout'"):
        RoboCasaProvider().tasks("heldout", 1, 0)
