"""What the family ``response`` refuses of a task before anything is shown or asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hylo_core.task import TaskSpec


def check_task(task: TaskSpec, _: str = "") -> None:
    """Refuse a task whose question cannot be shown, or whose truth no response can be scored against.

    Picture files are not opened, and no scene is drawn.

    Args:
        task: The task.

    Raises:
        EnvError: The environment would refuse it.
        ContractError: Its truth breaks the contract; the path begins with ``params.truth``.
    """
    from hylo_eval.envs.response.env import check_question
    from hylo_eval.verify.response.truth import read_truth

    check_question(task)
    read_truth(task.params)
