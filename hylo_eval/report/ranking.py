"""A leaderboard and a selection, as sections and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.evidence import RunEvidence
from hylo_eval.compare.leaderboard import Leaderboard, Standing
from hylo_eval.compare.ledger import COMPARISON_SCHEMA
from hylo_eval.numerals import percent, points
from hylo_eval.report.documents import paired_document, run_document, stand_in_sentences
from hylo_eval.report.sections import Section
from hylo_eval.report.text import p_value, reasons


def ranking_sections(board: Leaderboard, runs: Mapping[str, RunEvidence]) -> tuple[Section, ...]:
    """The standings, then every pair."""
    some_run = next(iter(runs.values()))
    benchmark = some_run.conditions.benchmark
    labels = dict(zip(runs, agent_labels([run.conditions for run in runs.values()]), strict=True))
    standings = Section(
        facts=(
            ("benchmark", f"{benchmark.id} {benchmark.version}, split {benchmark.split}"),
            ("instances", str(board.standings[0].n_instances)),
            ("traces", "read and checked" if all(run.traces_read for run in runs.values()) else "not read (log only)"),
        ),
        sentences=(
            *(f"{said}." for said in stand_in_sentences(runs.values())),
            "agents that share a letter were not told apart: their order among themselves says nothing.",
            f"told apart: two-sided exact McNemar p of at most {board.alpha:g}, adjusted by Holm over all pairs.",
            "agent errors count as failures on every side; other abstentions are left out.",
        ),
        headers=("agent", "run", "group", "rank", "success", "95 % interval", "scored", "abstained"),
        text_columns=3,
        rows=tuple(_row(standing, labels[standing.label]) for standing in board.standings),
    )
    tests = Section(
        title="every pair",
        text_columns=2,
        headers=("first", "second", "wins", "losses", "pairs", "difference", "p (two-sided)", "p (Holm)"),
        rows=tuple(
            (
                test.first,
                test.second,
                str(test.comparison.candidate_wins),
                str(test.comparison.parent_wins),
                str(test.comparison.n_pairs),
                _difference(test.comparison.candidate_wins - test.comparison.parent_wins, test.comparison.n_pairs),
                p_value(test.p_value),
                p_value(test.adjusted_p),
            )
            for test in board.tests
        ),
    )
    return standings, tests


def ranking_document(kind: str, board: Leaderboard, runs: Mapping[str, RunEvidence], *, metric: str) -> dict[str, Any]:
    """A ranking as JSON; a selection adds what it chose."""
    some_run = next(iter(runs.values()))
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": kind,
        "benchmark": some_run.conditions.benchmark.to_dict(),
        "runs": [run_document(run) for run in runs.values()],
        "traces_read": all(run.traces_read for run in runs.values()),
        "metric": {"name": metric},
        "notes": list(stand_in_sentences(runs.values())),
        "alpha": board.alpha,
        "standings": [
            {**attrs.asdict(standing), "rate": standing.rate, "coverage": standing.coverage}
            for standing in board.standings
        ],
        "tests": [
            {
                "first": test.first,
                "second": test.second,
                "two_sided_p": test.p_value,
                "adjusted_p": test.adjusted_p,
                "told_apart": test.adjusted_p <= board.alpha,
                **paired_document(test.comparison),
            }
            for test in board.tests
        ],
    }


def _row(standing: Standing, agent: str) -> tuple[str, ...]:
    best, worst = standing.best_rank, standing.worst_rank
    return (
        agent,
        standing.label,
        standing.letters,
        str(best) if best == worst else f"{best} to {worst}",
        "-" if standing.rate is None else percent(standing.rate),
        "-" if standing.interval is None else f"[{percent(standing.interval[0])}, {percent(standing.interval[1])}]",
        f"{standing.n_scored}/{standing.n_instances}",
        reasons(dict(standing.abstentions)),
    )


def _difference(lead: int, pairs: int) -> str:
    return points(lead / pairs) if pairs else "-"
