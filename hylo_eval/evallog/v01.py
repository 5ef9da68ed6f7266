"""EvalLog ``hylo.evallog/v0.1``, field for field: the flat form, a number a scorer and sample.

Runs write v0.2 (:mod:`hylo_eval.evallog.v02`); this form stays readable and writable for tools that know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import orjson

from hylo_core.contract import Record, boolean, describe, instance_of, integer, sequence_of, text
from hylo_core.errors import ContractError, SchemaError
from hylo_core.frozen import FrozenMapping, freeze_mapping, thaw
from hylo_core.schema import EVALLOG_SCHEMA, EVALLOG_V01, migrate
from hylo_eval.evallog.document import parse_object, read_bytes
from hylo_eval.traces.files import write_atomically

if TYPE_CHECKING:
    from hylo_eval.evallog import v02


def _scores(value: object) -> FrozenMapping[float | None]:
    if not isinstance(value, Mapping):
        raise ContractError(f"must be a mapping, not {describe(value)}", path="scores")
    members = cast("Mapping[Any, Any]", value)
    for name, score in members.items():
        number = isinstance(score, (int, float)) and not isinstance(score, bool)
        if score is not None and (not number or score - score != 0.0):
            raise ContractError(f"must be a finite number or null, not {describe(score)}", path=f"scores.{name}")
    return FrozenMapping(members)


@attrs.frozen(kw_only=True)
class LoggedBenchmark(Record):
    """Which benchmark and split were run."""

    id: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    digest: str = attrs.field(validator=text(empty=False))
    split: str = attrs.field(validator=text(empty=False))
    requires_privileged: bool = attrs.field(validator=boolean)


@attrs.frozen(kw_only=True)
class LoggedAgent(Record):
    """Which agent was evaluated."""

    name: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    components: Mapping[str, Any] = attrs.field(converter=freeze_mapping("components"))


@attrs.frozen(kw_only=True)
class Sample(Record):
    """One episode.

    Attributes:
        key: The instance key.
        task_id: The task.
        seed: The seed.
        episode_id: Which attempt counts.
        status: How it ended.
        scores: Scorer name to number, or null for an abstention.
        trace: The trace's path, relative to the run folder.
    """

    key: str = attrs.field(validator=text(empty=False))
    task_id: str = attrs.field(validator=text(empty=False))
    seed: int = attrs.field(validator=integer(minimum=0))
    episode_id: str = attrs.field(validator=text())
    status: str = attrs.field(validator=text(empty=False))
    scores: Mapping[str, float | None] = attrs.field(converter=_scores)
    trace: str = attrs.field(validator=text())


def _samples(value: object) -> tuple[Sample, ...]:
    def check(item: Any, path: str) -> None:
        if not isinstance(item, Sample):
            raise ContractError(f"must be a Sample, not {describe(item)}", path=path)

    return sequence_of("samples", check)(value)


@attrs.frozen(kw_only=True)
class EvalLog(Record):
    """The log of one run.

    Attributes:
        run_id: The run folder's name.
        benchmark: What was run.
        agent: Who was evaluated.
        results: ``<scorer>_mean`` for every scorer (null when it scored nothing), ``n_episodes`` and ``n_scored``.
        samples: One an instance, in the order of the benchmark's split.
    """

    run_id: str = attrs.field(validator=text(empty=False))
    benchmark: LoggedBenchmark = attrs.field(validator=instance_of(LoggedBenchmark))
    agent: LoggedAgent = attrs.field(validator=instance_of(LoggedAgent))
    results: Mapping[str, Any] = attrs.field(converter=freeze_mapping("results"))
    samples: tuple[Sample, ...] = attrs.field(converter=_samples)


def encode_evallog(log: EvalLog) -> bytes:
    """The document of a log."""
    document = {
        "version": EVALLOG_V01,
        "run_id": log.run_id,
        "benchmark": log.benchmark.to_dict(),
        "agent": log.agent.to_dict(),
        "results": thaw(log.results),
        "samples": [sample.to_dict() for sample in log.samples],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def write_evallog(log: EvalLog, path: Path) -> None:
    """Write a log, atomically."""
    write_atomically(path, encode_evallog(log))


def read_evallog(path: Path | str, *, check: bool = True) -> EvalLog:
    """Read a log of either version in this form.

    Args:
        path: The file.
        check: Whether its results have to agree with its samples.

    Raises:
        EvalError: The file cannot be read or is not JSON.
        ContractError: It breaks its schema; the text names file and path.
        LogContradiction: Its results and its samples contradict each other.
    """
    path = Path(path)
    data = read_bytes(path)
    members = parse_object(data, path)
    schema = members.pop("version", None)
    if schema == EVALLOG_SCHEMA:
        from hylo_eval.evallog.files import parse_evallog

        return flatten(parse_evallog(data, path, check=check))
    try:
        members = migrate(members, schema, EVALLOG_V01)
    except SchemaError as error:
        raise error.under("version", source=str(path)) from None
    log = EvalLog.from_dict(members, source=str(path))
    if check:
        from hylo_eval.evallog.consistency import refuse_contradictions

        refuse_contradictions(raised(log), path)
    return log


def raised(log: EvalLog) -> v02.EvalLog:
    """A log of this form in v0.2; what this form does not know is unknown there."""
    from hylo_eval.evallog import v02

    return v02.EvalLog.from_dict(migrate(log.to_dict(), EVALLOG_V01, EVALLOG_SCHEMA))


def flatten(log: v02.EvalLog) -> EvalLog:
    """A log of v0.2 in this form."""
    return EvalLog.from_dict(migrate(log.to_dict(), EVALLOG_SCHEMA, EVALLOG_V01))
