"""Grades in a trace: appended after the end, each chained to all that stands before it.

The chain shows that nothing before a grade was changed, added or removed since the grade was given: neither the
episode it judges nor an earlier grade. It protects no last grade, and is no signature: who rewrites a whole file can
chain it anew. ``trace_sha256``, which other files record, binds the episode itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from hylo_core.trace import GradeEvent
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.traces.layout import PARTIAL
from hylo_eval.traces.reader import MAX_TRACE_BYTES, parse_trace, read_trace

MAX_GRADE_BYTES: Final = 1 << 20
"""A grade larger than this is refused: a trace holds judgements, not what was judged."""


def append_grade(path: Path | str, event: GradeEvent, *, fsync: bool = False) -> GradeEvent:
    """Append a judgement to a finished trace; see :func:`append_grade_unless`."""
    appended = append_grade_unless(path, event, _nothing_stands, fsync=fsync)
    if appended is None:
        raise AssertionError("unreachable: nothing stood in the way")
    return appended


def append_grade_unless(
    path: Path | str,
    event: GradeEvent,
    stands: Callable[[Sequence[GradeEvent]], bool],
    *,
    fsync: bool = False,
) -> GradeEvent | None:
    """Append a judgement to a finished trace, under an exclusive lock of the file, unless another stands already.

    A torn tail after the end event (a grader killed while writing) is cut off first. The grade is one write; when it
    fails, the file is as it was. ``trace_sha256`` and ``behaviour_sha256`` of the episode do not change.

    Args:
        path: The trace.
        event: The judgement, its ``prev_sha256`` left empty.
        stands: Asked under the lock about the grades in the trace; True leaves the file as it is. Of two processes
            that judge the same episode at once, so one writes.
        fsync: Force the bytes to disk, for power loss.

    Returns:
        The event as written, with the digest of all bytes before it; None when another stands.

    Raises:
        EvalError: The event has a ``prev_sha256`` already, or is larger than a mebibyte.
        TraceError: There is no such file, it is no trace, it has no end event, its grades' chain is broken, or it
            cannot be written.
    """
    path = Path(path)
    if event.prev_sha256:
        raise EvalError("a grade's prev_sha256 is set when it is appended", fix="leave it empty")
    descriptor = _open(path)
    try:
        # Closing the file releases the lock, and so does the death of the process.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return _append(descriptor, path, event, stands, fsync=fsync)
    except OSError as error:
        raise TraceError(path, 0, f"cannot be graded: {error.strerror}") from error
    finally:
        os.close(descriptor)


def check_gradable(path: Path | str) -> None:
    """See whether a grade could be appended to a trace, before somebody is asked for one.

    Raises:
        TraceError: There is no such file, it is still being written, or it cannot be written to.
    """
    os.close(_open(Path(path)))


def check_grades(path: Path | str) -> tuple[GradeEvent, ...]:
    """Verify that every grade of a trace names the digest of all bytes before it, as reading it with digests does.

    A torn tail is no grade and is left alone.

    Returns:
        The grades, in their order.

    Raises:
        TraceError: With file and line: the trace cannot be read or has no end event, or a grade names another digest.
    """
    path = Path(path)
    trace = read_trace(path, digests="trace", by_column=True)
    if trace.end is None:
        raise TraceError(path, 0, "has no end event: the episode is not finished")
    return trace.grades


def _open(path: Path) -> int:
    if path.name.endswith(PARTIAL):
        raise TraceError(path, 0, "is still being written; grade the finished trace")
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        raise TraceError(path, 0, "there is no such trace") from None
    except OSError as error:
        raise TraceError(path, 0, f"cannot be opened for grading: {error.strerror}") from error


def _nothing_stands(_: Sequence[GradeEvent]) -> bool:
    return False


def _append(
    descriptor: int, path: Path, event: GradeEvent, stands: Callable[[Sequence[GradeEvent]], bool], *, fsync: bool
) -> GradeEvent | None:
    """Append under the lock that the caller holds."""
    if not os.path.samestat(os.fstat(descriptor), path.stat()):
        raise TraceError(path, 0, "was replaced while it was opened for grading; try again")
    data = _read_all(descriptor, path)
    trace = parse_trace(data, path, digests="trace", by_column=True)
    if trace.end is None:
        raise TraceError(path, 0, "has no end event: only a finished episode can be graded")
    if stands(trace.grades):
        return None
    whole = _whole(data)
    digest = f"sha256:{hashlib.sha256(memoryview(data)[:whole]).hexdigest()}"
    chained = attrs.evolve(event, prev_sha256=digest)
    line = _encode(chained)
    if len(line) > MAX_GRADE_BYTES:
        raise EvalError(
            f"the grade takes {len(line)} bytes, more than {MAX_GRADE_BYTES}",
            fix="shorten its metadata",
        )
    if trace.torn:
        os.ftruncate(descriptor, whole)
    _write_once(descriptor, line, whole)
    if fsync:
        os.fsync(descriptor)
    return chained


def _write_once(descriptor: int, line: bytes, before: int) -> None:
    """Write a line in one call, or leave the file as it was."""
    written = 0
    try:
        written = os.write(descriptor, line)
    finally:
        if written != len(line):
            os.ftruncate(descriptor, before)
    if written != len(line):
        raise OSError(None, f"only {written} of {len(line)} bytes could be written")


def _read_all(descriptor: int, path: Path) -> bytes:
    size = os.fstat(descriptor).st_size
    if size > MAX_TRACE_BYTES:
        raise TraceError(path, 0, f"is larger than {MAX_TRACE_BYTES} bytes")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(size + 1)


def _whole(data: bytes) -> int:
    """The length of the whole lines."""
    return data.rfind(b"\n") + 1


def _encode(event: GradeEvent) -> bytes:
    members: dict[str, Any] = event.to_dict()
    volatile = members.pop("volatile", None)
    stable = {"type": event.type, **members}
    return orjson.dumps({**stable, "volatile": volatile} if volatile else stable) + b"\n"
