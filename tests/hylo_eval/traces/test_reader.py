"""Reading traces as untrusted input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hylo_core import ContractError
from hylo_core.step_columns import ColumnSteps
from hylo_eval import TraceError, read_trace, run_episode
from hylo_eval.agents.protocol import Reply
from hylo_eval.safety.bounds import ActionBounds
from hylo_eval.traces import reader
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.traces.reader import Digests, parse_trace
from hylo_eval.traces.stable import VOLATILE, stable_heads
from hylo_eval.traces.steps import SHORT, NotPlain
from tests import strategies
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task

GOLDEN = Path(__file__).parents[2] / "golden" / "trace-v0.1.jsonl"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a short trace with every kind of event but error."""
    path = tmp_path_factory.mktemp("traces") / "trace.jsonl"
    agent = FunctionAgent(lambda observation, replies: Reply(np.array([2.0, 0.0]), metadata={"volatile": {"a": 1}}))
    spec = task(max_steps=3, params={"x": {"volatile": 1}})
    run_episode(ScriptedEnv(), agent, instance(spec), trace_path=path, safety=(ActionBounds(),))
    return path.read_bytes()


def lines(data: bytes) -> list[dict[str, Any]]:
    """The events as dicts."""
    return [json.loads(line) for line in data.splitlines()]


def joined(events: list[dict[str, Any]], *, compact: bool = False) -> bytes:
    """The bytes of events."""
    separators = (",", ":") if compact else None
    return b"".join(json.dumps(event, separators=separators).encode() + b"\n" for event in events)


def test_a_released_trace_keeps_reading() -> None:
    """The golden file of v0.1, with its digests, for ever."""
    trace = read_trace(GOLDEN)
    assert trace.key == "golden/task#3"
    assert (len(trace.steps), len(trace.safety), trace.torn) == (3, 3, False)
    assert trace.trace_sha256 == "sha256:44d2a455c5dce57dbc6c541936532393c259e039466e48ed78eca4f9f8851a59"
    assert trace.end is not None
    assert trace.behaviour_sha256 == trace.end.volatile["behaviour_sha256"]


def test_a_member_called_volatile_deeper_in_an_event_is_part_of_the_behaviour(data: bytes) -> None:
    """Only the last top-level member is left out of the digest, whatever names a task or reply uses."""
    trace = parse_trace(data)
    assert trace.end is not None
    assert trace.behaviour_sha256 == trace.end.volatile["behaviour_sha256"]


def test_a_cut_at_any_byte_is_torn_or_refused_never_finished(data: bytes) -> None:
    """A worker killed at any moment leaves no trace that reads as a finished episode."""
    for cut in range(len(data)):
        try:
            trace = parse_trace(data[:cut])
        except TraceError as error:
            assert "episode_start" in str(error)
            continue
        assert trace.end is None
        assert trace.torn == (data[cut - 1 : cut] != b"\n")
        assert trace.trace_sha256 == ""


def test_a_torn_grade_after_the_end_leaves_the_episode_finished(data: bytes) -> None:
    """Grades come after the end; half of one costs that grade, nothing else."""
    trace = parse_trace(data + b'{"type":"grade","gra')
    assert trace.end is not None
    assert trace.torn


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.integers(0, 8), replacement=st.binary(max_size=40))
def test_any_bytes_in_place_of_a_line_only_raise_trace_errors(data: bytes, line: int, replacement: bytes) -> None:
    """Traces are untrusted."""
    parts = data.splitlines(keepends=True)
    parts[line % len(parts)] = replacement + b"\n"
    try:
        parse_trace(b"".join(parts))
    except TraceError as error:
        assert str(error)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.integers(0, 8), member=st.integers(0, 12), value=strategies.any_json)
def test_any_json_in_place_of_a_member_only_raises_trace_errors(
    data: bytes, line: int, member: int, value: Any
) -> None:
    """The error names the line."""
    events = lines(data)
    event = events[line % len(events)]
    name = list(event)[member % len(event)]
    event[name] = value
    try:
        spoiled = joined(events)
        parse_trace(spoiled)
    except TraceError as error:
        assert error.line == line % len(events) + 1 or error.line == 0


