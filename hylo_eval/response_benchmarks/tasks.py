"""From a question with its truth to the task that asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hylo_core.task import InitStateRef, Predicate, TaskSpec

if TYPE_CHECKING:
    from hylo_eval.verify.response.truth import ResponseTruth

VERSION = "1.0"


def response_task(
    *, task_id: str, prompt: str, truth: ResponseTruth, shown: Mapping[str, Any], tags: tuple[str, ...]
) -> TaskSpec:
    """The task of one question.

    Args:
        task_id: Without ``#``.
        prompt: The question as the agent gets it; its braces are literal.
        truth: What a response is scored against.
        shown: The params that say what is shown: ``scene`` and ``picture_digest``, or ``images``.
        tags: Labels to group results by.
    """
    return TaskSpec(
        id=task_id,
        version=VERSION,
        instruction=prompt.replace("{", "{{").replace("}", "}}"),
        # A question has one initial state: a second seed would ask the same again and count it twice.
        init=InitStateRef(uri="params", count=1),
        success=Predicate(kind="builtin", name="response_correct"),
        max_steps=1,
        params={**shown, "truth": truth.to_dict()},
        tags=tags,
    )
