"""The charts of a report as Plotly figures: plain JSON, which the page draws.

Plotly reads texts as a small subset of HTML, so every text from outside is escaped for it. Colours are named by role
(``run-0``, ``muted``); the page puts in those of its light or dark theme.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, Final

from hylo_eval.numerals import percent
from hylo_eval.report.grouping import Grouping
from hylo_eval.report.run_summary import RunSummary
from hylo_eval.report.text import printable_line

MAX_BARS: Final = 200
"""Tasks, or tags, that are drawn; the table beside the chart has them all."""
TALL: Final = 640
"""Pixels from which on a chart scrolls within the page; its axis then stands above it."""
_BINS_A_DECADE: Final = 8
_SHORTEST: Final = 1e-7
"""Seconds below which a reply time is as good as none."""
_FEW_DECADES: Final = 4
_FEW_STEPS: Final = 10
_BEYOND: Final = 1.03
_LABEL: Final = 48
_NARROW_LABEL: Final = 20


def plotly_text(text: str) -> str:
    """A text that Plotly shows as it is, on one line."""
    return escape(printable_line(text), quote=False)


def group_chart(runs: Sequence[RunSummary], grouping: Grouping) -> dict[str, Any] | None:
    """Success rate of each task or tag with its Wilson interval; the runs side by side.

    ``narrow`` is for a telephone. None where there is no group large enough.
    """
    tasks = grouping.names[:MAX_BARS]
    if not tasks:
        return None
    traces: list[dict[str, Any]] = []
    for place, run in enumerate(runs):
        rates = run.by_tag if grouping.by == "tag" else run.by_task
        found = [(task, summary) for task in tasks if (summary := rates.get(task)) and summary.mean is not None]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _run_name(runs, place),
                # Places, not names: two long names may end alike.
                "y": [tasks.index(task) for task, _ in found],
                "x": [100 * (summary.mean or 0.0) for _, summary in found],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * ((summary.interval or (0, 0))[1] - (summary.mean or 0.0)) for _, summary in found],
                    "arrayminus": [
                        100 * ((summary.mean or 0.0) - (summary.interval or (0, 0))[0]) for _, summary in found
                    ],
                    "color": "text",
                    "thickness": 1.5,
                },
                "customdata": [
                    [plotly_text(task), f"{summary.n_scored} of {summary.n_attempted} scored"]
                    for task, summary in found
                ],
                "hovertemplate": "%{customdata[0]}<br>%{x:.1f} %, %{customdata[1]}<extra></extra>",
                "marker": {"color": f"run-{place}"},
            }
        )
    height = 90 + len(tasks) * (14 + 16 * len(runs))
    axis = {"title": {"text": "success, %, with 95 % interval (Wilson)"}, "range": [0, 103]}
    figure = _figure(
        traces,
        height=height,
        xaxis={**axis, "side": "top"} if height > TALL else axis,
        margin={"l": 56, "r": 12, "t": 60 if height > TALL else 10, "b": 42},
        yaxis={
            "autorange": "reversed",
            "automargin": True,
            "tickvals": list(range(len(tasks))),
            "ticktext": [_task_label(task) for task in tasks],
        },
        showlegend=len(runs) > 1,
        barmode="group",
        bargap=0.35,
    )
    labels = [_task_label(task, _NARROW_LABEL) for task in tasks]
    return {**figure, "narrow": {"labels": labels, "title": "success, %"}}


def time_chart(runs: Sequence[RunSummary]) -> dict[str, Any] | None:
    """The share of episodes that has succeeded by each step (one minus Kaplan and Meier's curve); None without any."""
    traces: list[dict[str, Any]] = []
    end = 0.0
    for place, run in enumerate(runs):
        curve = run.times.curve
        if curve is None:
            continue
        end = max(end, curve.followed_to)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _run_name(runs, place),
                "x": [0.0, *curve.times, curve.followed_to],
                "y": [0.0, *(100 * (1 - share) for share in curve.surviving), 100 * (1 - [1.0, *curve.surviving][-1])],
                "line": {"shape": "hv", "color": f"run-{place}", "width": 2},
                "hovertemplate": "by step %{x}: %{y:.1f} %<extra></extra>",
            }
        )
    if not traces:
        return None
    return _figure(
        traces,
        # A last success rises at the very end: the axis goes on beyond it. Of few steps each has its tick.
        xaxis={
            "title": {"text": "steps"},
            "range": [0, _BEYOND * max(1.0, end)],
            **({"dtick": 1} if end <= _FEW_STEPS else {}),
        },
        yaxis={"title": {"text": "succeeded, %"}, "range": [0, 103]},
        showlegend=len(runs) > 1,
    )


