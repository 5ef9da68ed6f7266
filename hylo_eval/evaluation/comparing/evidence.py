"""From a run folder to evidence: everything the log says is read again from the traces and checked against it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import digest
from hylo_core.score import Score, Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import INFRASTRUCTURE, BenchmarkRef, EpisodeStatus, EpisodeTrace
from hylo_eval.compare.agent_labels import settings_of
from hylo_eval.compare.evidence import EpisodeOutcome, RunConditions, RunEvidence, Start
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.belonging import CONDITIONS_OF_RUN, IMPORTED, foreign_members
from hylo_eval.evallog.consistency import find_contradictions
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.finished_episodes import declared_keys, finished_samples
from hylo_eval.evallog.v02 import EvalLog, Sample
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.evaluation.plan import in_declared_order
from hylo_eval.evaluation.scores import score_trace
from hylo_eval.evaluation.source_files import SOURCE_DIGEST
from hylo_eval.families import simulating_versions, without_places
from hylo_eval.numerals import counted
from hylo_eval.plugins import BUILT_IN, plugins
from hylo_eval.scoring.initial_states import state_digest
from hylo_eval.scoring.outcome import AGENT_ERROR, CANCELLED, INFRA, abstention
from hylo_eval.traces.finding import how_to_finish
from hylo_eval.traces.grade_chain import BrokenChain
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest
from hylo_eval.traces.reader import read_trace

_RESTORE: Final = "restore the manifest as the run wrote it, or run it again"
UNKNOWN_RENDERER: Final = "unknown"


def read_conditions(run: RunFolder) -> RunConditions:
    """Under which conditions a run comes about, whether or not it has a log yet.

    Raises:
        EvalError: The manifest is missing, cannot be read or breaks its schema.
    """
    return _conditions(read_manifest(run.manifest), run.manifest, log_sha256="")


def is_imported(run: RunFolder) -> bool:
    """Whether a run was imported: a log without traces.

    Raises:
        EvalError: Its manifest cannot be read.
    """
    return IMPORTED in read_manifest(run.manifest)


def read_evidence(run: RunFolder, *, traces: bool = True, running: bool = False) -> RunEvidence:
    """Read a run as evidence.

    Args:
        run: The run folder.
        traces: Whether to read every trace again and check the log against it; otherwise the log is believed.
        running: Whether a run without a log, which goes on or was killed, is read from its finished traces.

    Returns:
        The evidence. What contradicts itself is a fault of it and no error, so that all of it can be shown at once.

    Raises:
        EvalError: The manifest or the log is missing, cannot be read or breaks its schema.
    """
    manifest = read_manifest(run.manifest)
    path = run.evallog if run.evallog.exists() else run.partial_evallog
    from_queue = running and traces and path != run.evallog and run.queue.exists()
    if path.exists() and not from_queue:
        log = read_evallog(path, check=False)
        samples = log.samples
        conditions = attrs.evolve(
            _conditions(manifest, run.manifest, log_sha256=_file_digest(path)),
            scorer_sources={name: (found.ref, found.source_digest) for name, found in log.eval.scorers.items()},
        )
        faults = [*_log_faults(log, conditions, manifest)]
        contradictions = [*_log_contradictions(log)]
        scorers = _vouched_scorers(log) if traces else ()
    elif from_queue:
        samples = finished_samples(run)
        log_sha256 = digest([str(run.path), *(sample.episode_id for sample in samples)])
        conditions = _conditions(manifest, run.manifest, log_sha256=log_sha256)
        faults, contradictions = list[str](), list[str]()
        scorers = tuple(make_scorer(plugin.name) for plugin in BUILT_IN["scorers"])
    else:
        raise EvalError(f"{run.path} holds no log", fix=how_to_finish(run))
    outcomes: dict[str, EpisodeOutcome] = {}
    instances: list[TaskInstance] = []
    reader = _TraceReader(run, conditions, scorers)
    for sample in samples:
        if sample.key in outcomes:
            faults.append(f"lists {sample.key} twice")
            continue
        if not traces:
            outcomes[sample.key] = _believed(sample)
            continue
        trace, wrong = reader.read(sample)
        faults += wrong
        if trace is not None:
            outcomes[sample.key] = reader.outcome(sample, trace)
            instances.append(trace.instance)
    finished = path == run.evallog
    # The traces of a whole run tell its order by themselves.
    order = () if finished and traces else declared_keys(run, conditions.keys_digest)
    if finished and not faults:
        ordered = [instance.key for instance in in_declared_order(conditions.benchmark.id, instances)]
        faults += _selection_faults(manifest, run.manifest, len(samples), ordered, instances if traces else None)
        if traces and not faults:
            order = tuple(ordered)
    return RunEvidence(
        conditions=conditions,
        outcomes=outcomes,
        finished=finished,
        traces_read=traces,
        faults=(*faults, *contradictions),
        order=order,
        to_finish="" if finished else how_to_finish(run),
        folder=str(run.path),
    )


@attrs.define
class _TraceReader:
    """Reads the traces of one run, one at a time in memory."""

    _run: RunFolder
    _conditions: RunConditions
    _scorers: Sequence[Scorer]
    _scores: dict[str, Score] = attrs.field(init=False, factory=dict[str, Score])

    def read(self, sample: Sample) -> tuple[EpisodeTrace | None, list[str]]:
        """A sample's trace and what is wrong with it; None where it cannot be read."""
        path = self._run.named_trace(sample.trace)
        if path is None or not path.resolve().is_relative_to(self._run.path):
            return None, [f"names the trace {sample.trace!r}, which is not in its folder"]
        changed_grades: list[str] = []
        try:
            trace = read_trace(path, by_column=True)
        except BrokenChain as broken:
            trace, changed_grades = broken.trace, [broken.words]
        except TraceError as error:
            return None, [
                f"has an unreadable trace: {path.name}{f':{error.line}' if error.line else ''}: {error.reason}"
            ]
        self._scores = score_trace(self._scorers, trace, trace.instance)
        wrong = [*self._wrong(sample, trace), *changed_grades]
        return trace, [f"has a trace that does not match: {path.name}: {text}" for text in wrong]

    def outcome(self, sample: Sample, trace: EpisodeTrace) -> EpisodeOutcome:
        """What the trace says; scorers that are not ours are taken from the log, their reasons from the status."""
        found = episode_outcome(trace, self._scores)
        scores, reasons = dict(found.scores), dict(found.reasons)
        abstained = abstention(trace)
        for name, score in sample.scores.items():
            if name not in scores:
                scores[name] = score.value
                if score.value is None and (_stated(score) or abstained is not None):
                    reasons[name] = _stated(score) or _reason(abstained)
        return attrs.evolve(found, scores=scores, reasons=reasons)

    def _wrong(self, sample: Sample, trace: EpisodeTrace) -> Iterator[str]:
        if trace.end is None:
            yield "it has no end event"
            return
        if sample.trace_sha256 and sample.trace_sha256 != trace.trace_sha256:
            yield f"the log records trace digest {sample.trace_sha256}, the file has {trace.trace_sha256}"
        recorded = trace.end.volatile.get("behaviour_sha256")
        if recorded != trace.behaviour_sha256:
            yield f"its content has behaviour digest {trace.behaviour_sha256}, but its end event records {recorded}"
        for what, logged, found in (
            ("instance", sample.key, trace.key),
            ("episode", sample.episode_id, trace.episode_id),
            ("status", sample.status, str(trace.end.status)),
            ("benchmark", self._conditions.benchmark, trace.start.benchmark),
            ("agent", self._conditions.agent, f"{trace.start.agent.name} {trace.start.agent.version}"),
            ("trained_on", self._conditions.trained_on, trace.start.agent.trained_on),
            ("renderer", self._conditions.renderer, trace.start.renderer),
        ):
            # An environment that could not be made does not say what would have drawn.
            if logged != found and not (what == "renderer" and UNKNOWN_RENDERER in (logged, found)):
                yield f"the run records {what} {_words(logged)}, the trace {_words(found)}"
        for package, version in trace.start.versions.items():
            manifested = self._conditions.versions.get(package, version)
            if manifested != version:
                yield f"the manifest records {package} {manifested}, the trace {version}"
        for name, score in self._scores.items():
            if name in sample.scores and sample.value(name) != score.value:
                yield f"the log records {name} {_number(sample.value(name))}, the trace says {_number(score.value)}"


