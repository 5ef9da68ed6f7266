"""The check of graders, over what is shipped and over graders that break one rule each."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from hylo_core import EpisodeTrace, GradeEvent
from hylo_core.canonical import digest
from hylo_eval.grading.conformance import RULES, check_grader
from hylo_eval.grading.operator import OperatorGrader
from hylo_eval.grading.predicate import PredicateGrader
from hylo_eval.grading.protocol import NoJudgement
from hylo_eval.grading.verdict import VerdictGrader
from hylo_eval.grading.verifier import VerifierGrader
from hylo_eval.verify import parse_spec
from hylo_eval.verify.verifiers.plugin import PluginVerifier
from tests.answered import answered
from tests.episodes import ScriptedEnv
from tests.graded import SayingGrader
from tests.verifiers import PLUGIN, write_plugin

OWN = digest("own")


def broken_rules(factory: Any, trace: EpisodeTrace | None = None, **options: Any) -> list[str]:
    """The rules that a grader breaks."""
    report = check_grader(factory, trace or answered("x"), **options)
    assert [finding.rule for finding in report.findings] == [rule.name for rule in RULES]
    return [finding.rule for finding in report.findings if finding.outcome == "broken"]


def test_every_shipped_grader_keeps_the_rules(tmp_path: Path) -> None:
    """Also where it fails to judge: that is an event too."""
    plugin = write_plugin(tmp_path / "plugin")
    (tmp_path / "tests").mkdir()
    factories: list[Any] = [
        lambda: VerifierGrader(PluginVerifier(PLUGIN, plugin)),
        lambda: OperatorGrader(ask=lambda question: "s", say=lambda line: None),
        lambda: OperatorGrader(ask=lambda question: None, say=lambda line: None),
        lambda: PredicateGrader(ScriptedEnv, identity={}),
        lambda: VerdictGrader(parse_spec('mode = "exact"\nexpected = "x"\n'), tmp_path / "tests", source="action"),
    ]
    assert [broken_rules(factory) for factory in factories] == [[]] * len(factories)


def event(**changes: Any) -> GradeEvent:
    """A good event, but for these members."""
    return GradeEvent(**{"grader": "saying", "digest": OWN, "value": 1.0, **changes})


@pytest.mark.parametrize(
    ("say", "rules"),
    [
        (lambda seed: event(), []),
        (lambda seed: event(value=None, error="gone"), []),
        (lambda seed: event(value=None), []),
        (lambda seed: event(grader="other"), ["identity"]),
        (lambda seed: event(digest=digest("other")), ["identity"]),
        (lambda seed: event(prev_sha256=OWN), ["chain"]),
        (lambda seed: event(error="but"), ["value"]),
        (lambda seed: event(metadata={"reply": "x" * 600_000}), ["size"]),
        (lambda seed: 1 / 0, ["event"]),
        (lambda seed: sys.exit("no judge"), ["event"]),
        (lambda seed: float("nan"), ["event"]),
    ],
)
def test_each_rule_is_broken_by_what_it_forbids(say: Any, rules: list[str]) -> None:
    """And by nothing else."""
    assert broken_rules(lambda: SayingGrader(say, digest=OWN)) == rules


def test_a_grader_that_returns_no_event_breaks_the_rule_of_events() -> None:
    """A number is none."""

    class Numbers(SayingGrader):
        def grade(self, trace: EpisodeTrace, task: Any) -> Any:
            return 1.0

    assert broken_rules(lambda: Numbers(digest=OWN)) == ["event"]
    assert broken_rules(lambda: SayingGrader(name=" ", digest=OWN)) == ["name", "event"]


def test_a_digest_is_one_and_the_same() -> None:
    """Another one each time would grade everything again; none at all is allowed."""
    numbers = itertools.count()
    assert broken_rules(lambda: SayingGrader(digest=digest(next(numbers)))) == ["digest"]
    assert broken_rules(lambda: SayingGrader(digest="v1")) == ["digest"]
    assert broken_rules(lambda: SayingGrader(digest="")) == []


def test_a_grader_that_writes_into_the_trace_is_found() -> None:
    """What the next grader is given would be another episode."""
    trace = answered("x")

    class Writing(SayingGrader):
        def grade(self, trace: EpisodeTrace, task: Any) -> GradeEvent:
            trace.steps[0].observation["planted"] = 1.0  # type: ignore[index]
            return event()

    assert broken_rules(lambda: Writing(digest=OWN), trace) == ["pure_input"]


def test_no_judgement_is_allowed() -> None:
    """The rules of events say nothing then."""

    def left(_: int) -> float:
        raise NoJudgement("left")

    assert broken_rules(lambda: SayingGrader(left, digest=OWN)) == []
