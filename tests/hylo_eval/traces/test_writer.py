"""Writing a trace where it cannot be written."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hylo_eval import EvalError, run_episode
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
