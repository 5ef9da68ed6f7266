"""The part of an event that the writer hashed: all of it but the last member ``volatile``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from hylo_eval.traces.steps import NotPlain

VOLATILE: Final = b',"volatile":'
"""What the writer puts between the stable part of an event and its last member."""


def stable_part(line: bytes) -> bytes:
    """The part of a trace's line that goes into ``behaviour_sha256``; the line is given without its newline."""
    event: dict[str, Any] = orjson.loads(line)
    return stable(line, event.pop("type"), event)


def stable(line: bytes, kind: str, event: Mapping[str, Any]) -> bytes:
    """The bytes the writer hashed: the line without its last member ``volatile``.

    Args:
        line: Without its newline.
        kind: The event's type.
        event: Its other members, as parsed.
    """
    cut = _volatile_cut(line, event) if "volatile" in event else -1
    if cut >= 0:
        return line[:cut] + b"}"
    # Nothing volatile, or another tool has written the line again with other white space: write it as we would.
    return orjson.dumps({"type": kind, **{name: value for name, value in event.items() if name != "volatile"}})


def _volatile_cut(line: bytes, event: Mapping[str, Any]) -> int:
    """Where the last member ``volatile`` begins; -1 where it is not the last one.

    A member of that name may stand deeper too, and a member after it must not escape the digest: so both sides of the
    cut have to be whole.
    """
    cut = line.find(VOLATILE)
    while cut >= 0:
        try:
            volatile = orjson.loads(line[cut + len(VOLATILE) : line.rindex(b"}")])
            orjson.loads(line[:cut] + b"}")
        except orjson.JSONDecodeError:
            volatile = None
        if volatile == event["volatile"]:
            return cut
        cut = line.find(VOLATILE, cut + 1)
    return -1


def stable_heads(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """What stands before ``volatile`` in each line: the part that the writer hashed, without its closing brace.

    Args:
        lines: As :func:`read_steps` has accepted them.

    Raises:
        NotPlain: ``volatile`` is not the last member of a line, or a member of that name stands inside it.
    """
    if not lines:
        return ()
    heads, separators, tails = zip(*[line.rpartition(VOLATILE) for line in lines], strict=True)
    if not all(separators) or not (_are_flat(tails) or _are_values(tails)):
        raise NotPlain
    return heads


def _are_flat(tails: Sequence[bytes]) -> bool:
    """Whether every tail is an object without braces inside, and the brace and newline that end its line.

    Each line is an object, so a member that stands deeper would be followed by one more brace.
    """
    text, count = b"".join(tails), len(tails)
    return (
        text.count(b"{") == count
        and text.count(b"}") == 2 * count
        and text.count(b"}}\n{") == count - 1
        and text.startswith(b"{")
        and text.endswith(b"}}\n")
    )


def _are_values(tails: Sequence[bytes]) -> bool:
    """Whether every tail is one value, and the brace and newline that end its line; decided by reading the values.

    A line is an object, so text after volatile's value would be a named member, and a cut inside a nested object would
    leave a closing brace: neither is JSON in a list. So if this is a list, every cut is right.
    """
    try:
        return len(orjson.loads(b"[%b]" % b",".join([tail[:-2] for tail in tails]))) == len(tails)
    except orjson.JSONDecodeError:
        return False
