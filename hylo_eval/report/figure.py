"""A comparison as a picture: every pair as a cell, and the difference of each row with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.breakdown import task_of
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.summary import BinarySummary
from hylo_eval.compare.tango import tango_interval
from hylo_eval.errors import EvalError
from hylo_eval.numerals import counted, points
from hylo_eval.report.drawing import Circle, Drawing, Label, Line, Rectangle, Shape
from hylo_eval.report.text import p_value

MAX_CELLS: Final = 20_000
"""More cells than this are no picture that anybody can read."""

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "candidate won": ("#0072b2", "#0072b2"),
    "parent won": ("#d55e00", "#d55e00"),
    "both succeeded": ("#b5d9b0", "#b5d9b0"),
    "both failed": ("#8c8c8c", "#8c8c8c"),
    "not a scored pair": ("#ffffff", "#8c8c8c"),
}
"""Outcome of a pair -> fill and outline; the two that decide are told apart by any eye (Okabe and Ito's colours)."""

_COLUMNS = 40
_CELL = 11
_LABEL_X, _GRID_X, _AXIS_X, _AXIS_WIDTH = 16, 190, 660, 240
_LABEL_LENGTH = 24
_SIDE_LENGTH = 56
_WIDTH, _TOP, _GAP = 930, 96, 10


@attrs.frozen
class _Row:
    label: str
    outcomes: tuple[str, ...]

    @property
    def height(self) -> int:
        return _CELL * max(1, -(-len(self.outcomes) // _COLUMNS))


def draw_comparison(evidence: PairedEvidence, summary: BinarySummary) -> Drawing:
    """Draw a comparison by a metric of 0 and 1.

    Args:
        evidence: The two runs.
        summary: Their comparison; its groups are the rows.

    Raises:
        EvalError: There are more than `MAX_CELLS` pairs.
    """
    rows = _rows(evidence, summary)
    cells = sum(len(row.outcomes) for row in rows)
    if cells > MAX_CELLS:
        raise EvalError(f"a figure of {cells} pairs cannot be read; {MAX_CELLS} are the most", fix="narrow the runs")
    shapes = [*_head(evidence, summary, rows)]
    y = _TOP
    for row, group in zip(rows, summary.groups, strict=True):
        shapes.append(Label(x=_LABEL_X, y=y + _CELL - 2, text=shortened(row.label, _LABEL_LENGTH), title=row.label))
        shapes += [
            _cell(_GRID_X + index % _COLUMNS * _CELL, y + index // _COLUMNS * _CELL, outcome)
            for index, outcome in enumerate(row.outcomes)
        ]
        comparison = group.comparison
        if comparison.n_pairs:
            middle = y + row.height / 2
            shapes += _difference(middle, comparison.candidate_wins, comparison.parent_wins, comparison.n_pairs)
        y += row.height + _GAP
    shapes += _axis(y)
    return Drawing(width=_WIDTH, height=y + 40, shapes=tuple(shapes))


def shortened(label: str, length: int) -> str:
    """The end of a long label, which tells tasks and runs of one family apart."""
    return label if len(label) <= length else f"…{label[1 - length :]}"


def _rows(evidence: PairedEvidence, summary: BinarySummary) -> list[_Row]:
    ours, theirs = (evidence.scores(side, summary.metric.name) for side in ("candidate", "parent"))
    by_label: dict[str, list[str]] = {group.label: [] for group in summary.groups}
    for key in sorted(ours.keys() | theirs.keys(), key=_seed_order):
        labels = (task_of(key),) if summary.by == "task" else evidence.tags_of(key)
        for label in labels:
            by_label[label].append(_outcome(ours.get(key), theirs.get(key)))
    return [_Row(label, tuple(outcomes)) for label, outcomes in by_label.items()]


def _seed_order(key: str) -> tuple[str, int, str]:
    task, _, seed = key.rpartition("#")
    return task, int(seed) if seed.isdecimal() else 0, key


def _outcome(ours: float | None, theirs: float | None) -> str:
    if ours is None or theirs is None:
        return "not a scored pair"
    if ours == theirs:
        return "both succeeded" if ours else "both failed"
    return "candidate won" if ours else "parent won"


def _head(evidence: PairedEvidence, summary: BinarySummary, rows: list[_Row]) -> Iterator[Shape]:
    ours, theirs = evidence.candidate.conditions, evidence.parent.conditions
    labels = agent_labels((ours, theirs))
    sides = [f"{label} ({run.run_id})" for label, run in zip(labels, (ours, theirs), strict=True)]
    shown = " against ".join(shortened(side, _SIDE_LENGTH) for side in sides)
    yield Label(x=_LABEL_X, y=24, text=shown, title=" against ".join(sides), size=15)
    comparison, effect = summary.comparison, summary.effect
    found = "no scored pair" if effect.difference is None else points(effect.difference)
    text = (
        f"{summary.metric.name}: {found}, {counted(comparison.candidate_wins, 'win')} to {comparison.parent_wins} in "
        f"{counted(comparison.n_pairs, 'pair')}, exact one-sided p = {p_value(comparison.p_value, comparison.log10_p)}"
    )
    yield Label(x=_LABEL_X, y=46, text=text)
    counts = Counter(outcome for row in rows for outcome in row.outcomes)
    x = _LABEL_X
    for outcome in OUTCOMES:
        yield _cell(x, 60, outcome)
        label = f"{outcome}: {counts[outcome]}"
        yield Label(x=x + _CELL + 5, y=70, text=label)
        x += 40 + 7 * len(label)


def _difference(y: float, wins: int, losses: int, pairs: int) -> Iterator[Shape]:
    interval = tango_interval(wins, losses, pairs)
    yield Line(x1=_at(interval.low), x2=_at(interval.high), y1=y, y2=y)
    yield Circle(cx=_at((wins - losses) / pairs), cy=y, r=3.5)


def _axis(y: int) -> Iterator[Shape]:
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        yield Line(x1=_at(value), x2=_at(value), y1=_TOP - 6, y2=y, stroke="#8c8c8c", dashed=value != 0)
        yield Label(x=_at(value), y=y + 14, text=f"{value:+g}" if value else "0", anchor="middle")
    yield Label(x=_at(0.0), y=y + 30, text="difference of success rates, 95 % interval (Tango)", anchor="middle")


def _at(difference: float) -> float:
    return round(_AXIS_X + (difference + 1.0) / 2.0 * _AXIS_WIDTH, 2)


def _cell(x: float, y: float, outcome: str) -> Rectangle:
    fill, stroke = OUTCOMES[outcome]
    return Rectangle(x=x + 0.5, y=y + 0.5, width=_CELL - 2, height=_CELL - 2, fill=fill, stroke=stroke)
