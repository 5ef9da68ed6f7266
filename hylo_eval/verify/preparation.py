"""From a raw attempt to the inputs of a grader, with the raw attempt kept.

Normalisation changes grades, so it is a named, versioned policy of the task and never a habit of an adapter.
When an attempt cannot be prepared, the failure says whom it is attributed to, and that decides whether the
attempt is a scored zero or is masked.

::

    InvalidTask
    └── InvalidPreparation    the task's own inputs are wrong
    HyloError
    └── PreparationError      any preparation failed; carries the failure and its verdict
"""

from __future__ import annotations

import string
from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import HyloError
from hylo_eval.verify.verdict import InvalidTask, Reward, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "InvalidPreparation",
    "PreparationCategory",
    "PreparationError",
    "PreparationFailure",
    "PreparedText",
    "RawText",
    "TextNormalization",
    "TextPolicy",
    "episode_failure",
    "prepare_text",
]


class PreparationCategory(StrEnum):
    """Whom a failure before grading is attributed to."""

    AGENT = "agent"
    """What the agent did or wrote."""

    UNKNOWN = "unknown"
    """Anything else, or nobody can tell."""


@attrs.frozen(kw_only=True)
class PreparationFailure:
    """Why an attempt could not be prepared for grading.

    Attributes:
        status: What the failure means for the verdict, if its attribution allows it.
        category: Whom it is attributed to.
        error_type: A short name of the failure, for counting.
        message: What is wrong, as a sentence.
        stage: Where preparation stopped: ``capture``, ``structure`` or ``normalize``.
    """

    status: Status
    category: PreparationCategory
    error_type: str
    message: str
    stage: str

    @property
    def verdict(self) -> Reward:
        """The verdict on the attempt. Nothing partly prepared is ever graded.

        A malformed task stays ``invalid_task``. A failure is a scored zero only when it says so *and* is
        attributed to the agent; every other failure is an ``infra_error``.
        """
        scorable = self.status is Status.SCORED and self.category is PreparationCategory.AGENT
        kept = scorable or self.status is Status.INVALID_TASK
        detail = {
            "error": self.message,
            "error_type": self.error_type,
            "category": self.category.value,
            "stage": self.stage,
            "source_status": self.status.value,
        }
        return Reward(0.0, self.status if kept else Status.INFRA_ERROR, detail)


class PreparationError(HyloError):
    """An attempt could not be prepared.

    Attributes:
        failure: Why, and whom it is attributed to.
        verdict: What to record for the attempt.
    """

    def __init__(self, failure: PreparationFailure) -> None:
        self.failure = failure
        self.verdict = failure.verdict
        super().__init__(failure.message)


class InvalidPreparation(PreparationError, InvalidTask):
    """The task's own inputs cannot be prepared, whatever the agent did."""


class TextPolicy(StrEnum):
    """How texts are normalised before they are compared. A policy never changes: a new rule is a new name."""

    IDENTITY = "identity"
    """Not at all."""

    EXACT_MATCH_V1 = "exact_match_v1"
    """Case, ASCII punctuation and ASCII digits are removed as far as the options say; blanks are kept."""

    COLLAPSED_V1 = "collapsed_v1"
    """As ``exact_match_v1``; then runs of blanks become one space, and outer blanks go."""


@attrs.frozen(kw_only=True)
class TextNormalization:
    """A policy and its options.

    Attributes:
        policy: The policy.
        ignore_case: Compare in lower case.
        ignore_punctuation: Remove the punctuation of ASCII.
        ignore_numbers: Remove the digits of ASCII.

    Raises:
        InvalidTask: ``identity`` was given an option, which it would have to ignore.
    """

    policy: TextPolicy = TextPolicy.IDENTITY
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False

    def __attrs_post_init__(self) -> None:
        options = (self.ignore_case, self.ignore_punctuation, self.ignore_numbers)
        if self.policy is TextPolicy.IDENTITY and any(options):
            raise InvalidTask("the policy identity takes no options; name another policy or drop them")

    def apply(self, text: str) -> str:
        """The normalised text."""
        if self.policy is TextPolicy.IDENTITY:
            return text
        if self.ignore_case:
            text = text.lower()
        ignored = string.punctuation * self.ignore_punctuation + string.digits * self.ignore_numbers
        text = text.translate(str.maketrans("", "", ignored))
        return " ".join(text.split()) if self.policy is TextPolicy.COLLAPSED_V1 else text


