"""Repetitions of one run: the same instances and scenes, other random numbers of the agent, a run folder each."""

from __future__ import annotations

from typing import Final

from hylo_eval.errors import EvalError

MAX_REPLICATES: Final = 1000
"""More repetitions than this say nothing that more instances would not say better."""


def require_replicate(number: int) -> int:
    """The number of a repetition, from 1.

    Raises:
        EvalError: It is none.
    """
    if not 1 <= number <= MAX_REPLICATES:
        raise EvalError(f"a repetition has a number from 1 to {MAX_REPLICATES}, not {number}", fix="--replicate 1")
    return number


def replicate_names(name: str, count: int) -> tuple[str, ...]:
    """The names of all repetitions of a run: ``night-r1``, ``night-r2`` and so on.

    Args:
        name: What they have in common: a run id, or the path of a run folder without its ending.
        count: How many there are.
    """
    stem = name.rstrip("/")
    return tuple(f"{stem}-r{number}" for number in range(1, count + 1))