def line_by_line(data: bytes) -> str:
    """The trace as it reads when no steps are read together, or the refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "read_steps", refuse)
        patch.setattr(reader, "read_columns", refuse)
        return outcome(data)


def refuse(*_: Any) -> Any:
    """No steps are plain."""
    raise NotPlain


def outcome(data: bytes) -> str:
    """The trace as text (NaN differs from itself), or the refusal; the same whether its steps are kept by column."""
    by_column = judged(data, by_column=True)
    assert by_column == judged(data, by_column=False)
    return by_column


def judged(data: bytes, *, by_column: bool, digests: Digests = "all") -> str:
    """The trace as text with each column of its steps, or the refusal."""
    try:
        trace = parse_trace(data, by_column=by_column, digests=digests)
    except TraceError as error:
        return str(error)
    # The columns first: they must not come from steps that were read whole.
    columns = {name: list(trace.column(name)) for name in SHORT}
    assert len(trace.steps) == len(columns["index"])
    return f"{columns}{trace}"


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.integers(0, 8), member=st.integers(0, 12), value=strategies.any_json, compact=st.booleans())
def test_steps_read_together_are_what_they_are_one_by_one(
    data: bytes, line: int, member: int, value: Any, compact: bool
) -> None:
    """Faster is not laxer: same trace, same digests, same refusal at the same line."""
    events = lines(data)
    event = events[line % len(events)]
    event[list(event)[member % len(event)]] = value
    try:
        spoiled = joined(events, compact=compact)
    except UnicodeEncodeError:
        return
    assert outcome(spoiled) == line_by_line(spoiled)


def many_steps(data: bytes, count: int) -> bytes:
    """The trace with so many steps, each behind the safety event that came before it."""
    parts = data.splitlines(keepends=True)
    pair = b"".join(parts[2:4])
    pairs = [pair.replace(b'"index":0', b'"index":%d' % index) for index in range(count)]
    return b"".join([*parts[:2], *pairs, parts[-1].replace(b'"steps":3', b'"steps":%d' % count)])


@pytest.mark.parametrize("together", [1, 300, 1000, 5000])
def test_a_long_trace_is_read_alike_in_parts_and_one_by_one(
    data: bytes, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Where one part of the lines ends and the next begins is not seen: same steps, same digests, same refusals."""
    monkeypatch.setattr(reader, "_TOGETHER", together)
    monkeypatch.setattr(reader, "_TOGETHER_BY_COLUMN", together)
    long = many_steps(data, 60)
    assert [step.index for step in parse_trace(long).steps] == list(range(60))
    torn = long[:-1]
    repeated = long.replace(b'"step","index":40', b'"step","index":39')
    for trace in (long, torn, repeated, long + long, b"\n" + long, long + b"\n"):
        assert outcome(trace) == line_by_line(trace)


@given(volatile=st.dictionaries(st.text(max_size=4), strategies.any_json, max_size=3), stable=strategies.any_json)
def test_the_heads_of_steps_are_what_the_writer_hashed(volatile: dict[str, Any], stable: Any) -> None:
    """Whatever stands in ``volatile``, braces in its texts included, the cut is before it or the line is not plain."""
    head, last = (
        json.dumps(value, separators=(",", ":")).encode() for value in ({"type": "step", "stable": stable}, volatile)
    )
    head = head[:-1]
    line = head + VOLATILE + last + b"}"
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return  # such a line is refused before
    try:
        assert stable_heads([line + b"\n"] * 2) == (head, head)
    except NotPlain:
        assert line.count(VOLATILE) > 1


def test_a_cut_inside_a_nested_object_is_no_cut() -> None:
    """A line whose ``volatile`` stands deeper has another last member; its braces give it away."""
    with pytest.raises(NotPlain):
        stable_heads([b'{"type":"step","observation":{"x":1,"volatile":{"a":"{"}}}\n'])


