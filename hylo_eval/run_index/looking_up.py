"""From what a person types to the run or episode that is meant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from hylo_core.errors import HyloError
from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.consistency import LogContradiction, find_contradictions
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.v02 import EvalLog, Sample, ScorerDeclaration
from hylo_eval.evaluation.rescore_plan import trace_path
from hylo_eval.run_index.database import open_index
from hylo_eval.suggest import did_you_mean, quoted
from hylo_eval.traces.finding import find_run
from hylo_eval.traces.grade_chain import BrokenChain
from hylo_eval.traces.layout import EPISODES, RunFolder
from hylo_eval.traces.reader import read_trace


@attrs.frozen(kw_only=True)
class FoundEpisode:
    """An episode by its trace and by the log of its run.

    Attributes:
        path: The trace.
        trace: None where it cannot be read.
        run: None where a trace was named that lies in no run.
        sample: What the run's log says of it; None where no log counts this trace.
        problem: What is wrong, in one line.
        scorers: What that log declares of its scorers, by name.
    """

    path: Path
    trace: EpisodeTrace | None
    run: RunFolder | None
    sample: Sample | None
    problem: str
    scorers: Mapping[str, ScorerDeclaration] = attrs.field(factory=dict[str, ScorerDeclaration])


def find_run_folder(name: str, run_root: Path) -> RunFolder | None:
    """The run of a folder, a log in one, or an id under the run root; None where the name is of none."""
    given = Path(name)
    if given.is_file() and given.suffix == ".jsonl":
        return None
    try:
        return find_run(name, run_root)
    except EvalError:
        return None
    except (OSError, ValueError):
        # A name that no file can have.
        return None


def find_episode(name: str, run_root: Path, *, in_run: str | None = None) -> FoundEpisode:
    """The episode of a trace file, an episode id, or an instance key.

    Args:
        name: What was typed.
        run_root: Whose index is asked.
        in_run: The run it is of; needed where several runs have it.

    Raises:
        EvalError: There is none, or there are several.
    """
    given = Path(name)
    if in_run is None and given.suffix == ".jsonl" and given.is_file():
        return _of_trace(given)
    if in_run is not None:
        return _in_run(name, find_run(in_run, run_root))
    with open_index(run_root, in_memory_if_unwritable=True) as index:
        index.refresh()
        rows = index.episodes(name)
        known = [] if rows else index.known_names()
    if not rows:
        hint = did_you_mean(name, known)
        raise EvalError(
            f"there is no run, episode or comparison {quoted(name)} in {run_root}{hint}", fix="hylo-eval ls"
        )
    if len(rows) > 1:
        runs = [row["run_id"] for row in rows]
        listed = ", ".join(runs[:5]) + (f" and {len(runs) - 5} more" if len(runs) > 5 else "")
        raise EvalError(f"{len(runs)} runs have the episode {quoted(name)}: {listed}", fix=f"--run {runs[0]}")
    return _in_run(name, find_run(rows[0]["run_id"], run_root))


def _in_run(name: str, run: RunFolder) -> FoundEpisode:
    source = run.evallog if run.evallog.exists() else run.partial_evallog
    log = read_evallog(source, check=False)
    refuse_foreign(log, run, source)
    sample = next((item for item in log.samples if name in (item.episode_id, item.key)), None)
    if sample is None:
        known = [name for item in log.samples for name in (item.key, item.episode_id)]
        raise EvalError(f"run {run.run_id!r} has no episode {quoted(name)}{did_you_mean(name, known)}")
    return _read(trace_path(run, sample), run, sample, log)


def _of_trace(path: Path) -> FoundEpisode:
    """A trace file, with what the log of the run around it says."""
    run = RunFolder(path.resolve().parent.parent)
    source = run.evallog if run.evallog.exists() else run.partial_evallog
    if path.resolve().parent != run.episodes or not source.exists():
        return _read(path, None, None)
    try:
        log = read_evallog(source, check=False)
        refuse_foreign(log, run, source)
    except LogContradiction as error:
        return attrs.evolve(_read(path, None, None), run=run, problem=error.message)
    except HyloError:
        return _read(path, run, None)
    counted = next((item for item in log.samples if item.trace == f"{EPISODES}/{path.name}"), None)
    return _read(path, run, counted, log)


def _read(path: Path, run: RunFolder | None, sample: Sample | None, log: EvalLog | None = None) -> FoundEpisode:
    broken = ""
    scorers: Mapping[str, ScorerDeclaration] = {} if log is None else log.eval.scorers
    try:
        trace = read_trace(path)
    except BrokenChain as error:
        trace, broken = error.trace, error.words
    except TraceError as error:
        where = f"line {error.line}: {error.reason}" if error.line else error.reason
        return FoundEpisode(path=path, trace=None, run=run, sample=sample, problem=where, scorers=scorers)
    problem = ""
    if sample is not None and sample.trace_sha256 and sample.trace_sha256 != trace.trace_sha256:
        problem = "the trace is not the one that the log records"
    elif broken:
        problem = f"the grades of the trace, or what they judge, were changed: {broken}"
    elif run is not None and sample is None:
        problem = "the log of its run does not count this trace"
    elif log is not None and (wrong := next(find_contradictions(log), None)) is not None:
        problem = f"the log of its run contradicts itself: {wrong.words}"
    return FoundEpisode(path=path, trace=trace, run=run, sample=sample, problem=problem, scorers=scorers)
