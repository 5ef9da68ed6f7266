"""Writing a trace where it cannot be written."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hylo_eval import EvalError, run_episode
from hylo_eval.errors import Disturbance, DisturbedTrace
from tests.episodes import FunctionAgent, ScriptedEnv, instance


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes: the kernel answers as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("fsync", [False, True])
def test_a_disk_without_room_is_said_so_and_leaves_no_finished_trace(tmp_path: Path, fsync: bool) -> None:
    """One readable error with what mends it; the file keeps its partial name, so nobody takes it for an episode."""
    path = tmp_path / "trace.jsonl"
    with files_at_most(100), pytest.raises(EvalError, match=r"cannot write the trace .*: File too large") as caught:
        run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=path, fsync=fsync)
    assert caught.value.fix.startswith("make room")
    assert [item.name for item in tmp_path.iterdir()] == ["trace.jsonl.partial"]


def into_a_pipe(number: int) -> None:
    """Have a descriptor lead to a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, number)
    os.close(write)


@pytest.mark.parametrize(
    ("intrude", "how"),
    [
        (lambda number: os.write(number, b"step 3 of 6\n"), Disturbance.SIZE),
        (os.close, Disturbance.CLOSED),
        (into_a_pipe, Disturbance.CLOSED),
    ],
    ids=["write", "close", "replace"],
)
def test_a_trace_that_somebody_else_reached_is_no_record(
    tmp_path: Path, intrude: Callable[[int], object], how: Disturbance
) -> None:
    """An agent has all descriptors of its process: what it writes to one of them, or closes, may be the trace."""
    path = tmp_path / "trace.jsonl"

    def act(_: object, __: int) -> Any:
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if link.readlink() == path.with_name("trace.jsonl.partial"):
                    intrude(int(link.name))
        return np.full(2, 0.25)

    with pytest.raises(DisturbedTrace, match=f"found {how}") as disturbed:
        run_episode(ScriptedEnv(), FunctionAgent(act), instance(), trace_path=path)
    assert disturbed.value.how is how
    assert not path.exists()


def test_a_trace_that_somebody_removed_is_no_record(tmp_path: Path) -> None:
    """Its folder is still there: no disk and no operator did that."""
    path = tmp_path / "trace.jsonl"

    def act(_: object, __: int) -> Any:
        path.with_name("trace.jsonl.partial").unlink(missing_ok=True)
        return np.full(2, 0.25)

    with pytest.raises(DisturbedTrace, match="found its trace removed"):
        run_episode(ScriptedEnv(), FunctionAgent(act), instance(), trace_path=path)


def test_a_process_without_free_descriptors_is_not_a_full_disk(tmp_path: Path) -> None:
    """Whoever took them all is in it, and goes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(DisturbedTrace, match="found no descriptor left"):
            run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=tmp_path / "trace.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
