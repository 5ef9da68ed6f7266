"""Names that no run, task or command can have."""

from __future__ import annotations

from typing import Any

import pytest

LONG = "x" * 3000
RUN = ("run", "reach_fixed", "--agent", "zero")


@pytest.mark.parametrize(
    "typed",
    [
        (*RUN, "--run-id", LONG),
        ("run", "--resume", LONG),
        ("run", "reach_fixed", "--agent", LONG),
        (*RUN, "--key", LONG),
        (*RUN, "--task", LONG),
        (*RUN, "--split", LONG),
        ("run", LONG, "--agent", "zero"),
        ("show", LONG),
        ("status", LONG),
        (LONG,),
    ],
    ids=["run id", "resume", "agent", "key", "task", "split", "benchmark", "show", "status", "command"],
)
def test_an_error_is_about_as_long_as_what_it_says(hylo: Any, typed: tuple[str, ...]) -> None:
    """However long the name is that somebody, or a script, has given."""
    done = hylo(*typed)
    assert done.code == 2
    assert len(done.err) < 500
