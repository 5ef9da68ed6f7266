"""Exact numbers in text."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.numeric_literals import NumericAnswerError, numeric_answer, numeric_literal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", Fraction(42)),
        ("+1,234,567", Fraction(1234567)),
        ("-1/2", Fraction(-1, 2)),
        ("6 / 4", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("1.5e-1", Fraction(3, 20)),
        ("2E3", Fraction(2000)),
        ("1,000.5", Fraction(2001, 2)),
        ("\N{MINUS SIGN}3", Fraction(-3)),
    ],
)
def test_literals_have_exact_values(text, value):
    """Integers, groups of three digits, fractions, decimals and exponents mean what they spell."""
    assert numeric_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,00",
        "1 000",
        "1/0",
        "0.5/2",
        "1e",
        "nan",
        "inf",
        "1_000",
        "0x10",
        "--1",
        "1e4096",
        "9" * 4097,
        "½",
    ],
)
def test_what_is_no_literal_is_refused(text):
    """Ambiguous grouping, division by zero, infinities and too many digits are no numbers."""
    with pytest.raises(NumericAnswerError):
        numeric_literal(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Definitely not 42", 42),
        ("first 9\nthen 7\n\n", 7),
        ("5 kg", 5),
        ("5%", 5),
        ("$5$", 5),
        ("(5)", 5),
        ("5, as said", 5),
        ("x=-5", -5),
        ("it is \N{MINUS SIGN}5", -5),
        (r"\boxed{7} that is 12 more than -5", 7),
        (r"\boxed{\( $7$ \)}", 7),
        ("no infinite loop: 5", 5),
    ],
)
def test_the_answer_is_the_last_box_or_the_only_number_on_the_last_line(text, value):
    """Prose around the number does not matter, its box does."""
    assert numeric_answer(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "12 or 13",
        "2 + 2",
        "5kg",
        "5th",
        "1.2.3",
        "5e",
        "5:30",
        "k-5",
        "- 5",
        "+ 5",
        "infinity or 5",
        "-inf, else 5",
        "NaN 5",
        "∞ or 5",
        r"\infty or 5",
        "no number",
        r"\boxed{}",
        r"\boxed{7} and \boxed{",
        r"\boxed{about 7}",
        r"\boxed{1, 2}",
        "٣ or 5",
        "1/2/3",
    ],
)
def test_anything_but_one_number_is_no_answer(text):
    """A second number, a part of one, a nonfinite value or a sign apart leave no answer."""
    with pytest.raises(NumericAnswerError):
        numeric_answer(text)


def test_the_digit_limit_is_inclusive_and_checked_before_parsing():
    """4096 digits are read, one more is refused, and so is an exponent that would take gigabytes."""
    assert numeric_literal("1." + "0" * 4095) == 1
    assert numeric_literal("1e4095") == Fraction(10) ** 4095
    for text in ("1." + "0" * 4096, "1e999999999", "1/" + "9" * 4097, "9" * 1_000_000):
        with pytest.raises(NumericAnswerError):
            numeric_literal(text)
    with pytest.raises(NumericAnswerError):
        numeric_answer(r"\boxed{" + r"\(" * 2_000_000 + "}")


@given(st.fractions(max_denominator=10**6))
def test_a_fraction_reads_back_as_itself(value):
    """The text of a fraction is a literal of that value, alone and at the end of prose."""
    assert numeric_literal(str(value)) == value
    assert numeric_answer(f"the ratio is {value} overall") == value


@given(st.text())
def test_any_text_is_a_number_or_refused(text):
    """No text raises anything but the documented error."""
    try:
        assert isinstance(numeric_answer(text), Fraction)
    except NumericAnswerError as error:
        assert str(error)
