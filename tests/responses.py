"""Response tasks and recorded responses for tests."""

from __future__ import annotations

from typing import Any

from hylo_core import Predicate, TaskInstance, TaskSpec
from hylo_core.task import InitStateRef
from hylo_core.trace import (
    AgentInfo,
    BenchmarkRef,
    EpisodeEnd,
    EpisodeStart,
    EpisodeStatus,
    EpisodeTrace,
    StepEvent,
)
from hylo_eval.verify import resolve_reward_contract


def truth(annotation_type: str = "point", **changes: Any) -> dict[str, Any]:
    """The truth of a question whose answer is 3, with a point at (100, 100) in a 640 x 480 picture."""
    contract = resolve_reward_contract(answer_type="integer", annotation_type=annotation_type)
    members: dict[str, Any] = {
        "answer": {"type": "integer", "value": 3},
        "annotation": {"type": annotation_type, "value": [100, 100]},
        "contract": contract.to_dict(),
        "mode": "answer_and_annotation",
        "answer_weight": 0.5,
        "annotation_weight": 0.5,
        "annotation_tau": 0.5,
        "image_size": [640, 480],
    }
    return {name: value for name, value in (members | changes).items() if value is not None}


def response_instance(**params: Any) -> TaskInstance:
    """An instance of a response task with these params."""
    spec = TaskSpec(
        id="unit/response",
        version="1",
        instruction="how many?",
        init=InitStateRef(uri="params", count=1),
        success=Predicate("builtin", "response_correct"),
        max_steps=1,
        params=params,
    )
    return TaskInstance(spec=spec, seed=0, episode_index=0, split="heldout")


def recorded(text: Any, instance: TaskInstance, status: EpisodeStatus = EpisodeStatus.COMPLETED) -> EpisodeTrace:
    """The trace of an episode in which the agent answered with a text; None is no step at all."""
    steps = () if text is None else (StepEvent(0, text, text, True, 0.0, True, False, False, {}),)
    return EpisodeTrace(
        start=EpisodeStart(
            instance=instance,
            benchmark=BenchmarkRef(id="unit", version="1", digest="none", split="heldout"),
            agent=AgentInfo(name="unit"),
        ),
        steps=steps,
        end=EpisodeEnd(status=status, steps=len(steps), reason="terminated"),
    )
