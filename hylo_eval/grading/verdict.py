"""The verdict layer as a grader: every mode, also those that run something or ask a judge model.

What it returns is appended to the trace (:func:`hylo_eval.traces.grades.append_grade`) and read back by
:class:`hylo_eval.scoring.grade.GradeScorer`.
"""

from __future__ import annotations

import hashlib
import stat
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from hylo_core.canonical import digest, digest_bytes
from hylo_core.errors import HyloError
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.errors import EvalError
from hylo_eval.verify.bounded_detail import bounded_detail
from hylo_eval.verify.grade import TestsFolder, grade
from hylo_eval.verify.modes import Mode, grader_of, mode_of
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.preparation import episode_failure
from hylo_eval.verify.spec import render_spec
from hylo_eval.verify.specs.base import DEFAULT_OUTPUT, AnswerSpec
from hylo_eval.verify.trace_answer import AnswerSource, failed_behaviour
from hylo_eval.verify.verdict import (
    GradingInfraError,
    InvalidTask,
    Reward,
    Status,
    infra_error,
    invalid_task,
    validated,
    zero,
)

if TYPE_CHECKING:
    from hylo_eval.verify.preparation import PreparationFailure

Workspace: TypeAlias = Path | Callable[[EpisodeTrace], Path]
"""The candidate's folder, or a function that names each episode's."""

_ANSWER_FILE: Final = "answer.txt"


class VerdictGrader:
    """Judges episodes under one specification; a verdict that is not ``scored`` is an event without a value.

    What is judged is the content of a workspace, or the answer in the trace. The events hold the specification's digest
    and, in their metadata, ``status``, ``mode``, the bounded ``detail`` and the digest of the tests directory, because
    a specification says which tests are run, and their files what these tests ask.

    Args:
        spec: The specification of any mode.
        tests_dir: The folder of the files that the specification names.
        workspace: The candidate's folder, one for all episodes or one for each. The execution modes change it.
        source: Where the answer stands in the trace (:class:`hylo_eval.verify.trace_answer.AnswerSource` or its text),
            in place of a workspace; only with a mode that grades an answer.
        name: The grader's name in the events.
        now: The time of grading.

    Raises:
        EvalError: There is neither workspace nor source, or both, or a source for a mode that grades a workspace, or
            the tests directory cannot be read.
        SpecError: The specification cannot be written as TOML, and so has no digest.
        TypeError: ``spec`` is the specification of no mode.
    """

    def __init__(
        self,
        spec: Any,
        tests_dir: Path,
        workspace: Workspace | None = None,
        *,
        source: AnswerSource | str | None = None,
        name: str = "verdict",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._mode = mode_of(spec)
        if workspace is None and source is None:
            raise EvalError(
                "a verdict grader judges an answer in the trace or a workspace, and neither is named",
                fix="add source=action (or reply:<path>), or workspace=FOLDER"
                if isinstance(spec, AnswerSpec)
                else "add workspace=FOLDER",
            )
        if workspace is not None and source is not None:
            raise EvalError(
                "a verdict grader judges either a workspace or an answer in the trace, not both",
                fix="leave source or workspace out",
            )
        if source is not None and not isinstance(spec, AnswerSpec):
            raise EvalError(
                f"mode {self._mode} grades a workspace, not an answer in the trace",
                fix="workspace=FOLDER",
            )
        self._spec = spec
        self._tests_dir = tests_dir
        self._workspace = workspace
        self._source = AnswerSource.parse(source) if isinstance(source, str) else source
        self._now = now
        # Waiting for a judge model is all such a grade does; whatever runs something has the machine to itself.
        self.parallel = self._mode is Mode.JUDGE and source is not None
        self.digest = digest_bytes(render_spec(spec).encode())
        self.tests_digest = folder_digest(tests_dir)

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Judge an episode; never raises for a verdict that is not scored."""
        verdict = validated(self._verdict(trace))
        detail = bounded_detail(verdict.detail)
        scored = verdict.status is Status.SCORED
        said = str(detail.get("error") or detail.get("reason") or "")
        metadata: dict[str, Any] = {
            "status": verdict.status.value,
            "mode": self._mode.value,
            "tests_digest": self.tests_digest,
            "detail": detail,
        }
        if self._source is not None:
            metadata["source"] = str(self._source)
        model = detail.get("model")
        return GradeEvent(
            grader=self.name,
            value=verdict.reward if scored else None,
            ref=model if isinstance(model, str) else self._mode.value,
            digest=self.digest,
            explanation=said if scored else "",
            error="" if scored else said or verdict.status.value,
            metadata=metadata,
            volatile={"graded_at": self._now().isoformat(timespec="milliseconds")},
        )

    def _verdict(self, trace: EpisodeTrace) -> Reward:
        status = trace.status
        if status is None:
            return infra_error("the trace has no end", reason="unfinished")
        failure = episode_failure(status.value, trace.errors[-1].message if trace.errors else "")
        if failure is not None:
            return failure.verdict
        try:
            return self._judge(trace)
        except InvalidTask as error:
            return invalid_task(str(error))
        except GradingInfraError as error:
            return infra_error(str(error), **error.detail)
        except (HyloError, OSError) as error:
            return infra_error(f"{type(error).__name__}: {error}")

    def _judge(self, trace: EpisodeTrace) -> Reward:
        self._check_task()
        behaviour = failed_behaviour(trace)
        if behaviour:
            # What a stopped episode left behind is no result, and its code is not run.
            return zero(behaviour)
        if self._source is not None:
            return self._judge_answer(self._source.read(trace))
        workspace = self._workspace(trace) if callable(self._workspace) else self._workspace
        if workspace is None or not workspace.is_dir():
            raise GradingInfraError(f"the workspace {workspace} is no folder")
        return grade(self._spec, self._tests_dir, workspace)

    def _check_task(self) -> None:
        """A defect of the task comes before everything that the agent did."""
        found = grader_of(self._mode)
        if isinstance(found, AnswerGrader):
            found.check_spec(self._spec)
            found.check_task(self._spec, TestsFolder(self._tests_dir))

    def _judge_answer(self, answer: str | PreparationFailure) -> Reward:
        """Grade an answer as the file grader would grade its file."""
        if not isinstance(answer, str):
            return answer.verdict
        with tempfile.TemporaryDirectory(prefix="hylo-verdict-") as folder:
            Path(folder, _ANSWER_FILE).write_bytes(answer.encode())
            return grade(attrs.evolve(self._spec, output=DEFAULT_OUTPUT), self._tests_dir, Path(folder))


def folder_digest(folder: Path) -> str:
    """``sha256:`` digest of the names and contents of all regular files below a folder; links are named, not followed.

    Raises:
        EvalError: The folder, or a file in it, cannot be read.
    """
    entries: list[list[str]] = []
    try:
        if not folder.is_dir():
            raise EvalError(f"the tests directory {folder} is no folder", fix="name a folder with tests=")
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix().encode(errors="backslashreplace").decode()
            kind = path.lstat().st_mode
            if stat.S_ISLNK(kind):
                entries.append([name, "link", str(path.readlink())])
            elif stat.S_ISREG(kind):
                with path.open("rb") as file:
                    entries.append([name, "file", hashlib.file_digest(file, "sha256").hexdigest()])
    except OSError as error:
        raise EvalError(
            f"the tests directory {folder} cannot be read: {error}",
            fix="get the permission for it, or name another folder with tests=",
        ) from error
    return digest(entries)
