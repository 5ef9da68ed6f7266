"""A judge behind an OpenAI-compatible endpoint, for rubrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from hylo_core.canonical import digest_bytes
from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.judging.prompts import delimited
from hylo_eval.verify.judging.questioning import Judge as ScoreQuestioning
from hylo_eval.verify.specs.judge import JudgeSpec
from hylo_eval.verify.verifiers.contract import Verification
from hylo_eval.verify.verifiers.rubric import RubricQuestion

_PROMPT: Final = """\
You give one piece of work a score by a rubric. The rubric alone decides: add no criterion of your own.

Rubric:
{rubric}

The task was:
{prompt}
{reference}
{trajectory}

The score is a number from {minimum:g} to {maximum:g}. Give your reason in at most 60 words. The last line of your reply
must be exactly
SCORE: <number>
"""


@attrs.frozen
class ScoreRange:
    """The scores a rubric allows; ``in`` asks for one."""

    minimum: float
    maximum: float

    def __contains__(self, score: object) -> bool:
        return isinstance(score, float) and self.minimum <= score <= self.maximum


class ChatJudge:
    """Asks a model for one score in the last line of its reply; a reply without one is asked for once more.

    Args:
        connection: Where the model is; from the environment unless given (``VERIFYIT_JUDGE_BASE_URL``,
            ``VERIFYIT_JUDGE_API_KEY``, ``VERIFYIT_JUDGE_MODEL``). The key is in no record.
        model: In place of the connection's.
        timeout_seconds: For a whole exchange.
        max_completion_tokens: Budget of a reply.
        reasoning_effort: Sent unless empty.

    Raises:
        GradingInfraError: No address or no model is configured.
    """

    def __init__(
        self,
        connection: JudgeConnection | None = None,
        *,
        model: str = "",
        timeout_seconds: float = 120.0,
        max_completion_tokens: int = 8192,
        reasoning_effort: str = "",
    ) -> None:
        connection = connection or JudgeConnection.from_environment()
        connection.endpoint()
        spec = JudgeSpec(
            model=connection.chosen_model(model),
            request_timeout=timeout_seconds,
            max_completion_tokens=max_completion_tokens,
            reasoning_effort=reasoning_effort,
        )
        self._questioning = ScoreQuestioning(spec=spec, connection=connection)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Model, effort and the digest of the prompt's template."""
        spec = self._questioning.spec
        identity = {"model": spec.model, "prompt": digest_bytes(_PROMPT.encode())}
        return {**identity, "reasoning_effort": spec.reasoning_effort} if spec.reasoning_effort else identity

    def judge(self, question: RubricQuestion) -> Verification:
        """Ask for the score."""
        rubric = question.rubric
        found = self._questioning.ask(rubric_prompt(question), allowed=ScoreRange(rubric.minimum, rubric.maximum))
        metadata = {"model": self._questioning.model, **found.detail()}
        del metadata["reasoning"]
        return Verification(reward=found.score, explanation=found.reasoning, metadata=metadata)


def rubric_prompt(question: RubricQuestion) -> str:
    """What the judge reads. The trajectory stands between marks that it cannot contain."""
    reference = "" if question.reference is None else f"\nThe reference answer is:\n{question.reference}\n"
    return _PROMPT.format(
        rubric=question.rubric.text.strip(),
        prompt=question.prompt.strip(),
        reference=reference,
        trajectory=delimited(question.trajectory),
        minimum=question.rubric.minimum,
        maximum=question.rubric.maximum,
    )
