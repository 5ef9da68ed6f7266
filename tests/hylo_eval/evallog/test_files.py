"""Logs as files: layout, strictness, headers, versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hylo_core import ContractError, SchemaError, Score
from hylo_core.frozen import thaw
from hylo_core.schema import EVALLOG_SCHEMA, EVALLOG_V01, migrate
from hylo_eval import EvalError, read_evallog, read_evallog_header, write_evallog
from hylo_eval.evallog import files, v01
from hylo_eval.evallog.files import encode_evallog, parse_evallog
from hylo_eval.evallog.v02 import EvalLog
from tests import strategies
from tests.hylo_eval.evallog.logs import build, golden, sample

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = FOLDER / "evallog-v0.2.json"

Change = Callable[[dict[str, Any]], Any]

scores = st.builds(
    Score,
    # A mean between 2**53 and 1e21 is nothing that v0.1 can hold.
    value=st.none() | st.floats(-1e6, 1e6) | st.floats(1e25, 1e300),
    explanation=strategies.texts,
    metadata=strategies.params,
)


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
"""A whole log is drawn at a time."""


@st.composite
def logs(draw: st.DrawFn) -> EvalLog:
    """Any log that our builder can make: scorers that nobody declares binary, any text anywhere."""
    names = draw(st.lists(strategies.names, min_size=1, max_size=3, unique=True))
    drawn = [
        attrs.evolve(
            sample(draw(strategies.names), seed, 1.0),
            scores={name: draw(scores) for name in names},
            status=draw(strategies.names),
            trace=draw(strategies.texts),
            tags=tuple(draw(st.lists(strategies.texts, max_size=2))),
            initial_state=None,
        )
        for seed in range(draw(st.integers(0, 4)))
    ]
    declaration = build().eval.scorers["steps"]
    return build(
        *drawn,
        scorers={name: attrs.evolve(declaration, binary=None) for name in names},
        manifest=draw(strategies.params),
        status=draw(st.sampled_from(["complete", "partial"])),
    )


@unhurried
@given(logs())
def test_a_log_is_read_back_as_it_was_written(log: EvalLog) -> None:
    """And what was read is written as the same bytes."""
    data = encode_evallog(log)
    again = parse_evallog(data, Path("log.json"))
    assert again == log
    assert encode_evallog(again) == data


@unhurried
@given(logs())
def test_the_file_is_one_json_document_with_a_sample_a_line(log: EvalLog) -> None:
    """Any JSON reader gets the same members; the first line alone gives all but the samples."""
    lines = encode_evallog(log).decode().split("\n")
    document = json.loads("\n".join(lines))
    assert list(document) == ["version", "status", "eval", "results", "stats", "samples"]
    assert lines[-2:] == ["]}", ""]
    assert [json.loads(line.removesuffix(",")) for line in lines[1:-2]] == document["samples"]
    assert document["samples"] == [item.to_dict() for item in log.samples]
    assert json.loads(lines[0] + "]}") == {**document, "samples": []}


@unhurried
@given(logs())
def test_down_to_v01_and_up_again_keeps_what_v01_knows(log: EvalLog) -> None:
    """Every key, number and status; and a second trip changes nothing more."""
    flat = v01.flatten(log)
    assert [item.scores for item in flat.samples] == [
        {name: score.value for name, score in item.scores.items()} for item in log.samples
    ]
    upgraded = EvalLog.from_dict(migrate(flat.to_dict(), EVALLOG_V01, EVALLOG_SCHEMA))
    assert v01.flatten(upgraded) == flat


free_results = st.dictionaries(
    strategies.texts | st.sampled_from(["a_mean", "_mean", "n_scored"]), strategies.json_values
)


@unhurried
@given(free_results, st.lists(st.dictionaries(strategies.names, st.none() | strategies.floats, max_size=3), max_size=3))
def test_up_to_v02_and_down_again_loses_nothing(results: dict[str, Any], drawn: list[dict[str, Any]]) -> None:
    """Whatever the free results of a v0.1 log hold; only counts that are missing are counted."""
    first = v01.read_evallog(FOLDER / "evallog-v0.1.json")
    samples = [attrs.evolve(first.samples[0], seed=seed, scores=found) for seed, found in enumerate(drawn)]
    flat = attrs.evolve(first, results=results, samples=samples)
    again = v01.flatten(EvalLog.from_dict(migrate(flat.to_dict(), EVALLOG_V01, EVALLOG_SCHEMA)))
    counted = {name: again.results[name] for name in ("n_episodes", "n_scored") if name not in results}
    kept = {name: value for name, value in results.items() if not (name == "n_modified" and value == 0)}
    assert thaw(again.results) == {**kept, **counted}
    assert attrs.evolve(again, results={}) == attrs.evolve(flat, results={})


def test_the_golden_log_keeps_reading_and_writing_byte_for_byte(tmp_path: Path) -> None:
    """For ever: read, written again, the same bytes; and what it says is what was put into it."""
    log = read_evallog(GOLDEN)
    write_evallog(log, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == GOLDEN.read_bytes()
    assert (log.eval, log.stats, log.samples) == (golden().eval, golden().stats, golden().samples)
    assert read_evallog_header(GOLDEN) == log.header()


def test_both_golden_logs_read_in_both_forms() -> None:
    """Old files in the new form with what they do not know unknown; new files in the flat one."""
    old = read_evallog(FOLDER / "evallog-v0.1.json")
    assert (old.status, old.run_id, old.mean("success"), old.mean("steps")) == ("unknown", "golden-run", 0.5, None)
    assert old.results.overall["success"].abstained == {"unspecified": 1}
    assert old.eval.scorers["success"].binary is None
    assert {item.trace_sha256 for item in old.samples} == {""}
    assert read_evallog_header(FOLDER / "evallog-v0.1.json") == old.header()
    assert v01.encode_evallog(v01.flatten(old)) == (FOLDER / "evallog-v0.1.json").read_bytes()
    flat = v01.read_evallog(GOLDEN)
    assert flat.results == {"success_mean": 0.75, "steps_mean": 28.25, "n_episodes": 5, "n_scored": 4, "n_modified": 1}
    assert [item.scores["success"] for item in flat.samples] == [1.0, 0.0, None, 1.0, 1.0]


def test_a_header_is_read_without_its_samples(tmp_path: Path) -> None:
    """Whatever stands after the first line: it is not looked at."""
    path = tmp_path / "log.json"
    line, _, _ = GOLDEN.read_bytes().partition(b"\n")
    path.write_bytes(line + b"\n" + b"not looked at\n" * 1000)
    assert read_evallog_header(path) == read_evallog(GOLDEN).header()
    with pytest.raises(EvalError, match="is not JSON"):
        read_evallog(path)


def test_a_log_that_another_tool_wrote_again_reads_all_the_same(tmp_path: Path) -> None:
    """With other white space, and with the samples in front."""
    document = json.loads(GOLDEN.read_text())
    path = tmp_path / "log.json"
    for text in (json.dumps(document), json.dumps(document, indent=2), json.dumps(dict(reversed(document.items())))):
        path.write_text(text)
        assert read_evallog(path) == read_evallog(GOLDEN)
        assert read_evallog_header(path) == read_evallog_header(GOLDEN)


def test_a_first_line_beyond_the_bound_is_read_as_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on what is read at once as a header, not on what a log may hold."""
    monkeypatch.setattr(files, "MAX_HEADER_BYTES", 100)
    path = tmp_path / "log.json"
    write_evallog(golden(), path)
    assert read_evallog_header(path) == golden().header()