def _vouched_scorers(log: EvalLog) -> tuple[Scorer, ...]:
    """The built-in scorers, and those of the log that an installed package names as its own.

    A file does not decide which modules are imported: what only the log names is believed as it is on record.
    """
    vouched = list(BUILT_IN["scorers"])
    named = {plugin.name for plugin in vouched}
    if any(name not in named for name in log.eval.scorers):
        refs = {declaration.ref for declaration in log.eval.scorers.values()}
        vouched += [plugin for plugin in plugins("scorers") if plugin.name not in named and plugin.ref in refs]
    return tuple(make_scorer(plugin.name) for plugin in vouched)


def episode_outcome(trace: EpisodeTrace, scores: Mapping[str, Score]) -> EpisodeOutcome:
    """What came out of an episode, by its trace and what scorers say of it."""
    return EpisodeOutcome(
        scores={name: score.value for name, score in scores.items()},
        reasons={name: _reason(score) for name, score in scores.items() if score.value is None},
        task_digest=trace.instance.spec.digest(),
        start=_start(trace),
        tags=trace.instance.spec.tags,
    )


def _start(trace: EpisodeTrace) -> Start | None:
    reset = trace.reset
    if reset is None:
        return None
    return Start(
        state=state_digest(reset),
        model=reset.model_digest,
        instruction=reset.instruction,
        frames=digest(dict(reset.images)) if reset.images else "",
    )


