"""Frozen mappings: the quick way for flat ones gives and refuses what the thorough one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze, freeze_mapping, thaw

LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**54), 2**54),
    st.sampled_from([2**53 - 1, 2**53, -(2**53), 1e300, float(2**53), 1e21]),
    st.floats(),
    st.text(st.characters(codec=None), max_size=3),
    st.just(b"no JSON"),
)
KEY = st.one_of(st.text(max_size=3), st.just("\ud800"), st.integers(0, 3))
MEMBER = st.one_of(LEAF, st.lists(LEAF, max_size=2), st.dictionaries(KEY, LEAF, max_size=2))


def outcome(make: Any, value: Mapping[Any, Any]) -> tuple[str, Any]:
    """What comes back, or the refusal's whole text."""
    try:
        return "frozen", make(value)
    except ContractError as error:
        return "refused", str(error)


@given(st.dictionaries(KEY, MEMBER, max_size=3))
def test_a_field_freezes_and_refuses_what_freeze_does(members):
    """Equal values, equal types below, or one and the same refusal."""
    by_field = outcome(freeze_mapping("params"), members)
    thorough = outcome(lambda value: freeze(value, "params"), members)
    assert by_field == thorough
    if by_field[0] == "frozen":
        assert type(by_field[1]) is FrozenMapping
        assert repr(thaw(by_field[1])) == repr(thaw(thorough[1]))


def test_a_frozen_field_does_not_follow_the_mapping_it_came_from():
    """Also where all its members are leaves."""
    members = {"a": 1}
    frozen = freeze_mapping("params")(members)
    members["a"] = 2
    assert frozen["a"] == 1
