"""Grading an answer that the caller already extracted: no files, no harness.

Callers own the extraction. A text mode takes a string, ``structured_exact`` a decoded JSON value and
``predicted_action`` a tuple of function calls. Files that the specification names come from ``resources``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hylo_eval.verify.modes import IN_PROCESS_MODES, Mode, grader_of, mode_of
from hylo_eval.verify.modes.grader import AnswerGrader, ResourceTable
from hylo_eval.verify.spec import spec_from_table
from hylo_eval.verify.specs.base import AnswerSpec, EmptyOutput
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, infra_error, invalid_task, zero

__all__ = ["IN_PROCESS_EXTENSIONS", "IN_PROCESS_MODES", "candidate_spec", "grade_candidate"]

IN_PROCESS_EXTENSIONS: Final = frozenset({Mode.STRUCTURE_CLOSURE, Mode.UNSOLVABLE})
"""Later modes that are no part of the contract's list and are graded in process all the same."""


_ACCEPTED: Final = IN_PROCESS_MODES | IN_PROCESS_EXTENSIONS


def _in_process(mode: object) -> AnswerGrader[Any]:
    if not isinstance(mode, str) or mode not in _ACCEPTED:
        raise ValueError(f"mode {mode!r:.80} is not graded in process; one of {', '.join(sorted(IN_PROCESS_MODES))}")
    found = grader_of(Mode(mode))
    if not isinstance(found, AnswerGrader) or found.grade_candidate is None:
        raise ValueError(f"mode {mode!r} is not graded in process")
    return found


def candidate_spec(mode: str, parameters: Mapping[str, Any]) -> Any:
    """The specification of an in-process mode, from a JSON table.

    Args:
        mode: One of :data:`IN_PROCESS_MODES`.
        parameters: The mode's fields; embedded JSON values are decoded.

    Returns:
        The frozen specification, checked as far as it shows defects by itself.

    Raises:
        ValueError: The mode is not graded in process, or the table is malformed or holds a ``mode``.
        InvalidTask: The table is well formed, and the mode rejects it.
    """
    found = _in_process(mode)
    if not isinstance(parameters, Mapping):
        raise ValueError(f"the parameters must be a table, not {type(parameters).__name__}")  # noqa: TRY004
    if "mode" in parameters:
        raise ValueError("the parameters must not hold a mode of their own")
    spec = spec_from_table({**parameters, "mode": str(mode)})
    found.check_spec(spec)
    return spec


def grade_candidate(spec: Any, candidate: Any, resources: Mapping[str, bytes]) -> Reward:
    """Scores one extracted answer.

    Args:
        spec: The specification of an in-process mode.
        candidate: A string; for ``structured_exact`` a decoded JSON value; for ``predicted_action`` a tuple
            of FunctionCall.
        resources: The files that the specification names, by their path relative to the tests directory.

    Returns:
        The verdict. A specification that the mode rejects gives ``invalid_task``.

    Raises:
        ValueError: The specification's mode is not graded in process.
        TypeError: The candidate has the wrong type for the mode, or the resources are no table of bytes.
    """
    mode = mode_of(spec)
    found = _in_process(mode)
    if found.takes_text and not isinstance(candidate, str):
        raise TypeError(f"mode {mode} grades a str, not {type(candidate).__name__}")
    if not isinstance(resources, Mapping):
        raise TypeError(f"the resources must be a table of bytes by path, not {type(resources).__name__}")
    table = ResourceTable(resources)
    try:
        found.check_spec(spec)
        found.check_task(spec, table)
        if found.takes_text and is_unanswered(spec, candidate):
            return zero("empty_output")
        if found.grade_candidate is None:
            raise ValueError(f"mode {mode} is not graded in process")
        return found.grade_candidate(spec, candidate, table)
    except InvalidTask as error:
        return invalid_task(str(error))
    except GradingInfraError as error:
        return infra_error(str(error), **error.detail)
    except OSError as error:
        return infra_error(f"{type(error).__name__}: {error}")


def is_unanswered(spec: AnswerSpec, text: str) -> bool:
    """Whether a text is blank and the specification scores blank answers as zero."""
    return spec.empty_output is EmptyOutput.ZERO and not text.strip()
