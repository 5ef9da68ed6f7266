"""Re-scoring: from the traces of finished runs to new logs. No simulator, no agent; the runs stay as they are.

Which episodes count, and in which order, says the run's own log (:mod:`hylo_eval.evaluation.rescore_plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import attrs
import orjson

from hylo_core.score import Scorer
from hylo_eval.compare.words import not_as_recorded
from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.evallog.building import LogBuilder
from hylo_eval.evallog.facts import EpisodeFacts
from hylo_eval.evallog.files import encode_evallog, read_evallog
from hylo_eval.evallog.v02 import EvalLog, EvalSpec, Sample
from hylo_eval.evaluation.rescore_plan import (
    PlannedRescoring,
    Refused,
    RescorePlan,
    make_scorers,
    refuse_other_episodes,
    trace_path,
)
from hylo_eval.evaluation.score_pool import RecordedEpisode, RecordedScores, ScorePool, default_workers
from hylo_eval.evaluation.scorer_refs import declare
from hylo_eval.evaluation.scores import manifest_on_record, this_release
from hylo_eval.plugins import ref_of
from hylo_eval.scoring.aggregate import ScoreSummary, summarise_scorer
from hylo_eval.scoring.agreement import Agreement, pairwise_agreement
from hylo_eval.traces.files import name_once, neighbour_of, write_once
from hylo_eval.traces.layout import RunFolder

DETAILS_SCHEMA: Final = "hylo.rescoring/v0.1"
_SHOWN: Final = 3
_STOPPED: Final = "stopped; logs that are written stay, and no log is half written"


@attrs.frozen(kw_only=True)
class Rescoring:
    """What re-scoring one run came to.

    Attributes:
        run: The run folder.
        source: The log that says which episodes count: ``evallog.json``, or ``evallog.partial.json`` of a run that was
            stopped.
        log: The new log, as written to ``log_path``.
        log_path: ``scores/<name>.json``.
        details_path: ``scores/<name>.jsonl``: every score with explanation and metadata, a line an episode.
        summaries: One a scorer, by name, in the order given.
        modified: Key -> in what its trace is not the one that was recorded; only with ``accept_modified``.
        disagreements: Episodes in which our evaluation of the goal and the simulator's own check differ.
        agreement: Of every two graders that judged episodes in common.
    """

    run: RunFolder
    source: Path
    log: EvalLog
    log_path: Path
    details_path: Path
    summaries: Mapping[str, ScoreSummary]
    modified: Mapping[str, Sequence[str]]
    disagreements: int
    agreement: Sequence[Agreement] = ()

    @property
    def complete(self) -> bool:
        """Whether the run it is of was whole."""
        return self.source == self.run.evallog

    @property
    def exit_code(self) -> int:
        """As for the run itself: 0 when it was whole, something was scored and no infrastructure failed; else 3."""
        primary = next(iter(self.summaries.values()))
        if not self.complete or primary.n_scored == 0 or self.disagreements:
            return 3
        return 3 if any(summary.n_infrastructure for summary in self.summaries.values()) else 0


class ModifiedTraces(EvalError):
    """Traces of a run are not the ones that were recorded.

    Attributes:
        modified: Key -> what differs.
    """

    def __init__(self, run: RunFolder, modified: Mapping[str, Sequence[str]]) -> None:
        self.modified = modified
        shown = [f"\n  {key}: {'; '.join(differences)}" for key, differences in list(modified.items())[:_SHOWN]]
        more = f"\n  and {len(modified) - _SHOWN} more" if len(modified) > _SHOWN else ""
        super().__init__(
            f"{run.path}: {not_as_recorded(len(modified))}:{''.join(shown)}{more}",
            fix="restore the traces, or score them as they are with --accept-modified, which the log will say",
        )


def rescore(
    plan: RescorePlan,
    *,
    accept_modified: bool = False,
    workers: int | None = None,
    finished: Callable[[RecordedScores], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Rescoring | Refused]:
    """Score the traces of runs again and write ``scores/<name>.json`` into each run folder.

    Args:
        plan: From :func:`plan_rescoring`.
        accept_modified: Score traces that are not the ones that were recorded; the log counts them
            (``results.n_modified``) and each sample says what differs. Without it, such a run is refused.
        workers: Processes; None: as many as there are processors and work for.
        finished: Told of every episode that is scored.
        stop: Asked after every episode; when it says True the run in hand is left as it was.

    Yields:
        One outcome a run; runs whose log could not be read come first.

    Raises:
        KeyboardInterrupt: ``stop`` said so.
    """
    yield from plan.refused
    with ScorePool(workers or default_workers(plan.n_episodes)) as pool:
        for planned in plan.runs:
            try:
                yield _rescore_run(
                    planned, plan.name, pool, accept_modified=accept_modified, finished=finished, stop=stop
                )
            except EvalError as error:
                if stop is not None and stop():
                    # A signal to the whole process group ends the processes of the pool before we look.
                    raise KeyboardInterrupt(_STOPPED) from error
                yield Refused(run=planned.run, error=error)


def _rescore_run(
    planned: PlannedRescoring,
    name: str,
    pool: ScorePool,
    *,
    accept_modified: bool,
    finished: Callable[[RecordedScores], None] | None,
    stop: Callable[[], bool] | None,
) -> Rescoring:
    run, log = planned.run, read_evallog(planned.source, check=False)
    refuse_other_episodes(log, run, planned.source)
    disagreements = 0
    episodes = (_recorded_episode(run, log, sample) for sample in log.samples)
    scorers = make_scorers(planned.scorers)
    builder = LogBuilder()
    results: list[RecordedScores] = []
    with _Details(run.score_details(name)) as details:
        details.write(orjson.dumps(_details_header(planned, log.run_id, accept_modified=accept_modified)) + b"\n")
        for sample, scored in zip(log.samples, pool.score(planned.scorers, episodes), strict=True):
            details.write(scored.details)
            facts = scored.facts or EpisodeFacts()
            builder.add(_rescored(sample, scored, facts), facts)
            disagreements += facts.disagreement
            results.append(attrs.evolve(scored, details=b"", facts=None))
            if finished is not None:
                finished(scored)
            if stop is not None and stop():
                raise KeyboardInterrupt(_STOPPED)
        modified = {scored.key: scored.differences for scored in results if scored.differences}
        if modified and not accept_modified:
            raise ModifiedTraces(run, modified)
        summaries = {
            scorer.name: summarise_scorer(scorer, [scored.scores[scorer.name] for scored in results])
            for scorer in scorers
        }
        agreement = pairwise_agreement(scored.judged for scored in results)
        new_log = builder.finish(status=status_of(planned.source, run), spec=_spec(log, run, scorers))
        if agreement:
            found = tuple(attrs.asdict(one) for one in agreement)
            new_log = attrs.evolve(new_log, results=attrs.evolve(new_log.results, grader_agreement=found))
        details.finish()
        log_path = run.scores(name)
        _write_log(new_log, log_path)
    return Rescoring(
        run=run,
        source=planned.source,
        log=new_log,
        log_path=log_path,
        details_path=run.score_details(name),
        summaries=summaries,
        modified=modified,
        disagreements=disagreements,
        agreement=agreement,
    )


def _recorded_episode(run: RunFolder, log: EvalLog, sample: Sample) -> RecordedEpisode:
    return RecordedEpisode(
        path=str(trace_path(run, sample)),
        key=sample.key,
        episode_id=sample.episode_id,
        status=sample.status,
        benchmark_digest=log.benchmark.digest,
        trace_sha256=sample.trace_sha256,
    )


def status_of(source: Path, run: RunFolder) -> str:
    """The status of a log by the file it stands in."""
    return "complete" if source == run.evallog else "partial"


def _rescored(sample: Sample, scored: RecordedScores, facts: EpisodeFacts) -> Sample:
    """A sample with new scores; what its trace no longer says stays as it was on record."""
    known: dict[str, Any] = {}
    if scored.facts is not None:
        known = {
            "behaviour_sha256": facts.behaviour_sha256,
            "tags": facts.tags,
            "steps": facts.steps,
            "initial_state": facts.initial_state,
        }
    return attrs.evolve(
        sample,
        status=scored.status,
        scores=scored.scores,
        trace_sha256=scored.trace_sha256 or sample.trace_sha256,
        differences=scored.differences,
        **known,
    )


def _spec(log: EvalLog, run: RunFolder, scorers: Sequence[Scorer]) -> EvalSpec:
    return attrs.evolve(
        log.eval,
        scorers=declare(scorers),
        manifest=log.eval.manifest or manifest_on_record(run),
        scored_by=this_release(),
    )


def _details_header(planned: PlannedRescoring, run_id: str, *, accept_modified: bool) -> dict[str, Any]:
    return {
        "schema": DETAILS_SCHEMA,
        "run_id": run_id,
        "source": planned.source.name,
        "scorers": [ref_of("scorers", name) for name in planned.scorers],
        "accept_modified": accept_modified,
        "hylo": this_release(),
    }


def _write_log(log: EvalLog, path: Path) -> None:
    try:
        write_once(path, encode_evallog(log))
    except FileExistsError as error:
        raise EvalError(
            f"{path} was written by somebody else meanwhile; it stays as it is", fix="choose another --name"
        ) from error
    except OSError as error:
        raise cannot_write(str(path), error) from error


class _Details:
    """The file of details while it is written: it gets its name at the end or never."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._neighbour = neighbour_of(path)
        try:
            path.parent.mkdir(exist_ok=True)
            self._file = self._neighbour.open("wb")
        except OSError as error:
            raise cannot_write(str(path), error) from error

    def write(self, line: bytes) -> None:
        """Append a line."""
        self._file.write(line)

    def finish(self) -> None:
        """Give the file its name."""
        self._file.close()
        try:
            name_once(self._neighbour, self._path)
        except FileExistsError as error:
            raise EvalError(
                f"{self._path} was written by somebody else meanwhile; it stays as it is", fix="choose another --name"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._neighbour.unlink(missing_ok=True)
