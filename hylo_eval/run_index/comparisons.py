"""The records of comparisons, gates and looks as the index sees them; one record is never an exception."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.errors import clean_text
from hylo_eval.compare.agent_labels import settings_words
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.records import FOLDER, read_record, record_paths
from hylo_eval.numerals import size_in_points
from hylo_eval.run_index.folders import file_identity, index_name
from hylo_eval.traces.layout import RunFolder

_MAX_TEXT: Final = 500
_MAX_RULE: Final = 4000
_MAX_RUNS: Final = 100


@attrs.frozen(kw_only=True)
class FoundComparison:
    """A record.

    Attributes:
        path: The file.
        fingerprint: Changes when the file does.
        document: What it says; empty where it cannot be read.
        problem: Why, in one line.
    """

    path: Path
    fingerprint: str
    document: Mapping[str, Any]
    problem: str = ""


def find_comparison(name: str, run_root: Path) -> Path | None:
    """The record of an id, or of a file; None where there is none.

    Args:
        name: What was typed.
        run_root: Where ids are looked for.
    """
    given = Path(name)
    inside = run_root / FOLDER / f"{name}.json"
    try:
        if given.suffix == ".json" and given.parent.name == FOLDER and given.is_file():
            return given
        return inside if given.name == name and inside.is_file() else None
    except (OSError, ValueError):
        # A name that no file can have.
        return None


def comparisons_of(run: RunFolder) -> list[tuple[dict[str, Any], str]]:
    """The records beside a run in which it took part, oldest first: their rows, and on which side of whom.

    Raises:
        EvalError: The records cannot be listed.
    """
    found: list[tuple[dict[str, Any], str]] = []
    for path in record_paths(run.path.parent):
        record = read_comparison(path)
        rows = list(comparison_run_rows(record))
        role = next((row["role"] for row in rows if row["run_id"] == index_name(run)), None)
        if role is not None:
            others = ", ".join(
                row["run_id"]
                for row in rows
                if row["run_id"] != index_name(run) and (role not in _AS or row["role"] != role)
            )
            found.append((comparison_row(record), f"{_AS.get(role, 'with')} {others}"))
    return found


_AS: Final[Mapping[str, str]] = {"candidate": "as candidate against", "parent": "as parent of"}
"""How a run took part, by its role."""


def comparison_name(path: Path) -> str:
    """A record's id as a database can hold it."""
    return clean_text(path.stem)


def read_comparison(path: Path) -> FoundComparison:
    """What a record says; what cannot be read is a problem and no error."""
    identity = file_identity(path)
    try:
        return FoundComparison(path=path, fingerprint=identity, document=read_record(path))
    except EvalError as error:
        problem = clean_text(error.message.replace(f"{path.parent}/", ""), _MAX_TEXT)
        return FoundComparison(path=path, fingerprint=identity, document={}, problem=problem)


def comparison_row(found: FoundComparison) -> dict[str, Any]:
    """The row of a record; what it does not say is empty or None."""
    document = found.document
    benchmark, metric = (_mapping(document.get(name)) for name in ("benchmark", "metric"))
    reasons: Any = document.get("reasons")
    comparison = _mapping(document.get("comparison"))
    return {
        "id": comparison_name(found.path),
        "kind": _text(document, "kind"),
        "created_at": _text(document, "created_at"),
        "benchmark": _text(benchmark, "id"),
        "split": _text(benchmark, "split"),
        "metric": _text(metric, "name"),
        "mode": _text(_mapping(document.get("policy")), "mode"),
        "verdict": _text(document, "verdict"),
        "exit_code": _number(document.get("exit_code")),
        "n_pairs": _number(comparison.get("n_pairs")),
        "p_value": _number(document.get("p_value", comparison.get("p_value"))),
        "reasons": _listed(cast("list[Any]", reasons)) if isinstance(reasons, list) else "",
        "path": clean_text(str(found.path)),
        "problem": found.problem,
        "fingerprint": found.fingerprint,
    }


def comparison_run_rows(found: FoundComparison) -> Iterator[dict[str, Any]]:
    """A row a run that took part, the candidate first, and those of further repetitions after its parent."""
    document = found.document
    runs: Any = document.get("runs")
    if isinstance(runs, list):
        named = [("run", _mapping(run)) for run in cast("list[Any]", runs)[:_MAX_RUNS]]
    else:
        further: Any = document.get("repetitions")
        pairs = [document, *(cast("list[Any]", further) if isinstance(further, list) else ())][: _MAX_RUNS // 2]
        named = [(role, _mapping(_mapping(pair).get(role))) for pair in pairs for role in ("candidate", "parent")]
    for position, (role, run) in enumerate(named):
        if run_id := _text(run, "run_id"):
            yield {
                "comparison_id": comparison_name(found.path),
                "position": position,
                "role": role,
                "run_id": run_id,
                "agent": _text(run, "agent"),
                "agent_version": _text(run, "version"),
                "agent_settings": clean_text(settings_words(_mapping(run.get("agent_settings"))), _MAX_TEXT),
            }


def rule_words(found: FoundComparison) -> str:
    """By which rule a gate decided, in words; empty where none is on record."""
    policy = _mapping(found.document.get("policy"))
    margin = _number(policy.get("margin"))
    named = [_text(policy, "mode"), "" if margin is None else f"margin {size_in_points(margin)}"]
    words: Any = policy.get("words")
    said = clean_text(words, _MAX_RULE) if isinstance(words, str) else ""
    return ": ".join(filter(None, (", ".join(filter(None, named)), said)))


def _listed(reasons: list[Any]) -> str:
    return clean_text("; ".join(reason for reason in reasons if isinstance(reason, str)), _MAX_TEXT)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return clean_text(value, _MAX_TEXT) if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53
    return cast("float", value) if usable else None
