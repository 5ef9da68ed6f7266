"""The scanner of JSON that may stop in the middle."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.json_prefix import MAX_DECODED_DEPTH, PrefixStatus, decode_value, scan_json

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | finite | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
documents = st.builds(json.dumps, values, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1]))


@given(documents)
def test_every_document_is_complete_and_decodes_as_usual(document):
    """What the standard encoder writes is one whole value, decoded as the standard decoder does."""
    scan = scan_json(document)
    assert (scan.status, scan.end) == (PrefixStatus.COMPLETE, len(document))
    assert decode_value(document) == json.loads(document)


@given(documents, st.data())
def test_every_beginning_is_extendable_and_its_suffix_completes_it(document, data):
    """No prefix of a document is invalid, and a closing suffix, where there is one, makes it whole."""
    beginning = document[: data.draw(st.integers(0, len(document)))]
    scan = scan_json(beginning)
    assert scan.status is not PrefixStatus.INVALID
    if scan.closing_suffix is not None:
        json.loads(beginning + scan.closing_suffix)


@given(st.text(alphabet='{}[]",:\\/truefalsn0123456789.eE+- \n', max_size=30))
def test_complete_means_what_the_standard_decoder_accepts(text):
    """A text is wholly complete exactly when the standard decoder takes it, repeated keys aside."""

    def unique(pairs):
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValueError("repeated key")
        return members

    try:
        json.loads(text, object_pairs_hook=unique)
    except ValueError:
        accepted = False
    else:
        accepted = True
    scan = scan_json(text)
    assert (scan.status is PrefixStatus.COMPLETE and not text[scan.end :].strip()) == accepted


@pytest.mark.parametrize(
    ("text", "suffix", "open_structures"),
    [
        ("", None, ()),
        ("[", "]", ("[",)),
        ("[1", "]", ("[",)),
        ("[1,", None, ("[",)),
        ("[-", None, ("[",)),
        ("[1.", None, ("[",)),
        ("[1e+", None, ("[",)),
        ("[tru", None, ("[",)),
        ('{"a"', None, ("{",)),
        ('{"a', None, ("{", '"')),
        ('{"a":', None, ("{",)),
        ('{"a": "b', '"}', ("{", '"')),
        ('{"a": [{"b": 1', "}]}", ("{", "[", "{")),
        ('"\\', None, ('"',)),
        ('"\\u12', None, ('"',)),
    ],
)
def test_a_suffix_closes_and_never_invents(text, suffix, open_structures):
    """Brackets and quotes are closed; a key, value, literal, number or escape is never filled in."""
    scan = scan_json(text)
    assert scan.status is PrefixStatus.EXTENDABLE
    assert (scan.closing_suffix, scan.open_structures) == (suffix, open_structures)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("x", 0),
        ("[1,]", 3),
        ("01", 1),
        ("1x", 1),
        ("1.x", 2),
        ("[-]", 2),
        ("[1 2]", 3),
        ("{1", 1),
        ('{"a" 1', 5),
        ('{"a": 1, "a"', 11),
        ("[}", 1),
        ("trux", 3),
        ('"\n', 1),
        ('"\\x', 2),
        ('"\\u1g', 4),
        ("NaN", 0),
    ],
)
def test_an_invalid_text_names_the_offset(text, offset):
    """The first character that no JSON could have there is reported."""
    scan = scan_json(text)
    assert (scan.status, scan.end) == (PrefixStatus.INVALID, offset)
    assert scan.reason


def test_a_value_ends_where_it_ends():
    """What follows the value is not looked at, and a number stops at the caller's marker."""
    assert scan_json(" [1] and more").end == 4
    assert scan_json("12</x>", stop_character="<").end == 2


def test_depth_is_limited_by_memory_alone():
    """Two hundred thousand open brackets are scanned, and closed, without recursion."""
    scan = scan_json("[" * 200_000)
    assert scan.status is PrefixStatus.EXTENDABLE
    assert scan.closing_suffix == "]" * 200_000


def test_a_megabyte_of_digits_blanks_or_text_is_one_pass():
    """Long runs of one character end; quadratic scanning would not within the test run."""
    million = 1_000_000
    assert scan_json("1" * million).end == million
    assert scan_json(" " * million).status is PrefixStatus.EXTENDABLE
    assert scan_json('"' + "\\n" * million).closing_suffix == '"'
    assert scan_json("[" + "1," * (million // 10)).status is PrefixStatus.EXTENDABLE


def brackets(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1",
        "[1] x",
        '{"a": 1, "a": 1}',
        "1e999",
        "-1e999",
        "9" * 5000,
        brackets(MAX_DECODED_DEPTH + 1),
        "NaN",
    ],
)
def test_only_one_exact_finite_value_is_decoded(text):
    """Whatever has no exact finite counterpart, or is nested too deep, is refused as a ValueError."""
    with pytest.raises(ValueError, match=r"[a-z]{3}"):
        decode_value(text)


@given(documents)
def test_a_decoded_scan_is_the_scan(document):
    """The standard decoder's short cut gives the value that decoding gives, and only for whole containers."""
    scan = scan_json(document)
    if scan.decoded:
        assert scan.value == decode_value(document)
    assert scan.decoded == document.startswith(("{", "["))


def test_the_deepest_allowed_nesting_is_decoded():
    """Nesting up to the limit decodes."""
    assert json.dumps(decode_value(brackets(MAX_DECODED_DEPTH))) == brackets(MAX_DECODED_DEPTH)
