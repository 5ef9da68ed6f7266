"""One valid score out of the judge: a larger budget for a cut-off reply, one more try for a scoreless one."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, Final

import attrs

from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.judging.exchange import ChatRequest, Completion, complete
from hylo_eval.verify.specs.judge import JudgeSpec
from hylo_eval.verify.verdict import GradingInfraError

TRIES: Final = 2
"""How often the judge is asked until its reply ends in a score."""

_REASONING_CHARACTERS: Final = 400
_SCORE: Final = re.compile(r"score\s*:\s*([0-9]+(?:\.[0-9]+)?)", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Judgement:
    """A score and the requests it took.

    Attributes:
        score: One of the allowed scores.
        reasoning: The reply without its score, shortened.
        attempts: ``finish_reason`` and ``completion_tokens`` of every request.
    """

    score: float
    reasoning: str
    attempts: tuple[dict[str, Any], ...]

    def detail(self) -> dict[str, Any]:
        """The members of a verdict's detail."""
        return {"reasoning": self.reasoning, **_attempt_detail(self.attempts)}


def _attempt_detail(attempts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"attempt_count": len(attempts), "attempts": list(attempts)}


@attrs.frozen(kw_only=True)
class Judge:
    """A judge model at a connection, asked under a specification's budgets."""

    spec: JudgeSpec
    connection: JudgeConnection

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.connection.chosen_model(self.spec.model)

    def ask(self, prompt: str, *, allowed: Container[float]) -> Judgement:
        """Asks until a reply ends in an allowed score.

        A reply that was cut off by its length is asked for once more with the larger budget, if there is one.

        Raises:
            GradingInfraError: No valid score came; the detail holds the attempts.
        """
        attempts: list[dict[str, Any]] = []
        for _ in range(TRIES):
            completion = self._whole_reply(prompt, attempts)
            score = score_of(completion.text, allowed)
            if score is not None:
                reasoning = " ".join(_SCORE.sub("", completion.text).split())[:_REASONING_CHARACTERS]
                return Judgement(score=score, reasoning=reasoning, attempts=tuple(attempts))
        raise GradingInfraError(
            f"judge {self.model!r} gave no valid SCORE in {TRIES} replies", **_attempt_detail(tuple(attempts))
        )

    def _whole_reply(self, prompt: str, attempts: list[dict[str, Any]]) -> Completion:
        """A reply that ended by itself; every request is noted in ``attempts``."""
        budgets = [self.spec.max_completion_tokens]
        if self.spec.incomplete_retry_tokens:
            budgets.append(self.spec.incomplete_retry_tokens)
        for budget in budgets:
            try:
                completion = complete(self.connection, self._request(prompt, budget))
            except GradingInfraError as error:
                raise GradingInfraError(str(error), **{**error.detail, **_attempt_detail(tuple(attempts))}) from error
            attempts.append(
                {
                    "finish_reason": completion.finish_reason,
                    "completion_tokens": completion.completion_tokens,
                }
            )
            if completion.finish_reason == "stop" and completion.text.strip():
                return completion
            if completion.finish_reason != "length":
                raise GradingInfraError(
                    "the judge's reply is incomplete or has no text", **_attempt_detail(tuple(attempts))
                )
        raise GradingInfraError("the judge's reply was cut off by its length", **_attempt_detail(tuple(attempts)))

    def _request(self, prompt: str, budget: int) -> ChatRequest:
        return ChatRequest(
            model=self.model,
            prompt=prompt,
            max_completion_tokens=budget,
            reasoning_effort=self.spec.reasoning_effort,
            timeout_seconds=self.spec.request_timeout,
        )


def score_of(reply: str, allowed: Container[float]) -> float | None:
    """The score that the reply's last line states; None when it states none, or one that is not allowed."""
    match = _SCORE.fullmatch(reply.strip().rpartition("\n")[2].strip())
    if match is None:
        return None
    score = float(match.group(1))
    return score if score in allowed else None
