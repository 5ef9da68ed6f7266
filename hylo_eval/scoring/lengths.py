"""Whether successes end before failures: then what has ended of a run succeeds more often than all of it will."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

ENDS_FIRST: Final = "successes tend to end first"
"""What is said where :meth:`EpisodeLengths.successes_end_first` holds, and nowhere else."""


@attrs.define
class _Lengths:
    count: int = 0
    total: int = 0
    shortest: int = 0
    longest: int = 0

    def add(self, steps: int) -> None:
        self.shortest = min(self.shortest, steps) if self.count else steps
        self.longest = max(self.longest, steps)
        self.count += 1
        self.total += steps

    @property
    def mean(self) -> float:
        return self.total / self.count


@attrs.define
class EpisodeLengths:
    """Steps of scored episodes, by task and success; tasks have horizons of their own, so they are held apart."""

    _succeeded: dict[str, _Lengths] = attrs.field(factory=dict[str, _Lengths])
    _failed: dict[str, _Lengths] = attrs.field(factory=dict[str, _Lengths])

    @classmethod
    def of(cls, episodes: Iterable[tuple[str, int, bool]]) -> EpisodeLengths:
        """Those of episodes as task, steps and success."""
        lengths = cls()
        for task, steps, succeeded in episodes:
            lengths.add(task, steps, succeeded=succeeded)
        return lengths

    def add(self, task: str, steps: int, *, succeeded: bool) -> None:
        """Count one more scored episode."""
        (self._succeeded if succeeded else self._failed).setdefault(task, _Lengths()).add(steps)

    @property
    def successes_end_first(self) -> bool:
        """Whether successes took fewer steps than failures of their task on average; false for fixed lengths.

        Where no task has both, successes of different lengths tell that success ends an episode.
        """
        both = self._succeeded.keys() & self._failed.keys()
        if both:
            return sum(self._failed[task].mean - self._succeeded[task].mean for task in both) > 0.0
        return any(lengths.shortest < lengths.longest for lengths in self._succeeded.values())