def latency_chart(runs: Sequence[RunSummary]) -> dict[str, Any] | None:
    """How long the replies took, in logarithmic bins; None where no duration is on record."""
    recorded = [run.reply_seconds for run in runs if run.reply_seconds]
    if not recorded:
        return None
    shortest, longest = min(seconds[0] for seconds in recorded), max(seconds[-1] for seconds in recorded)
    low, high = (_BINS_A_DECADE * math.log10(max(_SHORTEST, seconds)) for seconds in (shortest, longest))
    edges = [10 ** (exponent / _BINS_A_DECADE) for exponent in range(math.floor(low), math.ceil(high) + 2)]
    traces: list[dict[str, Any]] = []
    for place, run in enumerate(runs):
        if not run.reply_seconds:
            continue
        cuts = [bisect_left(run.reply_seconds, edge) for edge in edges]
        shares = [100 * (right - left) / len(run.reply_seconds) for left, right in pairwise(cuts)]
        middles = [1000 * math.sqrt(left * right) for left, right in pairwise(edges)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _run_name(runs, place),
                "x": middles,
                "y": shares,
                "line": {"shape": "hvh", "color": f"run-{place}", "width": 2},
                "fill": "tozeroy",
                "hovertemplate": "about %{x:.3g} ms: %{y:.1f} % of the replies<extra></extra>",
            }
        )
    return _figure(
        traces,
        xaxis={"title": {"text": "reply time, ms"}, "type": "log", **_ticks(1000 * edges[0], 1000 * edges[-1])},
        yaxis={"title": {"text": "replies, %"}, "rangemode": "tozero"},
        showlegend=len(runs) > 1,
    )


def safety_chart(runs: Sequence[RunSummary]) -> dict[str, Any] | None:
    """Steps that each safety filter changed or stopped; None where none did."""
    filters = sorted({name for run in runs for name in run.interventions})
    if not filters:
        return None
    traces: list[dict[str, Any]] = []
    for place, run in enumerate(runs):
        counts = [run.interventions.get(name, (0, 0)) for name in filters]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _run_name(runs, place),
                "y": [plotly_text(name) for name in filters],
                "x": [steps for steps, _ in counts],
                "customdata": [episodes for _, episodes in counts],
                "hovertemplate": "%{y}: %{x} steps in %{customdata} episodes<extra></extra>",
                "marker": {"color": f"run-{place}"},
            }
        )
    return _figure(
        traces,
        height=110 + len(filters) * (16 + 18 * len(runs)),
        xaxis={"title": {"text": "steps changed or stopped"}, "rangemode": "tozero"},
        yaxis={"automargin": True},
        showlegend=len(runs) > 1,
        barmode="group",
        bargap=0.35,
    )


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks at 1, 2 and 5 of each decade, written out; at 1 alone where there are many decades."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if len(decades) <= _FEW_DECADES else (1,)
    values = [digit * 10.0**decade for decade in decades for digit in digits]
    shown = [value for value in values if low <= value <= high]
    return {"tickvals": shown, "ticktext": [f"{value:.6g}" for value in shown]}


def _figure(traces: Sequence[dict[str, Any]], *, height: int = 320, **layout: Any) -> dict[str, Any]:
    return {"data": list(traces), "layout": {"height": height, **layout}}


def _run_name(runs: Sequence[RunSummary], place: int) -> str:
    run = runs[place]
    rate = "" if run.success.mean is None else f", {percent(run.success.mean)}"
    return plotly_text(f"{run.record.run_id}{rate}")


def _task_label(task: str, longest: int = _LABEL) -> str:
    """The end of a long id, which tells tasks of one family apart."""
    return plotly_text(task if len(task) <= longest else f"…{task[1 - longest :]}")
