"""The records of ``hylo.evallog/v0.1``, the flat form: a number a scorer and sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from hylo_core.contract import Record, contracts_of, describe, instance_of, integer, mapping_of, text
from hylo_core.errors import ContractError
from hylo_core.frozen import freeze_mapping
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark


def _score(value: Any, path: str) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and (not number or value - value != 0.0):
        raise ContractError(f"must be a finite number or null, not {describe(value)}", path=path)
    return value


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
    scores: Mapping[str, float | None] = attrs.field(converter=mapping_of("scores", _score))
    trace: str = attrs.field(validator=text())


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
    samples: tuple[Sample, ...] = attrs.field(converter=contracts_of("samples", Sample))
