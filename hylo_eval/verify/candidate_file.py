"""Grading a whole answer file as an extracted answer, with the task's files named by a manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hylo_eval.verify.candidate import IN_PROCESS_EXTENSIONS, grade_candidate
from hylo_eval.verify.grade import TestsFolder, load_spec, log_failure, read_answer, verdict_of
from hylo_eval.verify.modes import IN_PROCESS_MODES, Mode, grader_of, mode_of
from hylo_eval.verify.modes.grader import AnswerGrader, ResourceTable
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import InvalidTask, Reward

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def read_manifest(path: Path) -> dict[str, bytes]:
    """The files that a manifest lists, by their path relative to the manifest's folder.

    Raises:
        InvalidTask: The manifest is not a JSON list of such paths, or a file is missing or leaves the folder.
    """
    folder = TestsFolder(path.parent)
    try:
        entries = decode_json(folder.read(path.name).decode())
    except ValueError as error:
        raise InvalidTask(f"the resources manifest {path} is not JSON: {error}") from error
    if not isinstance(entries, list):
        raise InvalidTask(f"the resources manifest {path} is not a list of paths")
    contents: dict[str, bytes] = {}
    for entry in entries:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(entry, str):
            raise InvalidTask(f"the resources manifest {path} is not a list of paths")
        contents[entry] = folder.read(entry)
    return contents


def _text_grader(spec: Any) -> AnswerGrader[Any]:
    mode: Mode = mode_of(spec)
    found = grader_of(mode)
    if not isinstance(found, AnswerGrader) or mode not in IN_PROCESS_MODES | IN_PROCESS_EXTENSIONS:
        raise InvalidTask(f"mode {mode} is not graded in process")
    if not found.takes_text:
        raise InvalidTask(f"mode {mode} does not grade a text; decode the answer and call grade_candidate")
    return found


def _grade(spec_path: Path, answer: str, workspace: Path, resources_manifest: Path) -> Reward:
    spec = load_spec(spec_path)
    found = _text_grader(spec)
    resources = read_manifest(resources_manifest)
    found.check_spec(spec)
    found.check_task(spec, ResourceTable(resources))
    text = read_answer(answer, workspace)
    return text if isinstance(text, Reward) else grade_candidate(spec, text, resources)


def grade_candidate_file(
    spec_path: Path,
    *,
    answer: str,
    workspace: Path,
    resources_manifest: Path,
    failed: Callable[[Exception], None] = log_failure,
) -> Reward:
    """Grades the whole text of an answer file, without extraction, and turns every failure into a verdict.

    Args:
        spec_path: The specification of an in-process text mode.
        answer: The answer file; below ``/app`` it is read from the workspace. A missing one scores zero.
        workspace: The candidate's folder.
        resources_manifest: A JSON list of the task's files, relative to the manifest's folder.
        failed: Is told what made the verdict an ``infra_error``.
    """
    return verdict_of(lambda: _grade(spec_path, answer, workspace, resources_manifest), failed)
