"""Grading a task from its files: the dispatch from a specification to its mode."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from functools import lru_cache
from os.path import isdir, normpath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_core.errors import describe_error
from hylo_eval.verify.candidate import is_unanswered
from hylo_eval.verify.file_ops.reading import (
    MAX_ANSWER_BYTES,
    UnreadableFile,
    UnreadableReason,
    UnusableFolder,
    read_beneath,
    read_bounded,
)
from hylo_eval.verify.file_ops.resources import resource_file
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.modes import grader_of, mode_of
from hylo_eval.verify.modes.grader import AnswerGrader, GradingContext
from hylo_eval.verify.spec import parse_spec
from hylo_eval.verify.specs import DEFAULT_WORKSPACE
from hylo_eval.verify.specs.base import DEFAULT_OUTPUT
from hylo_eval.verify.specs.fields import SpecError
from hylo_eval.verify.verdict import (
    GradingInfraError,
    InvalidTask,
    Reward,
    infra_error,
    invalid_task,
    validated,
    zero,
)

MAX_SPEC_BYTES: Final = 16 << 20
MAX_RESOURCE_BYTES: Final = 64 << 20
_MAX_SHOWN_PATH: Final = 200

if TYPE_CHECKING:
    from collections.abc import Callable

    from hylo_eval.verify.specs.base import AnswerSpec
    from hylo_eval.verify.specs.execution import ExecutionSpec


class TestsFolder:
    """The task's own files, each read from the tests directory once."""

    __test__ = False  # the name begins like a test class, and is none

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._contents: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        """The content of a file of the task.

        Raises:
            InvalidTask: It does not exist, leaves the folder, is no regular file or is larger than 64 MiB.
            GradingInfraError: The machine cannot open or read any more.
        """
        if path not in self._contents:
            self._contents[path] = self._content(path)
        return self._contents[path]

    def _content(self, path: str) -> bytes:
        found = resource_file(self.path, path, what="the task's file")
        try:
            with found.open("rb") as file:
                content = file.read(MAX_RESOURCE_BYTES + 1)
        except OSError as error:
            failure = GradingInfraError if is_machine_fault(error) else InvalidTask
            raise failure(f"the task's file {path!r:.200} cannot be read: {error.strerror}") from error
        if len(content) > MAX_RESOURCE_BYTES:
            raise InvalidTask(f"the task's file {path!r:.200} is larger than {MAX_RESOURCE_BYTES} bytes")
        return content


@lru_cache
def under_workspace(path: str) -> str | None:
    """The part of an absolute path below ``/app``, the workspace of the contract; None for any other path.

    ``..`` is resolved where that stays below: no link is followed there, so it leads where it is written to lead.
    """
    parts = PurePosixPath(path).parts
    prefix = PurePosixPath(DEFAULT_WORKSPACE).parts
    if parts[: len(prefix)] != prefix:
        return None
    below = str(PurePosixPath(*parts[len(prefix) :]))
    return normpath(below) if ".." in parts else below


def local_workspace(spec: ExecutionSpec, workspace: Path) -> Path:
    """The folder that an execution mode works in.

    Raises:
        InvalidTask: The specification's ``workspace`` is empty or leaves ``/app`` upwards.
    """
    if not spec.workspace or "\0" in spec.workspace or ".." in spec.workspace.split("/"):
        raise InvalidTask(f"workspace {spec.workspace!r:.200} must be a path without '..'")
    below = under_workspace(spec.workspace)
    return Path(spec.workspace) if below is None else workspace / below


def read_answer(output: str, workspace: Path) -> str | Reward:
    """The text of an answer file, or the zero that a missing or oversized one scores.

    Args:
        output: The path: below ``/app`` it is taken from the workspace without following any link, another
            absolute one is taken as it is, a relative one from the current folder.
        workspace: The candidate's folder.

    Raises:
        InvalidTask: The path is empty or leaves the workspace.
        GradingInfraError: The workspace cannot be entered, or the machine cannot open or read any more.
    """
    if not output or "\0" in output:
        raise InvalidTask(f"output {output!r:.200} is not a path")
    below = under_workspace(output)
    try:
        if below is None:
            content = read_bounded(Path(output), limit_bytes=MAX_ANSWER_BYTES)
        else:
            content = read_beneath(workspace, below, limit_bytes=MAX_ANSWER_BYTES)
    except UnreadableFile as error:
        match error.reason:
            case UnreadableReason.OUTSIDE:
                raise InvalidTask(f"output {output!r:.200} leaves the workspace") from error
            case UnreadableReason.TOO_LARGE:
                return zero("output_too_large", limit_bytes=MAX_ANSWER_BYTES)
            case _:
                return zero("no_output")
    # Lines end as Python's text files end them, and no mark of the encoding stands before the text, whatever system
    # the candidate wrote on.
    return content.removeprefix(BOM_UTF8).decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _advice_on_missing(output: str, workspace: Path) -> str | None:
    """What a task's author should know of an answer that is missing where nobody was asked to write it.

    The contract scores a missing answer zero, whatever its path; a relative path that leads out of the workspace is
    most likely a slip, which a zero alone would not show.

    Raises:
        GradingInfraError: There is no current folder that the path could be relative to.
    """
    path = Path(output)
    if path.is_absolute():
        return None
    try:
        here = Path.cwd()
    except OSError as error:
        problem = f"output {output!r:.200} is relative to the current folder, which is gone: {error.strerror}"
        raise GradingInfraError(problem) from error
    if path.resolve().is_relative_to(workspace.resolve()):
        return None
    below = [part for part in Path(normpath(output)).parts if part != ".."]
    inside = str(PurePosixPath(DEFAULT_WORKSPACE, *below))
    # Nothing is left of "..", and of a long path only a part would be shown: neither is a file that could be read.
    if not below or len(inside) > _MAX_SHOWN_PATH:
        inside = DEFAULT_OUTPUT
    return (
        f"output {output!r:.200} is relative to the current folder, {here}, where there is no such file. "
        f"fix: output = {inside!r} for a file of the workspace"
    )


