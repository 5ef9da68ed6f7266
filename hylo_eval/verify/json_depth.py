"""How deep a JSON text nests, told before it is decoded: decoders recurse in C, and a small stack ends the process."""

from __future__ import annotations

import re
from itertools import accumulate

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(code for code in range(256) if code not in _STEPS)


def text_nests_deeper(text: str, limit: int) -> bool:
    """Whether brackets outside of strings nest deeper than the limit anywhere in a text, found in one pass.

    A decoder gets no deeper than this says, also where the text turns out to be no JSON. Of JSON it is exact.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _STRINGS.sub("", text).encode("utf-8", "surrogatepass").translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit
