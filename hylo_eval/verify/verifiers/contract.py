"""What every verifier is: a function of a task and a trajectory that returns a finite reward or raises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import attrs

from hylo_core.canonical import describe
from hylo_core.verifier import VerifierRef
from hylo_eval.errors import EvalError, VerificationError
from hylo_eval.verify.execution.deadline import MAX_TIMEOUT_SECONDS

VerifyFn: TypeAlias = Callable[[Mapping[str, Any], Any], float]
"""From the task and the trajectory that was handed in to the reward; a failure raises and is never 0.0."""


@attrs.frozen(kw_only=True)
class Verification:
    """A reward, and what else is known about it.

    Attributes:
        reward: A finite number. No range is promised, and nothing is clamped.
        explanation: Why, in words, where the verifier says.
        metadata: JSON for the record: the rubric's version and digest, the judge's model, token counts.
    """

    reward: float
    explanation: str = ""
    metadata: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


class Verifier(Protocol):
    """A resolved verifier; as a function it is a :data:`VerifyFn`."""

    @property
    def ref(self) -> VerifierRef:
        """What it was resolved from."""
        ...

    @property
    def digest(self) -> str:
        """``sha256:`` digest of everything about the verifier that can be pinned; grades record it."""
        ...

    @property
    def takes_events(self) -> bool:
        """Whether it gets the trajectory raw, rather than flattened to text."""
        ...

    @property
    def parallel(self) -> bool:
        """Whether several threads may ask at once."""
        ...

    def verify(self, task: Mapping[str, Any], trajectory: Any) -> Verification:
        """The reward with its details; raises as a call does."""
        ...

    def __call__(self, task: Mapping[str, Any], trajectory: Any) -> float:
        """The reward.

        Raises:
            VerificationError: Naming kind and ref; the cause is chained.
        """
        ...


def failure(ref: VerifierRef, reason: str) -> VerificationError:
    """The error of a verifier."""
    return VerificationError(ref.ref, reason, kind=ref.kind)


def finite_reward(ref: VerifierRef, value: object) -> float:
    """A JSON number as a reward: no bool, no text, nothing that is not finite.

    Raises:
        VerificationError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise failure(ref, f"the reward must be a number, not {describe(value)}")
    try:
        reward = float(value)
    except OverflowError as error:
        raise failure(ref, "the reward is an integer beyond the largest float") from error
    if not math.isfinite(reward):
        raise failure(ref, f"the reward must be finite, not {reward}")
    return reward


def check_option_seconds(seconds: float) -> None:
    """Refuse a time that is none, or longer than the operating system can wait for in one call.

    Raises:
        EvalError: It is not above 0, or above a week.
    """
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise EvalError(f"option 'timeout_seconds' must be above 0 and at most a week, not {seconds:g}")
