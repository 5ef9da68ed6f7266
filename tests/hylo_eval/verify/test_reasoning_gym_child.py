"""The guard against answers that are code."""

import pytest

from hylo_eval.verify.reasoning_gym_child import refuse_code


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2*3",
        "(4 - 1) / 3.5",
        "x**2 + 3*x + C",
        "-cos(2*x)/2 + sqrt(y)",
        "1.5e-3",
        "exp(x)*log(x + 1)",
        "5!",
        "",
    ],
)
def test_arithmetic_passes(text):
    """Numbers, operators, one-letter variables and well-known functions are an answer."""
    refuse_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "open",
        "().__class__",
        "x.y",
        "x. y",
        "1 .real",
        "'a'",
        "[1]",
        "{1}",
        "lambda: 1",
        "f(x=1)",
        "exec(chr(49))",
        "Integral(x, x)",
        "x;y",
        "\N{FULLWIDTH LATIN SMALL LETTER O}pen",
        "_a",
    ],
)
def test_anything_that_reaches_the_interpreter_is_refused(text):
    """Texts, brackets, attributes and other names are not arithmetic."""
    with pytest.raises(ValueError, match="expression"):
        refuse_code(text)