@pytest.mark.parametrize("seeds", [{"env": True}, {"env": "3"}, {"env": 1.0}, [1], None])
def test_seeds_of_another_type_are_refused_in_every_trace_of_a_run(data: bytes, seeds: Any) -> None:
    """Also where the start events of a run share what they have in common."""
    parse_trace(data)
    events = lines(data)
    events[0]["seeds"] = seeds
    with pytest.raises(TraceError, match="seeds"):
        parse_trace(joined(events))


STEP_ENDINGS = [
    b',"volatile":{},"success":true}',
    b',"volatile":{}},{"x":1}',
    b',"goal":[true],"volatile":{}}',
    b',"goal":1,"volatile":{}}',
    b',"images":null,"volatile":{}}',
    b',"volatile":1}',
    b',"volatile":{"reply":{"a":1,"volatile":{}}}}',
    b',"type":"reset","volatile":{}}',
    b',"success":1,"volatile":{}}',
    b',"success":[],"volatile":{}}',
    b',"success":"true","volatile":{}}',
    b',"success":null,"volatile":{}}',
    b',"truncated":%b,"volatile":{}}' % (b"[" * 600 + b"]" * 600),
    b',"observation":[],"volatile":{}}',
    b',"type":[],"volatile":{}}',
    b',"index":1.0,"volatile":{}}',
    b',"reward":"NaN","volatile":{}}',
    b',"more":1,"volatile":{}}',
    b',"disagreement":true,"volatile":{}}',
    b"}",
    b"",
]


@pytest.mark.parametrize("ending", STEP_ENDINGS)
def test_an_odd_step_is_judged_alike_among_others_and_alone(data: bytes, ending: bytes) -> None:
    """Members given twice, left out, after volatile, of the wrong type."""
    parts = data.splitlines()
    parts[5] = parts[5][: parts[5].index(b',"volatile":')] + ending
    odd = b"\n".join(parts) + b"\n"
    assert outcome(odd) == line_by_line(odd)


def test_a_member_behind_volatile_does_not_escape_the_digest(data: bytes) -> None:
    """A second ``success`` after the part that is left out wins when it is read: it must be seen."""
    head, _, tail = data.rpartition(b"}\n" + data.splitlines()[-1])
    hidden = head + b',"success":true' + b"}\n" + data.splitlines()[-1] + tail
    before, after = parse_trace(data), parse_trace(hidden)
    assert (before.steps[-1].success, after.steps[-1].success) == (False, True)
    assert before.behaviour_sha256 != after.behaviour_sha256


def test_digests_are_computed_as_asked(data: bytes) -> None:
    """What is left out is empty, what is there is the same."""
    whole = parse_trace(data)
    assert parse_trace(data, digests="behaviour").behaviour_sha256 == whole.behaviour_sha256
    assert parse_trace(data, digests="behaviour").trace_sha256 == ""
    assert parse_trace(data, digests="none").behaviour_sha256 == ""
    assert parse_trace(data, digests="none").steps == whole.steps


