"""Applying scorers to a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hylo_core.score import Score, Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import SCORER_ERROR


def score_trace(scorers: Sequence[Scorer], trace: EpisodeTrace, task: TaskInstance) -> dict[str, Score]:
    """What each scorer says; one that raises abstains, so that one bad scorer loses no run."""
    scores: dict[str, Score] = {}
    for scorer in scorers:
        try:
            score: Any = scorer.score(trace, task)
        except Exception as error:  # noqa: BLE001 - a scorer is somebody's code; its failure is an abstention
            message = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
            score = Score.abstain(SCORER_ERROR, message)
        if not isinstance(score, Score):
            score = Score.abstain(SCORER_ERROR, f"returned a {type(score).__name__}, not a Score")
        scores[scorer.name] = score
    return scores
