"""A log belongs to the run in whose folder it lies, or nobody believes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import read_evallog
from hylo_eval.evallog.belonging import foreign_members, refuse_foreign
from hylo_eval.evallog.consistency import LogContradiction
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.evaluation.grade_run import count_episodes
from hylo_eval.evaluation.rescore_plan import plan_rescoring
from hylo_eval.exchange.source import load_source
from hylo_eval.report.run_record import read_run as read_for_report
from hylo_eval.run_index.folders import read_run
from hylo_eval.run_index.looking_up import find_episode
from hylo_eval.traces.layout import RunFolder
from tests.runs import edit_json, keys, unit, write_run

FOREIGN = "eval.run_id: is 'other', but the manifest beside it says 'own'"


@pytest.fixture
def own(tmp_path: Path) -> RunFolder:
    """A run with the log of another one of the same agent and instances, in which more was won."""
    for name, won in (("own", keys(0)), ("other", keys(0, 1, 2))):
        write_run(tmp_path, name, won, bench=unit(3))
    shutil.copy(tmp_path / "other" / "evallog.json", tmp_path / "own" / "evallog.json")
    return RunFolder(tmp_path / "own")


def test_the_log_of_another_run_is_no_result_of_this_one(own: RunFolder) -> None:
    """Listed as broken, with both names; its numbers are not shown."""
    found = read_run(own)
    assert (found.status, found.log) == ("broken", None)
    assert FOREIGN in found.problem


@pytest.mark.parametrize(
    "read",
    [
        read_for_report,
        load_source,
        count_episodes,
        lambda run: find_episode("unit/task#0", run.path.parent, in_run="own"),
    ],
)
def test_whoever_reads_a_log_refuses_that_of_another_run(own: RunFolder, read: Callable[[RunFolder], Any]) -> None:
    """Report, export, graders, a single episode: with file, member and both values."""
    with pytest.raises(LogContradiction) as caught:
        read(own)
    assert str(own.evallog) in caught.value.message
    assert FOREIGN in caught.value.message


def test_rescoring_and_comparing_refuse_it_too(own: RunFolder) -> None:
    """Each in its own way: one refused run of many, a fault of the evidence, with traces or without."""
    (refused,) = plan_rescoring([own.path]).refused
    assert isinstance(refused.error, LogContradiction)
    for traces in (True, False):
        assert any(FOREIGN in fault for fault in read_evidence(own, traces=traces).faults)


def test_a_later_scoring_of_another_run_is_a_problem(own: RunFolder) -> None:
    """It lies in scores/, beside the run's own log."""
    shutil.copytree(own.path.parent / "other", own.path.parent / "third")
    third = RunFolder(own.path.parent / "third")
    (third.path / "scores").mkdir()
    log = json.loads(third.evallog.read_text())
    log["eval"]["run_id"] = "else"
    third.scores("again").write_text(json.dumps(log))
    (scoring,) = read_run(third).scorings
    assert scoring.header is None
    assert "eval.run_id: is 'else', but the manifest beside it says 'other'" in scoring.problem


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("benchmark", "split"), "train", "eval.benchmark.split"),
        (("benchmark", "digest"), "sha256:0", "eval.benchmark.digest"),
        (("agent", "name"), "another", "eval.agent.name"),
        (("tasks_digest",), "sha256:0", "eval.manifest.tasks_digest"),
        (("selection", "keys_digest"), "sha256:0", "eval.manifest.selection.keys_digest"),
        (("selection", "instances"), 4, "results.n_episodes"),
        (("config_digest",), "sha256:0", "eval.manifest.config_digest"),
        (("env", "spec", "control_hz"), 50, "eval.manifest.env.spec.control_hz"),
        (("versions", "scripted"), "2", "eval.manifest.versions.scripted"),
        (("renderer",), "egl", "eval.manifest.renderer"),
    ],
)
def test_every_member_that_both_say_is_compared(tmp_path: Path, path: tuple[str, ...], value: Any, where: str) -> None:
    """The contradiction names the member of the log."""
    run = write_run(tmp_path, "a", keys(0), bench=unit(3)).run
    log = read_evallog(run.evallog)
    manifest = json.loads(run.manifest.read_text())
    assert not [*foreign_members(log, manifest)]
    place = manifest
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    found, *_ = foreign_members(log.header(), manifest)
    assert (found.path, found.recomputed) == (where, value)


def test_conditions_that_were_edited_are_no_evidence(tmp_path: Path) -> None:
    """Comparisons believe the manifest for what no trace tells: its copy in the log does not agree any more."""
    run = write_run(tmp_path, "a", keys(0), bench=unit(3)).run
    edit_json(run.manifest, lambda manifest: manifest["safety"][0].update(response="hold"))
    (fault,) = read_evidence(run).faults
    assert "eval.manifest.safety[0].response: is 'error', but the manifest beside it says 'hold'" in fault


@pytest.mark.parametrize("odd", [None, [], 3, {"id": 3}, "x" * 100_000, {"id": "\x1b[31m"}])
def test_an_odd_manifest_breaks_nothing(tmp_path: Path, odd: Any) -> None:
    """What is no text cannot be compared; what is shown of a text is bounded and escaped."""
    run = write_run(tmp_path, "a", keys(0), bench=unit(2)).run
    log = read_evallog(run.evallog)
    found = [*foreign_members(log, {"benchmark": odd, "run_id": odd, "selection": odd})]
    assert all(len(item.words) < 600 and "\x1b" not in item.words for item in found)


def test_without_a_manifest_nothing_tells(tmp_path: Path) -> None:
    """A log alone is read as before: its traces vouch for it, or nothing does."""
    run = write_run(tmp_path, "a", keys(0), bench=unit(2)).run
    log = read_evallog(run.evallog)
    run.manifest.unlink()
    refuse_foreign(log, run, run.evallog)