_REASON_OF_STATUS: Final[Mapping[str, str]] = {
    EpisodeStatus.AGENT_ERROR: AGENT_ERROR,
    EpisodeStatus.CANCELLED: CANCELLED,
    **dict.fromkeys(INFRASTRUCTURE, INFRA),
}


def _believed(sample: Sample) -> EpisodeOutcome:
    """What the log alone says; where it holds no reasons, the status tells those that it can."""
    by_status = _REASON_OF_STATUS.get(sample.status, "")
    silent = {name: _stated(score) or by_status for name, score in sample.scores.items() if score.value is None}
    return EpisodeOutcome(
        scores={name: score.value for name, score in sample.scores.items()},
        reasons={name: reason for name, reason in silent.items() if reason},
        tags=sample.tags,
    )


def _log_faults(log: EvalLog, conditions: RunConditions, manifest: Mapping[str, Any]) -> Iterator[str]:
    logged = log.benchmark
    found = BenchmarkRef(id=logged.id, version=logged.version, digest=logged.digest, split=logged.split)
    if found != conditions.benchmark:
        yield f"records benchmark {_words(conditions.benchmark)} in its manifest and {_words(found)} in its log"
    if f"{log.agent.name} {log.agent.version}" != conditions.agent:
        yield f"records agent {conditions.agent} in its manifest and {log.agent.name} {log.agent.version} in its log"
    # Tasks and instances are compared with what the traces hold.
    told = [item for item in foreign_members(log, manifest) if item.path.startswith(CONDITIONS_OF_RUN)]
    if told:
        yield f"has the log of another run: {told[0].words}"


def _log_contradictions(log: EvalLog) -> Iterator[str]:
    """One sentence: a sample that is gone shows in every mean."""
    found = list(find_contradictions(log))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield f"has a log that contradicts itself: {found[0].words}{more}"


def _selection_faults(
    manifest: Mapping[str, Any],
    path: Path,
    logged: int,
    ordered: Sequence[str],
    instances: Sequence[TaskInstance] | None,
) -> Iterator[str]:
    """A log from which episodes are missing is not the log of the run that was planned."""
    selection = _take(manifest, "selection", dict, path)
    planned = _take(selection, "instances", int, path)
    if planned != logged:
        yield f"planned {counted(planned, 'episode')}, but its log holds {logged}"
    elif instances is not None:
        if digest(ordered) != _take(selection, "keys_digest", str, path):
            yield "holds other instances than were planned"
        # A log lists its samples in the benchmark's order, so the tasks come in the order the manifest's digest has.
        tasks = {instance.spec.id: instance.spec.to_dict() for instance in instances}
        if digest(list(tasks.values())) != _take(manifest, "tasks_digest", str, path):
            yield "ran other tasks than its manifest says"