def put(path: str, value: Any) -> Change:
    """Set a member by its dotted path."""

    def change(document: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = document
        for name in parents:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value

    return change


REFUSED = [
    (put("version", "hylo.evallog/v9"), SchemaError, "version: is of schema 'hylo.evallog/v9', which this release cannot read (it knows 'hylo.evallog/v0.1' and 'hylo.evallog/v0.2'); upgrade hylo-eval"),
    (put("status", "done"), ContractError, "status: must be one of 'complete', 'partial', 'unknown', not 'done'"),
    (put("results.n_scored", -1), ContractError, "results.n_scored: must be at least 0, not -1"),
    (put("results.tasks.lift.success.mean", "1"), ContractError, "results.tasks.lift.success.mean: must be a number, not '1'"),
    (put("results.overall.success.interval.method", "guess"), ContractError, "results.overall.success.interval.method: must be one of 'wilson', 'bootstrap', not 'guess'"),
    (put("results.overall.success.abstained", {"a": 0.5}), ContractError, "results.overall.success.abstained.a: must be an integer, not 0.5"),
    (put("eval.scorers.success", {}), ContractError, "eval.scorers.success.ref: is missing"),
    (put("stats.reply_seconds.p50", -1.0), ContractError, "stats.reply_seconds.p50: must be at least 0, not -1"),
    (put("extra", 1), ContractError, "extra: is not a key of EvalLog; known keys: status, eval, results, stats, samples"),
    (put("samples.1.scores.success", 1.0), ContractError, "samples[1].scores.success: must be a mapping, not 1.0"),
    (put("samples.1.scores.success.value", True), ContractError, "samples[1].scores.success.value: must be a number, not True"),
    (put("samples.2.trace_sha256", "sha256:0"), ContractError, "samples[2].trace_sha256: must be empty or sha256: and 64 digits, not 'sha256:0'"),
    (put("samples.2.sed", 1), ContractError, "samples[2].sed: is not a key of Sample; did you mean 'seed'?"),
]  # fmt: skip


def native(document: dict[str, Any]) -> str:
    """A document in the layout of a log, whatever it holds."""
    head = json.dumps({name: value for name, value in document.items() if name != "samples"}, separators=(",", ":"))
    body = ",\n".join(json.dumps(item) for item in document["samples"])
    return f'{head[:-1]},"samples":[\n{body}\n]}}\n'


@pytest.mark.parametrize(("change", "kind", "sentence"), REFUSED)
def test_what_is_out_of_shape_is_refused_by_file_line_and_path(
    tmp_path: Path, change: Change, kind: type[Exception], sentence: str
) -> None:
    """In the log's own layout the line of the sample is named too, in any other the path alone."""
    document = json.loads(GOLDEN.read_text())
    change(document)
    path = tmp_path / "log.json"
    number = int(sentence[8]) + 2 if sentence.startswith("samples[") else 0
    for text, where in (
        (json.dumps(document), f"{path}"),
        (native(document), f"{path}:{number}" if number else f"{path}"),
    ):
        path.write_text(text)
        with pytest.raises(kind) as caught:
            read_evallog(path)
        assert (
            str(caught.value).replace(
                "LogHeader; known keys: status, eval, results, stats",
                "EvalLog; known keys: status, eval, results, stats, samples",
            )
            == f"{where}: {sentence}"
        )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"lift#10001"', "lift#10001", ":3: is not JSON: "),
        ("},\n", "}\n", ":2: is not JSON: no comma between this sample and the next"),
        ("}\n]}", "},\n]}", ":6: is not JSON: a comma after the last sample"),
        (":1.0", ":NaN", ":2: is not JSON: "),
        ("]}\n", "", ": is not JSON: "),
        ("]}\n", "]}\n]}\n", ":6: is not JSON: no comma between this sample and the next"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_by_file_and_line(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """The reading by lines accepts no file that is not one JSON document."""
    head, _, body = GOLDEN.read_text().partition("\n")
    assert old in body
    path = tmp_path / "log.json"
    path.write_text(f"{head}\n{body.replace(old, new, 1)}")
    with pytest.raises(EvalError) as caught:
        read_evallog(path)
    assert str(caught.value).startswith(f"{path}{sentence}")


def test_a_log_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """No neighbour is left, and a folder that is gone is one sentence."""
    write_evallog(golden(), tmp_path / "log.json")
    assert [path.name for path in tmp_path.iterdir()] == ["log.json"]
    with pytest.raises(EvalError, match=r"cannot write .*No such file or directory"):
        write_evallog(golden(), tmp_path / "none" / "log.json")
    with pytest.raises(EvalError, match=r"cannot read the log .*: No such file or directory"):
        read_evallog_header(tmp_path / "none.json")
