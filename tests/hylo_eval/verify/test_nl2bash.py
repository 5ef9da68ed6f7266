"""Shell output compared as a multiset of records."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.nl2bash import score_capture

lines = st.lists(st.sampled_from(["a", "b", "c d", "./x", "12 KB", "not found"]), max_size=6)


@given(lines, st.randoms(use_true_random=False))
def test_order_is_free(records, rng: random.Random):
    """Any permutation of the expected records passes."""
    shuffled = list(records)
    rng.shuffle(shuffled)
    assert score_capture("\n".join(shuffled), "\n".join(records)) == (1, [])


@given(lines)
def test_no_expected_record_may_be_dropped(records):
    """Removing any one record, repeated or not, fails."""
    for index in range(len(records)):
        rest = records[:index] + records[index + 1 :]
        score, notes = score_capture("\n".join(rest), "\n".join(records))
        assert score == 0
        assert notes


@pytest.mark.parametrize(
    ("actual", "expected", "score"),
    [
        ("a\nb\nextra", "a\nb", 1),
        ("a\nls: x: No such file or directory", "a", 0),
        ("a\nerrors.txt", "a", 1),
        ("error: x", "error: x", 1),
        ("error: x\nerror: x", "error: x", 0),
        ("a\x00b\x00", "b\na", 1),
        ("\x1b[31ma\x1b[0m", "a", 1),
        ("./a\n/workspace/b", "a\nb", 1),
        ("x./a", "a", 0),
        ("12 KB", "12   bytes", 1),
        ("a   b", "a b", 1),
        ("A", "a", 0),
        ("", "", 1),
        (" \n", "\n", 1),
        ("x", "  \n", 0),
        ("", "a", 0),
    ],
)
def test_records_are_compared_without_their_presentation(actual, expected, score):
    """Colours, blanks, size units and the working folder go; repeats, case and errors count."""
    assert score_capture(actual, expected)[0] == score


def test_a_megabyte_of_blanks_or_escapes_is_one_pass():
    """Long runs end, and notes stay short."""
    long = "a" + " " * 1_000_000 + "b"
    assert score_capture(long, "a b") == (1, [])
    assert score_capture("\x1b[" * 500_000 + "\n" + long, "a b")[0] == 1
    score, notes = score_capture("", "\n".join(f"record {n} " + "x" * 1000 for n in range(1000)))
    assert score == 0
    assert len(notes[0]) < 2000
