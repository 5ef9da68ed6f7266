"""Paired differences of graded scores."""

from __future__ import annotations

import math

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.differences import paired_differences


def test_scores_are_subtracted_key_by_key():
    """Shared scored keys give candidate minus parent in key order; the rest is counted."""
    found = paired_differences({"b#0": 3.0, "a#0": 1.0, "c#0": None, "x#0": 9.0}, {"a#0": 0.5, "b#0": 5.0, "c#0": 1.0})
    assert (found.keys, found.values) == (("a#0", "b#0"), (0.5, -2.0))
    assert (found.n_pairs, found.n_abstained, found.only_candidate, found.only_parent) == (2, 1, ("x#0",), ())


def test_the_direction_is_explicit():
    """With lower scores better a gain is a drop."""
    found = paired_differences({"a#0": 1.0}, {"a#0": 3.0})
    assert found.gains(higher_is_better=True) == (-2.0,)
    assert found.gains(higher_is_better=False) == (2.0,)


@pytest.mark.parametrize("score", [math.nan, math.inf, "1", True])
def test_what_is_no_number_is_refused(score):
    """A score that is not a finite number is named by side and key."""
    with pytest.raises(ContractError, match=r"candidate\['a#0'\]: must be a finite number"):
        paired_differences({"a#0": score}, {"a#0": 1.0})
    with pytest.raises(ContractError, match=r"parent\['a#0'\]: must be a finite number"):
        paired_differences({"a#0": 1.0}, {"a#0": score})


def test_a_difference_that_overflows_is_refused():
    """Two finite scores whose difference is infinite are no evidence."""
    with pytest.raises(ContractError, match="overflows"):
        paired_differences({"a#0": 1e308}, {"a#0": -1e308})
