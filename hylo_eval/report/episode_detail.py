"""The steps of one episode as the page plots them: few points, few digits, bounded numbers of curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from hylo_core.errors import clean_text
from hylo_eval.report.question import read_question
from hylo_eval.report.text import printable, printable_line

if TYPE_CHECKING:
    from hylo_core.spec import EnvSpec
    from hylo_core.trace import EpisodeTrace

MAX_POINTS: Final = 240
"""Points of a curve; of a longer episode every second, third, … step is shown, and the last."""
MAX_CURVES: Final = 16
"""Entries of one observation or action that are plotted."""
MAX_OBSERVATIONS: Final = 8
"""Observations that are plotted."""
MAX_EVENTS: Final = 200
"""Safety events that are listed."""
_DIGITS: Final = 4
_MAX_TEXT: Final = 4000


def describe_episode(trace: EpisodeTrace) -> dict[str, Any]:
    """An episode as JSON: texts of any kind, which the page shows as text, and numbers; no number is NaN.

    Returns:
        ``steps``, ``every`` (how many steps a point stands for), ``at`` (the steps shown), ``actions`` and ``states``
        (groups of curves with a name), ``left_out`` (names of observations that are not plotted), ``reward``,
        ``latency`` (seconds of each reply, by step), ``success`` (spans of steps in which it held), ``safety``
        (events), ``errors``, ``grades``; ``question`` (``reply``, ``truth``, ``pictures``), None where the action is
        not text.
    """
    steps = trace.steps
    every = max(1, math.ceil(len(steps) / MAX_POINTS))
    shown = list(range(0, len(steps), every))
    if steps and shown[-1] != len(steps) - 1:
        shown.append(len(steps) - 1)
    observations = _numeric(trace)
    return {
        "question": _question(trace),
        "steps": len(steps),
        "every": every,
        "at": shown,
        "actions": _actions(trace, shown),
        "states": [
            _group(name, [steps[index].observation[name] for index in shown])
            for name in observations[:MAX_OBSERVATIONS]
        ],
        "left_out": observations[MAX_OBSERVATIONS:],
        "reward": [_short(steps[index].reward) for index in shown],
        "latency": [
            [step.index, _short(seconds)]
            for step in steps
            if step.inference and isinstance(seconds := (step.volatile or {}).get("act_seconds"), float)
        ][: 2 * MAX_POINTS],
        "success": _spans([step.success for step in steps]),
        "safety": [
            {"step": event.index, "filter": event.filter, "reason": event.reason, "abort": event.abort}
            for event in trace.safety[:MAX_EVENTS]
        ],
        "n_safety": len(trace.safety),
        "errors": [
            {
                "phase": error.phase,
                "step": error.step,
                "text": clean_text(f"{error.error_type}: {error.message}", _MAX_TEXT),
                "traceback": _tail(str(error.volatile.get("traceback", ""))),
            }
            for error in trace.errors
        ],
        "grades": [
            {
                "grader": grade.grader,
                "value": grade.value,
                "text": clean_text(grade.explanation or grade.error, _MAX_TEXT),
            }
            for grade in trace.grades
        ],
    }


def _question(trace: EpisodeTrace) -> dict[str, Any] | None:
    question = read_question(trace)
    if question is None:
        return None
    return {
        "reply": None if question.reply is None else printable(question.reply),
        "truth": printable(question.truth),
        "pictures": [printable_line(picture) for picture in question.pictures],
    }


def _tail(text: str) -> str:
    """The end of a traceback says what happened."""
    return text if len(text) <= _MAX_TEXT else f"… {text[-_MAX_TEXT:]}"


def _numeric(trace: EpisodeTrace) -> list[str]:
    """Observations that are numbers, in the order in which the environment lists them."""
    first: Mapping[str, Any] = trace.steps[0].observation if trace.steps else {}
    return [name for name, value in first.items() if _flat(value)]


def _actions(trace: EpisodeTrace, shown: Sequence[int]) -> list[dict[str, Any]]:
    """The proposed action, and the applied one where a safety filter changed anything."""
    steps = trace.steps
    if not steps or not _flat(steps[0].proposed):
        return []
    names = _action_names(trace.start.env_spec)
    groups = [_group("action", [steps[index].proposed for index in shown], names)]
    if any(step.proposed != step.applied for step in steps):
        groups[0]["name"] = "proposed action"
        groups.append(
            _group("applied action, after the safety filters", [steps[index].applied for index in shown], names)
        )
    return groups


def _action_names(spec: EnvSpec) -> list[str]:
    return [
        part.name if part.stop - part.start == 1 else f"{part.name}[{entry}]"
        for part in spec.action
        for entry in range(part.stop - part.start)
    ]


def _group(name: str, values: Sequence[Any], names: Sequence[str] = ()) -> dict[str, Any]:
    rows = [_flat(value) for value in values]
    size = max(map(len, rows), default=0)
    curves = [
        {
            "name": names[entry] if entry < len(names) else f"[{entry}]" if size > 1 else name,
            "values": [_short(row[entry]) if entry < len(row) else None for row in rows],
        }
        for entry in range(min(size, MAX_CURVES))
    ]
    return {"name": name, "curves": curves, "n_curves": size}


def _flat(value: Any) -> list[float]:
    """Numbers of nested lists in order; empty where there is anything else."""
    if isinstance(value, (int, float)):
        return [value]
    if not isinstance(value, list):
        return []
    found: list[float] = []
    for item in cast("list[Any]", value):
        inner = _flat(item)
        if not inner:
            return []
        found += inner
    return found


def _short(value: float) -> float | None:
    """Few digits; None for what is not finite, so that a curve has a gap there."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _spans(held: Sequence[bool]) -> list[list[int]]:
    """Runs of True as first and last index."""
    spans: list[list[int]] = []
    for index, holds in enumerate(held):
        if holds and spans and spans[-1][1] == index - 1:
            spans[-1][1] = index
        elif holds:
            spans.append([index, index])
    return spans
