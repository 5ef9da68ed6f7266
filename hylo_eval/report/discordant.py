"""The pairs that decide a comparison: only one of the two succeeded; and where the two episodes part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from hylo_eval.compare.divergence import find_divergence
from hylo_eval.errors import TraceError
from hylo_eval.report.grouping import choose_grouping
from hylo_eval.report.paired_chart import PairedChart, count_pairs, draw_pairs
from hylo_eval.report.sections import Section
from hylo_eval.traces.reader import read_trace

if TYPE_CHECKING:
    from hylo_eval.report.run_record import EpisodeRecord
    from hylo_eval.report.run_summary import RunSummary

MAX_PAIRS: Final = 100
"""Discordant pairs that are listed, each with the step at which it parts."""


@attrs.frozen(kw_only=True)
class DiscordantPair:
    """One of them.

    Attributes:
        key: The instance.
        ours: The place of the candidate's episode in its run.
        theirs: The place of the parent's.
        winner: The run that succeeded.
        parting: Where they part, in words.
    """

    key: str
    ours: int
    theirs: int
    winner: str
    parting: str


@attrs.frozen(kw_only=True)
class Rival:
    """A run the first one is compared with.

    Attributes:
        parent: Its place among the runs.
        sections: What the comparison says.
        refused: Why there is none, a sentence each.
        pairs: The discordant pairs that are listed.
        n_discordant: How many there are.
        n_shared: Episodes that both runs have.
        verdict: What the comparison comes to, in one sentence; empty where there is none.
        chart: Where the two differ, task by task, or by tag where tasks have an episode or two; None where no pair
            was scored.
    """

    parent: int
    verdict: str = ""
    sections: tuple[Section, ...] = ()
    refused: tuple[str, ...] = ()
    pairs: tuple[DiscordantPair, ...] = ()
    n_discordant: int = 0
    n_shared: int = 0
    chart: PairedChart | None = None


def compare_episodes(
    candidate: RunSummary,
    parent: RunSummary,
    place: int,
    *,
    sections: tuple[Section, ...],
    refused: tuple[str, ...],
    verdict: str = "",
) -> Rival:
    """The discordant pairs of two runs, in the order of the candidate's log.

    Args:
        candidate: The first run.
        parent: The other.
        place: Of the other among the runs.
        sections: What their comparison says.
        refused: Why there is none.
        verdict: What it comes to.
    """
    theirs = {episode.record.key: index for index, episode in enumerate(parent.episodes)}
    shared = [
        (index, theirs[episode.record.key])
        for index, episode in enumerate(candidate.episodes)
        if episode.record.key in theirs
    ]
    outcomes = [(candidate.episodes[index].outcome, parent.episodes[other].outcome) for index, other in shared]
    pairs = [pair for pair, both in zip(shared, outcomes, strict=True) if set(both) == {"success", "failure"}]
    tasks = [candidate.episodes[index].record.task_id for index, _ in shared]
    grouping = choose_grouping(
        (episode.record.key, episode.record.task_id, episode.tags) for episode in candidate.episodes
    )
    by_tag = None
    if grouping.by != "task":
        tags = [candidate.episodes[index].tags for index, _ in shared]
        by_tag = count_pairs(
            (tag, *both) for named, both in zip(tags, outcomes, strict=True) for tag in named if tag in grouping.names
        )
    return Rival(
        parent=place,
        verdict=verdict,
        sections=sections,
        refused=refused,
        pairs=tuple(_describe(candidate, parent, index, other) for index, other in pairs[:MAX_PAIRS]),
        n_discordant=len(pairs),
        n_shared=len(shared),
        chart=draw_pairs(count_pairs((task, *both) for task, both in zip(tasks, outcomes, strict=True)), by_tag),
    )


def _describe(candidate: RunSummary, parent: RunSummary, index: int, other: int) -> DiscordantPair:
    ours, theirs = candidate.episodes[index], parent.episodes[other]
    return DiscordantPair(
        key=ours.record.key,
        ours=index,
        theirs=other,
        winner=(candidate if ours.outcome == "success" else parent).record.run_id,
        parting=_parting(ours.record, theirs.record),
    )


def _parting(ours: EpisodeRecord, theirs: EpisodeRecord) -> str:
    if ours.trace is None or theirs.trace is None:
        return "unknown: a trace is missing"
    try:
        traces = [read_trace(path, digests="none") for path in (ours.trace, theirs.trace)]
    except TraceError as error:
        return f"unknown: {error.path.name}: {error.reason}"
    first = find_divergence(*traces).first
    return "nowhere: they are the same" if first is None else first.words
