"""Logs for and from inspect-robots."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import HyloError
from hylo_eval.evallog.consistency import LogContradiction
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.exchange.inspect_robots import encode_inspect_robots, to_inspect_robots
from hylo_eval.exchange.inspect_robots_import import read_inspect_robots
from tests.hylo_eval.evallog.logs import build, golden, sample
from tests.hylo_eval.evallog.test_consistency import change_one, log_of, outcomes
from tests.hylo_eval.evallog.test_files import logs, unhurried

FOREIGN = {
    "version": 1,
    "status": "success",
    "eval": {
        "task": "cubepick",
        "policy": "scripted",
        "embodiment": "arm",
        "max_steps": 50,
        "policy_config": {"gain": 2},
    },
    "results": {"total_scenes": 2, "total_trials": 3, "metrics": {"success_at_end": 0.5}},
    "stats": {"started_at": "2026-01-02T03:04:05+00:00", "completed_at": "2026-01-02T03:05:05+00:00"},
    "samples": [
        {
            "scene_id": "left",
            "status": "success",
            "epochs": [
                {"success_at_end": 1.0, "episode_length": 12},
                {"success_at_end": False, "episode_length": None},
            ],
            "termination_reasons": ["success", "max_steps"],
        },
        {"scene_id": "right", "status": "error", "epochs": [{}], "error": "arm lost"},
    ],
}


def foreign(tmp_path: Path, change: Callable[[Any], Any] = lambda document: None) -> Path:
    """A log that inspect-robots wrote."""
    document = json.loads(json.dumps(FOREIGN))
    change(document)
    path = tmp_path / "cubepick_1.json"
    path.write_text(json.dumps(document))
    return path


def written(tmp_path: Path, log: EvalLog) -> Path:
    """A log that we exported."""
    path = tmp_path / "exported.json"
    path.write_bytes(encode_inspect_robots(log))
    return path


@unhurried
@given(log=logs())
def test_what_was_exported_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, log: EvalLog) -> None:
    """Every score, explanation, digest and statistic."""
    assert read_inspect_robots(written(tmp_path_factory.mktemp("logs"), log)) == log


def no_object_is_null(document: Any) -> bool:
    """Where their readers expect an object, they call its methods."""
    objects = [
        document["eval"]["policy_config"],
        document["eval"]["embodiment_info"],
        document["eval"]["grader_config"],
    ]
    objects += [
        part
        for scene in document["samples"]
        for part in (scene["reduced"], *scene["epochs"], scene["scene_metadata"], *scene["trial_metadata"])
    ]
    return all(isinstance(part, dict) for part in objects)


def test_an_abstention_is_null_and_never_a_number() -> None:
    """In scores and in means; errors are counted."""
    document = to_inspect_robots(build(sample("lift", 0, None)))
    assert document["results"]["metrics"] == {"success": None, "steps": None}
    (scene,) = document["samples"]
    assert (scene["epochs"], scene["status"], scene["error"]) == (
        [{"success": None, "steps": None}],
        "error",
        "ValueError: unseen object",
    )
    assert document["results"]["errored_trials"] == 1
    assert no_object_is_null(document)
    assert (document["version"], document["status"]) == (1, "success")


def test_an_export_that_somebody_changed_is_refused(tmp_path: Path) -> None:
    """Their part and ours must say the same."""
    path = written(tmp_path, golden())
    document = json.loads(path.read_text())
    document["samples"][1]["epochs"][0]["success"] = 1.0
    path.write_text(json.dumps(document))
    with pytest.raises(
        HyloError, match=r"samples\[1\].epochs\[0\].success: is 1.0, but the log under 'hylo' gives 0.0"
    ):
        read_inspect_robots(path)


def test_a_log_of_theirs_is_an_episode_an_epoch(tmp_path: Path) -> None:
    """What it does not say is unknown, and an errored trial is an abstention."""
    log = read_inspect_robots(foreign(tmp_path))
    assert (log.run_id, log.benchmark.id, log.agent.name, log.status) == (
        "cubepick_1",
        "cubepick",
        "scripted",
        "complete",
    )
    assert [
        (item.key, item.status, item.value("success_at_end"), item.value("episode_length")) for item in log.samples
    ] == [
        ("left#0", "completed", 1.0, 12.0),
        ("left#1", "completed", 0.0, None),
        ("right#0", "error", None, None),
    ]
    assert log.results.overall["success_at_end"].abstained == {"error": 1}
    assert log.results.overall["success_at_end"].interval is None, "nobody says that it is 0 or 1"
    assert log.samples[1].scores["success_at_end"].explanation == "max_steps"
    assert (log.stats.started_at, log.stats.finished_at) == ("2026-01-02T03:04:05+00:00", "2026-01-02T03:05:05+00:00")


def test_equal_tasks_have_equal_identity_and_others_do_not(tmp_path: Path) -> None:
    """So that two imported runs pair, and runs of another horizon do not."""
    one = read_inspect_robots(foreign(tmp_path)).benchmark.digest
    assert (
        read_inspect_robots(foreign(tmp_path, lambda log: log["eval"].update(policy="other"))).benchmark.digest == one
    )
    for other in ({"max_steps": 10}, {"embodiment": "other arm"}, {"environment_revision": "b"}):
        changed = foreign(tmp_path, lambda log, other=other: log["eval"].update(other))
        assert read_inspect_robots(changed).benchmark.digest != one


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda log: log.update(version=2), "version: must be 1, the log schema of inspect-robots, not 2"),
        (lambda log: log.pop("eval"), "eval: must be of type dict, not NoneType"),
        (lambda log: log["eval"].update(task=3), "eval.task: must be of type str, not int"),
        (lambda log: log["samples"][0]["epochs"].append(1), r"samples[0].epochs[2]: must be a mapping"),
        (lambda log: log["samples"][0]["epochs"][0].update(x="1"), "samples[0].epochs[0].x: must be a number or null"),
        (lambda log: log["samples"].append(None), "samples[2]: must be a mapping"),
        (lambda log: log.update(hylo={}), "hylo.version: must be 'hylo.evallog/v0.2'"),
        (lambda log: log.update(hylo={"version": "hylo.evallog/v0.2"}), "hylo.status: is missing"),
        (lambda log: log.update(hylo=[]), "hylo: must be of type dict, not list"),
    ],
)
def test_what_is_out_of_shape_is_refused_with_its_path(tmp_path: Path, change: Any, sentence: str) -> None:
    """It is somebody's file."""
    with pytest.raises(HyloError) as caught:
        read_inspect_robots(foreign(tmp_path, change))
    assert sentence in str(caught.value)


