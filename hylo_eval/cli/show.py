"""``hylo-eval show``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, number, percent, print_hanging, printable, printable_line
from hylo_eval.errors import EvalError
from hylo_eval.versions import stand_in_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hylo_core.trace import EpisodeTrace
    from hylo_eval.evallog.v02 import EvalLog, LogHeader, ScorerDeclaration, ScoreStatistics
    from hylo_eval.run_index.folders import FoundRun
    from hylo_eval.run_index.looking_up import FoundEpisode
    from hylo_eval.traces.layout import RunFolder


@click.command()
@click.argument("name", metavar="RUN|EPISODE|COMPARISON")
@click.option("--run", "in_run", default=None, metavar="RUN", help="The run an EPISODE is of, where several have it.")
@run_root_option
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def show(*, name: str, in_run: str | None, run_root: Path, as_json: bool) -> int:
    """Show a run, an episode, or a comparison on record.

    A run is a folder, or an id under the run root; an episode an id, an instance key, or a trace file; a comparison or
    gate an id.
    """
    from hylo_eval.run_index.comparisons import find_comparison
    from hylo_eval.run_index.looking_up import find_episode, find_run_folder

    run = None if in_run is not None else find_run_folder(name, run_root)
    if run is not None:
        return _show_run(run, as_json=as_json)
    record = None if in_run is not None else find_comparison(name, run_root)
    if record is not None:
        return _show_comparison(record, as_json=as_json)
    episode = find_episode(name, run_root, in_run=in_run)
    return _show_episode(episode, as_json=as_json)


def _show_run(run: RunFolder, *, as_json: bool) -> int:
    from hylo_eval.numerals import counted
    from hylo_eval.run_index.comparisons import comparisons_of
    from hylo_eval.run_index.folders import commonest_errors, planned_episodes, read_run
    from hylo_eval.traces.finding import refuse_no_remains

    refuse_no_remains(run)
    found = read_run(run)
    if as_json:
        log = None if found.log is None else found.log.header().to_dict()
        scorings = [scoring.name for scoring in found.scorings]
        comparisons = [row["id"] for row, _ in comparisons_of(run)]
        document: dict[str, Any] = {"run": str(run.path), "status": found.status, "problem": found.problem}
        document |= {"planned": planned_episodes(found.manifest), "to_finish": _to_finish(found)}
        document["errors"] = [{"text": text, "episodes": count} for text, count in commonest_errors(found.log)]
        click.echo(json.dumps({**document, "log": log, "scorings": scorings, "comparisons": comparisons}, indent=2))
        return 0
    out = console()
    out.print(f"run {printable_line(run.run_id)}: {found.status}")
    if found.problem:
        print_hanging(out, "problem: ", found.problem)
    if found.log is None:
        if found.status == "unfinished":
            out.print("it has no log: it goes on, or was killed")
    else:
        _print_log(found.log)
        for text, count in commonest_errors(found.log):
            print_hanging(out, f"error in {counted(count, 'episode')}: ", text)
    _print_rest(found)
    for scoring in found.scorings:
        means = "" if scoring.header is None else _means(scoring.header)
        out.print(f"scores/{printable_line(scoring.name)}.json: {printable_line(scoring.problem or means)}")
    for row, side in comparisons_of(run):
        verdict = f": {row['verdict']}" if row["verdict"] else ""
        out.print(printable_line(f"{row['kind']} {row['id']} {side}{verdict}"))
    return 0


def _print_rest(found: FoundRun) -> None:
    """What a run that is not whole still lacks, and what makes it whole."""
    from hylo_eval.numerals import counted
    from hylo_eval.run_index.folders import planned_episodes

    if not (fix := _to_finish(found)):
        return
    out = console()
    if (planned := planned_episodes(found.manifest)) is not None:
        there = "" if found.log is None else f", {len(found.log.samples)} of them in the log"
        out.print(f"planned: {counted(planned, 'episode')}{there}")
    print_hanging(out, "to finish it: ", fix)


def _to_finish(found: FoundRun) -> str:
    """What makes a run whole that is not; empty where it is whole or nobody knows."""
    from hylo_eval.traces.finding import how_to_finish

    return how_to_finish(found.folder) if found.status in ("partial", "unfinished") else ""


def _show_comparison(path: Path, *, as_json: bool) -> int:
    from hylo_eval.numerals import counted
    from hylo_eval.run_index.comparisons import comparison_row, comparison_run_rows, read_comparison, rule_words

    found = read_comparison(path)
    if found.problem:
        raise EvalError(f"{printable(str(path))}: {found.problem}")
    if as_json:
        click.echo(json.dumps(found.document, indent=2))
        return 0
    out, row = console(), comparison_row(found)
    out.print(printable_line(f"{row['kind']} {row['id']}{': ' if row['verdict'] else ''}{row['verdict']}"))
    for run in comparison_run_rows(found):
        settings = f" ({run['agent_settings']})" if run["agent_settings"] else ""
        agent = f", agent {run['agent']} {run['agent_version']}{settings}" if run["agent"] else ""
        out.print(printable_line(f"{run['role']}: {run['run_id']}{agent}"))
    counted = "" if row["n_pairs"] is None else counted(int(row["n_pairs"]), "pair")
    tested = "" if row["p_value"] is None else f"p = {row['p_value']:.4g}"
    about = f"{row['metric']} on {row['benchmark']} ({row['split']})" if row["benchmark"] else ""
    said = ", ".join(filter(None, (about, counted, tested)))
    for head, text in (
        ("rule: ", rule_words(found)),
        ("about: ", said),
        ("why: ", row["reasons"]),
        ("made: ", row["created_at"]),
    ):
        if text:
            print_hanging(out, head, text)
    out.print(f"record: {printable_line(str(path))}")
    return 0


def _print_log(whole: EvalLog) -> None:
    from hylo_eval.compare.agent_labels import agent_name_of, settings_words
    from hylo_eval.compare.words import not_as_recorded

    out, log = console(), whole.header()
    benchmark, agent, stats = log.benchmark, log.agent, log.stats
    out.print(
        f"{printable_line(benchmark.id)} {printable_line(benchmark.version)} ({printable_line(benchmark.split)}), "
        f"agent {printable_line(agent.name)} {printable_line(agent.version)}"
    )
    if settings := settings_words(agent_name_of(log.eval.manifest).agent_settings):
        out.print(f"settings of the agent: {printable_line(settings)}")
    if (replicate := log.eval.manifest.get("replicate")) is not None:
        out.print(f"repetition: {printable_line(str(replicate))}")
    if said := stand_in_sentence("the run", log.eval.manifest.get("versions")):
        out.print(printable_line(said))
    if stats.started_at:
        out.print(f"from {printable_line(stats.started_at)} to {printable_line(stats.finished_at)}")
    headers = ("score", "mean", "95 % interval", "scored", "abstained")
    rows = [(name, *_cells(statistics, log.eval.scorers.get(name))) for name, statistics in log.results.overall.items()]
    print_table(out, headers, rows)
    if len(log.results.tasks) > 1:
        _print_groups(whole, headers)
    if stats.statuses:
        counted = ", ".join(f"{count} {printable_line(status)}" for status, count in stats.statuses.items())
        out.print(f"outcomes: {counted}")
    if stats.reply_seconds is not None:
        replies = stats.reply_seconds
        quantiles = ", ".join(f"{name} {number(getattr(replies, name), 's')}" for name in ("p50", "p95", "p99"))
        out.print(f"replies: {replies.n}, {quantiles}")
    if stats.initial_states is not None:
        states = stats.initial_states
        out.print(f"distinct initial states: {states.distinct}; repeated: {states.repeated}")
    if log.results.n_modified:
        out.print(f"warning: {not_as_recorded(log.results.n_modified)}")


def _print_groups(log: EvalLog, headers: Sequence[str]) -> None:
    """The first scorer by task; where a task has too few episodes for a rate, by tag, and which episodes failed."""
    from hylo_eval.report.grouping import choose_grouping, listed, short_names

    out = console()
    grouping = choose_grouping((sample.key, sample.task_id, sample.tags) for sample in log.samples)
    groups = log.results.tags if grouping.by == "tag" else log.results.tasks
    rows = [
        (group, name, *_cells(statistics, log.eval.scorers.get(name)))
        for group in grouping.names
        for name, statistics in list(groups.get(group, {}).items())[:1]
    ]
    out.print()
    if grouping.words:
        out.print(grouping.words)
    if rows:
        print_table(out, (grouping.by, *headers), rows)
    if grouping.by == "task":
        return
    for name, declaration in list(log.eval.scorers.items())[:1]:
        scored = [sample for sample in log.samples if name in sample.scores]
        names = short_names([sample.key for sample in scored])
        failed = [names[sample.key] for sample in scored if declaration.binary and sample.scores[name].value == 0]
        shown, more = listed(failed)
        if failed:
            print_hanging(out, f"{len(failed)} failed: ", f"{', '.join(shown)}{f' and {more} more' if more else ''}")


def _cells(statistics: ScoreStatistics, declaration: ScorerDeclaration | None) -> tuple[str, str, str, str]:
    def shown(value: float) -> str:
        if declaration is not None and declaration.binary:
            return percent(value)
        return number(value, declaration.unit if declaration else "")

    interval = statistics.interval
    return (
        "-" if statistics.mean is None else shown(statistics.mean),
        "" if interval is None else f"[{shown(interval.low)}, {shown(interval.high)}]",
        f"{statistics.n_scored}/{statistics.n_attempted}",
        ", ".join(f"{count} {reason}" for reason, count in statistics.abstained.items()),
    )


def _means(log: LogHeader) -> str:
    return ", ".join(
        f"{name} {_cells(statistics, log.eval.scorers.get(name))[0]}"
        for name, statistics in log.results.overall.items()
    )


def _show_episode(episode: FoundEpisode, *, as_json: bool) -> int:
    trace, sample = episode.trace, episode.sample
    if as_json:
        document = {
            "run": None if episode.run is None else str(episode.run.path),
            "trace": str(episode.path),
            "sample": None if sample is None else sample.to_dict(),
            "problem": episode.problem,
            "episode": None if trace is None else _trace_summary(trace),
            "question": None if trace is None else _question(trace),
        }
        click.echo(json.dumps(document, indent=2))
        return 0
    out = console()
    out.print(f"trace: {printable_line(str(episode.path))}")
    if episode.problem:
        print_hanging(out, "problem: ", episode.problem)
    if trace is not None:
        question = _question(trace) or {}
        for head, value in (*_trace_summary(trace).items(), *question.items()):
            if value not in (None, "", []):
                print_hanging(out, f"{head.replace('_', ' ')}: ", _words(value))
            elif head == "reply":
                out.print("reply: none" if value is None else "reply: empty")
    if sample is not None:
        units = {name: declaration.unit for name, declaration in episode.scorers.items()}
        rows = [
            (name, "-" if score.value is None else number(score.value, units.get(name, "")), score.explanation)
            for name, score in sample.scores.items()
        ]
        print_table(out, ("score", "value", "why"), rows)
    if trace is None and sample is None:
        raise EvalError(f"{printable(str(episode.path))}: {episode.problem}")
    return 0


def _trace_summary(trace: EpisodeTrace) -> Mapping[str, Any]:
    first_success = next((step.index for step in trace.steps if step.success), None)
    return {
        "key": trace.key,
        "episode": trace.episode_id,
        "agent": f"{trace.start.agent.name} {trace.start.agent.version}",
        "instruction": trace.reset.instruction if trace.reset else None,
        "status": None if trace.end is None else str(trace.end.status),
        "reason": trace.end.reason if trace.end else "the trace has no end: a worker was killed, or still writes it",
        "steps": len(trace.steps),
        "first_success_at_step": first_success,
        "replies": sum(step.inference for step in trace.steps),
        "safety_interventions": [f"step {event.index}: {event.filter}: {event.reason}" for event in trace.safety[:10]],
        "errors": [f"{error.phase}: {error.error_type}: {error.message}" for error in trace.errors],
        "grades": [f"{grade.grader}: {'nothing' if grade.value is None else grade.value}" for grade in trace.grades],
        "started_at": trace.start.volatile.get("started_at"),
    }


def _question(trace: EpisodeTrace) -> Mapping[str, Any] | None:
    """Reply, truth and pictures of an episode whose action is text."""
    from hylo_eval.report.question import read_question

    question = read_question(trace)
    if question is None:
        return None
    return {"reply": question.reply, "truth": question.truth, "pictures": list(question.pictures)}


def _words(value: Any) -> str:
    return "; ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
