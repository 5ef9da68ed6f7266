"""A trend over versions: as sections, as JSON and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.evidence import RunEvidence
from hylo_eval.compare.ledger import COMPARISON_SCHEMA
from hylo_eval.compare.trend import Change, TrendStep
from hylo_eval.numerals import percent, points
from hylo_eval.report.documents import paired_document, run_document, stand_in_sentences
from hylo_eval.report.drawing import Circle, Drawing, Label, Line, Rectangle, Shape, fitted_length, text_width
from hylo_eval.report.figure import shortened
from hylo_eval.report.sections import Section
from hylo_eval.report.text import p_value

_ROW: Final = 36
_TOP: Final = 120
_LABEL_X: Final = 16
_LABEL_WIDTHS: Final = (170, 440)
"""The least and the most that the names at the left take."""
_NAME_SIZE, _RUN_SIZE = 12, 10
_PANEL, _GAP = 220, 60
_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#8c8c8c"
_DARK_GREY = "#5b6470"


@attrs.frozen(kw_only=True)
class _Layout:
    """Where what stands across; of each panel its left edge and width."""

    labels: float
    rate: tuple[float, float]
    baseline: tuple[float, float]
    parent: tuple[float, float]
    width: int

    @classmethod
    def beside(cls, names: Sequence[tuple[str, str]]) -> _Layout:
        """Panels beside names as wide as they need, within bounds; each is an agent and a run."""
        widest = max(max(text_width(agent, _NAME_SIZE), text_width(run, _RUN_SIZE)) for agent, run in names)
        labels = math.ceil(min(max(widest, _LABEL_WIDTHS[0]), _LABEL_WIDTHS[1]))
        left = _LABEL_X + labels + _GAP / 2
        rate, baseline, parent = ((left + place * (_PANEL + _GAP), _PANEL) for place in range(3))
        return cls(
            labels=labels, rate=rate, baseline=baseline, parent=parent, width=round(parent[0] + _PANEL + _GAP / 2)
        )


def trend_sections(
    steps: Sequence[TrendStep], runs: Mapping[str, RunEvidence], baseline: str, notes: Sequence[str], *, alpha: float
) -> tuple[Section, ...]:
    """One row a version, oldest first."""
    benchmark = runs[baseline].conditions.benchmark
    worse = [step.label for step in steps if step.regression_p is not None and step.regression_p <= alpha]
    read = all(run.traces_read for run in runs.values())
    labels = _labels(runs)
    found = f"worse than the baseline: {', '.join(worse)}" if worse else "no version is shown to be worse"
    return (
        Section(
            facts=(
                ("benchmark", f"{benchmark.id} {benchmark.version}, split {benchmark.split}"),
                ("baseline", f"{labels[baseline]} (run {baseline})"),
                ("traces", "read and checked" if read else "not read (log only)"),
            ),
            sentences=(
                *(f"{said}." for said in stand_in_sentences(runs.values())),
                f"{found} (Holm-adjusted exact one-sided p at most {alpha:g}).",
                "agent errors count as failures on every side; other abstentions are left out.",
                *(f"{note}." for note in notes),
            ),
            headers=(
                "agent", "run", "success", "95 % interval", "from the parent", "from the baseline", "95 % interval",
                "p of a regression (Holm)",
            ),
            text_columns=2,
            rows=tuple(_row(step, labels[step.label], baseline) for step in steps),
        ),
    )  # fmt: skip


def trend_document(
    steps: Sequence[TrendStep], runs: Mapping[str, RunEvidence], baseline: str, notes: Sequence[str], *, metric: str
) -> dict[str, Any]:
    """A trend as JSON."""
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": "trend",
        "benchmark": runs[baseline].conditions.benchmark.to_dict(),
        "runs": [run_document(run) for run in runs.values()],
        "traces_read": all(run.traces_read for run in runs.values()),
        "metric": {"name": metric},
        "baseline": baseline,
        "notes": [*stand_in_sentences(runs.values()), *notes],
        "steps": [
            {
                "run_id": step.label,
                "successes": step.successes,
                "n_scored": step.n_scored,
                "rate": step.rate,
                "interval": step.interval,
                "from_parent": _change(step.from_parent),
                "from_baseline": _change(step.from_baseline),
                "adjusted_regression_p": step.regression_p,
            }
            for step in steps
        ],
    }


def draw_trend(
    steps: Sequence[TrendStep],
    runs: Mapping[str, RunEvidence],
    baseline: str,
    *,
    family: str,
    metric: str,
    alpha: float,
) -> Drawing:
    """Three panels over the versions: the rate, the change from the baseline, the change from the parent."""
    benchmark = runs[baseline].conditions.benchmark
    bottom = _TOP + _ROW * len(steps)
    labels = _labels(runs)
    layout = _Layout.beside([(labels[step.label], step.label) for step in steps])
    room = layout.width - 2 * _LABEL_X
    title = f"{family} on {benchmark.id} {benchmark.version}, split {benchmark.split}"
    shapes: list[Shape] = [
        _fitted(title, x=_LABEL_X, y=26, room=room, size=15),
        Label(
            x=_LABEL_X,
            y=48,
            text=f"{metric}, oldest version first; bars are 95 % intervals; "
            f"orange: worse than the baseline (Holm-adjusted p at most {alpha:g})",
        ),
        _fitted(f"dashed: the baseline, {baseline}", x=_LABEL_X, y=66, room=room),
    ]
    for place, head in (
        (layout.rate, "success rate"),
        (layout.baseline, "change from the baseline"),
        (layout.parent, "change from the parent"),
    ):
        shapes.append(Label(x=place[0] + place[1] / 2, y=96, text=head, anchor="middle"))
    stripes = range(_TOP, bottom, 2 * _ROW)
    shapes += [Rectangle(x=0, y=y, width=layout.width, height=_ROW, fill="#f5f5f5") for y in stripes]
    shapes += _axes(layout, bottom)
    first = next(step for step in steps if step.label == baseline)
    if first.rate is not None:
        x = _within(layout.rate, first.rate)
        shapes.append(Line(x1=x, x2=x, y1=_TOP, y2=bottom, stroke=_BLUE, dashed=True))
    middles = [_TOP + _ROW * index + _ROW / 2 for index in range(len(steps))]
    shapes += _path(layout, steps, middles)
    for step, y in zip(steps, middles, strict=True):
        shapes += _drawn(layout, step, labels[step.label], y, alpha)
    return Drawing(width=layout.width, height=bottom + 40, shapes=tuple(shapes))


def _labels(runs: Mapping[str, RunEvidence]) -> dict[str, str]:
    return dict(zip(runs, agent_labels([run.conditions for run in runs.values()]), strict=True))


def _row(step: TrendStep, agent: str, baseline: str) -> tuple[str, ...]:
    change = step.from_baseline
    interval = "-" if step.interval is None else f"[{percent(step.interval[0])}, {percent(step.interval[1])}]"
    return (
        agent,
        step.label,
        "-" if step.rate is None else percent(step.rate),
        interval,
        _points(step.from_parent),
        "baseline" if step.label == baseline else _points(change),
        "-" if change is None else f"[{points(change.interval.low)}, {points(change.interval.high)}]",
        "-" if step.regression_p is None else p_value(step.regression_p),
    )


def _points(change: Change | None) -> str:
    return "-" if change is None or change.difference is None else points(change.difference)


def _change(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    interval = [change.interval.low, change.interval.high]
    members = {"reference": change.reference, "difference": change.difference, "interval": interval}
    return {**members, **paired_document(change.comparison)}


def _axes(layout: _Layout, bottom: int) -> Iterator[Shape]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield from _tick(_within(layout.rate, share), bottom, f"{100 * share:.0f} %", dashed=share not in (0.0, 1.0))
    for panel in (layout.baseline, layout.parent):
        for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
            text = f"{100 * value:+.0f}" if value else "0"
            yield from _tick(_within(panel, (value + 1.0) / 2.0), bottom, text, dashed=value != 0)
        yield Label(x=panel[0] + panel[1] / 2, y=bottom + 32, text="points", anchor="middle", fill=_GREY)


def _tick(x: float, bottom: int, text: str, *, dashed: bool) -> Iterator[Shape]:
    yield Line(x1=x, x2=x, y1=_TOP - 4, y2=bottom, stroke="#c0c0c0", dashed=dashed)
    yield Label(x=x, y=bottom + 16, text=text, anchor="middle")


def _path(layout: _Layout, steps: Sequence[TrendStep], middles: Sequence[float]) -> Iterator[Shape]:
    """The line from rate to rate, behind the points."""
    rates = [(step.rate, y) for step, y in zip(steps, middles, strict=True) if step.rate is not None]
    places = [(_within(layout.rate, rate), y) for rate, y in rates]
    for (x1, y1), (x2, y2) in pairwise(places):
        yield Line(x1=x1, y1=y1, x2=x2, y2=y2, stroke="#a6cee3", width=2.0)


def _drawn(layout: _Layout, step: TrendStep, agent: str, y: float, alpha: float) -> Iterator[Shape]:
    # Two lines: an agent's version and settings tell the rows apart, and a long name of a run must not push them out.
    yield _fitted(agent, x=_LABEL_X, y=y - 1, room=layout.labels, size=_NAME_SIZE)
    yield _fitted(step.label, x=_LABEL_X, y=y + 12, room=layout.labels, size=_RUN_SIZE, fill=_DARK_GREY)
    if step.rate is not None and step.interval is not None:
        yield from _bar(layout.rate, step.rate, step.interval, y, _BLUE)
    worse = step.regression_p is not None and step.regression_p <= alpha
    for panel, change, colour in (
        (layout.baseline, step.from_baseline, _ORANGE if worse else "#000000"),
        (layout.parent, step.from_parent, "#000000"),
    ):
        if change is not None and change.difference is not None:
            low, high = ((end + 1.0) / 2.0 for end in (change.interval.low, change.interval.high))
            yield from _bar(panel, (change.difference + 1.0) / 2.0, (low, high), y, colour)


def _bar(
    panel: tuple[float, float], value: float, interval: tuple[float, float], y: float, colour: str
) -> Iterator[Shape]:
    yield Line(x1=_within(panel, interval[0]), x2=_within(panel, interval[1]), y1=y, y2=y, stroke=colour, width=1.5)
    yield Circle(cx=_within(panel, value), cy=y, r=4, fill=colour)


def _within(panel: tuple[float, float], share: float) -> float:
    return round(panel[0] + share * panel[1], 2)


def _fitted(text: str, *, x: float, y: float, room: float, size: int = _NAME_SIZE, fill: str = "#000000") -> Label:
    """A label that keeps within so much room; the whole text is shown where a reader points at it."""
    shown = shortened(text, fitted_length(text, size, room))
    return Label(x=x, y=y, text=shown, title=text if shown != text else "", size=size, fill=fill)
