"""A run as a LeRobot dataset, read back with pyarrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hylo_eval import EvalError, evaluate, read_trace
from hylo_eval.exchange.lerobot import export_lerobot
from hylo_eval.exchange.source import load_source
from hylo_eval.traces.layout import RunFolder
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task
from tests.pictures import swap_films, write_picture_run
from tests.runs import edit_trace, keys, unit, write_run

parquet = pytest.importorskip("pyarrow.parquet")


def export(run: Path, path: Path, **options: Any) -> Any:
    """Export a run."""
    return export_lerobot(load_source(RunFolder(run)), path, fps=options.pop("fps", 20.0), **options)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three episodes, the first of two steps, and one that the agent broke."""
    write_run(tmp_path, "run", keys(0), agent_errors=(3,), bench=unit(4))
    return tmp_path / "run"


def test_the_layout_is_that_of_v3(run: Path, tmp_path: Path) -> None:
    """The files that the format names, and what info.json says of them."""
    done = export(run, tmp_path / "set")
    assert (done.episodes, done.frames, done.cameras) == (3, 22, ())
    assert done.left_out == {"unit/task#3": "it ended as agent_error"}
    assert done.without_video == "no video was recorded of every episode"
    assert sorted(
        str(path.relative_to(tmp_path / "set")) for path in (tmp_path / "set").rglob("*") if path.is_file()
    ) == [
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.parquet",
    ]
    info = json.loads((tmp_path / "set" / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["splits"]) == ("v3.0", 20, {"train": "0:3"})
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (3, 22, 1)
    assert info["video_path"] is None
    assert info["features"]["action"] == {"dtype": "float32", "shape": [2], "names": None}
    assert info["features"]["observation.state"]["names"] == ["position[0]", "position[1]"]
    table = parquet.read_table(tmp_path / "set" / info["data_path"].format(chunk_index=0, file_index=0))
    assert table.column_names == list(info["features"])


def test_another_episodes_video_is_not_exported_as_this_ones(tmp_path: Path) -> None:
    """The dataset has the numbers alone, and says which video is not the one that was recorded."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path, "filmed", count=2).run
    assert export(run.path, tmp_path / "whole").cameras == ("front",)
    changed = swap_films(run, shown=0, under=1)
    done = export(run.path, tmp_path / "set")
    assert done.cameras == ()
    assert done.without_video.startswith(f"a video is not the one that was recorded: {changed.name}: ")


def test_a_frame_is_what_the_agent_saw_and_what_it_did(run: Path, tmp_path: Path) -> None:
    """Against the traces: observation before the action, action as applied."""
    export(run, tmp_path / "set")
    rows = parquet.read_table(tmp_path / "set/data/chunk-000/file-000.parquet").to_pylist()
    log = load_source(RunFolder(run)).log
    first = 0
    for number, sample in enumerate(log.samples[:3]):
        trace = read_trace(run / sample.trace)
        assert trace.reset is not None
        seen = [trace.reset.observation, *(step.observation for step in trace.steps)]
        for index, step in enumerate(trace.steps):
            row = rows[first + index]
            assert row["observation.state"] == pytest.approx(seen[index]["position"])
            assert row["action"] == pytest.approx(step.applied)
            assert (row["episode_index"], row["frame_index"], row["index"]) == (number, index, first + index)
            assert row["timestamp"] == pytest.approx(index / 20)
            assert (row["next.success"], row["next.done"]) == (step.success, index == len(trace.steps) - 1)
        first += len(trace.steps)
    assert first == len(rows)


def test_episodes_and_statistics_say_where_and_what(run: Path, tmp_path: Path) -> None:
    """Ranges join up; means are those of the rows."""
    export(run, tmp_path / "set")
    episodes = parquet.read_table(tmp_path / "set/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [(row["length"], row["dataset_from_index"], row["dataset_to_index"]) for row in episodes] == [
        (2, 0, 2),
        (10, 2, 12),
        (10, 12, 22),
    ]
    assert episodes[0]["tasks"] == ["go"]
    table = parquet.read_table(tmp_path / "set/data/chunk-000/file-000.parquet")
    statistics = json.loads((tmp_path / "set/meta/stats.json").read_text())
    for name in ("observation.state", "action", "next.reward"):
        values = np.asarray(table.column(name).to_pylist(), dtype=np.float64)
        for kind, found in (
            ("min", values.min(0)),
            ("max", values.max(0)),
            ("mean", values.mean(0)),
            ("std", values.std(0)),
        ):
            assert statistics[name][kind] == pytest.approx(np.atleast_1d(found).tolist(), abs=1e-6)
        assert statistics[name]["count"] == [22]
    tasks = parquet.read_table(tmp_path / "set/meta/tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "task": "go"}]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]


def test_a_changed_trace_is_left_out_and_said(run: Path, tmp_path: Path) -> None:
    """Nobody learns from it."""
    edit_trace(run, "unit/task#1", lambda text: text.replace('"reward":0.5', '"reward":0.9'))
    done = export(run, tmp_path / "set")
    assert done.episodes == 2
    assert done.left_out["unit/task#1"] == "its trace is not the one that was recorded"


def test_what_cannot_be_a_dataset_is_refused_and_leaves_nothing(run: Path, tmp_path: Path) -> None:
    """A folder that exists, an unknown rate, actions of several sizes, no episode."""
    with pytest.raises(EvalError, match="nothing is written over"):
        export(run, run)
    with pytest.raises(EvalError, match="does not declare its control rate"):
        export(run, tmp_path / "set", fps=None)
    env = lambda spec: ScriptedEnv(spec, action_size=2 if spec.id == "a" else 3)  # noqa: E731
    agent = FunctionAgent(lambda observation, replies: np.zeros(len(observation["position"])))
    bench = benchmark(task("a"), task("b"), seeds=(0,))
    evaluate(bench, "heldout", env_factory=env, agent=agent, run_root=tmp_path, run_id="mixed")
    with pytest.raises(EvalError, match="of another size than the episodes before it"):
        export(tmp_path / "mixed", tmp_path / "set")
    write_run(tmp_path, "none", broken=keys(0), bench=unit(1))
    with pytest.raises(EvalError, match="has no episode to export: it ended as env_error"):
        export(tmp_path / "none", tmp_path / "set")
    assert not [path for path in tmp_path.iterdir() if "set" in path.name]
