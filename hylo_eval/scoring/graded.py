"""Scores read from grades: the reward a verifier gave, and success as outside judges saw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.scoring.grade import GradeScorer
from hylo_eval.scoring.outcome import (
    GRADERS_DISAGREE,
    NOT_APPLICABLE,
    NOT_GRADED,
    REASONS,
    decided,
)

ONE_HALF: Final = 0.5
"""A grade counts as success above this share of its range: half done is not done."""

RANGE: Final = "range"
"""The member of a grade's metadata with its range, ``[minimum, maximum]``; [0, 1] where there is none."""


class VerifierReward:
    """The reward that the grader ``verifier`` recorded last, as it is; a failure of the verifier is an abstention."""

    name = "verifier_reward"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the grade."""
        return GradeScorer("verifier").score(trace, task)


class GradedSuccess:
    """1 when the episode's graders judged it a success, else 0; abstains without a usable grade.

    Each grader counts with its latest grade. Where usable grades of two graders differ the scorer abstains
    (``graders_disagree``): it has no reason to believe one of them. A grade is a success above one half of its range.

    Args:
        grader: Whose grade counts; empty for those of all graders.
    """

    binary = True

    def __init__(self, grader: str = "") -> None:
        self.name = f"graded_success:{grader}" if grader else "graded_success"
        self._grader = grader

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the grades."""
        score = decided(trace)
        if score is not None:
            return score
        latest = {name: event for name, event in latest_grades(trace).items() if self._grader in ("", name)}
        if not latest:
            return Score.abstain(NOT_GRADED, REASONS[NOT_GRADED])
        judged = {name: success_of(event) for name, event in latest.items()}
        said = {name: success for name, success in judged.items() if success is not None}
        if not said:
            return _nothing_usable(latest, trace, task)
        if len(set(said.values())) > 1:
            listed = ", ".join(f"{name}: {'success' if success else 'failure'}" for name, success in said.items())
            return Score.abstain(GRADERS_DISAGREE, listed)
        success = next(iter(said.values()))
        return Score(float(success), f"{'success' if success else 'failure'} by {', '.join(said)}")


def latest_grades(trace: EpisodeTrace) -> dict[str, GradeEvent]:
    """The latest grade of each grader, by its name, in the order in which graders first spoke."""
    return {event.grader: event for event in trace.grades}


def judged_successes(trace: EpisodeTrace) -> dict[str, bool]:
    """Grader -> whether it judged the episode a success; without those whose latest grade is not usable."""
    judged = {name: success_of(event) for name, event in latest_grades(trace).items()}
    return {name: success for name, success in judged.items() if success is not None}


def success_of(event: GradeEvent) -> bool | None:
    """Whether a grade says success; None when it says nothing, failed, or lies outside its own range."""
    if event.value is None or event.error:
        return None
    low, high = _range_of(event.metadata)
    if not low <= event.value <= high:
        return None
    return (event.value - low) / (high - low) > ONE_HALF


def _range_of(metadata: Mapping[str, object]) -> tuple[float, float]:
    found = metadata.get(RANGE)
    if isinstance(found, tuple) and len(cast("tuple[object, ...]", found)) == 2:
        low, high = cast("tuple[object, object]", found)
        if isinstance(low, int | float) and isinstance(high, int | float) and low < high:
            return float(low), float(high)
    return 0.0, 1.0


def _nothing_usable(latest: Mapping[str, GradeEvent], trace: EpisodeTrace, task: TaskInstance) -> Score:
    """The abstention of the last grader, in its own words; a reward outside its range has no meaning as success."""
    name, event = list(latest.items())[-1]
    if event.value is not None and not event.error:
        low, high = _range_of(event.metadata)
        return Score.abstain(NOT_APPLICABLE, f"{name} gave {event.value:g}, which is no share of [{low:g}, {high:g}]")
    return GradeScorer(name).score(trace, task)