def grade(spec: Any, tests_dir: Path | str, workspace: Path | str) -> Reward:
    """Grades one task.

    Args:
        spec: The specification.
        tests_dir: The folder of ``verifier.toml`` and of the files that the specification names.
        workspace: The candidate's folder, which stands for the contract's ``/app``.

    Returns:
        The verdict. A defect of the task is one: ``invalid_task``, reported before the answer is looked at.

    Raises:
        GradingInfraError: Grading failed for a reason that is neither the task's nor the candidate's.
    """
    try:
        return _grade(spec, _path(tests_dir), _path(workspace))
    except InvalidTask as error:
        return invalid_task(str(error))
    except OSError as error:
        raise GradingInfraError(f"{type(error).__name__}: {error}") from error


def _path(path: Path | str) -> Path:
    # Made anew of a path, a path takes as long as grading a short text.
    return path if isinstance(path, Path) else Path(path)


def _grade(spec: Any, tests_dir: Path, workspace: Path) -> Reward:
    found = grader_of(mode_of(spec))
    if not isinstance(found, AnswerGrader):
        context = GradingContext(tests_dir=tests_dir, workspace=local_workspace(spec, workspace))
        try:
            return found.grade(spec, context)
        except UnusableFolder:
            if not _is_gone_below(context.workspace, workspace):
                raise
            return zero("no_workspace", workspace=spec.workspace)
    answer_spec: AnswerSpec = spec
    resources = TestsFolder(tests_dir)
    found.check_spec(spec)
    found.check_task(spec, resources)
    text = read_answer(answer_spec.output, workspace)
    if isinstance(text, Reward):
        advice = _advice_on_missing(answer_spec.output, workspace)
        return text if advice is None else attrs.evolve(text, detail={**text.detail, "advice": advice})
    if is_unanswered(answer_spec, text):
        return zero("no_output")
    return found.grade_output(spec, text, resources)


def _is_gone_below(folder: Path, workspace: Path) -> bool:
    """Whether a folder of the workspace is missing from it: a folder that the candidate was to make, or removed."""
    is_below = folder != workspace and folder.is_relative_to(workspace)
    return is_below and isdir(workspace) and not isdir(folder)  # noqa: PTH112 - of a path object, it may raise


def load_spec(path: Path) -> Any:
    """The specification in a file.

    Raises:
        InvalidTask: The file cannot be read, or is no specification.
        GradingInfraError: The machine cannot open or read any more.
    """
    try:
        if not path.is_file():
            raise InvalidTask(f"{path} is not a file")
        with path.open("rb") as file:
            content = file.read(MAX_SPEC_BYTES + 1)
        if len(content) > MAX_SPEC_BYTES:
            raise InvalidTask(f"{path} is larger than {MAX_SPEC_BYTES} bytes")
        return parse_spec(content.decode())
    except UnicodeDecodeError as error:
        raise InvalidTask(f"{path} is not UTF-8: {error}") from error
    except OSError as error:
        failure = GradingInfraError if is_machine_fault(error) else InvalidTask
        raise failure(f"{path} cannot be read: {error}") from error
    except SpecError as error:
        raise InvalidTask(f"{path}: {error}") from error


def log_failure(error: Exception) -> None:
    """Logs an exception with its traceback."""
    # Imported here: with what it needs, it is a twentieth of a command that grades a short text.
    import logging

    what = "the grader failed" if isinstance(error, GradingInfraError) else "the grader crashed"
    logging.getLogger(__name__).error(what, exc_info=error)


def grade_file(spec_path: Path, workspace: Path, *, failed: Callable[[Exception], None] = log_failure) -> Reward:
    """Grades the task of a ``verifier.toml`` and turns every failure into a verdict.

    Args:
        spec_path: The specification.
        workspace: The candidate's folder.
        failed: Is told what made the verdict an ``infra_error``.
    """
    return verdict_of(lambda: grade(load_spec(spec_path), spec_path.parent, workspace), failed)


def verdict_of(graded: Callable[[], Any], failed: Callable[[Exception], None] = log_failure) -> Reward:
    """The verdict that a grading from files comes to, or the one that its failure is; ``failed`` is told of that.

    This is the one place of the file graders where exceptions become outcomes.
    """
    try:
        return validated(graded())
    except InvalidTask as error:
        return invalid_task(str(error))
    except GradingInfraError as error:
        failed(error)
        return infra_error(str(error), **error.detail)
    except Exception as error:  # noqa: BLE001 - whatever happened, there is a verdict
        failed(error)
        return infra_error(_described(error))


def _described(error: Exception) -> str:
    encoding = sys.getfilesystemencoding()
    if isinstance(error, UnicodeEncodeError) and error.encoding == encoding != "utf-8":
        return (
            f"{error.object!a:.200} cannot be the name of a file here: this process names files in {encoding}. "
            "fix: export PYTHONUTF8=1"
        )
    return describe_error(error)
