"""LeRobot's own code reads what ``export --to lerobot`` writes: metadata, features, statistics, every row.

The package is installed without its dependencies, of which the one for tensors takes gigabytes: reading metadata and
tables needs none of it, so modules of that name stand in. What is not covered is decoding the pictures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_eval.exchange.lerobot import export_lerobot
from hylo_eval.exchange.source import load_source
from tests.pictures import write_picture_run
from tests.runs import keys, unit, write_run

VARIABLE = "HYLO_PEER_LEROBOT"
READS = ("datasets>=4,<5", "huggingface-hub<0.36", "packaging<26", "pillow", "av<16")
RELEASE = "lerobot==0.4.4"

READ = '''
import importlib.abc, importlib.machinery, json, pathlib, sys, types

MISSING = ("torch", "torchvision", "accelerate")

class Anything(types.ModuleType):
    """Stands in for a package that only makes tensors."""
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else Anything(f"{self.__name__}.{name}")
    def __call__(self, *given, **named):
        return self
    def __or__(self, other):
        return self
    __ror__ = __or__

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name.partition(".")[0] in MISSING else None
    def create_module(self, spec):
        return Anything(spec.name)
    def exec_module(self, module):
        pass

import datasets
sys.meta_path.insert(0, Finder())
from lerobot.datasets.lerobot_dataset import LeRobotDatasetMetadata
from lerobot.datasets.utils import get_hf_features_from_features, load_nested_dataset

root = pathlib.Path(sys.argv[1])
meta = LeRobotDatasetMetadata("hylo/run", root=root)
rows = load_nested_dataset(root / "data", features=get_hf_features_from_features(meta.features))
chosen = load_nested_dataset(root / "data", features=get_hf_features_from_features(meta.features), episodes=[1])
print(json.dumps({
    "version": str(meta._version), "fps": meta.fps, "robot": meta.robot_type,
    "episodes": meta.total_episodes, "frames": meta.total_frames, "tasks": list(meta.tasks.index),
    "task_index": meta.get_task_index(meta.tasks.index[0]),
    "cameras": meta.camera_keys, "shapes": {key: list(shape) for key, shape in meta.shapes.items()},
    "names": meta.names.get("observation.state"),
    "files": [str(meta.get_data_file_path(number)) for number in range(meta.total_episodes)],
    "videos": [str(meta.get_video_file_path(number, key)) for key in meta.video_keys for number in range(meta.total_episodes)],
    "lengths": list(meta.episodes["length"]), "bounds": list(zip(meta.episodes["dataset_from_index"], meta.episodes["dataset_to_index"])),
    "stats": {key: {kind: value.shape == () or list(value.shape) for kind, value in kinds.items()} for key, kinds in meta.stats.items()},
    "rows": len(rows), "columns": rows.column_names, "action": rows[0]["action"], "chosen": len(chosen),
    "timestamps": rows[:]["timestamp"][:3], "index": rows[:]["index"] == list(range(len(rows))),
}))
'''


@pytest.fixture(scope="session")
def lerobot_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with LeRobot's code and what its reading of tables needs."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    folder = tmp_path_factory.mktemp("lerobot")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *READS], check=True)
    subprocess.run([*pip, "--no-deps", RELEASE], check=True)
    return python


def read(python: Path, dataset: Path) -> dict[str, object]:
    """What LeRobot says of a dataset; it may ask nobody."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(dataset.parent / "cache")}
    done = subprocess.run([python, "-c", READ, dataset], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.peer
def test_lerobot_reads_the_numbers(lerobot_python: Path, tmp_path: Path) -> None:
    """Three episodes, the first of two steps, the others of ten."""
    run = write_run(tmp_path, "run", keys(0), bench=unit(3)).run
    export_lerobot(load_source(run), tmp_path / "set", fps=20.0)
    said = read(lerobot_python, tmp_path / "set")
    assert (said["version"], said["fps"], said["episodes"], said["frames"]) == ("3.0", 20, 3, 22)
    assert (said["lengths"], said["bounds"]) == ([2, 10, 10], [[0, 2], [2, 12], [12, 22]])
    assert (said["task_index"], len(said["tasks"])) == (0, 1)  # pyright: ignore[reportArgumentType]
    assert said["names"] == ["position[0]", "position[1]"]
    assert said["files"] == ["data/chunk-000/file-000.parquet"] * 3
    assert (said["rows"], said["chosen"], said["index"]) == (22, 10, True)
    assert said["action"] == [0.25, 0.25]
    assert said["timestamps"] == pytest.approx([0.0, 0.05, 0.0])
    assert set(said["columns"]) == set(said["shapes"]) == set(said["stats"])  # pyright: ignore[reportArgumentType]
    assert {"min", "max", "mean", "std", "count"} <= set(said["stats"]["action"])  # pyright: ignore[reportIndexIssue, reportCallIssue, reportArgumentType]


@pytest.mark.peer
def test_lerobot_finds_the_videos(lerobot_python: Path, tmp_path: Path) -> None:
    """A file an episode and camera, where its own pattern says."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path, "run", count=2).run
    export_lerobot(load_source(run), tmp_path / "set")
    said = read(lerobot_python, tmp_path / "set")
    assert said["cameras"] == ["observation.images.front"]
    assert said["shapes"]["observation.images.front"] == [32, 48, 3]  # pyright: ignore[reportIndexIssue, reportCallIssue, reportArgumentType]
    videos = [tmp_path / "set" / str(path) for path in said["videos"]]  # pyright: ignore[reportGeneralTypeIssues]
    assert len(videos) == 2
    assert all(path.is_file() for path in videos)
