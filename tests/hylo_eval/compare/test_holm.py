"""Holm's adjustment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.holm import holm_adjust

p_values = st.lists(st.floats(0.0, 1.0), max_size=12)


def test_a_worked_example():
    """0.01, 0.02, 0.04 become 3 x 0.01, 2 x 0.02 and max(0.04, 0.04), in the order given."""
    assert holm_adjust([0.04, 0.01, 0.02]) == pytest.approx((0.04, 0.03, 0.04))
    assert holm_adjust([]) == ()
    assert holm_adjust([0.03]) == (0.03,)


@given(p_values, st.floats(0.001, 0.5))
def test_it_rejects_what_the_step_down_procedure_rejects(values, alpha):
    """adjusted p <= alpha holds exactly for those that Holm's procedure rejects step by step."""
    rejected = set()
    for step, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        if min(1.0, (len(values) - step) * values[index]) > alpha:
            break
        rejected.add(index)
    assert {i for i, adjusted in enumerate(holm_adjust(values)) if adjusted <= alpha} == rejected


@given(p_values)
def test_it_lies_between_no_correction_and_bonferronis(values):
    """p <= adjusted p <= min(1, m p)."""
    for p_value, adjusted in zip(values, holm_adjust(values), strict=True):
        assert p_value <= adjusted <= 1.0
    if values:
        assert min(holm_adjust(values)) == min(1.0, len(values) * min(values))


def test_what_is_no_probability_is_refused():
    """A p-value outside [0, 1] is named by its position."""
    with pytest.raises(ContractError, match=r"p_values\[1\]: must lie in \[0, 1\]"):
        holm_adjust([0.5, 1.5])