def _conditions(manifest: Mapping[str, Any], path: Path, *, log_sha256: str) -> RunConditions:
    benchmark = _take(manifest, "benchmark", dict, path)
    agent = _take(manifest, "agent", dict, path)
    trained_on = agent.get("trained_on", [])
    if not _texts(trained_on):
        raise EvalError(f"{path}: agent.trained_on: must be a list of texts", fix=_RESTORE)
    scorers = _take(manifest, "scorers", list, path)
    if not _texts(scorers):
        raise EvalError(f"{path}: scorers: must be a list of texts", fix=_RESTORE)
    selection = _take(manifest, "selection", dict, path)
    versions = _take(manifest, "versions", dict, path)
    if not _texts(list(versions.values())):
        raise EvalError(f"{path}: versions: must hold texts", fix=_RESTORE)
    env = _take(manifest, "env", dict, path)
    env_ref = str(env.get("ref", ""))
    safety = _take(manifest, "safety", list, path)
    if not all(isinstance(item, dict) for item in safety):
        raise EvalError(f"{path}: safety: must be a list of objects", fix=_RESTORE)
    return RunConditions(
        run_id=_take(manifest, "run_id", str, path),
        created_at=_take(manifest, "created_at", str, path),
        config_digest=_take(manifest, "config_digest", str, path),
        log_sha256=log_sha256,
        benchmark=BenchmarkRef.from_dict(benchmark, source=f"{path}: benchmark"),
        tasks_digest=_take(manifest, "tasks_digest", str, path),
        overrides=_take(manifest, "overrides", dict, path),
        scorers=tuple(scorers),
        agent_name=_take(agent, "name", str, path),
        agent_version=str(agent.get("version", "unknown")),
        trained_on=tuple(trained_on),
        # A manifest may record what happened to be installed beside the simulator; older ones do.
        versions=simulating_versions(env_ref, versions),
        renderer=_take(manifest, "renderer", str, path),
        env=_without_places({name: env[name] for name in env if name != SOURCE_DIGEST}, env_ref, versions),
        env_source=str(env.get(SOURCE_DIGEST, "")),
        safety=tuple(safety),
        hylo_version=str(_take(manifest, "hylo", dict, path).get("version", "unknown")),
        agent_digest=digest(agent),
        agent_settings=settings_of(agent),
        batch_size=_batch_size(agent),
        planned=_take(selection, "instances", int, path),
        keys_digest=_take(selection, "keys_digest", str, path),
        replicate=_take(manifest, "replicate", int, path) if "replicate" in manifest else 1,
    )


def _without_places(env: Mapping[str, Any], ref: str, versions: Mapping[str, str]) -> Mapping[str, Any]:
    options = env.get("options")
    if not isinstance(options, dict):
        return env
    return {**env, "options": without_places(ref, cast("dict[str, Any]", options), versions)}


def _batch_size(agent: Mapping[str, Any]) -> str:
    """What the agent's options say, or its components, such as what a policy server reports."""
    for name in ("options", "components"):
        members = agent.get(name)
        if isinstance(members, dict) and "batch_size" in members:
            return str(cast("dict[str, Any]", members)["batch_size"])
    return ""


def _take(members: Mapping[str, Any], name: str, kind: type, path: Path) -> Any:
    value = members.get(name)
    if type(value) is not kind:
        raise EvalError(f"{path}: {name}: must be of type {kind.__name__}, not {type(value).__name__}", fix=_RESTORE)
    return value


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _stated(score: Score) -> str:
    return str(score.metadata.get("reason", ""))


def _reason(score: Score | None) -> str:
    return (_stated(score) if score else "") or "unstated"


def _words(value: object) -> str:
    if isinstance(value, BenchmarkRef):
        return f"{value.id}/{value.split} ({value.digest})"
    return repr(value)


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:g}"
