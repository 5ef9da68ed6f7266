"""Numbers as people write and read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hylo_eval.errors import EvalError
from hylo_eval.numerals import MOST_COUNTED, are, counted, points, require_option_count, size_in_points

ROOT = Path(__file__).parents[2]
SHARE_BY_HAND = re.compile(r"\{[^{}]*:[+,]?\.\d%\}")
BY_HAND = re.compile(r"\{[^{}\"]+\} (?:scored |finished )?episodes\b")


def test_one_is_no_plural() -> None:
    """And nothing is: ``0 episodes``."""
    assert [counted(count, "episode") for count in (0, 1, 2)] == ["0 episodes", "1 episode", "2 episodes"]
    assert counted(2, "loss", "losses") == "2 losses"
    assert [are(count) for count in (0, 1, 2)] == ["are", "is", "are"]


def test_no_message_counts_episodes_by_hand() -> None:
    """``1 episodes`` would be among them; a limit that is greater than one, and a chart's own field, are no counts."""
    allowed = {
        ("hylo_eval/report/wall.py", "{len(tiles)} episodes"),
        ("hylo_eval/report/charts.py", "{customdata} episodes"),
    }
    found = {
        (path.relative_to(ROOT).as_posix(), match)
        for path in sorted((ROOT / "hylo_eval").rglob("*.py"))
        for match in BY_HAND.findall(path.read_text(encoding="utf-8"))
    }
    assert found == allowed


def test_a_difference_of_shares_is_in_points() -> None:
    """With its sign; a size that somebody chose, without one and as exactly as it was written."""
    assert [points(value) for value in (0.07, -0.5, 0.0)] == ["+7.0 points", "-50.0 points", "+0.0 points"]
    assert points(-0.02631, 2) == "-2.63 points"
    assert [size_in_points(value) for value in (0.01, 0.05, 0.07, 0.0525, 0.0005)] == [
        "1 point",
        "5 points",
        "7 points",
        "5.25 points",
        "0.05 points",
    ]


def test_no_message_says_a_share_in_another_way() -> None:
    """``95 %`` and not ``95%``: the same number must not look like two."""
    found = {
        (path.relative_to(ROOT).as_posix(), match)
        for path in sorted((ROOT / "hylo_eval").rglob("*.py"))
        for match in SHARE_BY_HAND.findall(path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize("value", [0, -1, MOST_COUNTED + 1, 10**30])
def test_a_count_has_bounds(value: int) -> None:
    """Refused with one that would do; the bounds themselves are taken."""
    with pytest.raises(EvalError, match="--episodes must be at ") as refused:
        require_option_count("--episodes", value)
    assert refused.value.fix in ("--episodes 1, or more", f"--episodes {MOST_COUNTED}, or less")
    assert [require_option_count("--episodes", value) for value in (1, MOST_COUNTED)] == [1, MOST_COUNTED]
