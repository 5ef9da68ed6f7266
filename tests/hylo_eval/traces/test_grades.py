"""Appending grades to finished traces, and the chain they form."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hylo_core import ContractError, GradeEvent
from hylo_eval import EvalError, TraceError, read_trace, run_episode
from hylo_eval.traces.grade_chain import BrokenChain
from hylo_eval.traces.grades import MAX_GRADE_BYTES, append_grade, check_grades
from hylo_eval.traces.reader import Digests, parse_trace
from tests import strategies
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a short finished trace."""
    path = tmp_path_factory.mktemp("traces") / "trace.jsonl"
    run_episode(ScriptedEnv(), FunctionAgent(), instance(task(max_steps=2)), trace_path=path)
    return path.read_bytes()


@pytest.fixture
def path(data: bytes, tmp_path: Path) -> Path:
    """A finished trace of its own."""
    found = tmp_path / "trace.jsonl"
    found.write_bytes(data)
    return found


def grade(value: float | None = 1.0, **members: Any) -> GradeEvent:
    """A judgement."""
    return GradeEvent(grader="person", value=value, **members)


def sha256(data: bytes) -> str:
    """A digest as traces write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_grade_follows_the_end_and_names_all_before_it(path: Path, data: bytes) -> None:
    """The first link is the digest of the episode itself; the second covers the first grade."""
    first = append_grade(path, grade(volatile={"graded_at": "now"}))
    between = path.read_bytes()
    second = append_grade(path, grade(None, error="lost"), fsync=True)
    trace = read_trace(path)
    assert trace.grades == (first, second) == check_grades(path)
    assert first.prev_sha256 == trace.trace_sha256 == sha256(data)
    assert second.prev_sha256 == sha256(between)
    assert path.read_bytes().startswith(between)
    before = parse_trace(data)
    assert (trace.trace_sha256, trace.behaviour_sha256) == (before.trace_sha256, before.behaviour_sha256)


@given(
    value=st.none() | st.floats(-1e9, 1e9),
    explanation=strategies.texts,
    error=strategies.texts,
    metadata=strategies.params,
    volatile=strategies.params,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_grade_reads_back_as_it_was(path: Path, data: bytes, value: Any, **members: Any) -> None:
    """Line breaks, quotes and every script of Unicode in its texts included."""
    path.write_bytes(data)
    written = append_grade(path, grade(value, **members))
    assert check_grades(path) == (written,)
    assert path.read_bytes().count(b"\n") == data.count(b"\n") + 1


def test_a_torn_tail_is_cut_off_first(path: Path, data: bytes) -> None:
    """Half a grade of a killed grader costs that grade; the next one chains to the whole bytes."""
    append_grade(path, grade(0.25))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"grade","gra')
    assert [event.value for event in check_grades(path)] == [0.25]
    second = append_grade(path, grade(0.5))
    assert second.prev_sha256 == sha256(whole)
    assert [event.value for event in check_grades(path)] == [0.25, 0.5]
    assert not read_trace(path).torn


def test_an_unfinished_trace_takes_no_grade(path: Path, data: bytes) -> None:
    """Cut anywhere before the end event's newline, the file is refused and left as it is."""
    end = data[:-1].rfind(b"\n") + 1
    for cut in (0, 10, end, end + 5, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(TraceError, match=r"no end event|episode_start"):
            append_grade(path, grade())
        with pytest.raises(TraceError, match=r"no end event|episode_start"):
            check_grades(path)
        assert path.read_bytes() == data[:cut]


def test_what_cannot_be_graded_is_refused_with_its_name(path: Path, data: bytes, tmp_path: Path) -> None:
    """A missing file, a folder, a file being written, a file that is no trace; nothing is created or changed."""
    partial = tmp_path / "other.jsonl.partial"
    partial.write_bytes(data)
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(b"hello\n")
    for found, message in (
        (tmp_path / "absent.jsonl", "no such trace"),
        (tmp_path, "cannot be opened"),
        (partial, "still being written"),
        (foreign, "not JSON"),
    ):
        with pytest.raises(TraceError, match=message) as refused:
            append_grade(found, grade())
        assert str(found) in str(refused.value)
    assert not (tmp_path / "absent.jsonl").exists()
    assert partial.read_bytes() == data
    assert foreign.read_bytes() == b"hello\n"


def test_an_event_is_chained_once_and_bounded(path: Path, data: bytes) -> None:
    """A digest given beforehand would be overwritten, and a trace is no place for a mebibyte of judgement."""
    with pytest.raises(EvalError, match="leave it empty"):
        append_grade(path, grade(prev_sha256="sha256:0"))
    path.write_bytes(data + b'{"torn')
    with pytest.raises(EvalError, match="shorten its metadata"):
        append_grade(path, grade(metadata={"x": "a" * MAX_GRADE_BYTES}))
    assert path.read_bytes() == data + b'{"torn'


def test_a_short_write_leaves_the_file_as_it_was(path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk takes half a line: it is taken back, and the error says so."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
    with pytest.raises(TraceError, match="only 10 of"):
        append_grade(path, grade())
    assert path.read_bytes() == data


def test_a_file_that_was_replaced_is_refused(path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grade written to a file that no name leads to any more would be lost in silence."""
    other = path.with_name("other.jsonl")
    other.write_bytes(data)

    def replaced(descriptor: int, _operation: int) -> None:
        other.replace(path)

    monkeypatch.setattr("hylo_eval.traces.grades.fcntl.flock", replaced)
    with pytest.raises(TraceError, match="was replaced"):
        append_grade(path, grade())
    assert path.read_bytes() == data


@given(position=st.integers(0, 10_000), flip=st.integers(1, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_byte_before_a_grade_can_change_unseen(path: Path, data: bytes, position: int, flip: int) -> None:
    """Whatever byte of the episode or of an earlier grade is changed, the check fails."""
    path.write_bytes(data)
    append_grade(path, grade(0.25))
    last = len(path.read_bytes())
    append_grade(path, grade(0.5))
    changed = bytearray(path.read_bytes())
    changed[position % last] ^= flip
    path.write_bytes(changed)
    with pytest.raises(TraceError):
        check_grades(path)


@pytest.mark.parametrize("kept", [[0], [1], [1, 0]], ids=["only the last is gone", "the first is gone", "swapped"])
def test_grades_cannot_be_dropped_or_swapped(path: Path, data: bytes, kept: list[int]) -> None:
    """But for the last ones, which nothing follows."""
    for value in (0.25, 0.5):
        append_grade(path, grade(value))
    lines = path.read_bytes()[len(data) :].splitlines(keepends=True)
    path.write_bytes(data + b"".join(lines[index] for index in kept))
    if kept == [0]:
        assert [event.value for event in check_grades(path)] == [0.25]
    else:
        with pytest.raises(TraceError, match="but the bytes before it have"):
            check_grades(path)


def test_a_grade_without_a_digest_breaks_the_chain(path: Path, data: bytes) -> None:
    """The error names file and line, and says what was found."""
    path.write_bytes(data + json.dumps({"type": "grade", "grader": "person"}).encode() + b"\n")
    assert len(read_trace(path, digests="none").grades) == 1
    with pytest.raises(TraceError, match=r"the grade names no digest") as refused:
        check_grades(path)
    assert refused.value.line == data.count(b"\n") + 1


@pytest.mark.parametrize("by_column", [True, False])
@pytest.mark.parametrize("digests", ["trace", "all"])
@pytest.mark.parametrize("edited", [0, 1], ids=["an earlier grade", "the last grade's digest"])
def test_reading_with_digests_follows_the_chain(
    path: Path, data: bytes, edited: int, digests: Digests, by_column: bool
) -> None:
    """As the check does, with file and line; without digests nothing is hashed, and what stands there is read."""
    for value in (0.25, 0.5):
        append_grade(path, grade(value))
    lines = path.read_bytes().splitlines(keepends=True)
    place = len(lines) - 2 + edited
    wrong = b'"prev_sha256":"sha256:%b"' % (b"0" * 64)
    lines[place] = re.sub(rb'"prev_sha256":"[^"]*"', wrong, lines[place].replace(b'"value":0.5', b'"value":0.0'))
    path.write_bytes(b"".join(lines))
    with pytest.raises(TraceError) as checked:
        check_grades(path)
    with pytest.raises(BrokenChain) as refused:
        read_trace(path, digests=digests, by_column=by_column)
    expected = sha256(b"".join(lines[:place]))
    assert refused.value.reason == f"the grade names sha256:{'0' * 64}, but the bytes before it have {expected}"
    assert (refused.value.path, refused.value.line) == (path, place + 1)
    assert str(checked.value) == str(refused.value)
    assert refused.value.trace.trace_sha256 == sha256(data)
    assert len(refused.value.trace.grades) == len(read_trace(path, digests="none").grades) == 2
    with pytest.raises(BrokenChain):
        append_grade(path, grade())


def test_what_no_chain_shows(path: Path) -> None:
    """The last grade's own content: nothing that follows it names its bytes."""
    append_grade(path, grade(0.5))
    path.write_bytes(path.read_bytes().replace(b'"value":0.5', b'"value":1.0'))
    assert [event.value for event in check_grades(path)] == [1.0]


def test_a_carriage_return_between_members_is_no_line(path: Path, data: bytes) -> None:
    """Another tool's white space inside a line does not shift the chain."""
    spaced = data.replace(b'{"type":"step"', b'{\r"type":"step"')
    assert spaced != data
    path.write_bytes(spaced)
    written = append_grade(path, grade())
    assert check_grades(path) == (written,)


def test_a_value_that_is_no_number_is_no_grade() -> None:
    """NaN would be written as null: a grade without a value."""
    with pytest.raises(ContractError):
        grade(float("nan"))


APPENDING = """
import sys
from hylo_core import GradeEvent
from hylo_eval.traces.grades import append_grade
print("ready", flush=True)
sys.stdin.readline()
for index in range(int(sys.argv[3])):
    append_grade(sys.argv[1], GradeEvent(grader=sys.argv[2], value=float(index), metadata={"pad": "x" * 9000}))
"""


def test_two_processes_lose_no_grade(path: Path) -> None:
    """Both begin at one signal; every grade of both lands, each process's in its order, on one unbroken chain."""
    count = 40
    appending = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDING, str(path), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("left", "right")
    ]
    for process in appending:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in appending:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in appending:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    grades = check_grades(path)
    assert len(grades) == 2 * count
    for name in ("left", "right"):
        assert [event.value for event in grades if event.grader == name] == list(map(float, range(count)))
