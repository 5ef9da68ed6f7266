"""Kaplan-Meier and the restricted mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import ContractError, Score
from hylo_eval import EvalError
from hylo_eval.scoring.survival import (
    NEVER,
    FollowUp,
    kaplan_meier,
    mean_restricted_time,
    restricted_mean,
    restricted_time,
    summarise_times,
)

follow_ups = st.lists(st.builds(FollowUp, st.integers(1, 20), st.booleans()), min_size=1, max_size=25)


def test_a_curve_worked_out_by_hand() -> None:
    """Successes at 1, 3, 3 and censored at 2, 5 of five: 4/5, then 4/5 x 1/3."""
    curve = kaplan_meier(
        [FollowUp(1, True), FollowUp(2, False), FollowUp(3, True), FollowUp(3, True), FollowUp(5, False)]
    )
    assert curve.times == (1.0, 3.0)
    assert curve.at_risk == (5, 3)
    assert curve.successes == (1, 2)
    assert curve.surviving == pytest.approx((4 / 5, 4 / 15))
    assert restricted_mean(curve, 5.0) == pytest.approx(1 + 2 * 4 / 5 + 2 * 4 / 15)
    assert restricted_mean(curve, 2.0) == pytest.approx(1 + 4 / 5)
    assert restricted_mean(curve, 6.0) is None


def test_censoring_at_the_time_of_a_success_is_still_at_risk() -> None:
    """Kaplan and Meier's own convention."""
    assert kaplan_meier([FollowUp(2, False), FollowUp(2, True)]).at_risk == (2,)


@given(follow_ups)
def test_the_curve_is_scipys(episodes: list[FollowUp]) -> None:
    """Against an independent implementation."""
    from scipy.stats import CensoredData, ecdf

    curve = kaplan_meier(episodes)
    events = [episode.time for episode in episodes if episode.success]
    censored = [episode.time for episode in episodes if not episode.success]
    expected = ecdf(CensoredData(uncensored=events, right=censored)).sf
    assert curve.surviving == pytest.approx(np.asarray(expected.evaluate(curve.times)) if events else (), abs=1e-12)


@given(st.lists(st.integers(1, 20) | st.just(NEVER), min_size=1, max_size=25), st.integers(1, 20))
def test_the_area_is_the_mean_where_everybody_was_followed(times: list[float], horizon: int) -> None:
    """Without early censoring the restricted mean needs no curve."""
    limit = float(horizon)
    curve = kaplan_meier([FollowUp(min(time, 20), time <= 20) for time in times])
    plain = mean_restricted_time([restricted_time(time, limit) for time in times])
    assert restricted_mean(curve, limit) == pytest.approx(plain)


def test_rare_fast_success_is_slower_than_steady_success() -> None:
    """One in ten after 1 step against all after 5, up to 20: a mean over successes alone would say the opposite."""
    rare = kaplan_meier([FollowUp(1, True), *[FollowUp(20, False)] * 9])
    steady = kaplan_meier([FollowUp(5, True)] * 10)
    assert restricted_mean(rare, 20.0) == pytest.approx(18.1)
    assert restricted_mean(steady, 20.0) == pytest.approx(5.0)


def test_what_is_no_time_is_refused() -> None:
    """No episode, an endless one, a negative time, another scorer's scores."""
    with pytest.raises(ContractError, match="at least one episode"):
        kaplan_meier([])
    with pytest.raises(ContractError, match="followed for a finite time"):
        kaplan_meier([FollowUp(NEVER, False)])
    with pytest.raises(ContractError, match="must be a time of at least 0"):
        kaplan_meier([FollowUp(-1, True)])
    with pytest.raises(EvalError, match="is no time to success"):
        summarise_times([Score(3.0)])
