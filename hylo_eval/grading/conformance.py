"""Whether a grader keeps the contract of :mod:`hylo_eval.grading.protocol`, one named sentence a rule.

Grading may cost money or a person's time: the check asks for one judgement.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from hylo_core.canonical import describe, is_digest
from hylo_core.errors import describe_error
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.conformance import Broken, ConformanceReport, NotApplicable, Rule, run_rules
from hylo_eval.grading.material import events_of
from hylo_eval.grading.protocol import NoJudgement, digest_of
from hylo_eval.traces.grades import MAX_GRADE_BYTES


def check_grader(factory: Callable[..., Any], trace: EpisodeTrace, **options: Any) -> ConformanceReport:
    """Check a grader factory on one finished episode.

    Args:
        factory: Makes the grader: ``factory(**options)``.
        trace: What it is to judge.
        **options: Passed to the factory.
    """
    make = partial(factory, **options)
    grader: Any = make()
    before = list(events_of(trace))
    try:
        given: Any = grader.grade(trace, trace.instance)
    except NoJudgement as none:
        given = none
    except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's code; that it raises is what the check is about
        given = error
    subject = _Subject(make=make, grader=grader, trace=trace, before=before, given=given)
    try:
        return run_rules(f"{getattr(factory, '__name__', factory)} on {trace.key}", subject, RULES)
    finally:
        close = getattr(grader, "close", None)
        if callable(close):
            close()


@attrs.frozen(kw_only=True)
class _Subject:
    make: Callable[[], Any]
    grader: Any
    trace: EpisodeTrace
    before: list[dict[str, Any]]
    given: Any

    @property
    def event(self) -> GradeEvent:
        if isinstance(self.given, NoJudgement):
            raise NotApplicable(f"it gave no judgement: {self.given}")
        if not isinstance(self.given, GradeEvent):
            raise NotApplicable("it returned no event")
        return self.given


def _has_a_name(subject: _Subject) -> None:
    name = getattr(subject.grader, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise Broken(f"its name is {describe(name)}")


def _returns_an_event(subject: _Subject) -> None:
    if isinstance(subject.given, NoJudgement):
        raise NotApplicable(f"it gave no judgement: {subject.given}")
    if isinstance(subject.given, BaseException):
        raise Broken(f"it raised {describe_error(subject.given)}")
    if not isinstance(subject.given, GradeEvent):
        raise Broken(f"it returned {describe(subject.given)}")


def _names_itself(subject: _Subject) -> None:
    event, digest = subject.event, digest_of(subject.grader)
    if event.grader != subject.grader.name:
        raise Broken(f"the event names {event.grader!r}, the grader is {subject.grader.name!r}")
    if digest and event.digest != digest:
        raise Broken(f"the event has digest {event.digest or 'none'}, the grader {digest}")


def _leaves_the_chain_alone(subject: _Subject) -> None:
    if subject.event.prev_sha256:
        raise Broken("it set prev_sha256, which is set when the event is appended")


def _says_value_or_error(subject: _Subject) -> None:
    if subject.event.value is not None and subject.event.error:
        raise Broken(f"it gave {subject.event.value:g} and the error {subject.event.error!r:.80}")


def _is_small(subject: _Subject) -> None:
    size = len(subject.event.to_json())
    if size > MAX_GRADE_BYTES // 2:
        raise Broken(f"the event takes {size} bytes")


def _changes_nothing(subject: _Subject) -> None:
    if list(events_of(subject.trace)) != subject.before:
        raise Broken("the trace it was given is not what it was")


def _has_a_stable_digest(subject: _Subject) -> None:
    digest = digest_of(subject.grader)
    if not digest:
        raise NotApplicable("it has none: every episode it has judged counts as judged, whatever has changed since")
    if not is_digest(digest):
        raise Broken(f"{digest!r:.80} is not sha256:<64 hexadecimal digits>")
    if digest_of(subject.make()) != digest:
        raise Broken("a second grader of the same options has another digest, so nothing would count as judged")


RULES: tuple[Rule[_Subject], ...] = (
    Rule("name", "A grader has a name that is not empty.", _has_a_name),
    Rule("event", "grade() returns a GradeEvent, or raises NoJudgement.", _returns_an_event),
    Rule("identity", "Its events name the grader and hold its digest.", _names_itself),
    Rule("chain", "prev_sha256 is left empty.", _leaves_the_chain_alone),
    Rule("value", "An event has a value or an error, or neither; never both.", _says_value_or_error),
    Rule("size", "An event takes at most half a mebibyte.", _is_small),
    Rule("pure_input", "The trace it is given stays as it is.", _changes_nothing),
    Rule("digest", "Graders of the same options have the same digest.", _has_a_stable_digest),
)
"""Every rule, in the order of a report."""
