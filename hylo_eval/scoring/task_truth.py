"""What a task's answers will be judged by, looked at before anybody answers: it must be right to be of any use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_core.task_params import VERIFIER
from hylo_eval.scoring.success import RESPONSE_CORRECT

if TYPE_CHECKING:
    from hylo_core.task import TaskSpec


def check_task_truth(task: TaskSpec) -> None:
    """Refuse a task under which no answer could be scored, or every answer would be wrong.

    That is the truth of a task of the predicate ``response_correct``, and the verifier that any task may carry.

    Raises:
        ContractError: With the path in the task, such as ``params.truth.annotation_weight``.
    """
    if task.success.name == RESPONSE_CORRECT:
        from hylo_eval.verify.response.truth import read_truth

        read_truth(task.params)
    if VERIFIER in task.params:
        from hylo_eval.scoring.verdict import check_verifier

        check_verifier(task.params)
