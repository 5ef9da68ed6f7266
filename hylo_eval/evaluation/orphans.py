"""Files of a run that no row of its queue names: what lost and stopped attempts left. They are no results."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.queue import Lease
from hylo_eval.traces.layout import PARTIAL, TRACE_SUFFIX, RunFolder, episode_id, trace_name

# What is written beside its final name and renamed; the number is that of the process.
_TEMPORARY: Final = re.compile(r"\.(manifest\.json|evallog(\.partial)?\.json|queue\.db)\.\d{1,10}\.tmp")


@attrs.frozen(kw_only=True)
class Orphan:
    """A file that no row names.

    Attributes:
        path: Below the folder of the run, with ``/``.
        size: In bytes.
        stopped: Whether it is the whole trace of an attempt that ended in order when the operator stopped the run.
    """

    path: str
    size: int
    stopped: bool = False


def list_candidates(run: RunFolder) -> list[Orphan]:
    """Files with the names of traces, whole and partial, and unfinished writes of the run's own files.

    To be called before the queue is asked what it names: a file that is there already belongs to an attempt that the
    queue knows already.

    Raises:
        EvalError: The folder cannot be read.
    """
    found: list[Orphan] = []
    for folder, fits in ((run.episodes, _is_trace), (run.path, _TEMPORARY.fullmatch)):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    size = _size(entry) if fits(entry.name) else None
                    if size is not None:
                        found.append(Orphan(path=Path(entry.path).relative_to(run.path).as_posix(), size=size))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise EvalError(f"cannot read {folder}: {error.strerror}") from error
    return sorted(found, key=lambda orphan: orphan.path)


def orphans_among(
    candidates: Sequence[Orphan],
    *,
    named: Collection[str],
    held: Sequence[Lease],
    someone_works: bool,
    stopped: Collection[str] = (),
) -> tuple[Orphan, ...]:
    """Those that no row names.

    Args:
        candidates: What :func:`list_candidates` found.
        named: The paths that the rows of the queue name, those of attempts that do not count among them.
        held: Leases whose attempts may still be running; what they write is no orphan yet.
        someone_works: Whether a process works on the run, which may be writing a file beside its final name.
        stopped: Where the traces of attempts are that gave their lease back.
    """
    expected = {trace_name(episode_id(lease.key, lease.attempt)) for lease in held}
    kept = {*named, *expected, *(name + PARTIAL for name in expected)}
    return tuple(
        attrs.evolve(orphan, stopped=orphan.path in stopped)
        for orphan in candidates
        if orphan.path not in kept and not (someone_works and _TEMPORARY.fullmatch(orphan.path))
    )


def remove(run: RunFolder, orphans: Sequence[Orphan]) -> None:
    """Remove files that were listed.

    Raises:
        EvalError: The folder of the traces is a link to another, or a file cannot be removed.
    """
    if run.episodes.is_symlink():
        raise EvalError(
            f"{run.episodes} is a link to another folder: nothing is removed there", fix="remove it by hand"
        )
    for orphan in orphans:
        try:
            (run.path / orphan.path).unlink(missing_ok=True)
        except OSError as error:
            raise EvalError(f"cannot remove {orphan.path}: {error.strerror}") from error


def _size(entry: os.DirEntry[str]) -> int | None:
    """The size of a file; None for a link or a folder, which no run writes here, and for what is gone again."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _is_trace(name: str) -> bool:
    return name.endswith((TRACE_SUFFIX, TRACE_SUFFIX + PARTIAL))
