"""The modes of the verdict layer: which specification and which grader each one has.

One static table; a mode's modules are imported when the mode is first used, because several need an extra.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from hylo_eval.verify.modes.grader import AnswerGrader, WorkspaceGrader


class Mode(StrEnum):
    """How a task's answer is graded."""

    EXACT = "exact"
    NUMERIC = "numeric"
    MCQ = "mcq"
    MATH = "math"
    IFEVAL = "ifeval"
    JSON_SCHEMA = "json-schema"
    XML_ELEMENTS = "xml-elements"
    CSV_COLUMNS = "csv-columns"
    STRUCTURED_EXACT = "structured_exact"
    PREDICTED_ACTION = "predicted_action"
    REASONING_GYM = "reasoning-gym"
    STDIO = "stdio"
    PYTEST = "pytest"
    JUNIT = "junit"
    GOTEST = "gotest"
    JUDGE = "judge"
    SCRIPT = "script"
    STRUCTURE_CLOSURE = "structure_closure"
    UNSOLVABLE = "unsolvable"


class ModeEntry(NamedTuple):
    """Where a mode's specification and grader are defined.

    Attributes:
        specs: The module of the specification's class, under ``hylo_eval.verify.specs``.
        spec: The name of that class.
        grader: The module under ``hylo_eval.verify.modes`` whose ``GRADER`` grades the mode.
    """

    specs: str
    spec: str
    grader: str


MODES: Final[dict[Mode, ModeEntry]] = {
    Mode.EXACT: ModeEntry("short_answer", "ExactSpec", "exact"),
    Mode.NUMERIC: ModeEntry("short_answer", "NumericSpec", "numeric"),
    Mode.MCQ: ModeEntry("short_answer", "McqSpec", "mcq"),
    Mode.MATH: ModeEntry("answer", "MathSpec", "math"),
    Mode.IFEVAL: ModeEntry("answer", "IfevalSpec", "ifeval"),
    Mode.JSON_SCHEMA: ModeEntry("answer", "JsonSchemaSpec", "json_schema"),
    Mode.XML_ELEMENTS: ModeEntry("answer", "XmlElementsSpec", "xml_elements"),
    Mode.CSV_COLUMNS: ModeEntry("answer", "CsvColumnsSpec", "csv_columns"),
    Mode.STRUCTURED_EXACT: ModeEntry("answer", "StructuredExactSpec", "structured_exact"),
    Mode.PREDICTED_ACTION: ModeEntry("answer", "PredictedActionSpec", "predicted_action"),
    Mode.REASONING_GYM: ModeEntry("answer", "ReasoningGymSpec", "reasoning_gym"),
    Mode.STDIO: ModeEntry("execution", "StdioSpec", "stdio"),
    Mode.PYTEST: ModeEntry("suites", "PytestSpec", "pytest"),
    Mode.JUNIT: ModeEntry("suites", "JunitSpec", "junit"),
    Mode.GOTEST: ModeEntry("suites", "GotestSpec", "gotest"),
    Mode.JUDGE: ModeEntry("judge", "JudgeSpec", "judge"),
    Mode.SCRIPT: ModeEntry("execution", "ScriptSpec", "script"),
    Mode.STRUCTURE_CLOSURE: ModeEntry("answer", "StructureClosureSpec", "structure_closure"),
    Mode.UNSOLVABLE: ModeEntry("answer", "UnsolvableSpec", "unsolvable"),
}

IN_PROCESS_MODES: Final = frozenset(
    {
        Mode.EXACT,
        Mode.NUMERIC,
        Mode.MCQ,
        Mode.MATH,
        Mode.IFEVAL,
        Mode.JSON_SCHEMA,
        Mode.XML_ELEMENTS,
        Mode.CSV_COLUMNS,
        Mode.STRUCTURED_EXACT,
        Mode.PREDICTED_ACTION,
    }
)
"""The modes that grade an answer already in the caller's hands, without files or a harness."""


_MODE_OF_SPEC: Final = {entry.spec: mode for mode, entry in MODES.items()}


@cache
def spec_type(mode: Mode) -> type[Any]:
    """The class of the mode's specification."""
    entry = MODES[mode]
    found: type[Any] = getattr(import_module(f"hylo_eval.verify.specs.{entry.specs}"), entry.spec)
    return found


@cache
def grader_of(mode: Mode) -> AnswerGrader[Any] | WorkspaceGrader[Any]:
    """The mode's grader, imported at the first call."""
    found: AnswerGrader[Any] | WorkspaceGrader[Any] = import_module(
        f"hylo_eval.verify.modes.{MODES[mode].grader}"
    ).GRADER
    return found


def mode_of(spec: object) -> Mode:
    """The mode that a specification belongs to.

    Raises:
        TypeError: ``spec`` is no specification of a mode.
    """
    kind = type(spec)
    mode = _MODE_OF_SPEC.get(kind.__name__)
    if mode is None or spec_type(mode) is not kind:
        raise TypeError(f"{kind.__name__} is not the specification of any mode")
    return mode
