"""EvalLog v0.1: a released schema that keeps reading and writing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from hylo_core import ContractError, SchemaError
from hylo_eval import EvalError
from hylo_eval.evallog import document
from hylo_eval.evallog.v01 import read_evallog, write_evallog

GOLDEN = Path(__file__).parents[2] / "golden" / "evallog-v0.1.json"

Change = Callable[[dict[str, Any]], Any]


def test_a_released_log_keeps_reading_and_writing_byte_for_byte(tmp_path: Path) -> None:
    """The golden file of v0.1, for ever: read, written again, and the same bytes."""
    log = read_evallog(GOLDEN)
    write_evallog(log, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == GOLDEN.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.json"]


def test_a_released_log_says_what_it_said() -> None:
    """Abstentions are None and not zero; the order of samples is kept."""
    log = read_evallog(GOLDEN)
    assert (log.run_id, log.benchmark.split, log.agent.components["größe"]) == ("golden-run", "heldout", "ä")
    assert [sample.scores["success"] for sample in log.samples] == [1.0, 0.0, None]
    assert log.results["steps_mean"] is None
    assert [sample.seed for sample in log.samples] == [10000, 10001, 10002]


def changed(tmp_path: Path, change: Change) -> Path:
    """The golden log with something wrong in it."""
    document = json.loads(GOLDEN.read_text())
    change(document)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    return path


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
    (put("version", "hylo.trace/v0.1"), SchemaError, "version: is of schema 'hylo.trace/v0.1'; expected 'hylo.evallog/v0.1'"),
    (lambda log: log.pop("version"), SchemaError, "version: names no schema; expected 'hylo.evallog/v0.1'"),
    (lambda log: log.pop("samples"), ContractError, "samples: is missing"),
    (put("samples.1.scores.success", True), ContractError, "samples[1].scores.success: must be a number, not True"),
    (put("samples.1.scores.success", "1"), ContractError, "samples[1].scores.success: must be a number, not '1'"),
    (put("samples.2.seed", 1.0), ContractError, "samples[2].seed: must be an integer, not 1.0"),
    (put("samples.2.seed", -1), ContractError, "samples[2].seed: must be at least 0, not -1"),
    (put("benchmark.digest", ""), ContractError, "benchmark.digest: must not be empty"),
    (put("benchmark.requires_privileged", 0), ContractError, "benchmark.requires_privileged: must be true or false, not 0"),
    (put("agent.extra", 1), ContractError, "agent.extra: is not a key of LoggedAgent; known keys: name, version, components"),
    (put("results", []), ContractError, "results: must be a mapping, not [] (list)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "sentence"), REFUSED)
def test_what_is_out_of_shape_is_refused_by_file_and_path(
    tmp_path: Path, change: Change, kind: type[Exception], sentence: str
) -> None:
    """One sentence, with the file and the path of the value."""
    path = changed(tmp_path, change)
    with pytest.raises(kind) as caught:
        read_evallog(path)
    assert str(caught.value) == f"{path}: {sentence}"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is not JSON: "),
        (b"{", "is not JSON: "),
        (b"\xff\xfe{}", "is not JSON: "),
        (b'{"version": NaN}', "is not JSON: "),
        (b"[" * 100_000, "is not JSON: "),
        (b"[]", "is not a JSON object"),
    ],
)
def test_what_is_no_json_object_is_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    """No traceback from a JSON reader."""
    path = tmp_path / "log.json"
    path.write_bytes(data)
    with pytest.raises((EvalError, SchemaError)) as caught:
        read_evallog(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")


@pytest.mark.parametrize("value", [True, "1", float("nan"), float("inf")])
def test_a_score_is_a_finite_number_or_none(value: Any) -> None:
    """Also when a log is built, not read."""
    sample = read_evallog(GOLDEN).samples[0]
    with pytest.raises(ContractError, match=r"scores\.success: must be a finite number or null, not "):
        attrs.evolve(sample, scores={"success": value})


def test_a_log_that_is_not_there_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before it is read."""
    with pytest.raises(EvalError, match=r"cannot read the log .*none\.json: No such file or directory"):
        read_evallog(tmp_path / "none.json")
    with pytest.raises(EvalError, match="Is a directory"):
        read_evallog(tmp_path)
    monkeypatch.setattr(document, "MAX_LOG_BYTES", 10)
    with pytest.raises(EvalError, match="is larger than 10 bytes"):
        read_evallog(GOLDEN)
