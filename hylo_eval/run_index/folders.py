"""Run folders as the index sees them: what each came to, or what is wrong with it; one folder is never an exception."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.errors import HyloError, clean_text
from hylo_core.trace import INFRASTRUCTURE, EpisodeStatus
from hylo_eval.errors import EvalError
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.v02 import EvalLog, LogHeader
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest

RUN_STATUSES: Final = ("complete", "partial", "unfinished", "broken")
"""Whole; stopped before its end; without a log (it goes on, or was killed); not to be read, or a log that contradicts
itself or is of another run."""

_MAX_PROBLEM: Final = 500
_MAX_ERROR: Final = 300
_SHOWN_ERRORS: Final = 3
_FAILED: Final = frozenset({EpisodeStatus.AGENT_ERROR, *INFRASTRUCTURE})


@attrs.frozen(kw_only=True)
class Scoring:
    """A later scoring of a run.

    Attributes:
        name: Of its file in ``scores/``.
        header: The log without its samples; None where it cannot be read.
        problem: Why.
    """

    name: str
    header: LogHeader | None
    problem: str = ""


@attrs.frozen(kw_only=True)
class FoundRun:
    """A run folder.

    Attributes:
        folder: Where it is.
        fingerprint: Changes when one of the files changes that the other members were read from.
        status: One of :data:`RUN_STATUSES`.
        problem: What is wrong, in one line; empty where nothing is.
        manifest: Empty where it cannot be read.
        log: None where there is none or it cannot be read.
        scorings: Later ones, by name.
    """

    folder: RunFolder
    fingerprint: str
    status: str
    problem: str
    manifest: Mapping[str, Any]
    log: EvalLog | None
    scorings: tuple[Scoring, ...] = ()


def run_folders(run_root: Path) -> Iterator[RunFolder]:
    """The folders of a run root that are runs or what is left of one, by name.

    Raises:
        EvalError: The run root cannot be listed.
    """
    try:
        inside = sorted(run_root.iterdir())
    except OSError as error:
        raise EvalError(f"cannot list the run root {run_root}: {error.strerror}", fix="--run-root FOLDER") from error
    for path in inside:
        run = RunFolder(path)
        if any(_exists(part) for part in (run.manifest, run.evallog, run.partial_evallog, run.episodes)):
            yield run


def index_name(run: RunFolder) -> str:
    """A run's id as a database can hold it: a folder may have any bytes as its name."""
    return clean_text(run.run_id)


def fingerprint(run: RunFolder) -> str:
    """Names, sizes and times of the files that say what a run came to."""
    paths = [run.manifest, run.evallog, run.partial_evallog, *_scoring_paths(run)]
    return "\n".join(file_identity(path) for path in paths)


def read_run(run: RunFolder) -> FoundRun:
    """What a run came to; what cannot be read is a problem and no error."""
    identity = fingerprint(run)
    problems: list[str] = []
    manifest: Mapping[str, Any] = {}
    log: EvalLog | None = None
    status, remark = "unfinished", ""
    source = run.evallog if _exists(run.evallog) else run.partial_evallog
    try:
        if _exists(run.manifest):
            manifest = read_manifest(run.manifest)
        else:
            problems.append("there is no manifest.json")
        if _exists(source):
            found = read_evallog(source)
            refuse_foreign(found, run, source)
            log = found
            status = "complete" if source == run.evallog else "partial"
            remark = _remark(found)
    except HyloError as error:
        problems.append(_problem(error, run))
    except OSError as error:
        problems.append(f"cannot be read: {error.strerror}")
    if problems:
        status = "broken"
    return FoundRun(
        folder=run,
        fingerprint=identity,
        status=status,
        problem="; ".join(problems) or remark,
        manifest=manifest,
        log=log,
        scorings=tuple(_scoring(path, run) for path in _scoring_paths(run)),
    )


def _remark(log: EvalLog) -> str:
    """What a log that is in order does not show by its status: that it holds no number."""
    results = log.results
    return f"nothing was scored: 0 of {results.n_episodes}" if results.n_episodes and not results.n_scored else ""


def planned_episodes(manifest: Mapping[str, Any]) -> int | None:
    """How many episodes a run is to have; None where its manifest does not say."""
    selection: Any = manifest.get("selection")
    planned: Any = cast("Mapping[str, Any]", selection).get("instances") if isinstance(selection, Mapping) else None
    return planned if type(planned) is int and 0 <= planned < 2**53 else None


def commonest_errors(log: EvalLog | None) -> list[tuple[str, int]]:
    """Why episodes failed that nobody could score: the commonest texts, and in how many episodes each stands.

    They are what the log's first scorer gives as its reason, one line each and cut; long tails are left out.
    """
    first = next(iter(log.eval.scorers), None) if log is not None else None
    if log is None or first is None:
        return []
    silent = [
        sample.scores[first].explanation
        for sample in log.samples
        if sample.status in _FAILED and first in sample.scores and sample.scores[first].value is None
    ]
    texts = Counter(clean_text(" ".join(text.split()), _MAX_ERROR) for text in silent)
    return texts.most_common(_SHOWN_ERRORS)


def _scoring(path: Path, run: RunFolder) -> Scoring:
    try:
        # In full: whoever lists its means believes that its samples were looked at.
        header = read_evallog(path).header()
        refuse_foreign(header, run, path)
        return Scoring(name=clean_text(path.stem), header=header)
    except HyloError as error:
        return Scoring(name=clean_text(path.stem), header=None, problem=_problem(error, run))


def _scoring_paths(run: RunFolder) -> list[Path]:
    try:
        return sorted((run.path / "scores").glob("*.json"))
    except OSError:
        return []


def _problem(error: HyloError, run: RunFolder) -> str:
    """The first line of an error, with paths from the run folder on."""
    message = error.message if isinstance(error, EvalError) else str(error)
    line = (message.splitlines() or [""])[0].replace(f"{run.path}/", "")
    return clean_text(line, _MAX_PROBLEM)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def file_identity(path: Path) -> str:
    """Name, size and times of a file: equal while it is the same."""
    try:
        found = path.stat()
    except OSError:
        return f"{clean_text(path.name)} -"
    return f"{clean_text(path.name)} {found.st_size} {found.st_mtime_ns} {found.st_ino}"
