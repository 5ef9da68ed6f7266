"""The episodes of a run as a LeRobot dataset, layout v3.0: numbers in Parquet, pictures in MP4, the rest in JSON.

Frame ``t`` of an episode is what the agent saw before its action ``t`` and that action as it was applied; a trace of
``n`` steps gives ``n`` frames. ``observation.state`` is the concatenation of the low-dimensional observations.
Pictures are not in traces: where a video of every exported episode was recorded, the videos are copied, one file an
episode; otherwise the dataset holds numbers only, and the summary says so.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from hylo_core.trace import SCORED, EpisodeTrace
from hylo_eval.errors import EvalError, TraceError, cannot_write
from hylo_eval.exchange.arrow import Arrow, arrow
from hylo_eval.exchange.lerobot_frames import EpisodeFrames, FeatureStatistics, frames_of, state_names
from hylo_eval.exchange.source import ExportSource
from hylo_eval.traces.reader import read_trace
from hylo_eval.video.films import sort_out

CODEBASE_VERSION: Final = "v3.0"
DATA_PATH: Final = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH: Final = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_EPISODES_PATH: Final = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_FILES_A_CHUNK: Final = 1000
_ROWS_A_FILE: Final = 200_000


@attrs.frozen(kw_only=True)
class LeRobotExport:
    """What was written.

    Attributes:
        path: The dataset.
        episodes: Episodes in it.
        frames: Frames in it.
        cameras: Cameras whose videos are in it.
        left_out: Instance key -> why an episode is not in it.
        without_video: Why there are no videos; empty where there are.
    """

    path: Path
    episodes: int
    frames: int
    cameras: tuple[str, ...]
    left_out: Mapping[str, str]
    without_video: str


@attrs.define
class _Dataset:
    """A dataset while it is written; holds the frames of one data file at a time."""

    root: Path
    arrow: Arrow
    fps: float
    features: dict[str, Any] = attrs.field(factory=dict[str, Any])
    rows: list[EpisodeFrames] = attrs.field(factory=list[EpisodeFrames])
    episodes: list[dict[str, Any]] = attrs.field(factory=list[dict[str, Any]])
    tasks: dict[str, int] = attrs.field(factory=dict[str, int])
    statistics: FeatureStatistics = attrs.field(factory=FeatureStatistics)
    frames: int = 0
    files: int = 0


def export_lerobot(source: ExportSource, path: Path, *, fps: float | None = None) -> LeRobotExport:
    """Write a dataset.

    Args:
        source: Whose episodes; those that were scored and took a step.
        path: A folder that does not exist yet.
        fps: Frames a second, where the environment does not declare its control rate.

    Raises:
        EvalError: pyarrow is not installed, the folder exists, the rate is not known, no episode can be exported, or
            observations or actions differ in size from episode to episode.
    """
    bound = arrow("a LeRobot dataset")
    if path.exists():
        raise EvalError(f"{path} exists already; nothing is written over", fix="choose another -o")
    building = path.with_name(f".{path.name}.partial")
    shutil.rmtree(building, ignore_errors=True)
    left_out: dict[str, str] = {}
    dataset = _Dataset(root=building, arrow=bound, fps=fps or 0.0)
    videos = _Videos(source)
    try:
        for sample in source.log.samples:
            try:
                trace = read_trace(source.trace(sample), digests="trace")
            except TraceError as error:
                left_out[sample.key] = error.reason
                continue
            reason = _unfit(trace, sample.trace_sha256)
            if reason:
                left_out[sample.key] = reason
                continue
            dataset.fps = dataset.fps or _rate(trace)
            _add(dataset, trace)
            videos.add(source.trace(sample).name.removesuffix(".jsonl"), trace)
        if not dataset.episodes:
            raise EvalError(
                f"{source.run.path} has no episode to export: {'; '.join(sorted(set(left_out.values())))}",
                fix="hylo-eval rescore says what is wrong with the traces; --to csv needs none",
            )
        _flush(dataset)
        cameras = videos.copy(dataset)
        _write_meta(dataset, source)
        building.rename(path)
    except OSError as error:
        raise cannot_write(str(path), error) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return LeRobotExport(
        path=path,
        episodes=len(dataset.episodes),
        frames=dataset.frames,
        cameras=cameras,
        left_out=left_out,
        without_video=videos.missing,
    )


def _unfit(trace: EpisodeTrace, recorded: str) -> str:
    """Why an episode is no data; empty where it is."""
    if trace.end is None or trace.end.status not in SCORED:
        return f"it ended as {trace.status or 'nothing: its trace is torn'}"
    if recorded and trace.trace_sha256 != recorded:
        return "its trace is not the one that was recorded"
    return "" if trace.steps and trace.reset is not None else "it took no step"


def _rate(trace: EpisodeTrace) -> float:
    spec = trace.start.env_spec
    rate = spec.control_hz or (1.0 / spec.step_seconds if spec.step_seconds else 0.0)
    if not rate or not math.isfinite(rate):
        raise EvalError("the environment does not declare its control rate", fix="say it: --fps 20")
    return rate


def _add(dataset: _Dataset, trace: EpisodeTrace) -> None:
    task = trace.reset.instruction if trace.reset is not None else ""
    task_index = dataset.tasks.setdefault(task, len(dataset.tasks))
    found = frames_of(trace, episode=len(dataset.episodes), first=dataset.frames, task=task_index, fps=dataset.fps)
    features = _features(found, state_names(trace))
    if dataset.features and features != dataset.features:
        raise EvalError(
            f"{trace.key} has observations or actions of another size than the episodes before it, "
            "which one dataset cannot hold",
            fix="export the runs of different tasks apart",
        )
    dataset.features = features
    if dataset.rows and sum(item.length for item in dataset.rows) + found.length > _ROWS_A_FILE:
        _flush(dataset)
    dataset.rows.append(found)
    own = FeatureStatistics()
    own.add(found.numbers)
    dataset.statistics.add(found.numbers)
    dataset.episodes.append(
        {
            "episode_index": len(dataset.episodes),
            "tasks": [task],
            "length": found.length,
            "data/chunk_index": dataset.files // _FILES_A_CHUNK,
            "data/file_index": dataset.files % _FILES_A_CHUNK,
            "dataset_from_index": dataset.frames,
            "dataset_to_index": dataset.frames + found.length,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
            **{f"stats/{name}/{kind}": value for name, kinds in own.summary().items() for kind, value in kinds.items()},
        }
    )
    dataset.frames += found.length


def _features(frames: EpisodeFrames, names: Sequence[str]) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for name, column in frames.numbers.items():
        size = [1] if column.ndim == 1 else [int(column.shape[1])]
        labels = list(names) if name == "observation.state" else None
        described[name] = {"dtype": str(column.dtype), "shape": size, "names": labels}
    return described


def _flush(dataset: _Dataset) -> None:
    """Write the gathered episodes as one data file."""
    import numpy as np

    core = dataset.arrow.core
    columns: dict[str, Any] = {}
    for name in dataset.features:
        joined = np.concatenate([item.numbers[name] for item in dataset.rows])
        if joined.ndim == 1:
            columns[name] = core.array(joined)
        else:
            flat = core.array(joined.reshape(-1))
            columns[name] = core.FixedSizeListArray.from_arrays(flat, joined.shape[1])
    _write(dataset, _numbered(DATA_PATH, dataset.files), core.table(columns))
    dataset.rows.clear()
    dataset.files += 1


def _write_meta(dataset: _Dataset, source: ExportSource) -> None:
    core = dataset.arrow.core
    _write(dataset, _numbered(_EPISODES_PATH, 0), core.Table.from_pylist(dataset.episodes))
    tasks = core.table({"task_index": core.array(list(dataset.tasks.values())), "task": list(dataset.tasks)})
    # Their reader takes the texts as the index of a data frame, which Parquet tells by this member.
    index = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [_pandas("task_index", "int64"), _pandas("task", "unicode")],
    }
    _write(dataset, "meta/tasks.parquet", tasks.replace_schema_metadata({b"pandas": orjson.dumps(index)}))
    _write_json(dataset.root / "meta" / "stats.json", dataset.statistics.summary())
    fps = int(dataset.fps) if float(dataset.fps).is_integer() else dataset.fps
    info = {
        "codebase_version": CODEBASE_VERSION,
        "robot_type": None,
        "total_episodes": len(dataset.episodes),
        "total_frames": dataset.frames,
        "total_tasks": len(dataset.tasks),
        "chunks_size": _FILES_A_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{len(dataset.episodes)}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if any(item["dtype"] == "video" for item in dataset.features.values()) else None,
        "features": dataset.features,
        "hylo": {
            "run_id": source.log.run_id,
            "benchmark": source.log.benchmark.to_dict(),
            "agent": source.log.agent.name,
        },
    }
    _write_json(dataset.root / "meta" / "info.json", info)


class _Videos:
    """The videos of the exported episodes, where every one of them has one of every camera."""

    def __init__(self, source: ExportSource) -> None:
        self._folder = source.run.videos
        self._episodes: list[str] = []
        self._cameras: Mapping[str, Sequence[int]] | None = None
        self.missing = ""

    def add(self, episode_id: str, trace: EpisodeTrace) -> None:
        """Take note of the next episode."""
        layouts = trace.start.observations
        found = {
            path.name[len(episode_id) + 1 : -len(".mp4")]: path
            for path in self._folder.glob(f"{escape(episode_id)}.*.mp4")
        }
        cameras = {name: layouts[name].shape for name in sorted(found) if name in layouts}
        _, doubts = sort_out((found[name] for name in cameras), trace)
        if doubts:
            self.missing = self.missing or f"a video is not the one that was recorded: {doubts[0]}"
        elif not cameras:
            self.missing = self.missing or "no video was recorded of every episode"
        elif self._cameras not in (None, cameras):
            self.missing = self.missing or "episodes were recorded by different cameras"
        self._cameras = cameras
        self._episodes.append(episode_id)

    def copy(self, dataset: _Dataset) -> tuple[str, ...]:
        """Copy them into the dataset, one file an episode; the cameras, or none where there is no video."""
        if self.missing or not self._cameras:
            return ()
        for camera, shape in self._cameras.items():
            key = f"observation.images.{camera}"
            dataset.features[key] = {
                "dtype": "video",
                "shape": list(shape),
                "names": ["height", "width", "channels"],
                "info": {"video.fps": dataset.fps, "video.is_depth_map": False, "has_audio": False},
            }
            for number, episode_id in enumerate(self._episodes):
                chunk, file = divmod(number, _FILES_A_CHUNK)
                target = dataset.root / VIDEO_PATH.format(video_key=key, chunk_index=chunk, file_index=file)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self._folder / f"{episode_id}.{camera}.mp4", target)
                row = dataset.episodes[number]
                row |= {
                    f"videos/{key}/chunk_index": chunk,
                    f"videos/{key}/file_index": file,
                    f"videos/{key}/from_timestamp": 0.0,
                    f"videos/{key}/to_timestamp": row["length"] / dataset.fps,
                }
        return tuple(self._cameras)


def _numbered(pattern: str, number: int) -> str:
    chunk, file = divmod(number, _FILES_A_CHUNK)
    return pattern.format(chunk_index=chunk, file_index=file)


def _write(dataset: _Dataset, relative: str, table: Any) -> None:
    path = dataset.root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.arrow.parquet.write_table(table, path)


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def _pandas(name: str, kind: str) -> dict[str, Any]:
    numpy_type = kind if kind == "int64" else "object"
    return {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy_type, "metadata": None}