@attrs.frozen(kw_only=True)
class RawText:
    """What was captured, unchanged: the agent's text and the task's references, in their order."""

    candidate: str
    references: tuple[str, ...]


@attrs.frozen(kw_only=True)
class PreparedText:
    """The inputs of a text comparison, beside the raw ones and the policy that made them."""

    raw: RawText
    candidate: str
    references: tuple[str, ...]
    normalization: TextNormalization


def prepare_text(candidate: object, references: Sequence[str], normalization: TextNormalization) -> PreparedText:
    """Prepare a text for comparison with its references.

    Args:
        candidate: What the agent answered; None when it answered nothing.
        references: The texts it may equal, at least one.
        normalization: The task's policy.

    Raises:
        InvalidPreparation: There is no reference, or one is not a text.
        PreparationError: The candidate is not a text. None is the agent's failure and a scored zero; any
            other type means that the capture went wrong, and is masked.
    """
    if isinstance(references, str) or not references or not all(isinstance(text, str) for text in references):
        raise InvalidPreparation(
            PreparationFailure(
                status=Status.INVALID_TASK,
                category=PreparationCategory.UNKNOWN,
                error_type="invalid_references",
                message="the references must be a non-empty list of texts",
                stage="structure",
            )
        )
    if not isinstance(candidate, str):
        raise PreparationError(_no_text(candidate))
    return PreparedText(
        raw=RawText(candidate=candidate, references=tuple(references)),
        candidate=normalization.apply(candidate),
        references=tuple(normalization.apply(text) for text in references),
        normalization=normalization,
    )


def _no_text(candidate: object) -> PreparationFailure:
    if candidate is None:
        return PreparationFailure(
            status=Status.SCORED,
            category=PreparationCategory.AGENT,
            error_type="no_output",
            message="the agent gave no answer",
            stage="capture",
        )
    return PreparationFailure(
        status=Status.INFRA_ERROR,
        category=PreparationCategory.UNKNOWN,
        error_type="invalid_capture",
        message=f"the captured answer is {type(candidate).__name__}, not a text",
        stage="structure",
    )


# The outcomes of an episode: those that ended by the agent's own behaviour are graded, the others abstain.
_GRADED_EPISODES = frozenset(("completed", "safety_abort", "sim_unstable"))
_ABSTAINING_EPISODES = {
    "agent_error": PreparationCategory.AGENT,
    "env_error": PreparationCategory.UNKNOWN,
    "timeout": PreparationCategory.UNKNOWN,
    "worker_lost": PreparationCategory.UNKNOWN,
    "cancelled": PreparationCategory.UNKNOWN,
}


def episode_failure(status: str, reason: str = "") -> PreparationFailure | None:
    """The failure that an episode's end means for grading; None when the episode can be graded.

    ``agent_error`` is attributed to the agent, and yet is no zero: an episode in which the policy server
    crashed says nothing about the policy's skill, so it abstains and is counted apart.

    Args:
        status: The status in the trace's end event.
        reason: What the trace says about it.

    Raises:
        ValueError: The status is none that a trace can have.
    """
    if status in _GRADED_EPISODES:
        return None
    if status not in _ABSTAINING_EPISODES:
        known = ", ".join(sorted(_GRADED_EPISODES | _ABSTAINING_EPISODES.keys()))
        raise ValueError(f"{status!r} is no status of an episode; one of {known}")
    return PreparationFailure(
        status=Status.INFRA_ERROR,
        category=_ABSTAINING_EPISODES[status],
        error_type=status,
        message=reason or f"the episode ended with {status}",
        stage="capture",
    )
