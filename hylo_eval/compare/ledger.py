"""The ledger: who has looked at which split how often, and what the best of so many looks would show by luck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeVar

import attrs

from hylo_eval.compare.agent_labels import NamedAgent
from hylo_eval.compare.selection import expected_best_of_equal
from hylo_eval.numerals import are, counted, percent

COMPARISON_SCHEMA: Final = "hylo.comparison/v0.1"

RecordKind = Literal["compare", "gate", "leaderboard", "noise", "select", "trend"]
RunIdentity = tuple[str, str, str]
"""Run id, time and config digest: what no other run has in common with it."""


@attrs.frozen(kw_only=True)
class RecordedRun:
    """A run as a record names it.

    Attributes:
        run_id: The run.
        created_at: When it began, ISO 8601.
        config_digest: Digest of all that must not change while it goes on.
        agent: Name and version of the agent.
        agent_digest: Digest of the agent's manifest; empty in records that did not hold it yet.
        agent_settings: The agent's components and options; empty in records that did not hold them yet.
    """

    run_id: str
    created_at: str
    config_digest: str
    agent: str
    agent_digest: str = ""
    agent_settings: Mapping[str, Any] = attrs.field(factory=dict[str, Any])

    @property
    def identity(self) -> RunIdentity:
        """As `RunConditions.identity`."""
        return self.run_id, self.created_at, self.config_digest


@attrs.frozen(kw_only=True)
class RecordedNoise:
    """One agent run twice.

    Attributes:
        n_pairs: Pairs that were scored in both runs.
        discordant: Pairs on which they disagree.
    """

    n_pairs: int
    discordant: int


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
        noise: How often an agent that was run twice disagreed with itself, where the record measured that.
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
    noise: RecordedNoise | None = None


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
    def candidates(self) -> tuple[RecordedRun, ...]:
        """The first run of every agent that was looked at as a candidate, in the order of the first looks.

        Agents are told apart by digest: two settings of one agent are two candidates.
        """
        return _distinct(run for look in self.looks for run in _candidates(look))

    def noise_of(self, *agent_digests: str) -> RecordedLook | None:
        """The latest measurement of noise: of one of these agents, or else of any."""
        measured = [look for look in reversed(self.looks) if look.noise is not None and look.runs]
        own = (look for look in measured if any(run.agent_digest in agent_digests for run in look.runs))
        return next(own, measured[0] if measured else None)

    def words(self, candidate: NamedAgent, *, n_episodes: int, success_rate: float | None) -> tuple[str, ...]:
        """What a reader of the next look at this split has to know, a sentence each.

        Args:
            candidate: The agent to be looked at now.
            n_episodes: Scored episodes it is looked at on.
            success_rate: The success rate that equal agents are taken to have, such as the parent's; None where nothing
                was scored.
        """
        return tuple(self._sentences(candidate, n_episodes, success_rate))

    def _sentences(self, candidate: NamedAgent, n_episodes: int, success_rate: float | None) -> Iterator[str]:
        seen = _distinct((*self.candidates, candidate))
        gates = sum(look.kind == "gate" for look in self.looks)
        yield (
            f"looks at this split on record before this one: {len(self.looks)}, of them gates: {gates}; "
            f"candidates that were tried on it, this one included: {len(seen)}"
        )
        # Of agents that all succeed, or all fail, luck shows nothing else.
        if len(seen) > 1 and n_episodes and success_rate is not None and 0.0 < success_rate < 1.0:
            best = expected_best_of_equal(len(seen), n_episodes=n_episodes, success_rate=success_rate)
            yield (
                f"by luck alone, the best of {len(seen)} equal agents with a true rate of {percent(success_rate)} "
                f"shows {percent(best)} on {counted(n_episodes, 'episode')}"
            )
        if self.unreadable:
            files = counted(self.unreadable, "file")
            yield f"{files} among the records cannot be read and {are(self.unreadable)} not counted"


_Named = TypeVar("_Named", bound=NamedAgent)


def _distinct(agents: Iterable[_Named]) -> tuple[_Named, ...]:
    """The first of each agent; one without a digest is taken for any agent of its name and version."""
    found: dict[tuple[str, str], _Named] = {}
    for item in agents:
        found.setdefault((item.agent, item.agent_digest), item)
    with_digest = {name for name, digest in found if digest}
    return tuple(item for (name, digest), item in found.items() if digest or name not in with_digest)


def _candidates(look: RecordedLook) -> tuple[RecordedRun, ...]:
    return look.runs[:1] if look.kind in ("compare", "gate") else () if look.kind == "noise" else look.runs
