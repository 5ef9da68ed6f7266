"""Where the files of a run are."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.suggest import quoted

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_NOT_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_CAMERA = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG_LENGTH = 80

EPISODES: Final = "episodes"
"""The folder of a run's traces."""

TRACE_SUFFIX: Final = ".jsonl"
"""What the name of a trace ends with."""

PARTIAL: Final = ".partial"
"""What is appended to the name of a trace until it is whole."""


@lru_cache(maxsize=1024)
def episode_id(key: str, attempt: int) -> str:
    """``<slug of key>-<10 hex of sha256(key)>.<attempt>``: a file name that no other key and no other attempt has."""
    slug = _NOT_SLUG.sub("-", key).strip("-.")[:_SLUG_LENGTH]
    return f"{slug}-{hashlib.sha256(key.encode()).hexdigest()[:10]}.{attempt}"


def trace_name(episode: str) -> str:
    """The path of an episode id's trace below its run folder, with ``/``: what queue and log call it."""
    return f"{EPISODES}/{episode}{TRACE_SUFFIX}"


def partial_of(trace: Path) -> Path:
    """Where a trace is written until it is whole."""
    return trace.with_name(trace.name + PARTIAL)


@attrs.frozen
class RunFolder:
    """The files of one run, under ``<run_root>/<run_id>``."""

    path: Path

    @classmethod
    def at(cls, run_root: Path, run_id: str) -> RunFolder:
        """The folder of a run id.

        Raises:
            EvalError: The id is no plain file name.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise EvalError(
                f"{quoted(run_id)} is no run id: at most 128 letters, digits, '.', '_' and '-', "
                "a letter or digit first",
                fix="--run-id with such a name",
            )
        # Absolute: simulators are known to change the working directory.
        return cls(Path(run_root).absolute() / run_id)

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def manifest(self) -> Path:
        """What was run, with what, where."""
        return self.path / "manifest.json"

    @property
    def evallog(self) -> Path:
        """The first scoring of the whole run."""
        return self.path / "evallog.json"

    @property
    def partial_evallog(self) -> Path:
        """The scoring of a run that is not whole."""
        return self.path / "evallog.partial.json"

    @property
    def queue(self) -> Path:
        """The work queue: what is done and what is left."""
        return self.path / "queue.db"

    @property
    def activity(self) -> Path:
        """The folder in which each process that works on the run says what it does now."""
        return self.path / "activity"

    @property
    def episodes(self) -> Path:
        """The folder of the traces."""
        return self.path / EPISODES

    def scores(self, name: str) -> Path:
        """The log of a later scoring.

        Raises:
            EvalError: The name is no plain file name.
        """
        if not _RUN_ID.fullmatch(name):
            raise EvalError(
                f"{quoted(name)} is no name of a scoring: at most 128 letters, digits, '.', '_' and '-', "
                "a letter or digit first",
                fix="--name with such a name",
            )
        return self.path / "scores" / f"{name}.json"

    def score_details(self, name: str) -> Path:
        """What the log of a later scoring cannot hold: explanations and metadata, a line an episode."""
        return self.scores(name).with_name(f"{name}.jsonl")

    def trace(self, episode: str) -> Path:
        """The trace of an episode id."""
        return self.path.joinpath(trace_name(episode))

    def named_trace(self, name: str) -> Path | None:
        """The trace that a record names, such as a log's sample; None for a name that is no file of ``episodes``.

        So a record cannot lead out of its run folder, unless the file is a link: that is the caller's to look at.
        """
        folder, _, file = name.partition("/")
        plain = folder == EPISODES and file not in ("", ".", "..") and not {"/", "\0"} & set(file)
        return self.path / name if plain else None

    def worker_log(self, worker: str) -> Path:
        """What the worker of this name prints."""
        return self.path / "logs" / f"{worker}.log"

    @property
    def videos(self) -> Path:
        """The folder of the videos; made with the first of them."""
        return self.path / "videos"

    def video(self, episode: str, camera: str) -> Path:
        """The video of one camera of an episode id."""
        slug = _NOT_CAMERA.sub("-", camera)[:_SLUG_LENGTH]
        # Two cameras whose names differ in what a file name does not hold have different files.
        name = slug if slug == camera else f"{slug}-{hashlib.sha256(camera.encode()).hexdigest()[:6]}"
        return self.videos / f"{episode}.{name}.mp4"

    def create(self) -> None:
        """Make the folders.

        Raises:
            EvalError: The run exists already, or the run root cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir()
            self.episodes.mkdir()
        except FileExistsError as error:
            if self.path.is_dir():
                raise EvalError(
                    f"there is a run {self.run_id!r} in {self.path.parent} already",
                    fix="choose another --run-id",
                ) from error
            raise EvalError(
                f"cannot write the run root {self.path.parent}: a file is in the way",
                fix="choose another folder with --run-root",
            ) from error
        except OSError as error:
            raise EvalError(
                f"cannot write the run root {self.path.parent}: {error.strerror}",
                fix="choose a folder you may write with --run-root",
            ) from error
