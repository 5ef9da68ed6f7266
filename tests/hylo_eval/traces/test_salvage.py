"""Finishing the trace of an episode whose process is gone."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import attrs
import pytest

from hylo_core.trace import EpisodeEnd, EpisodeStatus, ErrorEvent
from hylo_eval import read_trace, run_episode
from hylo_eval.rollout.start import describe_start
from hylo_eval.traces.layout import PARTIAL
from hylo_eval.traces.salvage import finish_for_lost_process
from tests.episodes import FunctionAgent, ScriptedEnv, instance
from tests.hylo_eval.evaluation.setups import BENCHMARK

ERROR = ErrorEvent(phase="step", error_type="WorkerLost", message="died: SIGSEGV")


def whole(folder: Path) -> list[bytes]:
    """The lines of a trace of ten steps, success at the sixth."""
    path = folder / "whole.jsonl"
    spec = instance()
    run_episode(ScriptedEnv(success_at=(5,)), FunctionAgent(), spec, trace_path=path, benchmark=BENCHMARK)
    return path.read_bytes().splitlines(keepends=True)


def finish(folder: Path, partial: bytes | None, **options: Any) -> tuple[Path, Any, Any]:
    """Finish what a process left."""
    path = folder / "lost.jsonl"
    if partial is not None:
        path.with_name(path.name + PARTIAL).write_bytes(partial)
    start = describe_start(None, FunctionAgent(), instance(), {}, benchmark=BENCHMARK, attempt=1, agent_seed=0)
    end, digests = finish_for_lost_process(
        path, start=start, error=ERROR, status=EpisodeStatus.WORKER_LOST, volatile={"seconds": 1.5}, **options
    )
    return path, end, digests


def test_whole_lines_are_kept_and_an_end_is_put_after_them(tmp_path: Path) -> None:
    """They say how far the episode came; the reader takes it for what it is."""
    lines = whole(tmp_path)[:5]
    path, end, digests = finish(tmp_path, b"".join(lines))
    assert path.read_bytes().startswith(b"".join(lines))
    trace = read_trace(path)
    assert (len(trace.steps), stable(trace.end), trace.errors) == (3, stable(end), (ERROR,))
    assert (end.steps, end.status, end.success_once, end.reason) == (3, EpisodeStatus.WORKER_LOST, False, "step")
    assert (trace.trace_sha256, trace.behaviour_sha256) == (digests.trace_sha256, digests.behaviour_sha256)
    assert digests.trace_sha256 == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert digests.size == path.stat().st_size
    assert trace.end.volatile["behaviour_sha256"] == digests.behaviour_sha256
    assert not path.with_name(path.name + PARTIAL).exists()


def stable(end: EpisodeEnd) -> EpisodeEnd:
    """An end event without what may differ between equal runs."""
    return attrs.evolve(end, volatile={})


@pytest.mark.parametrize("cut", range(1, 200, 37))
def test_a_torn_line_is_left_out(tmp_path: Path, cut: int) -> None:
    """Wherever the write ended: what follows the last newline has not happened."""
    lines = whole(tmp_path)
    path, end, _ = finish(tmp_path, b"".join(lines[:4]) + lines[4][: min(cut, len(lines[4]) - 1)])
    assert end.steps == 2
    assert len(read_trace(path).steps) == 2


@pytest.mark.parametrize(
    "partial",
    [None, b"", b"\n", b"\x00\xff\n", b"{}\n", b'{"type":"episode_start"}\n', b'{"type":"step","index":0}\n', b"["],
    ids=["none", "empty", "newline", "bytes", "object", "start", "step", "torn"],
)
def test_what_is_no_beginning_of_a_trace_is_replaced_by_one(tmp_path: Path, partial: bytes | None) -> None:
    """An episode of no steps, about which its success is undefined."""
    path, end, digests = finish(tmp_path, partial)
    trace = read_trace(path)
    assert (trace.key, trace.steps, trace.errors) == ("unit/task#3", (), (ERROR,))
    assert (end.steps, end.success_once) == (0, None)
    assert trace.trace_sha256 == digests.trace_sha256


def test_garbage_among_whole_lines_spoils_them_all(tmp_path: Path) -> None:
    """Lines that do not read as a trace are nobody's evidence."""
    lines = whole(tmp_path)
    path, end, _ = finish(tmp_path, b"".join([*lines[:3], b'{"type":"step"}\n', *lines[3:5]]))
    assert end.steps == 0
    assert stable(read_trace(path).end) == stable(end)


def test_an_end_event_whose_trace_did_not_get_its_name_is_none(tmp_path: Path) -> None:
    """The process died between its last write and the rename: nobody has heard of the end."""
    path, end, _ = finish(tmp_path, b"".join(whole(tmp_path)))
    assert (end.status, end.steps, end.success_once) == (EpisodeStatus.WORKER_LOST, 6, True)
    trace = read_trace(path)
    assert stable(trace.end) == stable(end)
    assert path.read_bytes().count(b'"type":"episode_end"') == 1


def test_equal_losses_have_equal_behaviour(tmp_path: Path) -> None:
    """What differs between two runs, clocks and process ids, is in no digest of behaviour."""
    found: list[str] = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        found.append(finish(folder, b"".join(whole(folder)[:5]))[2].behaviour_sha256)
    assert found[0] == found[1]


def test_an_unfinished_trace_ends_with_a_whole_line(tmp_path: Path) -> None:
    """What a process that dies leaves of a long episode is the same in every run: no buffer tears a line."""
    seen: list[bytes] = []

    def step(index: int) -> None:
        if index == 900:
            seen.append(next(tmp_path.glob("*.partial")).read_bytes())

    spec = instance().spec
    long = instance(type(spec).from_dict({**spec.to_dict(), "max_steps": 1000}))
    run_episode(ScriptedEnv(on_step=step), FunctionAgent(), long, trace_path=tmp_path / "long.jsonl")
    assert seen[0].endswith(b"}\n")
    assert seen[0].count(b"\n") > 100
