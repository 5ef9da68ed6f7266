"""Kind ``rubric``: a judge gives the trajectory a reward by a pinned version of a rubric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from hylo_core.canonical import digest
from hylo_core.errors import describe_error
from hylo_core.frozen import thaw
from hylo_core.verifier import VerifierRef
from hylo_eval.errors import EvalError
from hylo_eval.verify.verdict import GradingInfraError
from hylo_eval.verify.verifiers.contract import Verification, failure, finite_reward
from hylo_eval.verify.verifiers.flattening import flatten_trajectory
from hylo_eval.verify.verifiers.rubrics import Rubric, RubricStore


@attrs.frozen(kw_only=True)
class RubricQuestion:
    """All a judge is told.

    Attributes:
        rubric: By what to judge.
        prompt: What the agent was asked.
        trajectory: What it produced, as text.
        reference: The right answer; None where the task has none.
    """

    rubric: Rubric
    prompt: str
    trajectory: str
    reference: str | None


class Judge(Protocol):
    """Judges by rubrics. There is no default one: whose model decides is the user's choice."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides how it judges, as JSON: the model, the digest of its prompt. Part of every grade's digest."""
        ...

    def judge(self, question: RubricQuestion) -> Verification:
        """The reward, in the rubric's range.

        Raises:
            GradingInfraError: It cannot be asked, or its reply is incomplete or none.
        """
        ...


class RubricVerifier:
    """A rubric at one version, and the judge that reads it.

    Args:
        ref: Of kind ``rubric``.
        store: Asked once, here; what it gives stays for the whole run.
        judge: Who judges.
        version: Of the rubric; the newest unless given.

    Raises:
        VerificationError: The rubric is gone, or cannot be read.
    """

    takes_events = False
    parallel = True

    def __init__(self, ref: VerifierRef, store: RubricStore, judge: Judge, *, version: str = "") -> None:
        self.ref = ref
        self._judge = judge
        owner, _, name = ref.ref.partition("/")
        try:
            self.rubric = store.get(owner, name, version)
        except EvalError as error:
            raise failure(ref, str(error)) from error
        self.digest = digest({"verifier": ref.to_dict(), "rubric": self.rubric.record(), "judge": thaw(judge.identity)})

    def verify(self, task: Mapping[str, Any], trajectory: Any) -> Verification:
        """Ask the judge."""
        question = self._question(task, trajectory)
        try:
            found = self._judge.judge(question)
        except (GradingInfraError, EvalError) as error:
            raise failure(self.ref, str(error)) from error
        except Exception as error:  # a judge is somebody's code
            raise failure(self.ref, f"the judge raised {describe_error(error)}") from error
        reward = finite_reward(self.ref, found.reward)
        if not self.rubric.minimum <= reward <= self.rubric.maximum:
            raise failure(
                self.ref, f"the judge gave {reward:g}, outside [{self.rubric.minimum:g}, {self.rubric.maximum:g}]"
            )
        metadata: dict[str, Any] = {"rubric": self.rubric.record(), **found.metadata}
        if (self.rubric.minimum, self.rubric.maximum) != (0.0, 1.0):
            metadata["range"] = [self.rubric.minimum, self.rubric.maximum]
        return attrs.evolve(found, reward=reward, metadata=metadata)

    def __call__(self, task: Mapping[str, Any], trajectory: Any) -> float:
        """The reward."""
        return self.verify(task, trajectory).reward

    def _question(self, task: Mapping[str, Any], trajectory: Any) -> RubricQuestion:
        prompt = task.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            raise failure(self.ref, "the task has no prompt, so the judge cannot know what was asked")
        try:
            text = flatten_trajectory(trajectory)
        except ValueError as error:
            raise failure(self.ref, str(error)) from error
        return RubricQuestion(
            rubric=self.rubric, prompt=prompt, trajectory=text, reference=_reference(self.ref, task.get("reference"))
        )


def _reference(ref: VerifierRef, reference: Any) -> str | None:
    """A reference as text; one that is another JSON value is shown as JSON."""
    if reference is None or isinstance(reference, str):
        return reference
    try:
        return json.dumps(thaw(reference), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise failure(ref, "the task's reference is no JSON value") from error
