"""Where two agents differ, as bars about a middle: to each side the pairs that only that agent won, task by task.

Geometry only; the page's template writes it as SVG and escapes every text. Places across are shares of the width, so
that the letters stay as large on a telephone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from hylo_eval.numerals import counted
from hylo_eval.report.figure import shortened

MAX_ROWS: Final = 30
"""Tasks that are drawn; the table of the comparison has them all."""

_ROW: Final = 44
_TOP: Final = 4
_MIDDLE: Final = 50.0
_REACH: Final = 40.0
"""How far a bar of all pairs reaches from the middle, in percent of the width."""
_LABEL: Final = 44


@attrs.frozen(kw_only=True)
class TaskPairs:
    """The scored pairs of one task.

    Attributes:
        task: Its id; or a tag, of whose tasks these are the pairs.
        candidate_won: Only the candidate succeeded.
        parent_won: Only the parent did.
        both_succeeded: Both did.
        both_failed: Neither did.
    """

    task: str
    candidate_won: int = 0
    parent_won: int = 0
    both_succeeded: int = 0
    both_failed: int = 0

    @property
    def n_pairs(self) -> int:
        """All of them."""
        return self.n_discordant + self.both_succeeded + self.both_failed

    @property
    def n_discordant(self) -> int:
        """Those that differ."""
        return self.candidate_won + self.parent_won


@attrs.frozen(kw_only=True)
class Bar:
    """One task.

    Attributes:
        pairs: What there is of it.
        label: Its name, from the end where it is long.
        y: Where its row begins, in pixels.
    """

    pairs: TaskPairs
    label: str
    y: int

    @property
    def size(self) -> str:
        """How many pairs it stands for."""
        return counted(self.pairs.n_pairs, "pair")

    @property
    def left(self) -> float:
        """Where the parent's bar begins, in percent of the width; it ends in the middle."""
        return round(_MIDDLE - _REACH * self.pairs.parent_won / self.pairs.n_pairs, 2)

    @property
    def right(self) -> float:
        """Where the candidate's bar ends; it begins in the middle."""
        return round(_MIDDLE + _REACH * self.pairs.candidate_won / self.pairs.n_pairs, 2)


@attrs.frozen(kw_only=True)
class PairedChart:
    """Bars with what stands about them.

    Attributes:
        total: All tasks together.
        bars: The tasks that differ most, most first; empty where none does.
        ticks: Places across in percent of the width, and what is written there.
        height: In pixels.
        caption: How to read it, and what is not drawn; empty where nothing is.
        text: All that is drawn, in words.
        by: What the bars are.
    """

    total: TaskPairs
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int
    caption: str
    text: str
    by: str = "task"


def count_pairs(outcomes: Iterable[tuple[str, str, str]]) -> tuple[TaskPairs, ...]:
    """The scored pairs of each task, in the order in which tasks come.

    Args:
        outcomes: Of each shared instance the task, the candidate's outcome and the parent's: ``success``, ``failure``,
            or anything else for an abstention.
    """
    members = {
        ("success", "failure"): "candidate_won",
        ("failure", "success"): "parent_won",
        ("success", "success"): "both_succeeded",
        ("failure", "failure"): "both_failed",
    }
    tasks: dict[str, Counter[str]] = {}
    for task, ours, theirs in outcomes:
        if (member := members.get((ours, theirs))) is not None:
            tasks.setdefault(task, Counter())[member] += 1
    return tuple(TaskPairs(task=task, **counts) for task, counts in tasks.items())


def draw_pairs(tasks: Sequence[TaskPairs], tags: Sequence[TaskPairs] | None = None) -> PairedChart | None:
    """Draw the tasks that differ, the largest share of discordant pairs first; None without a scored pair.

    Args:
        tasks: All of them.
        tags: Drawn in their place; a pair may be under several, and none draws nothing.
    """
    if not tasks:
        return None
    groups, by = (tasks, "task") if tags is None else (tags, "tag")
    differing = sorted(
        (task for task in groups if task.n_discordant), key=lambda task: (-task.n_discordant / task.n_pairs, task.task)
    )
    bars = tuple(
        Bar(pairs=task, label=shortened(task.task, _LABEL), y=_TOP + _ROW * index)
        for index, task in enumerate(differing[:MAX_ROWS])
    )
    ticks = tuple(
        (round(_MIDDLE + _REACH * share, 2), f"{abs(100 * share):.0f} %" if share else "0")
        for share in (-1.0, -0.5, 0.0, 0.5, 1.0)
    )
    names = ("candidate_won", "parent_won", "both_succeeded", "both_failed")
    total = TaskPairs(task="", **{name: sum(getattr(task, name) for task in tasks) for name in names})
    return PairedChart(
        total=total,
        bars=bars,
        ticks=ticks,
        height=_TOP + _ROW * len(bars) + 22,
        caption=_caption(len(groups), len(differing), by),
        text=". ".join(
            f"{bar.pairs.task}: of {counted(bar.pairs.n_pairs, 'pair')} the candidate alone won "
            f"{bar.pairs.candidate_won}, the parent alone {bar.pairs.parent_won}"
            for bar in bars
        ),
        by=by,
    )


def _caption(groups: int, differing: int, by: str) -> str:
    if not differing:
        return ""
    same = groups - differing
    parts = [f"Bars are shares of a {by}'s scored pairs; the numbers count pairs"]
    if by == "tag":
        parts.append("a pair counts under each tag of its task")
    if differing > MAX_ROWS:
        parts.append(f"the {MAX_ROWS} of {differing} {by}s that differ most are drawn")
    if same:
        parts.append(f"in {counted(same, f'other {by}')} no pair differs")
    return "; ".join(parts) + "."
