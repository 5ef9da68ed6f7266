"""Version numbers compare as pins need it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.versions import release, satisfies

NUMBERS = st.lists(st.integers(0, 10**6), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("version", "specifiers", "expected"),
    [
        ("3.3.0", "==3.3.0", True),
        ("3.3", "==3.3.0", True),
        ("3.3.1", "==3.3.0", False),
        ("3.10.0", ">=3.3,<3.10", False),
        ("3.9.9", ">=3.3,<3.10", True),
        ("3.3.0", "", True),
        ("1.5.2", "!=1.5.2", False),
        ("1.5.3", "==1.5.*", True),
        ("1.6", "==1.5.*", False),
        ("1.6", "!=1.5.*", True),
        ("1", "==1.0.*", True),
        ("2.4.6", "~=2.1", True),
        ("3.0", "~=2.1", False),
        ("2.1.9", "~=2.1.3", True),
        ("2.2", "~=2.1.3", False),
        ("1.0+local", "===1.0", False),
        ("2.0", ">1.9, <=2", True),
    ],
)
def test_clauses_mean_what_pip_means_by_them(version, specifiers, expected):
    """Every operator of a pin, on both sides of its bound."""
    assert satisfies(version, specifiers) is expected


def test_a_prerelease_is_not_below_its_release():
    """``4.0.0rc1`` is kept out by ``<4``: what breaks in 4 breaks in its candidates."""
    assert not satisfies("4.0.0rc1", "<4")


@pytest.mark.parametrize(("version", "specifiers"), [("main", "==1"), ("1.0", "1.0"), ("1.0", "=>1"), ("", ">1")])
def test_what_is_not_understood_is_refused(version, specifiers):
    """Neither accepted nor rejected by accident."""
    with pytest.raises(ValueError, match="is no version"):
        satisfies(version, specifiers)


@given(NUMBERS, NUMBERS)
def test_exactly_one_of_less_equal_greater_holds(first, second):
    """Versions are totally ordered, as their numbers are."""
    here, bound = (".".join(map(str, numbers)) for numbers in (first, second))
    assert [satisfies(here, f"{operator}{bound}") for operator in ("<", "==", ">")].count(True) == 1


@given(NUMBERS, st.integers(0, 3))
def test_trailing_zeros_mean_nothing(numbers, zeros):
    """``3.3`` and ``3.3.0`` are one release."""
    text = ".".join(map(str, numbers))
    assert release(text) == release(text + ".0" * zeros)
