"""What the conformance checks of all plug-in kinds share: rules, findings, a report.

A rule is one named sentence. A check runs every rule, so that one report shows everything that is wrong at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

import attrs

from hylo_core.errors import describe_error
from hylo_eval.errors import EnvUnready, EvalError

Subject = TypeVar("Subject")


class NotApplicable(Exception):
    """The rule says nothing about this subject; the text says why."""


class Broken(Exception):
    """The subject breaks the rule; the text says how."""


@attrs.frozen
class Rule(Generic[Subject]):
    """One rule.

    Attributes:
        name: Short and stable, for selecting and reporting.
        sentence: What must hold.
        check: Returns when it holds, raises :class:`Broken` or :class:`NotApplicable` when not.
    """

    name: str
    sentence: str
    check: Callable[[Subject], None]


@attrs.frozen
class Finding:
    """What one rule said about one subject."""

    rule: str
    sentence: str
    outcome: Literal["kept", "broken", "not_applicable"]
    detail: str = ""

    def __str__(self) -> str:
        mark = {"kept": "ok", "broken": "BROKEN", "not_applicable": "n/a"}[self.outcome]
        line = f"{mark:6} {self.rule}: {self.sentence}"
        return f"{line}\n       {self.detail}" if self.detail else line


@attrs.frozen
class ConformanceReport:
    """All findings about one subject."""

    subject: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The rules that do not hold."""
        return tuple(finding for finding in self.findings if finding.outcome == "broken")

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.broken

    def require(self) -> None:
        """Raise unless every rule holds.

        Raises:
            EvalError: Naming every broken rule.
        """
        if not self.ok:
            raise EvalError(
                "\n".join([f"{self.subject} breaks its contract:", *map(str, self.broken)]),
                fix="mend what the rules name",
            )

    def __str__(self) -> str:
        return "\n".join([self.subject, *map(str, self.findings)])


def run_rules(name: str, subject: Subject, rules: Sequence[Rule[Subject]]) -> ConformanceReport:
    """Run every rule over a subject.

    Raises:
        EnvUnready: The subject's simulator lacks what it needs: that is no contract of the subject.
    """
    return ConformanceReport(name, tuple(_finding(rule, subject) for rule in rules))


def _finding(rule: Rule[Subject], subject: Subject) -> Finding:
    try:
        rule.check(subject)
    except EnvUnready:
        raise
    except NotApplicable as reason:
        return Finding(rule.name, rule.sentence, "not_applicable", str(reason))
    except Broken as reason:
        return Finding(rule.name, rule.sentence, "broken", str(reason))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the subject is somebody else's code; what it raises is the finding
        return Finding(rule.name, rule.sentence, "broken", f"raised {describe_error(error)}")
    return Finding(rule.name, rule.sentence, "kept")
