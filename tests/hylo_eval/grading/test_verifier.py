"""A verifier as a grader."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hylo_core import GradeEvent, Grader, VerifierRef
from hylo_eval import VerificationError
from hylo_eval.grading.material import task_of, trajectory_of
from hylo_eval.grading.verifier import VerifierGrader
from hylo_eval.verify.verifiers.endpoint import EndpointVerifier
from hylo_eval.verify.verifiers.plugin import PluginVerifier
from hylo_eval.verify.verifiers.rubric import RubricVerifier
from hylo_eval.verify.verifiers.rubrics import RubricFolder
from tests.answered import answered
from tests.verifiers import PLUGIN, RUBRIC, SayingJudge, write_plugin, write_rubric

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def by_rubric(root: Path, answer: Any = lambda question: 0.75) -> RubricVerifier:
    """A rubric whose judge says what a function says."""
    return RubricVerifier(RUBRIC, RubricFolder(write_rubric(root)), SayingJudge(answer))


def graded(verifier: Any, text: str = "42") -> GradeEvent:
    """The event for an episode that answered in text."""
    trace = answered(text, params={"reference": "42"})
    return VerifierGrader(verifier, now=lambda: WHEN).grade(trace, trace.instance)


def test_the_reward_is_the_grade(tmp_path: Path) -> None:
    """The event says what judged, at which version, by whose model, and when."""
    verifier = by_rubric(tmp_path)
    event = graded(verifier)
    assert (event.grader, event.value, event.ref, event.error) == ("verifier", 0.75, RUBRIC.ref, "")
    assert (event.digest, event.explanation) == (verifier.digest, "because")
    assert event.metadata["kind"] == "rubric"
    assert event.metadata["model"] == "saying"
    assert dict(event.metadata["rubric"]) == {"name": RUBRIC.ref, "version": "1", "digest": verifier.rubric.digest}
    assert event.volatile["graded_at"] == "2026-01-02T00:00:00.000+00:00"


def test_one_rubric_rewards_training_and_scores_evaluation(tmp_path: Path) -> None:
    """同一份标准同时用于训练 reward 和评测分数: the function and the grader say the same of the same episode."""
    verifier = by_rubric(tmp_path, lambda question: float(question.trajectory == question.reference))
    for text, reward in (("42", 1.0), ("41", 0.0)):
        trace = answered(text, params={"reference": "42"})
        assert verifier(task_of(trace), trajectory_of(trace, events=verifier.takes_events)) == reward
        assert graded(verifier, text).value == reward


def test_a_failure_is_an_event_without_a_value(tmp_path: Path) -> None:
    """It names kind, ref and reason in a bounded line; the library call raises."""

    def broken(_: Any) -> float:
        raise RuntimeError("x" * 10_000)

    verifier = by_rubric(tmp_path, broken)
    with pytest.raises(VerificationError):
        verifier({"prompt": "go"}, "42")
    event = graded(verifier)
    assert event.value is None
    assert event.error.startswith("rubric verifier 'alice/arithmetic-correctness': the judge raised RuntimeError: xxx")
    assert len(event.error) <= 500


def test_an_interrupt_passes_through(tmp_path: Path) -> None:
    """It is the operator's."""

    def interrupted(_: Any) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(by_rubric(tmp_path, interrupted))


def test_a_plugin_is_asked_by_one_thread_at_a_time(tmp_path: Path) -> None:
    """Judges and endpoints by several."""
    plugin = VerifierGrader(PluginVerifier(PLUGIN, write_plugin(tmp_path / "plugin")))
    endpoint = VerifierGrader(EndpointVerifier(VerifierRef("endpoint", "http://127.0.0.1:9/")))
    rubric = VerifierGrader(by_rubric(tmp_path / "rubrics"))
    assert [grader.parallel for grader in (plugin, endpoint, rubric)] == [False, True, True]
    assert all(isinstance(grader, Grader) for grader in (plugin, endpoint, rubric))
    trace = answered("42", params={"reference": "[{'role': 'assistant', 'content': '42'}]"})
    assert plugin.grade(trace, trace.instance).value == 0.0
