"""The records of ``hylo.evallog/v0.1``, the flat form: a number a scorer and sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs

from hylo_core.contract import Record, describe, instance_of, integer, sequence_of, text
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze_mapping
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark


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
