"""A secret is gone from what came in, in whatever spelling of JSON, and nothing else is."""

import json
import string
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hylo_eval.redaction import PLACEHOLDER, redact_document, redact_text

KEY = "sk-Ab9/+=very~secret"
QUOTED_KEY = 'sk-a/b+"c\\d='
PRINTABLE = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=8, max_size=60)
KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=24)


@settings(deadline=None)
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


@pytest.mark.parametrize(
    "form",
    [
        QUOTED_KEY,
        json.dumps(QUOTED_KEY)[1:-1],
        json.dumps(json.dumps(QUOTED_KEY))[3:-3],
        json.dumps(QUOTED_KEY)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(character):04x}" for character in QUOTED_KEY),
        "".join(f"\\u{ord(character):04X}" for character in QUOTED_KEY),
        quote(QUOTED_KEY),
        quote(QUOTED_KEY, safe="").lower(),
    ],
)
def test_forms_of_a_secret(form):
    """However a server quotes the key, it is not repeated; what stands around it is."""
    secret = QUOTED_KEY if form != quote(QUOTED_KEY, safe="").lower() else QUOTED_KEY.lower()
    assert redact_text(f"with {form}, and {form}!", secret) == f"with {PLACEHOLDER}, and {PLACEHOLDER}!"


@settings(deadline=None)
@given(PRINTABLE, st.text())
def test_no_secret_is_repeated(secret, around):
    """Whatever stands around a secret, it is not left in the text."""
    said = redact_text(around + secret + around, secret)
    assert secret not in said
    assert PLACEHOLDER in said


def test_short_secrets_are_words():
    """A key such as EMPTY is what a server without keys is given, and no secret."""
    assert redact_text("an EMPTY tray", "EMPTY", "") == "an EMPTY tray"


def test_many_backslashes_take_no_time():
    """A long run of backslashes is searched once, not once for each of them."""
    text = "\\" * 10**5
    assert redact_text(text, QUOTED_KEY) == text
    assert redact_text(text, "\\" * 50 + "a") == text


@pytest.mark.parametrize("secret", ["\\\\key\\\\\\", "\\" * 9, "uuuu0075u"])
def test_secrets_that_look_like_escapes(secret):
    """A key of backslashes is found, as it is and as JSON writes it."""
    for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert redact_text(f"with {form}!", secret) == f"with {PLACEHOLDER}!"