NO_AGGREGATE = re.compile(
    r"hylo\.eval\..*|hylo\.stats\.(reply_seconds|disagreements).*|hylo\.samples\[\d+\]\.seed"
    r"|hylo\.results\.other.*"
)
"""Numbers of an export that nothing else in it decides."""


@unhurried
@given(outcomes, st.data())
def test_no_number_of_an_export_can_be_changed_that_another_decides(
    tmp_path_factory: pytest.TempPathFactory, drawn: Any, data: st.DataObject
) -> None:
    """Neither in their part nor in ours."""
    path = written(tmp_path_factory.mktemp("logs"), log_of(drawn))
    document = json.loads(path.read_text())
    where = change_one(data, document)
    path.write_text(json.dumps(document))
    if NO_AGGREGATE.fullmatch(where):
        return
    with pytest.raises(HyloError):
        read_inspect_robots(path)


def test_an_export_in_which_every_mean_was_changed_alike_is_refused(tmp_path: Path) -> None:
    """The samples still say otherwise."""
    path = written(tmp_path, golden())
    path.write_text(path.read_text().replace("0.75", "0.95"))
    with pytest.raises(LogContradiction, match=r"hylo\.results\.overall\.success\.mean: is 0.95, but its samples give"):
        read_inspect_robots(path)


def test_notes_that_people_add_to_an_export_are_no_contradiction(tmp_path: Path) -> None:
    """Their tools write judgements and notes into a log."""
    path = written(tmp_path, golden())
    document = json.loads(path.read_text())
    document["samples"][0].update(operator_judgements=[1.0], operator_notes=["slow"])
    path.write_text(json.dumps(document))
    assert read_inspect_robots(path) == golden()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda log: log["results"].update(total_scenes=3), "results.total_scenes: is 3, but its samples give 2"),
        (lambda log: log["results"].update(total_trials=2), "results.total_trials: is 2, but its samples give 3"),
        (lambda log: log["results"].update(errored_trials=2), "results.errored_trials: is 2, but its samples give 1"),
        (
            lambda log: log["results"]["metrics"].update(success_at_end=0.9),
            "results.metrics.success_at_end: is 0.9, but its samples give 0.5",
        ),
        (
            lambda log: log["samples"][0].update(reduced={"success_at_end": 0.9}),
            "samples[0].reduced.success_at_end: is 0.9, but its samples give 0.5",
        ),
        (
            lambda log: log["samples"][0].update(reduced={"success_at_end": 1.0}),
            "results.metrics.success_at_end: is 0.5, but its samples give 1.0",
        ),
    ],
)
def test_a_log_of_theirs_that_contradicts_itself_is_refused(tmp_path: Path, change: Any, sentence: str) -> None:
    """Its means are those of its scenes, and a scene's number is one that a reducer makes of its epochs."""
    with pytest.raises(LogContradiction) as caught:
        read_inspect_robots(foreign(tmp_path, change))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("reduced", [0.5, 1.0, 0.0])
def test_a_scene_may_be_reduced_in_any_of_their_ways(tmp_path: Path, reduced: float) -> None:
    """Mean and median of 1 and 0; the larger, or a success in two draws; the smaller."""

    def change(log: Any) -> None:
        log["samples"][0].update(reduced={"success_at_end": reduced})
        log["results"]["metrics"].update(success_at_end=reduced)

    assert len(read_inspect_robots(foreign(tmp_path, change)).samples) == 3
