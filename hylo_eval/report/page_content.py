"""What the page's tables and cells show, as plain values for the template."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.summary import KNOWN_METRICS
from hylo_eval.compare.words import not_as_recorded
from hylo_eval.numerals import counted, percent
from hylo_eval.report import charts
from hylo_eval.report.grouping import Grouping, choose_grouping, listed, short_names
from hylo_eval.report.run_summary import EpisodeSummary, RunSummary
from hylo_eval.report.text import number, printable_line, repeated_words
from hylo_eval.scoring.outcome import REASONS
from hylo_eval.versions import stand_in_sentence

Place = tuple[int, int]
"""Which run, and which of its episodes."""

MANY_CELLS: Final = 600
"""Episodes from which on the cells are small."""
_SHOWN_EPISODES: Final = 5
_LETTERS: Final = {"success": "s", "failure": "f", "abstained": "a"}


@attrs.frozen(kw_only=True)
class Chart:
    """A chart or the sentence in its place."""

    name: str
    title: str
    figure: dict[str, Any] | None
    text: str = ""
    wide: bool = False

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return self.figure is not None

    @property
    def tall(self) -> bool:
        """Whether it is shown in a part of the page that scrolls."""
        return self.figure is not None and self.figure["layout"]["height"] > charts.TALL


@attrs.frozen(kw_only=True)
class Cell:
    """One episode of the grid."""

    place: int
    letter: str
    label: str
    plotted: bool


@attrs.frozen(kw_only=True)
class TaskRow:
    """The cells of one task."""

    name: str
    cells: tuple[Cell, ...]


@attrs.frozen(kw_only=True)
class Grid:
    """The cells of one run."""

    place: int
    run_id: str
    many: bool
    tasks: tuple[TaskRow, ...]


@attrs.frozen(kw_only=True)
class Failures:
    """The failed episodes of one run, by their places and what they are called here."""

    run_id: str
    n_failed: int
    episodes: tuple[tuple[int, str], ...]
    more: int


@attrs.frozen(kw_only=True)
class Abstentions:
    """The episodes of one run that abstained for one reason."""

    place: int
    run_id: str
    reason: str
    meaning: str
    count: int
    text: str
    episodes: tuple[tuple[int, str], ...]
    more: int


def make_charts(runs: Sequence[RunSummary]) -> tuple[Chart, ...]:
    """The charts in their order; what there is nothing of is said in words, or, where nothing can be, left out."""
    times = [
        f"{run.record.run_id}: {run.times.restricted_mean:.1f} steps"
        for run in runs
        if run.times.restricted_mean is not None
    ]
    replies = [
        f"{run.record.run_id}: p50 {number(p50, 's')}, p95 {number(p95, 's')}, p99 {number(p99, 's')}"
        for run in runs
        if (p50 := run.reply_percentile(0.5)) is not None
        and (p95 := run.reply_percentile(0.95)) is not None
        and (p99 := run.reply_percentile(0.99)) is not None
    ]
    horizons = {run.times.horizon for run in runs if run.times.horizon is not None}
    until = f" up to step {min(horizons):g}" if len(horizons) == 1 else ""
    safety = charts.safety_chart(runs)
    grouping = grouping_of(runs)
    groups = len(grouping.names)
    cut = f"The first {charts.MAX_BARS} of {groups} {grouping.by}s; the table has all."
    found = (
        Chart(
            name="tasks",
            title=f"Success by {'tag' if grouping.by == 'tag' else 'task'}",
            figure=charts.group_chart(runs, grouping),
            wide=True,
            text=" ".join(filter(None, (grouping.words, cut if groups > charts.MAX_BARS else ""))),
        ),
        Chart(
            name="times",
            title="Time to success",
            figure=charts.time_chart(runs),
            text="Kaplan-Meier, of the first step with success, kept to the end or not: a curve may pass the success "
            "rate. Episodes without success count until they end. "
            + (f"Mean time without success{until}: {'; '.join(times)}." if times else ""),
        ),
        Chart(
            name="latency",
            title="Reply time of the agent",
            figure=charts.latency_chart(runs),
            text=f"{'; '.join(replies)}." if replies else "No reply times are on record.",
        ),
        Chart(
            name="safety",
            title="Safety interventions",
            figure=safety,
            text="Steps at which a safety filter changed or stopped the action." if safety else "None.",
            wide=safety is not None,
        ),
    )
    # Where no episode has a second step, all that a curve over the steps could say is the success rate.
    one_step = max((episode.steps for run in runs for episode in run.episodes), default=0) == 1
    return tuple(chart for chart in found if chart.name != "times" or not one_step)


def grouping_of(runs: Sequence[RunSummary]) -> Grouping:
    """By what the episodes of these runs are shown."""
    return choose_grouping(
        (episode.record.key, episode.record.task_id, episode.tags) for run in runs for episode in run.episodes
    )


def make_failures(runs: Sequence[RunSummary]) -> tuple[Failures, ...]:
    """Which episodes failed, where no chart by task shows it; of a run without any, an empty list."""
    if grouping_of(runs).by == "task":
        return ()
    found: list[Failures] = []
    for run in runs:
        failed = [place for place, episode in enumerate(run.episodes) if episode.outcome == "failure"]
        names = short_names([episode.record.key for episode in run.episodes])
        shown, more = listed([names[run.episodes[place].record.key] for place in failed])
        found.append(
            Failures(
                run_id=run.record.run_id,
                n_failed=len(failed),
                episodes=tuple(zip(failed, shown, strict=False)),
                more=more,
            )
        )
    return tuple(found)


def make_grids(runs: Sequence[RunSummary], plotted: Collection[Place]) -> tuple[Grid, ...]:
    """The cells of every run, by task, in the order of the seeds; tasks of one or two episodes share their rows."""
    found: list[Grid] = []
    together = grouping_of(runs).by != "task"
    for place, run in enumerate(runs):
        rows: dict[str, list[Cell]] = {task: [] for task in run.by_task}
        ordered = sorted(enumerate(run.episodes), key=lambda item: item[1].record.seed)
        for index, episode in ordered:
            rows[episode.record.task_id].append(
                Cell(
                    place=index,
                    letter=_LETTERS[episode.outcome],
                    label=_label(episode),
                    plotted=(place, index) in plotted,
                )
            )
        tasks = tuple(TaskRow(name=name, cells=tuple(cells)) for name, cells in rows.items())
        if together:
            tasks = (
                TaskRow(name=counted(len(rows), "task"), cells=tuple(cell for row in tasks for cell in row.cells)),
            )
        many = len(run.episodes) > MANY_CELLS
        found.append(Grid(place=place, run_id=run.record.run_id, many=many, tasks=tasks))
    return tuple(found)


def _label(episode: EpisodeSummary) -> str:
    reason = f" ({episode.reason})" if episode.reason else ""
    return f"{printable_line(episode.record.key)}: {episode.outcome}{reason}, {counted(episode.steps, 'step')}"


def make_abstentions(runs: Sequence[RunSummary]) -> tuple[Abstentions, ...]:
    """Abstentions by run and reason, with the first errors."""
    found: list[Abstentions] = []
    for place, run in enumerate(runs):
        for reason in run.success.abstained:
            who = [(index, item) for index, item in enumerate(run.episodes) if item.reason == reason]
            texts = list(dict.fromkeys(item.explanation for _, item in who if item.explanation))
            found.append(
                Abstentions(
                    place=place,
                    run_id=run.record.run_id,
                    reason=reason,
                    meaning=REASONS.get(reason, ""),
                    count=len(who),
                    text="; ".join(texts[:2]) + (f"; and {len(texts) - 2} other texts" if len(texts) > 2 else ""),
                    episodes=tuple((index, item.record.key) for index, item in who[:_SHOWN_EPISODES]),
                    more=max(0, len(who) - _SHOWN_EPISODES),
                )
            )
    return tuple(found)


def make_facts(runs: Sequence[RunSummary]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What was run with what: a label and a value for each run."""
    agents = agent_labels([run.record.agent_name for run in runs])
    columns = [{"agent": agent, **dict(_facts(run))} for agent, run in zip(agents, runs, strict=True)]
    labels = dict.fromkeys(label for column in columns for label in column)
    return tuple((label, tuple(column.get(label, "") for column in columns)) for label in labels)


