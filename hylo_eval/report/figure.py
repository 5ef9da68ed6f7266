"""A comparison as a picture (SVG): every pair as a cell, and the difference of each row with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from hylo_eval.compare.breakdown import task_of
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.summary import BinarySummary
from hylo_eval.compare.tango import tango_interval
from hylo_eval.errors import EvalError
from hylo_eval.report.text import p_value, points, printable_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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
_WIDTH, _TOP, _GAP = 930, 96, 10


@attrs.frozen
class _Row:
    label: str
    outcomes: tuple[str, ...]

    @property
    def height(self) -> int:
        return _CELL * max(1, -(-len(self.outcomes) // _COLUMNS))


def render_figure(evidence: PairedEvidence, summary: BinarySummary) -> bytes:
    """Draw a comparison by a metric of 0 and 1.

    Args:
        evidence: The two runs.
        summary: Their comparison; its groups are the rows.

    Returns:
        SVG, without scripts, links or fonts of its own. Names in it are text.

    Raises:
        EvalError: There are more than `MAX_CELLS` pairs.
    """
    from xml.etree.ElementTree import Element, tostring

    rows = _rows(evidence, summary)
    cells = sum(len(row.outcomes) for row in rows)
    if cells > MAX_CELLS:
        raise EvalError(f"a figure of {cells} pairs cannot be read; {MAX_CELLS} are the most", fix="narrow the runs")
    height = _TOP + sum(row.height + _GAP for row in rows) + 40
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {height}",
            "width": str(_WIDTH),
            "height": str(height),
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    _shape(root, "rect", x=0, y=0, width=_WIDTH, height=height, fill="#ffffff")
    _head(root, evidence, summary, rows)
    y = _TOP
    for row, group in zip(rows, summary.groups, strict=True):
        _text(root, _LABEL_X, y + _CELL - 2, _short(row.label), title=row.label)
        for index, outcome in enumerate(row.outcomes):
            _cell(root, _GRID_X + index % _COLUMNS * _CELL, y + index // _COLUMNS * _CELL, outcome)
        comparison = group.comparison
        if comparison.n_pairs:
            _difference(root, y + row.height / 2, comparison.candidate_wins, comparison.parent_wins, comparison.n_pairs)
        y += row.height + _GAP
    _axis(root, y)
    return tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


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


def _head(root: Element, evidence: PairedEvidence, summary: BinarySummary, rows: list[_Row]) -> None:
    ours, theirs = evidence.candidate.conditions, evidence.parent.conditions
    title = f"{ours.agent} ({ours.run_id}) against {theirs.agent} ({theirs.run_id})"
    _text(root, _LABEL_X, 24, title, size=15)
    comparison, effect = summary.comparison, summary.effect
    found = "no scored pair" if effect.difference is None else points(effect.difference)
    _text(
        root,
        _LABEL_X,
        46,
        f"{summary.metric.name}: {found}, {comparison.candidate_wins} wins to {comparison.parent_wins} in "
        f"{comparison.n_pairs} pairs, exact one-sided p = {p_value(comparison.p_value, comparison.log10_p)}",
    )
    counts = Counter(outcome for row in rows for outcome in row.outcomes)
    x = _LABEL_X
    for outcome in OUTCOMES:
        _cell(root, x, 60, outcome)
        label = f"{outcome}: {counts[outcome]}"
        _text(root, x + _CELL + 5, 70, label)
        x += 40 + 7 * len(label)


def _difference(root: Element, y: float, wins: int, losses: int, pairs: int) -> None:
    interval = tango_interval(wins, losses, pairs)
    _shape(root, "line", x1=_at(interval.low), x2=_at(interval.high), y1=y, y2=y, stroke="#000000")
    _shape(root, "circle", cx=_at((wins - losses) / pairs), cy=y, r=3.5, fill="#000000")


def _axis(root: Element, y: int) -> None:
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        dashes = {} if value == 0 else {"stroke-dasharray": "2 3"}
        _shape(root, "line", x1=_at(value), x2=_at(value), y1=_TOP - 6, y2=y, stroke="#8c8c8c", **dashes)
        _text(root, _at(value), y + 14, f"{value:+g}" if value else "0", anchor="middle")
    _text(root, _at(0.0), y + 30, "difference of success rates, 95 % interval (Tango)", anchor="middle")


def _at(difference: float) -> float:
    return round(_AXIS_X + (difference + 1.0) / 2.0 * _AXIS_WIDTH, 2)


def _cell(root: Element, x: float, y: float, outcome: str) -> None:
    fill, stroke = OUTCOMES[outcome]
    _shape(root, "rect", x=x + 0.5, y=y + 0.5, width=_CELL - 2, height=_CELL - 2, fill=fill, stroke=stroke)


def _shape(root: Element, kind: str, **attributes: float | str) -> None:
    from xml.etree.ElementTree import SubElement

    SubElement(root, kind, {name: str(value) for name, value in attributes.items()})


def _text(
    root: Element, x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", title: str = ""
) -> None:
    from xml.etree.ElementTree import SubElement

    place = {"x": str(x), "y": str(y), "font-size": str(size), "text-anchor": anchor}
    node = SubElement(root, "text", place)
    node.text = printable_line(text)
    if title:
        SubElement(node, "title").text = printable_line(title)


def _short(label: str) -> str:
    """The end of a long label, which tells tasks of one family apart."""
    return label if len(label) <= _LABEL_LENGTH else f"…{label[1 - _LABEL_LENGTH :]}"
