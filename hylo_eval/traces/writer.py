"""Writing a trace: exclusive, hashed as it goes, and renamed only when it is whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import attrs
import orjson

from hylo_core.trace import (
    EpisodeEnd,
    EpisodeStart,
    ErrorEvent,
    ResetEvent,
    SafetyEvent,
    StepEvent,
)
from hylo_eval.errors import Disturbance, DisturbedTrace, EnvError, EvalError
from hylo_eval.traces.encoding import encode_value
from hylo_eval.traces.layout import PARTIAL
from hylo_eval.traces.start_form import encode_start

VIDEOS: Final = "videos"
"""What the end event says of the videos of its episode, under ``volatile``: file name -> digest and size."""

_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY
_DRAIN_BYTES: Final = 1 << 16
_OF_THIS_PROCESS: Final[Mapping[int, Disturbance]] = {
    errno.EBADF: Disturbance.CLOSED,
    errno.EPIPE: Disturbance.CLOSED,  # and its number given to another file, which is no regular one
    errno.EMFILE: Disturbance.DESCRIPTORS,
}
"""What another process need not meet."""
_holds_null: Final = re.compile(b"null").search  # half the cost of `in`, which is a tenth of a step


@attrs.frozen
class TraceDigests:
    """What identifies a finished trace.

    Attributes:
        trace_sha256: Digest of every byte up to and including the end event's newline.
        behaviour_sha256: Digest of the stable part of every event: equal for equal behaviour.
        size: Bytes written.
    """

    trace_sha256: str
    behaviour_sha256: str
    size: int


class TraceWriter:
    """Writes ``<path>.partial``, opened exclusively, and renames it to ``path`` at the end event.

    Each line is the stable part of an event with one last member ``volatile``; the stable part goes into
    ``behaviour_sha256``, the whole line into ``trace_sha256``.

    Args:
        path: The trace's final name.
        fsync: Force the bytes to disk before the rename, for power loss. Without it a finished trace survives the
            death of every process, not of the machine.

    Raises:
        EvalError: The file exists (no two processes ever write one path), or cannot be written.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path = path
        # As text: the two names are used a few times an episode, and building a path is slow.
        self._name = os.fspath(path)
        self._partial = self._name + PARTIAL
        self._fsync = fsync
        self._pid = os.getpid()
        self._trace = hashlib.sha256()
        self._behaviour = hashlib.sha256()
        self._size = 0
        self._stable: list[bytes] = []
        self._lines: list[bytes] = []
        self._pending = 0
        self.digests: TraceDigests | None = None
        if os.path.lexists(self._name):
            raise EvalError(
                f"the trace {path} exists already; a trace is written once",
                fix="write another episode, or remove the file",
            )
        try:
            descriptor = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            raise EvalError(
                f"another process is writing {self._partial}, or died doing so",
                fix="wait for it; hylo-eval status says who works on a run, and --clean removes what the dead left",
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error
        # Without a buffer: what is gathered is written whole, so an unfinished trace ends with a whole line, and at
        # the same one in every run.
        self._descriptor: int | None = descriptor

    def start(self, event: EpisodeStart) -> None:
        """Write the first event."""
        self._write(encode_start(event), event.volatile)

    def reset(self, event: ResetEvent) -> None:
        """Write the initial state."""
        stable = {
            "type": event.type,
            "instruction": event.instruction,
            "success": event.success,
            "settle_steps": event.settle_steps,
            "state_digest": event.state_digest,
            "model_digest": event.model_digest,
            "observation": event.observation,
            "images": event.images,
        }
        if event.snapshot:
            stable["snapshot"] = event.snapshot
        self._write(_encode(stable), event.volatile)

    def step(self, event: StepEvent) -> None:
        """Write one control step: the hot path of the harness."""
        stable: dict[str, Any] = {
            "type": "step",
            "index": event.index,
            "proposed": event.proposed,
            "applied": event.applied,
            "inference": event.inference,
            "reward": event.reward,
            "terminated": event.terminated,
            "truncated": event.truncated,
            "success": event.success,
            "observation": event.observation,
        }
        if event.images:
            stable["images"] = event.images
        if event.goal is not None:
            stable["goal"] = event.goal
        if event.disagreement:
            stable["disagreement"] = True
        self._write(_encode(stable), event.volatile)

    def safety(self, event: SafetyEvent) -> None:
        """Write an intervention."""
        stable = {
            "type": event.type,
            "index": event.index,
            "filter": event.filter,
            "reason": event.reason,
            "proposed": event.proposed,
            "applied": event.applied,
            "abort": event.abort,
        }
        self._write(_encode(stable), None)

    def error(self, event: ErrorEvent) -> None:
        """Write what failed."""
        members = event.to_dict()
        members.pop("volatile", None)
        self._write(orjson.dumps({"type": event.type, **members}), event.volatile)

    def copy(self, line: bytes, stable: bytes) -> None:
        """Write an event that another writer has encoded.

        Args:
            line: The whole line, without its newline.
            stable: Its stable part (:func:`hylo_eval.traces.stable.stable_part`).
        """
        self._stable.append(stable)
        self._lines += (line, b"\n")
        self._pending += len(line)
        if self._pending > _DRAIN_BYTES:
            self._drain()

    def end(self, event: EpisodeEnd) -> TraceDigests:
        """Write the end event and give the file its final name.

        The end event's own ``volatile`` gains ``behaviour_sha256``, which a reader checks, and :data:`VIDEOS`: none
        where nobody says otherwise.

        Raises:
            DisturbedTrace: Somebody in this process has written there too, or has closed or removed the file.
            EvalError: The file cannot be written: a full disk, a folder that is gone.
        """
        self._stable.append(stable := orjson.dumps(end_form(event)))
        self._hash_behaviour()
        behaviour = f"sha256:{self._behaviour.hexdigest()}"
        self._lines += _line(stable, {VIDEOS: {}, **event.volatile, "behaviour_sha256": behaviour})
        self._write_out()
        with self._refusing():
            if os.fstat(self._open()).st_size != self._size:
                raise DisturbedTrace(self._partial, Disturbance.SIZE)
            if self._fsync:
                os.fsync(self._open())
            self._close()
            os.rename(self._partial, self._name)  # noqa: PTH104 - see their names
        self.digests = TraceDigests(f"sha256:{self._trace.hexdigest()}", behaviour, self._size)
        return self.digests

    def close(self) -> None:
        """Close the file; without an end event it stays ``.partial`` and is nobody's result."""
        with contextlib.suppress(OSError) if self.digests is None else contextlib.nullcontext():
            self._close()

    def _open(self) -> int:
        if self._descriptor is None:
            raise ValueError("the trace is closed")
        return self._descriptor

    def _close(self) -> None:
        # Forgotten first: its number may be another file's as soon as it is closed.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None, None, None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> EvalError:
        how = _OF_THIS_PROCESS.get(error.errno or 0)
        if error.errno == errno.ENOENT and os.path.isdir(os.path.dirname(self._partial)):  # noqa: PTH112, PTH120
            how = Disturbance.REMOVED
        if how is not None:
            return DisturbedTrace(self._partial, how)
        return EvalError(
            f"cannot write the trace {self._partial}: {error.strerror}",
            fix="make room, or choose another --run-root; episodes that are finished are kept",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, stable: bytes, volatile: Mapping[str, Any] | None) -> None:
        self._stable.append(stable)
        self._lines += _line(stable, volatile)
        self._pending += len(stable)
        if self._pending > _DRAIN_BYTES:
            self._drain()

    def _drain(self) -> None:
        """Hash and write what has gathered: a few large calls in place of four small ones a step."""
        self._hash_behaviour()
        self._write_out()

    def _hash_behaviour(self) -> None:
        self._stable.append(b"")
        self._behaviour.update(b"\n".join(self._stable))
        self._stable.clear()

    def _write_out(self) -> None:
        if os.getpid() != self._pid:
            # An agent or simulator has forked, and its child came back here: two processes must not run on with one
            # trace. Nothing of the parent's may be flushed or closed on the way out.
            os._exit(1)
        data = b"".join(self._lines)
        self._lines.clear()
        self._pending = 0
        self._trace.update(data)
        self._size += len(data)
        rest = memoryview(data)
        with self._refusing():
            while rest:
                rest = rest[os.write(self._open(), rest) :]


def end_form(event: EpisodeEnd) -> dict[str, Any]:
    """Its JSON form without ``volatile``, after the type: members equal to their default are left out."""
    members: dict[str, Any] = {"type": event.type, "status": event.status.value, "steps": event.steps}
    if event.success_once is not None:
        members["success_once"] = event.success_once
    if event.success_at_end is not None:
        members["success_at_end"] = event.success_at_end
    if event.reason:
        members["reason"] = event.reason
    return members


def _line(stable: bytes, volatile: Mapping[str, Any] | None) -> tuple[bytes, ...]:
    """The pieces of a line, joined once for many lines."""
    if not volatile:
        return stable, b"\n"
    return stable[:-1], b',"volatile":', orjson.dumps(volatile, default=dict), b"}\n"


def _encode(stable: Mapping[str, Any]) -> bytes:
    """The stable part as bytes.

    orjson reads contiguous arrays and plain numbers as they are, and writes null for what is not finite. So a line
    without null is right as it stands; any other is encoded again, value by value.

    Raises:
        EnvError: A value is nothing that JSON can hold.
    """
    try:
        encoded = orjson.dumps(stable, option=_OPTIONS)
        if not _holds_null(encoded):
            return encoded
    except TypeError:
        pass
    try:
        return orjson.dumps(encode_value(stable), option=_OPTIONS)
    except (TypeError, RecursionError) as error:
        # Actions are checked before they come here: this is what an environment returned.
        raise EnvError(f"cannot be written into the trace: {error}") from error
