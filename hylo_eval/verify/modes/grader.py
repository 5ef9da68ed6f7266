"""What a mode offers to the dispatch: one value of plain functions, named ``GRADER`` in the mode's module.

The values are no attrs classes, as every command makes their classes (see :mod:`hylo_eval.verify.execution`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from hylo_eval.verify.verdict import InvalidTask, Reward

SpecT = TypeVar("SpecT")


class Resources(Protocol):
    """The task's own files, by their path relative to the tests directory."""

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            InvalidTask: There is no such file, or the path leaves the tests directory.
        """
        ...


class ResourceTable(NamedTuple):
    """Resources that the caller holds in memory."""

    contents: Mapping[str, bytes]

    def read(self, path: str) -> bytes:
        """The content of a file; see :class:`Resources`.

        Raises:
            InvalidTask: The caller holds no such file.
            TypeError: The caller holds it as something else than bytes.
        """
        if path not in self.contents:
            raise InvalidTask(f"the task names {path!r}, which is not among its resources")
        content: object = self.contents[path]
        if not isinstance(content, bytes):
            raise TypeError(f"the resource {path!r} must be bytes, not {type(content).__name__}")
        return content


def accept_spec(_spec: Any) -> None:
    """The check of a mode whose every well-formed specification is valid."""


def accept_task(_spec: Any, _resources: Resources) -> None:
    """The check of a mode that reads no file of the task."""


class AnswerGrader(Generic[SpecT]):
    """A mode that grades an answer.

    The dispatch calls ``check_spec`` and ``check_task`` before it looks at the answer, and treats missing and
    blank answers itself. All four may raise InvalidTask and GradingInfraError, and nothing else because of
    what the candidate wrote.

    Attributes:
        check_spec: Raises InvalidTask for a defect that the specification alone shows.
        check_task: Raises InvalidTask for a defect of the files that the specification names.
        grade_output: Grades the text of the answer file.
        grade_candidate: Grades an answer that the caller extracted; None for a mode that has no in-process
            grader. Raises TypeError for a candidate of the wrong type.
        takes_text: Whether candidates are texts, to which ``empty_output`` applies.
    """

    def __init__(
        self,
        *,
        grade_output: Callable[[SpecT, str, Resources], Reward],
        grade_candidate: Callable[[SpecT, Any, Resources], Reward] | None = None,
        check_spec: Callable[[SpecT], None] = accept_spec,
        check_task: Callable[[SpecT, Resources], None] = accept_task,
        takes_text: bool = True,
    ) -> None:
        self.grade_output: Final = grade_output
        self.grade_candidate: Final = grade_candidate
        self.check_spec: Final = check_spec
        self.check_task: Final = check_task
        self.takes_text: Final = takes_text


class GradingContext(NamedTuple):
    """Where a task is graded.

    Attributes:
        tests_dir: The folder of ``verifier.toml`` and the task's own files.
        workspace: The candidate's folder, the specification's own ``workspace`` already applied.
    """

    tests_dir: Path
    workspace: Path


class WorkspaceGrader(Generic[SpecT]):
    """A mode that runs something in the candidate's workspace.

    Attributes:
        grade: Grades the workspace. Raises InvalidTask and GradingInfraError.
    """

    def __init__(self, *, grade: Callable[[SpecT, GradingContext], Reward]) -> None:
        self.grade: Final = grade