def _facts(run: RunSummary) -> Iterator[tuple[str, str]]:
    record = run.record
    yield "benchmark", record.benchmark
    yield "began", record.text("created_at")
    chunk, replan = record.text("agent", "spec", "chunk_length"), record.text("agent", "spec", "replan")
    # Members equal to their default are left out of a contract's JSON.
    yield "chunk length, replan", " and ".join("1" if value == "unknown" else value for value in (chunk, replan))
    hertz = record.value("env", "spec", "control_hz")
    yield "control rate", "unknown" if hertz is None else f"{hertz} Hz"
    yield "renderer", record.text("renderer")
    if record.value("interpreter") is not None:
        yield (
            "interpreter",
            f"Python {record.text('interpreter', 'python')}, {record.text('interpreter', 'executable')}",
        )
    states = run.initial_states
    again = repeated_words(states.repeated)
    yield "distinct initial states", f"{states.distinct}{again}"
    yield "safety filters", _names(record.value("safety")) or "none"
    for name in ("components", "options", "trained_on"):
        yield name.replace("_", " "), _json(record.value("agent", name))
    yield "environment", _json({key: value for key, value in _members(record.value("env")) if key != "spec"})
    yield "overrides", _json(record.value("overrides"))
    yield "versions", ", ".join(f"{name} {version}" for name, version in _members(record.value("versions")))
    yield "config digest", record.text("config_digest")
    for score in run.scores:
        known = record.scorers.get(score.name) or KNOWN_METRICS.get(score.name)
        mean = "-"
        if score.mean is not None:
            mean = percent(score.mean) if known and known.binary else number(score.mean, known.unit if known else "")
        left_out = (
            f"; {score.n_left_out} left out, whose traces were changed since or cannot be read"
            if score.n_left_out
            else ""
        )
        yield f"score {score.name}", f"{mean} (mean of {score.n_scored} of {score.n_episodes} in the log{left_out})"


