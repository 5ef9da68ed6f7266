"""What the harness asks of a grader, beyond :class:`hylo_core.score.Grader`.

A grader has ``name`` and ``grade(trace, task) -> GradeEvent``. It may have, each optional:

* ``digest``: ``sha256:`` digest of what decides its judgements (a rubric, a prompt, a model). An episode that the same
  digest has graded is not graded again. Its events must hold the same digest.
* ``parallel``: True when several threads may grade at once; otherwise episodes are graded one after the other.
* ``interactive``: True when it talks to a person: a signal then arrives where it waits.
* ``close()``: release what it holds; called once, at the end.

It returns an event without a value when it looked and could not tell, and one with ``error`` when it failed. Raising is
a failure too, of that episode alone.
"""

from __future__ import annotations

from typing import Any

from hylo_core.errors import HyloError
from hylo_core.score import Grader


class NoJudgement(HyloError):
    """A grader gave no judgement and nothing failed: the episode stays ungraded, and nothing is recorded.

    Attributes:
        stop: Whether the grader will give none of the following episodes either (the operator has left).
    """

    def __init__(self, reason: str, *, stop: bool = False) -> None:
        self.stop = stop
        super().__init__(reason)


def digest_of(grader: Grader) -> str:
    """The digest of what decides a grader's judgements; empty where it does not say."""
    found: Any = getattr(grader, "digest", "")
    return found if isinstance(found, str) else ""


def is_parallel(grader: Grader) -> bool:
    """Whether several threads may grade at once."""
    return getattr(grader, "parallel", False) is True


def is_interactive(grader: Grader) -> bool:
    """Whether the grader talks to a person."""
    return getattr(grader, "interactive", False) is True
