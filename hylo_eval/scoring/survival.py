"""Times to success that may be censored: the Kaplan-Meier curve and the mean restricted to a horizon.

An episode that never succeeds has no time to success; leaving it out would reward a policy that is fast and rarely
succeeds, and a mean over the successes alone is never computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import attrs

from hylo_core.errors import ContractError
from hylo_core.score import Score
from hylo_eval.errors import EvalError

NEVER = math.inf
"""The time to success of an episode that ended without one, for whatever reason."""


@attrs.frozen
class FollowUp:
    """What is known of one episode's time to success.

    Attributes:
        time: Until success; without success, as far as the episode was followed. Steps or seconds, at least 0.
        success: Whether it is known to have succeeded then.
    """

    time: float
    success: bool


@attrs.frozen(kw_only=True)
class SurvivalCurve:
    """A Kaplan-Meier curve: the share of episodes that has not succeeded yet.

    Attributes:
        times: Where the curve steps down, ascending: the distinct times of success.
        surviving: The share without success from each of those times on; 1 before the first.
        at_risk: Episodes without success and still followed just before each time.
        successes: Episodes that succeed at each time.
        followed_to: The longest time any episode was followed: the curve says nothing beyond.
    """

    times: tuple[float, ...]
    surviving: tuple[float, ...]
    at_risk: tuple[int, ...]
    successes: tuple[int, ...]
    followed_to: float


@attrs.frozen(kw_only=True)
class TimeToSuccessSummary:
    """Time to success over a set of episodes.

    Attributes:
        n_episodes: Episodes whose time or censoring is on record.
        n_successes: Of those, the ones that succeeded within the horizon.
        horizon: The restriction, in the unit of the times.
        restricted_mean: The expected time without success up to the horizon; None without episodes, or where no episode
            was followed that far and the curve has not reached 0.
        curve: The Kaplan-Meier curve; None without episodes.
    """

    n_episodes: int
    n_successes: int
    horizon: float | None
    restricted_mean: float | None
    curve: SurvivalCurve | None


def restricted_time(time: float, horizon: float) -> float:
    """``min(time, horizon)`` of a time to success, :data:`NEVER` where there was none.

    Raises:
        ContractError: The time is negative, NaN or no number.
    """
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not time >= 0:
        raise ContractError(f"must be a time of at least 0 or NEVER, got {time!r}")
    return min(float(time), horizon)


def mean_restricted_time(restricted: Sequence[float]) -> float | None:
    """The restricted mean where every episode was followed to success or the horizon; None without episodes."""
    return math.fsum(restricted) / len(restricted) if restricted else None


def kaplan_meier(episodes: Iterable[FollowUp]) -> SurvivalCurve:
    """The product-limit estimate (Kaplan and Meier 1958, JASA 53:457-481).

    An episode censored at the time of a success counts as still at risk there.

    Raises:
        ContractError: There is no episode, or a time is negative, not finite or no number.
    """
    given = [(restricted_time(episode.time, math.inf), episode.success) for episode in episodes]
    if not given:
        raise ContractError("a survival curve needs at least one episode")
    if not all(math.isfinite(time) for time, _ in given):
        raise ContractError("must be followed for a finite time; an episode that never succeeds is followed to its end")
    times = sorted({time for time, success in given if success})
    at_risk = [sum(time >= moment for time, _ in given) for moment in times]
    successes = [sum(success and time == moment for time, success in given) for moment in times]
    share = 1.0
    surviving: list[float] = []
    for risk, events in zip(at_risk, successes, strict=True):
        share *= (risk - events) / risk
        surviving.append(share)
    return SurvivalCurve(
        times=tuple(times),
        surviving=tuple(surviving),
        at_risk=tuple(at_risk),
        successes=tuple(successes),
        followed_to=max(time for time, _ in given),
    )


def restricted_mean(curve: SurvivalCurve, horizon: float) -> float | None:
    """The area under the curve up to the horizon; None where the curve ends before the horizon above 0."""
    known = curve.followed_to >= horizon or (curve.surviving and curve.surviving[-1] == 0.0)
    if not known:
        return None
    borders = [0.0, *(min(time, horizon) for time in curve.times), horizon]
    heights = [1.0, *curve.surviving]
    widths = [max(0.0, right - left) for left, right in pairwise(borders)]
    return math.fsum(height * width for height, width in zip(heights, widths, strict=True))


def summarise_times(scores: Iterable[Score], horizon: float | None = None) -> TimeToSuccessSummary:
    """Summarise the scores of ``time_to_success``; abstentions that say nothing of the time are left out.

    Args:
        scores: As :class:`hylo_eval.scoring.time_to_success.TimeToSuccess` gives them.
        horizon: The restriction in steps; None is the shortest horizon among the episodes, to which all were meant to
            be followed.

    Raises:
        EvalError: The scores are another scorer's.
    """
    recorded = [score for score in scores if score.value is not None or "steps" in score.metadata]
    try:
        episodes = [FollowUp(score.metadata["steps"], score.metadata["success"]) for score in recorded]
        horizons = [score.metadata["horizon"] for score in recorded]
    except KeyError as error:
        raise EvalError(
            f"a score lacks {error} in its metadata: it is no time to success", fix="pass scores of time_to_success"
        ) from None
    if not episodes:
        return TimeToSuccessSummary(n_episodes=0, n_successes=0, horizon=horizon, restricted_mean=None, curve=None)
    limit = float(min(horizons)) if horizon is None else horizon
    curve = kaplan_meier(episodes)
    return TimeToSuccessSummary(
        n_episodes=len(episodes),
        n_successes=sum(episode.success and episode.time <= limit for episode in episodes),
        horizon=limit,
        restricted_mean=restricted_mean(curve, limit),
        curve=curve,
    )