def _members(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _names(value: Any) -> str:
    filters: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return ", ".join(str(item.get("name", item)) if isinstance(item, dict) else str(item) for item in filters)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False) if value else "none"


def changed_words(run: RunSummary) -> tuple[str, ...]:
    """What is said before everything else of a run whose traces or videos were changed: how many, which and in what."""
    traces = {item.record.key: item.changes for item in run.changed}
    videos = {item.record.key: item.doubts for item in run.doubtful}
    run_id = run.record.run_id
    return (
        *_listed(
            f"{run_id}: {not_as_recorded(len(traces))}. What was changed is not believed: "
            "it counts neither as success nor as failure.",
            traces,
        ),
        *_listed(
            f"{run_id}: {not_as_recorded(sum(map(len, videos.values())), 'video')}. What was changed is not shown.",
            videos,
        ),
    )


def _listed(head: str, found: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    if not found:
        return
    yield head
    yield from (f"{key}: {'; '.join(what)}." for key, what in list(found.items())[:_SHOWN_EPISODES])
    if len(found) > _SHOWN_EPISODES:
        yield f"And {len(found) - _SHOWN_EPISODES} more."


def make_notices(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """What a reader must know before the numbers."""
    found = [sentence for run in runs for sentence in changed_words(run)]
    for run in runs:
        record = run.record
        if record.provisional:
            found.append(f"{record.run_id} has no log yet: what its finished traces say is provisional.")
        elif not record.finished:
            found.append(f"{record.run_id} was stopped before its end.")
        if said := stand_in_sentence(record.run_id, record.value("versions")):
            found.append(f"{said}.")
        if run.contradictions:
            found.append(
                f"{record.run_id}: in {counted(run.contradictions, 'episode')} the log records another success "
                "than the trace; this page believes the traces."
            )
    if len({run.record.text("tasks_digest") for run in runs}) > 1:
        found.append("These runs did not run the same tasks: their rates are not comparable as they stand.")
    return tuple(found)
