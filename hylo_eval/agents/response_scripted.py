"""A scripted agent for ``response`` tasks: it reads the truth and answers some questions wrongly on purpose.

It is privileged: the truth stands in the task's params, which a fair policy does not look at. Its use is to show
that scorers and reports tell right from wrong, with a success strictly between 0 and 1.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from hylo_core.frozen import thaw
from hylo_core.spec import AgentSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Reply, StatelessSession
from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance

FAR_PX = 10_000
"""How far a misplaced annotation is moved: no two things are this far apart."""


class ResponseScripted:
    """Answers rightly with probability ``accuracy``; else in one of four wrong ways, each as likely.

    The wrong ways: another answer with the right annotation; the right answer with an annotation elsewhere; an
    object that lacks the annotation; prose without an object. Where a task asks for no annotation, the second and the
    third give another answer instead. All draws come from the episode's agent seed.

    Args:
        accuracy: Share of right answers, in [0, 1].

    Raises:
        AgentError: ``accuracy`` is out of range.
    """

    def __init__(self, accuracy: float = 0.7) -> None:
        if not 0 <= accuracy <= 1:
            raise AgentError(f"option 'accuracy' must be in [0, 1], not {accuracy:g}", fix="--agent-arg accuracy=0.8")
        self._accuracy = accuracy
        self.info = AgentInfo(name="response-scripted", version="1", components={"accuracy": accuracy})
        self.spec = AgentSpec()

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        """Begin an episode.

        Raises:
            AgentError: The task has no truth to answer from.
        """
        del instruction
        truth = instance.spec.params.get("truth")
        if not isinstance(truth, Mapping) or "answer" not in truth:
            raise AgentError(f"task {instance.spec.id!r} has no param 'truth' to answer from")
        text = _response(thaw(cast("Mapping[str, Any]", truth)), self._accuracy, seed)

        def say(_: Mapping[str, Any]) -> Reply:
            return Reply(text)

        return StatelessSession(say)

    def close(self) -> None:
        """Nothing is held."""


def _response(truth: Mapping[str, Any], accuracy: float, seed: int) -> str:
    """The text for a truth: a pure function of its arguments."""
    # random() is the one method of Random whose stream Python promises to keep.
    draws = random.Random(seed)  # noqa: S311 - nothing here is secret
    right = draws.random() < accuracy
    wrong_way = _WRONG_WAYS[int(draws.random() * len(_WRONG_WAYS))]
    answer = truth["answer"]["value"]
    payload = {"answer": answer}
    if truth["mode"] == "answer_and_annotation":
        payload["annotation"] = truth["annotation"]["value"]
    return _said(payload) if right else wrong_way(payload)


def _said(payload: Mapping[str, Any]) -> str:
    return f"I looked at the picture.\n{json.dumps(payload, ensure_ascii=False)}"


def _another_answer(payload: dict[str, Any]) -> str:
    return _said({**payload, "answer": _other(payload["answer"])})


def _misplaced(payload: dict[str, Any]) -> str:
    if "annotation" not in payload:
        return _another_answer(payload)
    return _said({**payload, "annotation": _moved(payload["annotation"])})


def _without_annotation(payload: dict[str, Any]) -> str:
    if "annotation" not in payload:
        return _another_answer(payload)
    return _said({"answer": payload["answer"]})


def _prose(payload: dict[str, Any]) -> str:
    del payload
    return "I cannot tell from this picture."


_WRONG_WAYS: tuple[Callable[[dict[str, Any]], str], ...] = (
    _another_answer,
    _misplaced,
    _without_annotation,
    _prose,
)


def _other(answer: Any) -> Any:
    """An answer of the same type that differs."""
    if isinstance(answer, bool):
        return not answer
    if isinstance(answer, (int, float)):
        return answer + 1
    if isinstance(answer, str):
        return f"not {answer}"
    return [*cast("list[Any]", answer), 0] if isinstance(answer, list) else None


def _moved(annotation: Any) -> Any:
    """The annotation with every number moved: far outside of the picture."""
    if isinstance(annotation, Mapping):
        return {key: _moved(item) for key, item in cast("Mapping[str, Any]", annotation).items()}
    if isinstance(annotation, list):
        return [_moved(item) for item in cast("list[Any]", annotation)]
    return annotation + FAR_PX
