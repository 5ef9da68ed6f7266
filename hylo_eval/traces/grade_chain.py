"""The chain of the grades of a trace: each names the digest of all bytes before it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import attrs

from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.errors import TraceError


@attrs.frozen(kw_only=True)
class GradeChain:
    """What following the chain of a finished trace found.

    Attributes:
        trace_sha256: Digest of the bytes up to and including the end event, where the chain begins.
        line: The line of the first grade that names another digest than the bytes before it have; 0 where none does.
        reason: What is wrong with that grade; empty where nothing is.
    """

    trace_sha256: str
    line: int = 0
    reason: str = ""


class BrokenChain(TraceError):
    """A grade names another digest than the bytes before it have: something was changed after it was given.

    Attributes:
        trace: What the file holds all the same, for who says more of it than this; nothing in it is to be believed.
    """

    def __init__(self, path: Path | str, chain: GradeChain, trace: EpisodeTrace) -> None:
        super().__init__(path, chain.line, chain.reason)
        self.trace = trace

    @property
    def words(self) -> str:
        """Line and reason: the path is this machine's."""
        return f"line {self.line}: {self.reason}"


def follow_chain(data: bytes, grades: Sequence[GradeEvent]) -> GradeChain:
    """Follow the chain through the bytes of a finished trace, each of which is hashed once.

    Args:
        data: The whole trace; a torn tail is no grade and is left alone.
        grades: The grade events that were read of it: nothing else follows its end.
    """
    ends = [data.rfind(b"\n")]
    for _ in grades:
        ends.append(data.rfind(b"\n", 0, ends[-1]))
    begins = ends.pop() + 1
    whole = memoryview(data)
    before = hashlib.sha256(whole[:begins])
    trace_sha256 = f"sha256:{before.hexdigest()}"
    for event, end in zip(grades, reversed(ends), strict=True):
        expected = f"sha256:{before.hexdigest()}"
        if event.prev_sha256 != expected:
            found = event.prev_sha256 or "no digest"
            return GradeChain(
                trace_sha256=trace_sha256,
                line=data.count(b"\n", 0, begins) + 1,
                reason=f"the grade names {found:.80}, but the bytes before it have {expected}",
            )
        before.update(whole[begins : end + 1])
        begins = end + 1
    return GradeChain(trace_sha256=trace_sha256)
