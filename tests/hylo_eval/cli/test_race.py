"""``hylo-eval race``: how it ends and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def race(hylo: Any, tmp_path: Path) -> Any:
    """Call ``race`` on ``reach_fixed``."""
    return lambda *arguments: hylo("race", *arguments, "reach_fixed", "--run-root", tmp_path)


@pytest.mark.parametrize(
    ("agents", "code", "ending"),
    [
        (("reach-scripted", "zero"), 0, "the rule decided, after 7 of 100 pairs"),
        (("zero", "reach-scripted"), 1, "the rule decided, after 7 of 100 pairs"),
    ],
)
def test_it_ends_as_soon_as_it_is_clear(race: Any, agents: tuple[str, str], code: int, ending: str) -> None:
    """Seven straight wins are the fewest that decide."""
    done = race(*agents)
    assert done.code == code, done.err
    assert ending in done.out
    assert "186 of 200 episodes (93.0 %) were not needed" in done.out
    assert done.out.index("rule: ") < done.out.index("verdict: ")


def test_a_race_ends_where_nothing_can_be_shown_any_more(race: Any) -> None:
    """Of eight pairs two are tied between equal agents: winning the six left would not be enough."""
    done = race("reach-scripted", "reach-scripted", "--max-pairs", "8", "--json")
    assert done.code == 3
    found = done.json
    assert (found["verdict"], found["look"]["state"]) == ("inconclusive", "futile")
    assert found["race"] == {"ending": "futile", "planned": 16, "run": 4, "saved": 12, "seconds_budget": None}


def test_two_ordinary_runs_and_a_record_are_left(race: Any, hylo: Any, tmp_path: Path) -> None:
    """Named as asked; a gate looks at them again under the declared rule, and under no other."""
    names = ("--candidate-run-id", "new", "--parent-run-id", "old")
    assert race("reach-scripted", "zero", *names).code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"new", "old", "comparisons"}
    [record] = (tmp_path / "comparisons").iterdir()
    assert json.loads(record.read_text())["race"]["saved"] == 186
    again = hylo("gate", "new", "old", "--mode", "improve", "--sequential", "--run-root", tmp_path)
    assert again.code == 0, again.err
    fixed = hylo("gate", "new", "old", "--mode", "improve", "--run-root", tmp_path)
    assert fixed.code == 2
    assert "under a sequential rule" in fixed.err
    compared = hylo("compare", "new", "old", "--intersect", "--run-root", tmp_path)
    assert compared.code == 0, compared.err


def test_options_reach_the_side_they_name(race: Any) -> None:
    """A slow parent loses to a fast one of the same kind."""
    done = race("reach-scripted", "reach-scripted", "--parent-arg", "speed=0.01", "--candidate-arg", "speed=0.25")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody", "zero"), "nobody"),
        (("zero", "random", "--alpha", "0.6"), "alpha: must lie in (0, 0.5), got 0.6"),
        (("zero", "random", "--max-minutes", "0"), "the time budget must be finite and above 0, not 0 s"),
        (("zero", "random", "--max-minutes", "inf"), "the time budget must be finite and above 0, not inf s"),
        (
            ("zero", "random", "--max-pairs", "6"),
            "6 pairs cannot decide a race at alpha 0.05, even if all of them are won",
        ),
        (("zero", "random", "--max-pairs", "0"), "--max-pairs must be at least 1, not 0"),
        (("zero", "random", "--candidate-run-id", "../x"), "is no run id"),
        (("zero", "random", "--candidate-run-id", "a", "--parent-run-id", "a"), "both runs are to be called"),
        (("zero", "random", "--candidate-arg", "nothing=1"), "nothing"),
        (("zero\x1b[2J", "random"), "\\x1b"),
    ],
)
def test_bad_usage_ends_with_2_and_leaves_nothing(
    race: Any, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """One sentence, no folder."""
    done = race(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "\x1b" not in done.err
    assert not list(tmp_path.iterdir())
