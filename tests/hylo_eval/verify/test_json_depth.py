"""The depth of a text is known before a decoder recurses into it."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.json_depth import text_nests_deeper

JSON = st.recursive(
    st.none() | st.text('[]{}"\\\\ a', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"', max_size=3), inner, max_size=2),
)


def depth_of(value):
    """Containers within containers."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(JSON, st.integers(0, 5))
def test_of_json_it_is_exact(value, limit):
    """Brackets within strings do not count."""
    assert text_nests_deeper(json.dumps(value), limit) == (depth_of(value) > limit)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("[[[", 2, True),
        ("[][][]", 1, False),
        ('"[[[', 2, True),
        ("\ud800[[", 1, True),
        ("}" * 9 + "[{", 1, False),
        ("", 0, False),
    ],
)
def test_of_what_is_no_json_it_says_no_less_than_a_decoder_would_reach(text, limit, expected):
    """Unclosed, unmatched, no Unicode."""
    assert text_nests_deeper(text, limit) is expected


SMALL_STACK = """
import sys, threading
from hylo_eval.verify.response.parsing import LenientParser
LenientParser().parse('{"answer": [1]}')
found = []
threading.stack_size(128 * 1024)
for text in ("[" * 5000 + "]" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, "[" * 5000, "[" * 499 + "]" * 499):
    thread = threading.Thread(target=lambda: found.append(LenientParser().parse(text) is None))
    thread.start()
    thread.join()
print(found)
"""


def test_a_deep_response_does_not_end_a_process_with_a_small_stack():
    """A thread of 128 KiB reads what nests up to the limit, and takes what nests deeper for nothing."""
    done = subprocess.run([sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[True, True, True, False]\n"), done.stderr
