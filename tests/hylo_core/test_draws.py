"""Draws from a hash."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.draws import Draws


@given(st.text(max_size=8), st.integers(-50, 50), st.integers(0, 50))
def test_an_integer_lies_in_its_range_and_is_the_same_again(key, low, width):
    """A pure function of key and position."""
    first = [Draws(key).integer(low, low + width) for _ in range(2)]
    assert first[0] == first[1]
    assert low <= first[0] <= low + width


def test_the_first_draw_is_the_hash_of_key_and_count():
    """The rule itself, so that another implementation gives the same scenes."""
    block = hashlib.sha256(b"key|0").digest()[:8]
    assert Draws("key").integer(0, 99) == int.from_bytes(block, "big") % 100


@given(st.text(max_size=8), st.lists(st.integers(), max_size=12))
def test_shuffling_keeps_the_items(key, items):
    """Another order of the same."""
    assert sorted(Draws(key).shuffled(items)) == sorted(items)


def test_an_empty_range_is_refused():
    """Nothing lies in it."""
    with pytest.raises(ValueError, match="no integer"):
        Draws("key").integer(2, 1)
