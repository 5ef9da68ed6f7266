"""Applying scorers to a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from hylo_core.errors import describe_error
from hylo_core.score import Score, Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import SCORER_ERROR


def score_trace(scorers: Sequence[Scorer], trace: EpisodeTrace, task: TaskInstance) -> dict[str, Score]:
    """What each scorer says; one that raises abstains, so that one bad scorer loses no run."""
    scores: dict[str, Score] = {}
    for scorer in scorers:
        try:
            score: Any = _plain(scorer.score(trace, task))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - somebody's code; its failure is an abstention
            score = Score.abstain(SCORER_ERROR, describe_error(error))
        if not isinstance(score, Score):
            score = Score.abstain(SCORER_ERROR, f"returned a {type(score).__name__}, not a Score")
        elif score.value not in (None, 0.0, 1.0) and getattr(scorer, "binary", False) is True:
            score = Score.abstain(SCORER_ERROR, f"declares itself binary and says {score.value:g}")
        scores[scorer.name] = score
    return scores


def _plain(score: Any) -> Any:
    """A score whose value is a float of Python's: a subclass (numpy's) or an endless integer cannot be logged."""
    if not isinstance(score, Score) or score.value is None or type(score.value) is float:
        return score
    return attrs.evolve(score, value=float(score.value))
