"""Choosing one of several agents on a split that decides nothing, so that heldout can confirm the choice once."""

from __future__ import annotations

import attrs

from hylo_eval.compare.leaderboard import Standing
from hylo_eval.compare.selection import expected_best_of_equal
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.several_runs import RankedRuns

HELDOUT = "heldout"


@attrs.frozen(kw_only=True)
class Selection:
    """A choice among several runs.

    Attributes:
        ranked: The runs and their ranking.
        chosen: The one with the highest rate among those with enough coverage; None where there is none.
        tied: Run ids with the same rate.
        not_told_apart: Run ids that the chosen one was not shown to be better than.
        excluded: Run ids below the coverage asked for.
        equal_rate: The rate of all scored episodes together.
        best_of_equal: What the best of so many equal agents with that rate would show by luck; None without scores.
    """

    ranked: RankedRuns
    chosen: Standing | None
    tied: tuple[str, ...]
    not_told_apart: tuple[str, ...]
    excluded: tuple[str, ...]
    equal_rate: float | None
    best_of_equal: float | None


def select(ranked: RankedRuns, *, min_coverage: float = 0.95) -> Selection:
    """Choose the run with the highest success rate.

    Args:
        ranked: Runs on a split that is not heldout.
        min_coverage: Share of the instances that must be scored; a run below it cannot be chosen.

    Raises:
        EvalError: The runs are on the heldout split, or `min_coverage` is outside [0, 1].
    """
    split = next(iter(ranked.runs.values())).conditions.benchmark.split
    if split == HELDOUT:
        raise EvalError(
            "these runs are on the heldout split: choosing there would leave nothing to confirm the choice on",
            fix="run the agents with --split validation; to rank them on heldout: hylo-eval leaderboard",
        )
    if not 0.0 <= min_coverage <= 1.0:
        raise EvalError(f"--min-coverage must lie in [0, 1], not {min_coverage:g}", fix="--min-coverage 0.95")
    board = ranked.leaderboard
    eligible = [item for item in board.standings if item.rate is not None and item.coverage >= min_coverage]
    chosen = eligible[0] if eligible else None
    others = [item for item in board.standings if chosen is not None and item.label != chosen.label]
    scored = sum(item.n_scored for item in board.standings)
    pooled = sum(item.successes for item in board.standings) / scored if scored else None
    return Selection(
        ranked=ranked,
        chosen=chosen,
        tied=tuple(item.label for item in eligible[1:] if chosen is not None and item.rate == chosen.rate),
        not_told_apart=tuple(
            item.label for item in others if chosen is not None and not board.told_apart(chosen.label, item.label)
        ),
        excluded=tuple(item.label for item in board.standings if item not in eligible),
        equal_rate=pooled,
        best_of_equal=None
        if pooled is None or chosen is None
        else expected_best_of_equal(len(board.standings), n_episodes=chosen.n_scored, success_rate=pooled),
    )
