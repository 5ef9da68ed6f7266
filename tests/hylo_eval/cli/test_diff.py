"""``hylo-eval diff``: where one episode parts between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs import edit_trace, keys, unit, write_run


@pytest.fixture
def diff(hylo: Any, tmp_path: Path) -> Any:
    """Two runs that differ in seed 1: there the first one succeeds at step 1."""
    write_run(tmp_path, "a", keys(0, 1), bench=unit(3))
    write_run(tmp_path, "b", keys(0), bench=unit(3))
    return lambda episode, *options, pair=("a", "b"): hylo("diff", *pair, episode, "--run-root", tmp_path, *options)


def test_it_names_the_first_step(diff: Any) -> None:
    """Success at step 1 in one of them, and what follows: the other goes on."""
    done = diff("unit/task#1")
    assert done.code == 0, done.err
    assert "they part at step 1: success\n" in done.out
    assert "then step 2: the end\n" in done.out
    assert "their conditions differ: agent\n" in done.out


def test_equal_episodes_are_the_same(diff: Any) -> None:
    """Seed 0 goes the same way in both runs, so a check in CI is green."""
    done = diff("unit/task#0", "--exit-code")
    assert done.code == 0
    assert "they are the same in all 2 steps" in done.out


def test_a_determinism_check_fails_where_they_part(diff: Any) -> None:
    """With 1, and only when it was asked for."""
    assert diff("unit/task#1", "--exit-code").code == 1
    assert diff("unit/task#1", "--exit-code", pair=("a", "a")).code == 0


def test_json_has_the_documented_members(diff: Any) -> None:
    """The end of a key that one episode has is enough to name it."""
    found = diff("#1", "--json").json
    assert set(found) == {"key", "episodes", "equal", "partings", "conditions", "steps", "unfinished"}
    assert (found["key"], found["equal"], found["steps"]) == ("unit/task#1", False, [2, 10])
    assert found["partings"][0] == {"aspect": "success", "step": 1, "members": [], "largest": None}


def test_an_episode_without_an_end_is_incomplete(diff: Any, tmp_path: Path) -> None:
    """What is there is compared, and the exit code says that it is not all."""
    edit_trace(tmp_path / "b", "unit/task#2", lambda text: text[: text.rindex('{"type":"episode_end"')])
    done = diff("unit/task#2")
    assert done.code == 3
    assert "the episode of b has no end" in done.out


@pytest.mark.parametrize(
    ("episode", "words"), [("unit/task#7", "no episode 'unit/task#7'"), ("unit/task", "no episode"), ("", "of 3 keys")]
)
def test_an_episode_that_is_none_is_refused(diff: Any, episode: str, words: str) -> None:
    """Also an end that several keys have."""
    done = diff(episode)
    assert done.code == 2
    assert words in done.err
