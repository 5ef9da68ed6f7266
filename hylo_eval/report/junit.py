"""A gate's verdict as JUnit XML: one test case for the rule and one for each guard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from hylo_eval.compare.gate import GateOutcome
from hylo_eval.report.text import printable, printable_line
from hylo_eval.versions import stand_in_sentence

CaseVerdict = Literal["pass", "fail", "inconclusive", "refused"]


@attrs.frozen
class Case:
    """One test case."""

    name: str
    verdict: CaseVerdict
    text: str


def gate_cases(outcome: GateOutcome) -> tuple[Case, ...]:
    """The cases of a decided gate; the first is the verdict itself."""
    decision = outcome.decision
    said = stand_in_sentence("both sides", outcome.evidence.candidate.conditions.versions)
    text = "\n".join((*decision.reasons, said) if said else decision.reasons)
    first = Case(f"gate {decision.rule.mode}", decision.verdict, text)
    return (first, *(Case(guard.name, guard.verdict, guard.words) for guard in decision.guards))


def render_junit(suite: str, cases: Iterable[Case]) -> bytes:
    """JUnit XML. A failed case is a failure; an inconclusive or refused one is an error: neither is green."""
    from xml.etree.ElementTree import Element, SubElement, tostring

    listed = list(cases)
    counts = {
        "tests": str(len(listed)),
        "failures": str(sum(case.verdict == "fail" for case in listed)),
        "errors": str(sum(case.verdict in ("inconclusive", "refused") for case in listed)),
        "skipped": "0",
    }
    root = Element("testsuites", counts)
    group = SubElement(root, "testsuite", {"name": printable_line(suite), **counts})
    for case in listed:
        node = SubElement(group, "testcase", {"classname": "hylo-eval", "name": printable_line(case.name)})
        if case.verdict == "pass":
            SubElement(node, "system-out").text = printable(case.text)
            continue
        kind = "failure" if case.verdict == "fail" else "error"
        head = printable_line(case.text.partition("\n")[0])
        SubElement(node, kind, {"type": case.verdict, "message": head}).text = printable(case.text)
    return tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
