"""The ledger: who has looked at which split how often, and what the best of so many looks would show by luck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import attrs

from hylo_eval.compare.selection import expected_best_of_equal

COMPARISON_SCHEMA: Final = "hylo.comparison/v0.1"

RecordKind = Literal["compare", "gate", "leaderboard", "noise", "select", "trend"]
RunIdentity = tuple[str, str, str]
"""Run id, time and config digest: what no other run has in common with it."""


@attrs.frozen(kw_only=True)
class RecordedRun:
    """A run as a record names it."""

    run_id: str
    created_at: str
    config_digest: str
    agent: str
    agent_digest: str = ""

    @property
    def identity(self) -> RunIdentity:
        """As `RunConditions.identity`."""
        return self.run_id, self.created_at, self.config_digest


@attrs.frozen(kw_only=True)
class RecordedLook:
    """One record: somebody has seen how these runs did on this split.

    Attributes:
        id: The record's id.
        kind: What was done.
        created_at: When, ISO 8601.
        benchmark: The benchmark's id.
        benchmark_digest: Its digest.
        split: The split.
        runs: The runs looked at; of a comparison or gate the candidate first, then the parent.
        metric: The metric.
        verdict: A gate's verdict; empty for other kinds.
        sequential: Whether it was a look under a sequential rule.
        confirms: The selection that a gate was the one confirmation of.
        chosen: Digest of the agent that a selection chose.
        noise: The smallest difference above the noise floor, where the record measured it.
    """

    id: str
    kind: RecordKind
    created_at: str
    benchmark: str
    benchmark_digest: str
    split: str
    runs: tuple[RecordedRun, ...]
    metric: str = ""
    verdict: str = ""
    sequential: bool = False
    confirms: str = ""
    chosen: str = ""
    noise: float | None = None


@attrs.frozen(kw_only=True)
class Ledger:
    """All looks on record, oldest first.

    Attributes:
        looks: The looks.
        unreadable: Files among the records that are none, or broken.
    """

    looks: tuple[RecordedLook, ...] = ()
    unreadable: int = 0

    def of_split(self, benchmark_digest: str, split: str) -> Ledger:
        """The looks at one split of one benchmark."""
        found = (look for look in self.looks if (look.benchmark_digest, look.split) == (benchmark_digest, split))
        return attrs.evolve(self, looks=tuple(found))

    def of_pair(self, one: RunIdentity, other: RunIdentity, *, kind: RecordKind = "gate") -> tuple[RecordedLook, ...]:
        """The looks of a kind at these two runs, whichever was the candidate."""
        pair = {one, other}
        return tuple(look for look in self.looks if look.kind == kind and {run.identity for run in look.runs} == pair)

    def find(self, record_id: str) -> RecordedLook | None:
        """The look with this id."""
        return next((look for look in self.looks if look.id == record_id), None)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Every agent that was looked at as a candidate, in the order of its first look."""
        return tuple(dict.fromkeys(run.agent for look in self.looks for run in _candidates(look)))

    @property
    def noise(self) -> float | None:
        """The latest noise floor on record."""
        return next((look.noise for look in reversed(self.looks) if look.noise is not None), None)

    def words(self, candidate: str, *, n_episodes: int, success_rate: float | None) -> tuple[str, ...]:
        """What a reader of the next look at this split has to know, a sentence each.

        Args:
            candidate: The agent to be looked at now.
            n_episodes: Scored episodes it is looked at on.
            success_rate: The success rate that equal agents are taken to have, such as the parent's; None where nothing
                was scored.
        """
        return tuple(self._sentences(candidate, n_episodes, success_rate))

    def _sentences(self, candidate: str, n_episodes: int, success_rate: float | None) -> Iterator[str]:
        seen = tuple(dict.fromkeys((*self.candidates, candidate)))
        gates = sum(look.kind == "gate" for look in self.looks)
        yield (
            f"looks at this split on record before this one: {len(self.looks)}, of them gates: {gates}; "
            f"candidates that were tried on it, this one included: {len(seen)}"
        )
        if len(seen) > 1 and n_episodes and success_rate is not None:
            best = expected_best_of_equal(len(seen), n_episodes=n_episodes, success_rate=success_rate)
            yield (
                f"by luck alone, the best of {len(seen)} equal agents with a true rate of {success_rate:.2f} "
                f"shows {best:.2f} on {n_episodes} episodes"
            )
        if self.unreadable:
            yield f"{self.unreadable} files among the records cannot be read and are not counted"


def _candidates(look: RecordedLook) -> tuple[RecordedRun, ...]:
    return look.runs[:1] if look.kind in ("compare", "gate") else () if look.kind == "noise" else look.runs
