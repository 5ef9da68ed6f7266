"""The answer of an episode: where in its trace a verdict finds the candidate's text.

Where it stands is said, never guessed. What is not there is a typed failure (:mod:`hylo_eval.verify.preparation`): an
agent that answered nothing scores zero, a trace that does not hold the answer is masked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_core.trace import EpisodeStatus, EpisodeTrace
from hylo_eval.errors import EvalError
from hylo_eval.verify.file_ops.reading import MAX_ANSWER_BYTES
from hylo_eval.verify.preparation import PreparationCategory, PreparationFailure
from hylo_eval.verify.verdict import Status

if TYPE_CHECKING:
    from hylo_core.trace import StepEvent

NOT_RECORDED: Final = "not_recorded"
INVALID_CAPTURE: Final = "invalid_capture"

_MISSING: Final = object()


class AnswerPlace(StrEnum):
    """The part of a trace in which an answer can stand."""

    ACTION = "action"
    """The action applied at the last step, which must be text."""
    REPLY = "reply"
    """A text in the metadata of the last reply."""
    REPLY_JSON = "reply_json"
    """A decoded JSON value in the metadata of the last reply, such as a list of function calls."""
    OBSERVATION = "observation"
    """A text observation after the last step."""


@attrs.frozen
class AnswerSource:
    """Where the answer stands: ``action``, ``reply:<path>``, ``reply_json:<path>`` or ``observation:<key>``.

    Attributes:
        place: The part of the trace.
        path: For a reply the names of the members on the way, joined by dots, a list's entries by their index
            (``choices.0.text``); for an observation its key; empty for the action.

    Raises:
        EvalError: The place needs a path and has none, or takes none and has one.
    """

    place: AnswerPlace = AnswerPlace.ACTION
    path: str = ""

    def __attrs_post_init__(self) -> None:
        if self.place is AnswerPlace.ACTION and self.path:
            raise EvalError(f"the answer source 'action' takes no path, not {self.path!r:.80}")
        steps = [self.path] if self.place is AnswerPlace.OBSERVATION else self.path.split(".")
        if self.place is not AnswerPlace.ACTION and not all(steps):
            raise EvalError(f"the answer source {self.place.value!r} needs a path, not {self.path!r:.80}")

    @classmethod
    def parse(cls, text: str) -> AnswerSource:
        """The source that a text names.

        Raises:
            EvalError: It names none.
        """
        place, _, path = text.partition(":")
        if place not in set(AnswerPlace):
            known = "action, reply:<path>, reply_json:<path>, observation:<key>"
            raise EvalError(f"{text!r:.80} is no answer source; one of {known}")
        return cls(AnswerPlace(place), path)

    def __str__(self) -> str:
        return f"{self.place}:{self.path}" if self.path else str(self.place)

    def read(self, trace: EpisodeTrace) -> str | PreparationFailure:
        """The answer as the text of an answer file; a decoded value (``reply_json``) is written as JSON.

        Only the last action, reply or observation is looked at: an earlier answer was taken back.

        Returns:
            The text, or why there is none. A null is an agent that gave no answer, a scored zero; so is a text of
            more than 16 MiB. What is absent or of another type is masked: the capture went wrong.
        """
        value = self._find(trace)
        if value is _MISSING:
            return _masked(NOT_RECORDED, f"the trace holds no {self}")
        if value is None:
            return _agents("no_output", "the agent gave no answer")
        if self.place is AnswerPlace.REPLY_JSON:
            try:
                value = json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError):
                return _masked(INVALID_CAPTURE, f"{self} is no JSON value")
        if not isinstance(value, str):
            return _masked(INVALID_CAPTURE, f"{self} is {type(value).__name__}, not a text")
        # A character of UTF-8 has at most four bytes: most texts need not be encoded to be measured.
        if 4 * len(value) > MAX_ANSWER_BYTES and len(value.encode(errors="replace")) > MAX_ANSWER_BYTES:
            return _agents("output_too_large", f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        # Lines end, and what UTF-8 cannot hold is replaced, as in a file of the same answer.
        text = value.encode(errors="replace").decode()
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _find(self, trace: EpisodeTrace) -> Any:
        if not trace.steps:
            return _MISSING
        last = trace.steps[-1]
        match self.place:
            case AnswerPlace.ACTION:
                return last.applied
            case AnswerPlace.OBSERVATION:
                return last.observation.get(self.path, _MISSING)
            case AnswerPlace.REPLY | AnswerPlace.REPLY_JSON:
                return _member(_last_reply(trace.steps), self.path)


def failed_behaviour(trace: EpisodeTrace) -> str:
    """The status of an episode that is a failure whatever was answered; empty for any other."""
    match trace.status:
        case EpisodeStatus.SAFETY_ABORT | EpisodeStatus.SIM_UNSTABLE as status:
            return status.value
        case _:
            return ""


def _last_reply(steps: Sequence[StepEvent]) -> Any:
    last = next((step for step in reversed(steps) if step.inference), None)
    return _MISSING if last is None else (last.volatile or {}).get("reply", _MISSING)


def _member(value: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(name, _MISSING)
        elif isinstance(value, list | tuple) and name.isascii() and name.isdigit() and len(name) < 10:
            entries = cast("list[Any]", value)
            value = entries[int(name)] if int(name) < len(entries) else _MISSING
        else:
            return _MISSING
    return value


def _agents(error_type: str, message: str) -> PreparationFailure:
    return PreparationFailure(
        status=Status.SCORED,
        category=PreparationCategory.AGENT,
        error_type=error_type,
        message=message,
        stage="capture",
    )


def _masked(error_type: str, message: str) -> PreparationFailure:
    return PreparationFailure(
        status=Status.INFRA_ERROR,
        category=PreparationCategory.UNKNOWN,
        error_type=error_type,
        message=message,
        stage="capture",
    )
