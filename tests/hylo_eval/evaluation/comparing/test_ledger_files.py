"""The records under ``comparisons`` as a ledger; they are untrusted files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError
from hylo_eval.compare.ledger import RecordedNoise
from hylo_eval.evaluation.comparing import records as comparison_records
from hylo_eval.evaluation.comparing.ledger_files import read_ledger

RUN = {
    "run_id": "a",
    "created_at": "t",
    "config_digest": "sha256:1",
    "agent": "a",
    "version": "1",
    "agent_digest": "sha256:2",
}
NOISE = {"n_pairs": 20, "discordant_rate": 0.25, "effect": 0.25, "two_sided_p": 1.0}
"""As records before there were intervals have it."""


def record(root: Path, name: str, **changes: Any) -> Path:
    """Write a record with the least that one has."""
    document = {
        "schema": "hylo.comparison/v0.1", "kind": "gate", "id": name, "created_at": name, "verdict": "pass",
        "benchmark": {"id": "b", "version": "1", "digest": "sha256:0", "split": "heldout"},
        "candidate": RUN, "parent": {**RUN, "run_id": "b"}, "policy": {"sequential": True}, **changes,
    }  # fmt: skip
    path = root / "comparisons" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_records_are_read_oldest_first(tmp_path: Path) -> None:
    """By time, whatever the files are called; a folder without records is an empty ledger."""
    assert not read_ledger(tmp_path).looks
    record(tmp_path, "z", created_at="2026-01-01")
    record(tmp_path, "a", created_at="2026-01-02", kind="noise", noise_floor=NOISE, policy={})
    record(tmp_path, "m", created_at="2026-01-03", kind="select", runs=[RUN], chosen={"agent_digest": "sha256:2"})
    looks = read_ledger(tmp_path).looks
    assert [(look.id, look.sequential, look.noise, look.chosen) for look in looks] == [
        ("z", True, None, ""), ("a", False, RecordedNoise(n_pairs=20, discordant=5), ""), ("m", True, None, "sha256:2"),
    ]  # fmt: skip
    assert looks[0].runs[0].agent == "a 1"


def test_a_refusal_showed_nobody_a_number(tmp_path: Path) -> None:
    """So it is no look."""
    record(tmp_path, "a", verdict="refused")
    assert (len(read_ledger(tmp_path).looks), read_ledger(tmp_path).unreadable) == (0, 0)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "null", "{}", '{"schema": "hylo.comparison/v0.1", "kind": "gate"}', "[" * 5000, "\x00"],
)
def test_what_is_no_record_is_counted(tmp_path: Path, content: str) -> None:
    """Not raised, and not forgotten."""
    record(tmp_path, "good")
    (tmp_path / "comparisons" / "bad.json").write_text(content)
    found = read_ledger(tmp_path)
    assert (len(found.looks), found.unreadable) == (1, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 3}, {"runs": {}}, {"runs": ["a"]}, {"benchmark": {"id": "b"}}, {"metric": "success"}, {"candidate": None},
        {"noise_floor": {"effect": True}}, {"noise_floor": {**NOISE, "n_pairs": 0}},
        {"noise_floor": {**NOISE, "discordant_rate": 1.5}}, {"noise_floor": {**NOISE, "n_pairs": 10**18}},
        {"kind": "other"}, {"chosen": [1]},
    ],
)  # fmt: skip
def test_a_record_with_a_wrong_member_is_counted(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Each member is checked."""
    record(tmp_path, "bad", **changes)
    assert read_ledger(tmp_path).unreadable == 1


def test_huge_records_and_too_many_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is counted, the second refused."""
    for name in ("a", "b"):
        record(tmp_path, name)
    monkeypatch.setattr(comparison_records, "MAX_RECORD_BYTES", 10)
    assert read_ledger(tmp_path).unreadable == 2
    monkeypatch.setattr(comparison_records, "MAX_RECORDS", 1)
    with pytest.raises(EvalError, match="holds 2 records, more than 1"):
        read_ledger(tmp_path)
