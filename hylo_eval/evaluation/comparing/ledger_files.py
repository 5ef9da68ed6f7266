"""Reading the records under ``<run_root>/comparisons`` as a ledger; they are untrusted like any other file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

from hylo_eval.compare.ledger import Ledger, RecordedLook, RecordedNoise, RecordedRun, RecordKind
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.records import read_record, record_paths

MAX_PAIRS: Final = 1_000_000_000
"""No run has more."""


def read_ledger(run_root: Path) -> Ledger:
    """The looks on record in a run root, oldest first.

    Raises:
        EvalError: The folder cannot be listed, or holds more than `MAX_RECORDS` files.
    """
    looks: list[RecordedLook] = []
    unreadable = 0
    for path in record_paths(run_root):
        try:
            look = _look(read_record(path))
        except (ValueError, EvalError):
            unreadable += 1
            continue
        if look is not None:
            looks.append(look)
    return Ledger(looks=tuple(sorted(looks, key=lambda look: (look.created_at, look.id))), unreadable=unreadable)


def _look(document: Mapping[str, Any]) -> RecordedLook | None:
    """The look of a record; None for a refusal, which showed nobody a number."""
    if document.get("kind") not in get_args(RecordKind):
        raise ValueError("another kind")
    if document.get("verdict") == "refused":
        return None
    benchmark = _mapping(document.get("benchmark"))
    runs = document.get("runs")
    if runs is None:
        runs = [document.get("candidate"), document.get("parent")]
    if not isinstance(runs, list):
        raise ValueError("runs")  # noqa: TRY004 - one kind of error for whatever is wrong with a record
    metric = document.get("metric")
    policy = document.get("policy", {})
    noise = document.get("noise_floor")
    return RecordedLook(
        id=_text(document, "id"),
        kind=cast("RecordKind", document["kind"]),
        created_at=_text(document, "created_at"),
        benchmark=_text(benchmark, "id"),
        benchmark_digest=_text(benchmark, "digest"),
        split=_text(benchmark, "split"),
        runs=tuple(_run(_mapping(run)) for run in cast("list[Any]", runs)),
        metric=_text(_mapping(metric), "name") if metric is not None else "",
        verdict=_text(document, "verdict", default=""),
        sequential=_mapping(policy).get("sequential") is True,
        confirms=_text(document, "confirms", default=""),
        chosen=_text(_mapping(document.get("chosen", {})), "agent_digest", default=""),
        noise=_noise(_mapping(noise)) if noise is not None else None,
    )


def _run(run: Mapping[str, Any]) -> RecordedRun:
    return RecordedRun(
        run_id=_text(run, "run_id"),
        created_at=_text(run, "created_at"),
        config_digest=_text(run, "config_digest"),
        agent=f"{_text(run, 'agent')} {_text(run, 'version')}",
        agent_digest=_text(run, "agent_digest", default=""),
        agent_settings=_mapping(run.get("agent_settings", {})),
    )


def _noise(measured: Mapping[str, Any]) -> RecordedNoise:
    """The counts; records that hold no count of disagreements hold their share."""
    n_pairs, share = measured.get("n_pairs"), _number(measured, "discordant_rate")
    if type(n_pairs) is not int or not 1 <= n_pairs <= MAX_PAIRS or not 0.0 <= share <= 1.0:
        raise ValueError("noise_floor")
    return RecordedNoise(n_pairs=n_pairs, discordant=round(share * n_pairs))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - as above
    return cast("dict[str, Any]", value)


def _text(members: Mapping[str, Any], name: str, *, default: str | None = None) -> str:
    value = members.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise ValueError(name)  # noqa: TRY004 - as above
    return value


def _number(members: Mapping[str, Any], name: str) -> float:
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(name)  # noqa: TRY004 - as above
    return float(value)
