"""The doctor's report: values only."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Outcome: TypeAlias = Literal["ok", "info", "warning", "broken"]
"""``info``: nothing wrong, such as a family that is not installed. ``warning``: works, with a catch."""


@attrs.frozen(kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was looked at: ``python``, ``libero``, ``rendering``.
        outcome: How it is.
        text: One sentence.
        fix: The exact command or edit that mends it; empty where there is nothing to mend.
    """

    check: str
    outcome: Outcome
    text: str
    fix: str = ""


@attrs.frozen(kw_only=True)
class Report:
    """All findings about one installation."""

    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What is installed and does not work."""
        return tuple(finding for finding in self.findings if finding.outcome == "broken")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What works with a catch."""
        return tuple(finding for finding in self.findings if finding.outcome == "warning")

    @property
    def ok(self) -> bool:
        """Whether nothing that is installed is broken."""
        return not self.broken
