"""What a run of pytest reported, read from its channel."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSED: Final = frozenset({"passed", "xpassed"})
FAILED: Final = frozenset({"failed", "error"})
NOT_RUN: Final = frozenset({"skipped", "xfailed"})


class FailureKind(StrEnum):
    """What kind of exception stopped pytest or the collection of a file."""

    ERROR = "error"
    DEPENDENCY = "dependency"
    IMPORT = "import"
    INTERRUPT = "interrupt"


@attrs.frozen(kw_only=True)
class Failure:
    """An exception outside the tests, and where it came from.

    Attributes:
        kind: A module that is absent, a name that a module lacks, an interruption, or any other error.
        filename: The file of the innermost frame, of the syntax error, or of the module that lacks a name.
        node_id: The collector that failed; None when pytest itself could not start.
        module_file: The file of the module that lacks an attribute; empty otherwise.
        missing_module: The module that could not be imported, or lacks a name; empty otherwise.
    """

    kind: FailureKind
    filename: str
    node_id: str | None
    module_file: str
    missing_module: str


@attrs.frozen(kw_only=True)
class PytestReport:
    """The report of a session that came to its end.

    Attributes:
        root: pytest's root folder, which node ids are relative to.
        failed_collectors: The node ids of files and classes that could not be collected.
        outcomes: Pairs of node id and outcome, in order.
        summary: pytest's own counts.
    """

    root: str
    failed_collectors: frozenset[str]
    outcomes: tuple[tuple[str, str], ...]
    summary: dict[str, Any]


@attrs.frozen(kw_only=True)
class RunMessages:
    """All that a run sent; ``report`` is None when the session did not come to its end."""

    failures: tuple[Failure, ...]
    report: PytestReport | None


def parse_messages(content: bytes, word: str) -> RunMessages:
    """Reads the lines that begin with the run's secret word; others were not written by the program.

    Raises:
        GradingInfraError: A line of the program is malformed.
    """
    failures: list[Failure] = []
    collectors: set[str] = set()
    outcomes: list[tuple[str, str]] = []
    report: PytestReport | None = None
    for message in _messages(content, word):
        match message["type"]:
            case "failure":
                failures.append(_failure(message))
            case "failed_collector":
                collectors.add(_text(message, "node_id"))
            case "test":
                outcomes.append((_text(message, "node_id"), _text(message, "outcome")))
            case _:
                report = PytestReport(
                    root=_text(message, "root"),
                    failed_collectors=frozenset(collectors),
                    outcomes=tuple(outcomes),
                    summary=cast("dict[str, Any]", message["summary"]),
                )
    return RunMessages(failures=tuple(failures), report=report)


def _messages(content: bytes, word: str) -> Iterator[dict[str, Any]]:
    opening = f"{word} ".encode()
    for line in content.split(b"\n"):
        if not line.startswith(opening):
            continue
        try:
            yield cast("dict[str, Any]", json.loads(line[len(opening) :]))
        except ValueError as error:
            raise GradingInfraError("pytest's report was cut short") from error


def _text(message: dict[str, Any], name: str) -> str:
    value = message.get(name)
    return value if isinstance(value, str) else ""


def _failure(message: dict[str, Any]) -> Failure:
    node_id = message.get("node_id")
    return Failure(
        kind=FailureKind(_text(message, "kind")),
        filename=_text(message, "filename"),
        node_id=node_id if isinstance(node_id, str) else None,
        module_file=_text(message, "module_file"),
        missing_module=_text(message, "missing_module"),
    )


def check_summary(report: PytestReport) -> None:
    """Refuses a report whose own counts differ from its tests: it is not whole.

    Raises:
        GradingInfraError: A count differs, or an outcome is unknown.
    """
    counts = Counter(outcome for _, outcome in report.outcomes)
    known = PASSED | FAILED | NOT_RUN
    if unknown := sorted(set(counts) - known):
        raise GradingInfraError(f"pytest reports unknown outcomes: {', '.join(unknown)[:200]}")
    for name, observed in {"total": len(report.outcomes), **{name: counts[name] for name in known}}.items():
        declared = report.summary.get(name, observed)
        if isinstance(declared, bool) or declared != observed:
            raise GradingInfraError(
                f"pytest's report is incomplete: it declares {name}={declared!r:.20}, and holds {observed}"
            )
