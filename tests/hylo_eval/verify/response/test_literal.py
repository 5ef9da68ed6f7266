"""The bounded reader of Python literals, against Python's own."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.response.literal import MAX_DEPTH, NotALiteral, read_literal
from hylo_eval.verify.response.parsing import MAX_LITERAL_CHARACTERS, LenientParser, depth_exceeds

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(max_size=8)
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(ATOMS, inner, max_size=4)
        | st.sets(ATOMS, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_reads_what_python_writes(value):
    """The text that Python writes for a literal value reads back as Python reads it."""
    assert repr(read_literal(repr(value))) == repr(ast.literal_eval(repr(value)))


TOKENS = ["{", "}", "[", "]", "(", ")", ",", ":", "+", "-", "1", "0", "07", "1.", ".5", "1e3", "2j", "1_0",
"_", "0x1F",
          "'a'", '"b"', "b'c'", "r'\\d'", "'\\n\\x41\\u0042\\101'", "'\\\n'", "'''t\n'''", "None", "True",
          "set()", "-(1)", "x", " ", "\n", "#c\n", "\\\n", "\f", "...", "*", "\0", "f'x'", "u'y'"]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join).map(str.strip))
@pytest.mark.filterwarnings("ignore")
def test_accepts_exactly_what_python_accepts(text):
    """What Python reads from a text is read from it; what Python refuses is refused."""
    try:
        expected = repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        with pytest.raises(NotALiteral):
            read_literal(text)
        return
    assert repr(read_literal(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1 2",
        "{1: 2, 3}",
        "{[]}",
        "{{}: 1}",
        "[1",
        "'a",
        "'''a'",
        "-True",
        "1+2",
        "012",
        "'\\xg'",
        "f'a'",
    ],
)
def test_refuses(text):
    """Names, calls, arithmetic, unhashable members and broken text are no literals."""
    with pytest.raises(NotALiteral):
        read_literal(text)


def test_depth_is_bounded():
    """Nesting is read to the bound and refused beyond it."""
    assert read_literal("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(NotALiteral):
        read_literal("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 12 ", 12),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[1, 2,]", [1, 2]),
        ("(1, 2)", (1, 2)),
        ("1, 2", (1, 2)),
        ("null", None),
        ("# Answer\n7", 7),
        ("{'answer': ...}", {"answer": ...}),
        ("[-(1), +((2))]", [-1, 2]),
        ("four", None),
        ("4 cups", None),
        ('{"a": 1} {"a": 2}', None),
        ("\u00a0[4]\u2003", [4]),
        ("", None),
        ("9" * 4301, None),
        ("9" * 4300, int("9" * 4300)),
        ("[" * 501 + "]" * 501, None),
    ],
)
def test_lenient_parser(text, value):
    """JSON first, then a literal, else nothing; integers and depth are bounded."""
    assert LenientParser().parse(text) == value


def test_parser_passes_values_through():
    """What is no text is no subject of parsing."""
    value = [object()]
    assert LenientParser().parse(value) is value


def test_literals_have_a_budget_and_json_has_none():
    """One literal and all literals together are bounded; JSON still reads."""
    parser = LenientParser()
    assert parser.parse("('" + "a" * MAX_LITERAL_CHARACTERS + "',)") is None
    for _ in range(2):
        assert parser.parse("('" + "a" * (MAX_LITERAL_CHARACTERS - 5) + "',)") is not None
    assert parser.parse("(1,)") is None
    assert parser.parse("[1]") == [1]


@given(st.integers(0, 40), st.integers(0, 40))
def test_depth_of_a_nested_list(depth, limit):
    """A list nested n deep exceeds every limit below n."""
    assert depth_exceeds(json.loads("[" * depth + "]" * depth) if depth else 1, limit) == (depth > limit)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(10**17, 10**22) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES, st.booleans())
def test_long_json_reads_as_short_json_does(value, ensure_ascii):
    """Whatever reads long text, integers of any size, NaN and lone surrogates come out as Python's json has them."""
    text = json.dumps({"value": value, "padding": " " * 300, "padded": 1}, ensure_ascii=ensure_ascii)
    assert repr(LenientParser().parse(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "value",
    ["-0", "-0.0", "1e400", "1e-400", "9" * 18, "9" * 19, "9" * 400, r'"\ud800"', "NaN", '{"a":1,"a":2}', "0.1e1"],
)
def test_long_json_reads_odd_values_as_json_does(value):
    """Values at the ends of JSON are the same in long text."""
    text = f'{{"padding": "{" " * 300}", "value": {value}}}'
    assert repr(LenientParser().parse(text)) == repr(json.loads(text))
