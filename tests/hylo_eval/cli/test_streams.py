"""Standard output whose reader leaves."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

import pytest

from hylo_eval.cli.streams import let_readers_leave, reader_left


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[[str], int]]:
    """Put a standard stream on a pipe of its own, in the test itself; gives the reading end."""

    streams: list[io.TextIOWrapper] = []

    def put(name: str) -> int:
        read, write = os.pipe()
        stream = io.TextIOWrapper(io.FileIO(write, "w"), encoding="utf-8", errors="replace", write_through=True)
        monkeypatch.setattr(sys, name, stream)
        streams.append(stream)
        return read

    yield put
    for stream in streams:
        stream.close()


def test_what_is_read_arrives(pipe: Callable[[str], int]) -> None:
    """As it was written, in the same encoding, and in order with what was written before."""
    read = pipe("stdout")
    sys.stdout.write("first ")
    let_readers_leave()
    sys.stdout.write("größer\udc80")
    sys.stdout.flush()
    assert os.read(read, 100) == "first größer?".encode()
    assert not reader_left()
    os.close(read)


def test_a_reader_that_has_left_misses_the_rest(pipe: Callable[[str], int]) -> None:
    """The stream can be written to, and says that nobody reads it; the other one is not concerned."""
    read, errors = pipe("stdout"), pipe("stderr")
    let_readers_leave()
    os.close(read)
    assert not reader_left()
    for _ in range(3):
        sys.stdout.write("x" * 100_000)
        sys.stdout.flush()
    assert reader_left()
    sys.stderr.write("still here\n")
    assert os.read(errors, 100) == b"still here\n"
    os.close(errors)


def test_a_signal_handler_may_speak_while_something_is_written(pipe: Callable[[str], int]) -> None:
    """It runs between two steps of a write, which is no error then: both texts arrive."""
    read = pipe("stderr")
    let_readers_leave()
    said: list[str] = []

    def handle(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "write" and not said:
            said.append("stopping")
            print("stopping", file=sys.stderr, flush=True)

    before = sys.gettrace()
    sys.settrace(handle)
    try:
        print("waiting", file=sys.stderr, flush=True)
    finally:
        sys.settrace(before)
    assert sorted(os.read(read, 100).splitlines()) == [b"stopping", b"waiting"]
    os.close(read)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_still_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody chose that."""
    # Without a buffer: what could not be written would be tried again when the stream is collected.
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), encoding="utf-8", write_through=True) as full:
        monkeypatch.setattr(sys, "stdout", full)
        let_readers_leave()
        with pytest.raises(OSError, match="No space left"):
            sys.stdout.buffer.write(b"x")