def test_steps_kept_by_column_are_read_whole_when_one_is_asked_for(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a sequence they are what the steps themselves are; columns alone never read them."""
    parts = data.splitlines(keepends=True)
    parts[5] = parts[5].replace(b'"success":false', b'"success":true')
    data = b"".join(parts)
    whole, light = parse_trace(data), parse_trace(data, by_column=True)
    assert isinstance(light.steps, ColumnSteps)
    monkeypatch.setattr(light.steps, "_read", lambda: pytest.fail("read"))
    assert [light.column(name) for name in ("index", "success")] == [[0, 1, 2], [False, True, False]]
    assert (light.first_success, whole.first_success) == (1, 1)
    light = parse_trace(data, by_column=True)
    assert light == whole
    assert light.steps == whole.steps
    assert list(light.steps) == list(whole.steps)
    assert (light.steps[-1], light.steps[1:]) == (whole.steps[-1], whole.steps[1:])
    assert light.column("applied") == [step.applied for step in whole.steps]


MEMBERS = [b',"images":{"top":"sha256:0"}', b',"goal":[true]', b',"disagreement":true']


@given(members=st.lists(st.sets(st.sampled_from(MEMBERS)), min_size=3, max_size=3))
def test_steps_with_other_members_than_the_first_are_kept_by_column_too(data: bytes, members: list[set[bytes]]) -> None:
    """Pictures are recorded where the agent saw them, a disagreement where there was one."""
    parts = data.splitlines(keepends=True)
    for place, added in zip((3, 5, 7), members, strict=True):
        head, cut, tail = parts[place].partition(VOLATILE)
        parts[place] = head + b"".join(sorted(added)) + cut + tail
    mixed = b"".join(parts)
    assert isinstance(parse_trace(mixed, digests="trace", by_column=True).steps, ColumnSteps)
    light, whole = (judged(mixed, by_column=by_column, digests="trace") for by_column in (True, False))
    assert light == whole
    assert outcome(mixed) == line_by_line(mixed)


@pytest.mark.parametrize("added", [b',"images":[]', b',"goal":{}', b',"disagreement":null', b',"more":1'])
@pytest.mark.parametrize("place", [3, 5, 7])
def test_a_step_with_other_members_is_checked_as_the_first_is(data: bytes, place: int, added: bytes) -> None:
    """At the first step that has others, before it and after it."""
    parts = data.splitlines(keepends=True)
    parts[5] = parts[5].replace(VOLATILE, b',"goal":[true]' + VOLATILE)
    parts[place] = parts[place].replace(VOLATILE, added + VOLATILE)
    refused = judged(b"".join(parts), by_column=True, digests="trace")
    assert refused.startswith(f"<bytes>:{place + 1}: ")
    assert refused == line_by_line(b"".join(parts))


@pytest.mark.parametrize("to", [0, 1, 8, 9, 10])
@pytest.mark.parametrize("digests", ["none", "trace", "all"])
def test_a_step_where_none_belongs_is_refused_however_it_is_read(data: bytes, digests: Digests, to: int) -> None:
    """Before the start, before the reset, after the end, after a grade."""
    grade = b'{"type":"grade","grader":"person","value":1.0}\n'
    parts = [*data.splitlines(keepends=True), grade]
    parts.insert(to, parts.pop(7))
    light, whole = (judged(b"".join(parts), by_column=by_column, digests=digests) for by_column in (True, False))
    assert light.startswith("<bytes>:")
    assert light == whole == line_by_line(b"".join(parts))


@pytest.mark.parametrize("by_column", [True, False])
@pytest.mark.parametrize(("grades", "after"), [(0, b""), (2, b""), (1, b'{"ty')])
def test_the_digest_of_a_trace_ends_with_its_end_event(data: bytes, grades: int, after: bytes, by_column: bool) -> None:
    """Grades and what is torn behind them come after it."""
    before, grade = data, b'{"type":"grade","grader":"a","prev_sha256":"%b"}\n'
    for _ in range(grades):
        before += grade % f"sha256:{hashlib.sha256(before).hexdigest()}".encode()
    trace = parse_trace(before + after, digests="trace", by_column=by_column)
    assert trace.trace_sha256 == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert (len(trace.grades), trace.torn) == (grades, bool(after))


def drop(index: int) -> Callable[[list[dict[str, Any]]], None]:
    """Take an event out."""
    return lambda events: events.pop(index) and None


def move(index: int, to: int) -> Callable[[list[dict[str, Any]]], None]:
    """Put an event elsewhere."""
    return lambda events: events.insert(to, events.pop(index))


def change(index: int, **members: Any) -> Callable[[list[dict[str, Any]]], None]:
    """Change members of an event."""
    return lambda events: events[index].update(members)


REFUSED = [
    (drop(0), 1, "a trace begins with one episode_start event"),
    (move(-1, 2), 3, "steps: counts 3 steps, but the trace holds 0"),
    (drop(3), 5, "index: step 1 stands where step 0 belongs"),
    (change(0, schema="hylo.trace/v9"), 1, "is of schema 'hylo.trace/v9', which this release cannot read (it knows 'hylo.trace/v0.1'); upgrade hylo-eval"),
    (change(0, schema=None), 1, "names no schema; expected 'hylo.trace/v0.1'"),
    (change(0, extra=1), 1, "extra: is not a key of EpisodeStart; known keys: instance, benchmark, agent, env_spec, agent_spec, observations, action, versions, renderer, seeds, volatile"),
    (change(3, success=1), 4, "success: must be of type bool, not int"),
    (change(3, reward="lots"), 4, "reward: must be a number, not 'lots'"),
    (change(3, extra=1), 4, "extra: is not a member of this event"),
    (change(3, type="teleport"), 4, "has the unknown event type 'teleport'"),
    (change(-1, status="won"), 9, "status: must be one of 'completed', 'safety_abort', 'sim_unstable', 'agent_error', 'env_error', 'timeout', 'worker_lost', 'cancelled', not 'won'"),
    (change(-1, steps=2), 9, "steps: counts 2 steps, but the trace holds 3"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "line", "reason"), REFUSED)
def test_what_is_out_of_order_or_shape_is_refused_by_line(
    data: bytes, spoil: Callable[[list[dict[str, Any]]], None], line: int, reason: str
) -> None:
    """File, line and one sentence."""
    events = lines(data)
    spoil(events)
    with pytest.raises(TraceError) as caught:
        parse_trace(joined(events), "run/episode.jsonl")
    assert (caught.value.line, caught.value.reason) == (line, reason)
    assert str(caught.value) == f"run/episode.jsonl:{line}: {reason}"


def test_a_changed_byte_changes_the_digest(data: bytes) -> None:
    """Tampering with a number that still reads is seen in trace and behaviour digest."""
    changed = data.replace(b'"reward":0.5', b'"reward":0.6', 1)
    before, after = parse_trace(data), parse_trace(changed)
    assert before.trace_sha256 != after.trace_sha256
    assert before.behaviour_sha256 != after.behaviour_sha256


def test_a_trace_written_again_by_another_tool_is_the_same_behaviour(data: bytes) -> None:
    """White space is no behaviour; the trace digest sees it."""
    again = parse_trace(joined(lines(data)))
    before = parse_trace(data)
    assert again.behaviour_sha256 == before.behaviour_sha256
    assert again.trace_sha256 != before.trace_sha256


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    with pytest.raises(TraceError, match="there is no such trace"):
        read_trace(tmp_path / "none.jsonl")


def test_episode_ids_are_unique_file_names() -> None:
    """Keys that read alike as file names get other hashes; a key of any length fits."""
    ids = {episode_id(key, 1) for key in ("a/b#1", "a-b#1", "a b#1", "x" * 500 + "#1", "../../etc/passwd#1", "ä#1")}
    assert len(ids) == 6
    assert all("/" not in name and not name.startswith(".") and len(name) < 120 for name in ids)
    assert episode_id("a/b#1", 2) == episode_id("a/b#1", 1).removesuffix("1") + "2"


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "-x", ".hidden", "x" * 129, "a\n"])
def test_a_run_id_is_a_plain_file_name(run_id: str) -> None:
    """Nothing that leads out of the run root."""
    with pytest.raises(Exception, match="is no run id") as caught:
        RunFolder.at(Path("runs"), run_id)
    assert not isinstance(caught.value, ContractError)


def test_a_line_nested_too_deeply_is_refused(data: bytes) -> None:
    """As every other line that cannot be read."""
    deep = b"[" * 900 + b'"NaN"' + b"]" * 900
    with pytest.raises(TraceError):
        parse_trace(data.replace(b'"position":[3.0,3.0]', b'"position":' + deep, 1))
