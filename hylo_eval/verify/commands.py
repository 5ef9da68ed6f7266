"""The commands of the verdict layer: ``verify`` and ``verify-candidate``.

Most of a short grade is the start of its process: what not every grade needs (argparse where somebody else has read
the arguments, logging where nothing failed) is imported where it is used.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hylo_core.errors import clean_text
from hylo_eval.verify.specs import DEFAULT_WORKSPACE
from hylo_eval.verify.verdict import Status
from hylo_eval.verify.verdict_files import clear_verdict, verdict_json, write_traceback, write_verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence

    from hylo_eval.verify.verdict import Reward

DEFAULT_LOGS_DIR: Final = Path("/logs/verifier")
_HELP_COLUMNS: Final = 78
_REASON_CHARACTERS: Final = 300
_TRACEBACK_CHARACTERS: Final = 1 << 16
EXIT_DONE: Final = 0
EXIT_UNWRITTEN: Final = 2
EXIT_INTERRUPTED: Final = 130

_VERDICT_NOTE: Final = (
    "The exit status is 0 for all three statuses of a verdict: scored, invalid_task and infra_error. "
    "reward.json and reward.txt are written for a scored verdict only. "
    "The exit status is 2 when no verdict could be written, 130 when a signal ended the command before it was."
)


def _parser(program: str, description: str) -> argparse.ArgumentParser:
    import argparse

    def of_fixed_width(prog: str) -> argparse.HelpFormatter:
        # Every option makes a formatter, and asking for the terminal's width would import shutil.
        return argparse.HelpFormatter(prog, width=_HELP_COLUMNS)

    return argparse.ArgumentParser(
        prog=program, description=description, epilog=_VERDICT_NOTE, formatter_class=of_fixed_width
    )


def verify_parser(program: str = "hylo-verify") -> argparse.ArgumentParser:
    """The argument parser of ``verify``."""
    parser = _parser(program, "Grade the task of a verifier.toml.")
    parser.add_argument("spec", type=Path, metavar="SPEC", help="path of verifier.toml")
    parser.add_argument("--logs-dir", type=Path, default=DEFAULT_LOGS_DIR, help="default: %(default)s")
    parser.add_argument("--workspace", type=Path, default=Path(DEFAULT_WORKSPACE), help="default: %(default)s")
    return parser


def candidate_parser(program: str = "hylo-eval verify-candidate") -> argparse.ArgumentParser:
    """The argument parser of ``verify-candidate``."""
    parser = _parser(program, "Grade the whole text of an answer file as an extracted answer.")
    parser.add_argument("--spec", type=Path, required=True, help="path of the specification, TOML")
    parser.add_argument("--answer", required=True, help="the answer file; below /app it is read from the workspace")
    parser.add_argument("--workspace", type=Path, required=True, help="the candidate's folder")
    parser.add_argument("--logs-dir", type=Path, required=True, help="where the verdict is written")
    parser.add_argument(
        "--resources-manifest",
        type=Path,
        required=True,
        help="a JSON list of the task's files, relative to the manifest's own folder",
    )
    return parser


def main_verify(argv: Sequence[str] | None = None) -> int:
    """Runs ``verify SPEC [--logs-dir DIR] [--workspace DIR]``.

    Returns:
        The exit status: 0 with a verdict written, 2 without, 130 when SIGINT, SIGTERM or SIGHUP came first.
    """
    arguments = verify_parser().parse_args(argv)
    return record_verdict(arguments.spec, logs_dir=arguments.logs_dir, workspace=arguments.workspace)


def record_verdict(spec: Path, *, logs_dir: Path, workspace: Path) -> int:
    """Grades the task of ``spec``, a ``verifier.toml``, and writes the files of its verdict.

    Returns:
        The exit status, as :func:`main_verify`.
    """

    def graded(failed: Callable[[Exception], None]) -> Reward:
        from hylo_eval.verify.grade import grade_file

        return grade_file(spec, workspace, failed=failed)

    return _record(logs_dir, workspace, graded)


def main_show(spec: Path, workspace: Path, *, debug: bool = False) -> int:
    """Grades as ``verify`` does and prints the verdict as a JSON line, where no folder for its files is asked for.

    Args:
        spec: A ``verifier.toml``.
        workspace: The candidate's folder.
        debug: Whether to show the traceback of a grading that fails.

    Returns:
        The exit status: 0 with a verdict printed, 130 when SIGINT, SIGTERM or SIGHUP came first.
    """
    from hylo_eval.verify.grade import grade_file

    failures: list[Exception] = []
    try:
        with _command_conditions():
            verdict = grade_file(spec, workspace, failed=failures.append)
    except KeyboardInterrupt:
        return _interrupted()
    print(verdict_json(verdict), flush=True)  # noqa: T201
    for failure in failures:
        if debug:
            _tell(_traceback_of(failure).rstrip())
        _tell(f"{_summary(verdict)}{_how_to_mend(failure, workspace)}")
        if not debug:
            _tell("--debug shows where grading failed")
    note = f"no files are written: this machine has no {DEFAULT_LOGS_DIR.parent}. fix: --logs-dir DIR writes them"
    _tell(note)
    return EXIT_DONE


def main_candidate(argv: Sequence[str] | None = None) -> int:
    """Runs ``verify-candidate``; see :func:`candidate_parser`.

    Returns:
        The exit status: 0 with a verdict written, 2 without, 130 when SIGINT, SIGTERM or SIGHUP came first.
    """
    arguments = candidate_parser().parse_args(argv)

    def graded(failed: Callable[[Exception], None]) -> Reward:
        from hylo_eval.verify.candidate_file import grade_candidate_file

        return grade_candidate_file(
            arguments.spec,
            answer=arguments.answer,
            workspace=arguments.workspace,
            resources_manifest=arguments.resources_manifest,
            failed=failed,
        )

    return _record(arguments.logs_dir, arguments.workspace, graded)


def _record(logs_dir: Path, workspace: Path, graded: Callable[[Callable[[Exception], None]], Reward]) -> int:
    failures: list[Exception] = []
    try:
        with _command_conditions():
            # A stale reward must not survive a grader that is killed half way.
            clear_verdict(logs_dir)
            verdict = write_verdict(logs_dir, graded(failures.append))
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        _tell(f"the verdict cannot be written to {logs_dir}: {error}")
        return EXIT_UNWRITTEN
    for failure in failures:
        _tell(f"{_summary(verdict)}{_how_to_mend(failure, workspace)}")
        if (written := write_traceback(logs_dir, _traceback_of(failure))) is not None:
            _tell(f"where grading failed: {written}")
    if not failures:
        _tell(_summary(verdict))
    return EXIT_DONE


def _traceback_of(failure: Exception) -> str:
    """Where grading failed, without the credentials that a message may quote; of a very long text the end."""
    import traceback

    from hylo_eval.credentials import secrets_of
    from hylo_eval.redaction import redact_text

    text = redact_text("".join(traceback.format_exception(failure)), *secrets_of(os.environ))
    return text[-_TRACEBACK_CHARACTERS:].encode("utf-8", "backslashreplace").decode()


def _how_to_mend(failure: Exception, workspace: Path) -> str:
    """What a command can mend of what its grading failed on; empty where its message says all that is known."""
    from hylo_eval.verify.file_ops.reading import UnusableFolder

    if not isinstance(failure, UnusableFolder):
        return ""
    folder = Path(failure.path)
    # What runs commands has made it absolute.
    if folder == workspace or (folder.is_absolute() and folder == workspace.absolute()):
        return "\n  fix: --workspace DIR names the candidate's folder"
    return ""


def _summary(verdict: Reward) -> str:
    """A line for whoever watches: why, where a verdict says so, and no number where none counts."""
    reward = f"reward={verdict.reward} " if verdict.status is Status.SCORED else ""
    said = (verdict.detail.get("reason") or verdict.detail.get("error"), verdict.detail.get("advice"))
    why = clean_text(": ".join(str(part) for part in said if part), _REASON_CHARACTERS)
    shown = f" {why if why.isprintable() else repr(why)}" if why else ""
    return f"INFO {reward}status={verdict.status}{shown}"


def _interrupted() -> int:
    _tell("interrupted before there was a verdict")
    return EXIT_INTERRUPTED


def _tell(line: str) -> None:
    """Says a line to whoever watches. That nobody does, or that it cannot be kept, changes no exit status."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - it is where descriptor 2 was closed
        return
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        # What the stream still holds is written once more when the interpreter ends.
        with suppress(OSError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), sys.stderr.fileno())


@contextmanager
def _command_conditions() -> Generator[None]:
    """What a grader needs of its process that whoever started it may have left otherwise.

    SIGTERM and SIGHUP end what the grader started, as SIGINT does, before they end the grader. A parent that ignores
    SIGCHLD would have the kernel drop how the grader's own children ended.
    """
    _withhold_credentials()
    taken: dict[signal.Signals, signal.Handlers] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup and an embedding program keep theirs
                signal.signal(number, signal.default_int_handler)
                taken[number] = signal.SIG_DFL
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            taken[signal.SIGCHLD] = signal.SIG_IGN
    try:
        yield
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


def _withhold_credentials() -> None:
    """Keeps the credentials out of what a command can read of its parent."""
    from hylo_eval.credentials import CREDENTIAL_PREFIXES

    if any(name.startswith(CREDENTIAL_PREFIXES) for name in os.environ):
        from hylo_eval.verify.initial_environment import blank_initial_credentials

        blank_initial_credentials()
