"""A secret is gone from what came in, in whatever spelling of JSON, and nothing else is."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hylo_eval.redaction import PLACEHOLDER, redact_document, redact_text

KEY = "sk-Ab9/+=very~secret"
KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=24)


@given(KEYS, st.data(), st.integers(0, 3))
@example("nk-12345678", None, 0)
@example("u0075u0075", None, 1)
@example("aaaa\\\\\\aaaa", None, 2)
def test_no_spelling_of_the_key_stays_in_a_text(key, data, levels):
    """Each character as itself or as an escape, and the whole escaped again as JSON in JSON."""
    escaped = [data.draw(st.booleans()) if data else index % 2 == 0 for index in range(len(key))]
    spelled = "".join(
        f"\\u{ord(character):04x}" if is_escaped else json.dumps(character)[1:-1]
        for character, is_escaped in zip(key, escaped, strict=True)
    )
    text = f'{{"said": "it is {spelled}."}}'
    assert json.loads(text) == {"said": f"it is {key}."}
    for _ in range(levels):
        text = json.dumps(text)
    redacted = redact_text(text, key)
    assert PLACEHOLDER in redacted
    for _ in range(levels + 1):
        assert key not in redacted
        redacted = redacted.replace("\\\\", "\\")


@given(st.recursive(st.none() | st.text(max_size=8) | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_a_document_without_the_key_stays_as_it_is(document):
    """Redacting is no reading."""
    assert redact_document(document, KEY) == document


def test_a_document_holds_the_key_nowhere():
    """Not as a name, in a value, or within another text; a key of digits is found in a number."""
    found = redact_document({KEY: [KEY, {"a": f"x{KEY}y"}], "b": 1}, KEY)
    assert found == {PLACEHOLDER: [PLACEHOLDER, {"a": f"x{PLACEHOLDER}y"}], "b": 1}
    assert redact_document({"total_tokens": 1234567890, "n": 12}, "12345678") == {"total_tokens": PLACEHOLDER, "n": 12}


def test_a_document_deeper_than_anybody_reads_ends_there():
    """Its depth is the sender's choice: what lies below is left out, not searched by recursion."""
    document = KEY
    for _ in range(900):
        document = [document]
    assert KEY not in repr(redact_document(document, KEY))


@pytest.mark.parametrize("word", ["", "EMPTY", "none"])
def test_a_word_too_short_for_a_secret_stays(word):
    """A server without keys is given one; a model may say it."""
    assert redact_text("EMPTY or none", word) == "EMPTY or none"
    assert redact_document(["EMPTY"], word) == ["EMPTY"]
