"""Graders for tests, which say exactly what a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hylo_core import EpisodeTrace, GradeEvent, TaskInstance


class SayingGrader:
    """Says of an episode what a function of its seed says; counts what it is asked.

    Args:
        say: From the seed to a value, or a whole event; may raise.
        name: The grader's name.
        digest: Of what decides.
        parallel: Whether several threads may grade.
    """

    def __init__(
        self,
        say: Callable[[int], Any] = lambda seed: 1.0,
        *,
        name: str = "saying",
        digest: str = "sha256:1",
        parallel: bool = False,
    ) -> None:
        self.name, self.digest, self.parallel = name, digest, parallel
        self.say = say
        self.asked: list[int] = []

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        self.asked.append(task.seed)
        said = self.say(task.seed)
        if isinstance(said, GradeEvent):
            return said
        return GradeEvent(grader=self.name, digest=self.digest, value=said)
