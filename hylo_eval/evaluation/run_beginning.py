"""The beginning of a run: folder, manifest and queue, made, or checked when it is continued."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_eval.errors import EvalError, QueueError, cannot_write
from hylo_eval.evaluation.continuing import how_to_continue
from hylo_eval.evaluation.manifest import (
    build_config,
    build_manifest,
    describe_host,
    now,
    write_manifest,
)
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.interpreters.own import source_digest
from hylo_eval.queue import AnotherConfiguration, Item, RunQueue
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest

_BEGINNING_SECONDS: Final = 0.2
"""How long an empty folder may be one that another command has just made."""


@attrs.frozen(kw_only=True)
class RunBeginning:
    """What a run writes down of itself before its first episode.

    Attributes:
        plan: What is run.
        setup: With what.
        run: Where.
        scorers: Names of the scorers.
        details: For the manifest: how the run was called and how it is executed.
    """

    plan: Plan
    setup: RunSetup
    run: RunFolder
    scorers: Sequence[str]
    details: Mapping[str, Any] = attrs.field(factory=dict[str, Any])

    def open_queue(self, *, fsync: bool, allow_code_change: bool) -> RunQueue:
        """The queue of a new run, or of one that is continued.

        Raises:
            EvalError: The run root cannot be written, or holds something else under this name.
            QueueError: The run is of another configuration; the text names every difference.
        """
        if self.run.queue.exists():
            return self._continue(fsync=fsync, allow_code_change=allow_code_change)
        return self.begin_or_continue(fsync=fsync, allow_code_change=allow_code_change)

    def begin_or_continue(self, *, fsync: bool, allow_code_change: bool) -> RunQueue:
        """The same where there was no queue a moment ago: another command may be beginning the same run."""
        manifest = build_manifest(
            self.plan, self.setup, run_id=self.run.run_id, scorers=self.scorers, details=self.details
        )
        self._make_folder()
        with alone_in(self.run.path):
            if self.run.queue.exists():
                return self._continue(fsync=fsync, allow_code_change=allow_code_change)
            write_manifest(manifest, self.run.manifest)
            return self._create_queue(fsync=fsync)

    def _make_folder(self) -> None:
        try:
            self.run.create()
        except EvalError:
            # Another command may have made it just now, and may be ahead of this one or a step behind.
            until = time.monotonic() + _BEGINNING_SECONDS
            while not self._may_be_used():
                if time.monotonic() >= until:
                    raise
                time.sleep(_BEGINNING_SECONDS / 10)

    def _may_be_used(self) -> bool:
        """Whether the folder holds a run that has begun, or nothing of one; waits for whoever is writing it now."""
        try:
            with alone_in(self.run.path):
                return self.run.queue.exists() or self._never_began()
        except OSError:
            return False

    def _create_queue(self, *, fsync: bool) -> RunQueue:
        return RunQueue.create(
            self.run.queue,
            config=build_config(self.plan, self.setup),
            items=(
                Item(key=item.key, task=item.task, position=position)
                for position, item in enumerate(self.plan.declared)
            ),
            max_attempts=self.setup.max_attempts,
            fsync=fsync,
        )

    def _continue(self, *, fsync: bool, allow_code_change: bool) -> RunQueue:
        config = build_config(self.plan, self.setup)
        try:
            queue = RunQueue.open(self.run.queue, config=config, allow_code_change=allow_code_change, fsync=fsync)
        except AnotherConfiguration as error:
            what = f"the run {self.run.run_id!r} cannot be continued: {error.message}"
            ref = str(self.setup.env_ref.get("ref", ""))
            raise QueueError(what, fix=how_to_continue(error.found, ref) or error.fix) from error
        except QueueError as error:
            what = f"the run {self.run.run_id!r} cannot be continued: {error.message}"
            raise QueueError(what, fix=error.fix) from error
        try:
            # After a power cut the last traces may be gone although their rows are there; somebody may have cleaned up.
            self._make_episodes()
            queue.verify_recent(self.run.path)
            self._append_session()
        except BaseException:
            queue.close()
            raise
        return queue

    def _make_episodes(self) -> None:
        try:
            self.run.episodes.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(f"the folder {self.run.episodes}", error) from error

    def _never_began(self) -> bool:
        """Whether the folder is what a run leaves that ended before it had a queue: a kill, a full disk."""
        if not self.run.episodes.is_dir() or any(self.run.episodes.iterdir()):
            return False
        found = {path.name for path in self.run.path.iterdir() if not path.name.endswith(".tmp")}
        return found <= {self.run.manifest.name, self.run.episodes.name}

    def _append_session(self) -> None:
        """Who continued the run, when and where: the manifest tells it apart from a run of one piece."""
        manifest = read_manifest(self.run.manifest)
        sessions = cast("list[Any]", manifest.setdefault("continued", []))
        sessions.append({"at": now(), "host": describe_host(), "source_digest": source_digest(), **self.details})
        write_manifest(manifest, self.run.manifest)


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Have no other process be in here for the same folder: two commands may begin one run at the same moment.

    The kernel forgets it when this process ends, however it ends. Where the file system knows no locks, nobody waits.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
