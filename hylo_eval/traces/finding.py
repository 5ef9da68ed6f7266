"""From what a person types to the run that is meant: one way of naming a run, for every command."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable
from pathlib import Path

from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean, quoted
from hylo_eval.traces.layout import RunFolder


def find_run(name: str, run_root: Path) -> RunFolder:
    """The run folder of a path (of the folder or of its log), or of a run id under the run root.

    Of a folder here and a run of the same name under the run root, the one that is a run is meant.

    Raises:
        EvalError: There is none; the text suggests near run ids.
    """
    found = _candidates(name, run_root)
    if not found:
        raise _no_run(name, run_root)
    chosen = next(filter(is_run, found), found[0])
    return RunFolder(chosen.resolve())


def find_runs(names: Iterable[str], run_root: Path) -> list[RunFolder]:
    """The runs that are meant: each name is that of a run as in :func:`find_run`, or a folder of run folders.

    Raises:
        EvalError: A name is neither.
    """
    found: dict[Path, RunFolder] = {}
    for name in names:
        candidates = _candidates(name, run_root)
        if not candidates:
            raise _no_run(name, run_root)
        chosen = next(filter(is_run, candidates), None)
        inside = _runs_in(candidates) if chosen is None else [chosen]
        if not inside:
            raise EvalError(
                f"{candidates[0]} is no run folder and holds none",
                fix="name a folder that holds a manifest.json or an evallog.json",
            )
        for folder in inside:
            found.setdefault(folder.resolve(), RunFolder(folder))
    return list(found.values())


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run: it has a manifest or a log."""
    run = RunFolder(path)
    return any(file.is_file() for file in (run.manifest, run.evallog, run.partial_evallog))


def refuse_no_remains(run: RunFolder) -> None:
    """Refuse a folder in which nothing of a run is left: no manifest, queue, log or trace.

    Raises:
        EvalError: Saying which files are not there, or are something else than files.
    """
    named = (run.manifest, run.queue, run.evallog, run.partial_evallog)
    if not any(file.is_file() for file in named) and not any(file.is_file() for file in run.episodes.glob("*.jsonl*")):
        raise no_run_folder(run)


def no_run_folder(run: RunFolder) -> EvalError:
    """What to say of a folder that holds neither manifest nor queue as files."""
    others = [file.name for file in (run.manifest, run.queue) if file.exists() and not file.is_file()]
    odd = f" as files: {' and '.join(others)} there is a folder, a pipe, a socket or a device" if others else ""
    return EvalError(
        f"{run.path} is no run folder: it holds neither manifest.json nor queue.db{odd}",
        fix="name a folder that hylo-eval run has written",
    )


def how_to_finish(run: RunFolder) -> str:
    """What mends a run that has no log yet: the command that continues it, where it was begun by one."""
    if not run.queue.is_file():
        return "let the run finish, or run it again"
    return f"hylo-eval run --resume {run.run_id}{root_option(run)}"


def root_option(run: RunFolder) -> str:
    """What has to be added to a command that names the run by its id, such as `` --run-root results``.

    Empty for a run under ``runs``. The folder is named from the working folder where it lies in it.
    """
    root = run.path.parent.absolute()
    if root == Path("runs").absolute():
        return ""
    with contextlib.suppress(ValueError):
        root = root.relative_to(Path.cwd())
    return f" --run-root {shlex.quote(str(root))}"


def _candidates(name: str, run_root: Path) -> list[Path]:
    given = Path(name)
    if given.is_file() and given.name in ("evallog.json", "evallog.partial.json"):
        given = given.parent
    return [path for path in (given, run_root / name) if path.is_dir()]


def _runs_in(folders: Iterable[Path]) -> list[Path]:
    """Those of the first folder that holds some."""
    found = (sorted(filter(is_run, folder.iterdir())) for folder in folders)
    return next((inside for inside in found if inside), list[Path]())


def _no_run(name: str, run_root: Path) -> EvalError:
    known = [path.name for path in run_root.iterdir() if path.is_dir()] if run_root.is_dir() else []
    fix = f"name a run folder, or a run in {run_root}"
    if any(path.is_dir() for path in (Path(f"{name}-r1"), run_root / f"{name}-r1")):
        fix = f"it was run in repetitions: name one, {name}-r1; compare and gate take all of them with --replicates K"
    return EvalError(f"there is no run {quoted(name)}{did_you_mean(name, known)}", fix=fix)
