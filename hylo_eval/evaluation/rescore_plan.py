"""Which runs a re-scoring is of: their logs, their scorers, and a name that is free in all of them.

The episodes that count are those of a run's own log; what else lies in ``episodes/`` is nobody's result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

import attrs

from hylo_core.errors import HyloError
from hylo_core.score import Scorer
from hylo_eval.errors import EvalError
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.files import read_evallog_header
from hylo_eval.evallog.v02 import EvalLog, LogHeader, Sample
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.evaluation.scores import checked_scorers
from hylo_eval.numerals import counted
from hylo_eval.traces.finding import find_runs, how_to_finish
from hylo_eval.traces.layout import RunFolder


@attrs.frozen(kw_only=True)
class Refused:
    """A run that has no new log.

    Attributes:
        run: The run folder.
        error: Why, and how to mend it.
    """

    run: RunFolder
    error: HyloError

    exit_code = 2


@attrs.frozen(kw_only=True)
class PlannedRescoring:
    """A run that is to be re-scored.

    Attributes:
        run: The run folder.
        source: Its log.
        scorers: Names or references.
        n_episodes: Episodes that count.
    """

    run: RunFolder
    source: Path
    scorers: tuple[str, ...]
    n_episodes: int


@attrs.frozen(kw_only=True)
class RescorePlan:
    """What a call of :func:`rescore` will do.

    Attributes:
        name: Of the new logs.
        runs: What is scored.
        refused: Runs whose log says nothing that can be used; what is wrong further down in it is found at its turn.
    """

    name: str
    runs: tuple[PlannedRescoring, ...]
    refused: tuple[Refused, ...]

    @property
    def n_episodes(self) -> int:
        """Episodes altogether."""
        return sum(item.n_episodes for item in self.runs)


def log_of(run: RunFolder) -> Path:
    """The log that says which episodes of a run count: the whole one, or that of a run that was stopped.

    Raises:
        EvalError: There is none.
    """
    source = run.evallog if run.evallog.is_file() else run.partial_evallog
    if not source.is_file():
        raise EvalError(
            f"{run.path} has no log, so nobody knows which episodes count",
            fix=how_to_finish(run),
        )
    return source


def plan_rescoring(
    paths: Iterable[Path | str],
    *,
    scorers: Sequence[str] = (),
    name: str | None = None,
    run_root: Path = Path("runs"),
) -> RescorePlan:
    """Find the runs, their logs and their scorers, and a name that is free in all of them.

    Args:
        paths: Run folders, ids of runs, or folders of run folders.
        scorers: Short names or references; empty: the scorers each run was scored with.
        name: Of the new logs; None: the first of ``rescore-1``, ``rescore-2``, ... that is free.
        run_root: Where runs are looked for by id.

    Raises:
        EvalError: A path is no run, there is no such scorer, or the name is taken. Nothing was written.
    """
    runs = find_runs(map(str, paths), run_root)
    if scorers:
        make_scorers(scorers)
    if name is None:
        name = next(free for free in (f"rescore-{number}" for number in count(1)) if not _taken(runs, free))
    elif taken := _taken(runs, name):
        free = next(free for free in (f"{name}-{number}" for number in count(2)) if not _taken(runs, free))
        raise EvalError(
            f"{taken[0].path} has a scoring called {name!r} already; nothing is written over", fix=f"--name {free}"
        )
    planned: list[PlannedRescoring] = []
    refused: list[Refused] = []
    for run in runs:
        try:
            planned.append(_plan_run(run, tuple(scorers)))
        except HyloError as error:
            refused.append(Refused(run=run, error=error))
    return RescorePlan(name=name, runs=tuple(planned), refused=tuple(refused))


def make_scorers(names: Sequence[str]) -> Sequence[Scorer]:
    """The scorers of short names or references, each of another name.

    Raises:
        EvalError: One cannot be made, there is none, or two share a name.
    """
    return checked_scorers([make_scorer(name) for name in names])


def scorers_of(log: LogHeader) -> list[str]:
    """The references of the scorers a log was made with, or their names where it holds no reference.

    Built-in scorers are called what their short names say.
    """
    return [declaration.ref or name for name, declaration in log.eval.scorers.items()]


def trace_path(run: RunFolder, sample: Sample) -> Path:
    """Where a sample's trace is.

    Raises:
        EvalError: The log names something else than a file of its run's ``episodes`` folder.
    """
    path = run.named_trace(sample.trace)
    if path is None:
        raise EvalError(
            f"{run.path}: the log names the trace {sample.trace!r}, which is no file of episodes/",
            fix="restore the log as the run wrote it",
        )
    return path


def refuse_other_episodes(log: EvalLog, run: RunFolder, source: Path) -> None:
    """Let only a log pass that holds every episode once: its traces vouch for those it names, and not for the others.

    Args:
        log: The log; how many episodes its header says is held against the manifest by :func:`refuse_foreign`.
        run: The run.
        source: Where the log was read.

    Raises:
        EvalError: An episode stands there twice, or some are gone: the mean of what is left is not the run's.
    """
    fix = f"restore the log; hylo-eval run --resume {run.run_id} writes it again from the queue"
    seen: set[str] = set()
    for sample in log.samples:
        if sample.key in seen:
            raise EvalError(f"{source}: lists {sample.key} twice", fix=fix)
        seen.add(sample.key)
    if len(seen) != log.results.n_episodes:
        found = counted(len(seen), "episode")
        raise EvalError(f"{source}: holds {found}, and its header says {log.results.n_episodes}", fix=fix)


def _taken(runs: Sequence[RunFolder], name: str) -> list[RunFolder]:
    return [run for run in runs if run.scores(name).exists() or run.score_details(name).exists()]


def _plan_run(run: RunFolder, scorers: tuple[str, ...]) -> PlannedRescoring:
    source = log_of(run)
    # The samples are read, and refused, when their turn comes: runs together may have more than memory holds.
    log = read_evallog_header(source)
    refuse_foreign(log, run, source)
    if not scorers:
        scorers = tuple(scorers_of(log))
        if not scorers:
            raise EvalError(f"{source} names no scorer", fix="name one with --scorer")
        try:
            make_scorers(scorers)
        except EvalError as error:
            raise EvalError(f"{source}: {error.message}", fix="name the scorers with --scorer") from error
    return PlannedRescoring(run=run, source=source, scorers=scorers, n_episodes=log.results.n_episodes)
