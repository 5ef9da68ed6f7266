"""Specifications of the modes that grade an answer text, an answer value or a list of function calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

import attrs

from hylo_eval.verify.json_comparison import JsonValue, NumericTypePolicy
from hylo_eval.verify.specs import fields
from hylo_eval.verify.specs.base import EMPTY_OUTPUT, AnswerSpec, EmptyOutput
from hylo_eval.verify.verdict import InvalidTask


class MathType(StrEnum):
    """The shape of a mathematical answer."""

    SCALAR = "scalar"
    INTERVAL = "interval"
    SET = "set"
    TUPLE = "tuple"
    LIST = "list"
    EQUATION = "equation"


class MathProfile(StrEnum):
    r"""Where the expression stands in an answer, and as what it is read; for a scalar all three, else ``anchored``.

    ``anchored`` takes the content of the last ``\boxed{}``, or the last line of a text without one, as one LaTeX
    expression. ``boxed`` takes the same place, also without a box, and reads it as a box is read: words in it do not
    keep it from being compared, as they are written, and neither does a reference that is a word. ``raw`` looks for an
    expression in the whole text, or in its last box where it has one.
    """

    ANCHORED = "anchored"
    BOXED = "boxed"
    RAW = "raw"


class SchemaFormat(StrEnum):
    """The notation of an answer that is validated against a JSON Schema."""

    JSON = "json"
    YAML = "yaml"
    TOML = "toml"


class ClosureFormat(StrEnum):
    """The kind of structure that a continuation has to close."""

    JSON = "json"
    TOOL = "tool"
    REASONING = "reasoning"
    CODE_FENCE = "code_fence"


@attrs.frozen
class FunctionCall:
    """A function name and its decoded JSON argument object, without the call id of any framework.

    The constructor checks nothing: a candidate's calls are data to be graded. The calls that a
    specification expects are checked when the specification is built.
    """

    name: str
    arguments: dict[str, Any] = attrs.field(eq=fields.json_identity)


@attrs.frozen
class Constraint:
    """One instruction-following check and its parameters."""

    name: str
    params: dict[str, Any] = attrs.field(factory=dict[str, Any], eq=fields.json_identity)


def constraints(value: object, path: str) -> tuple[Constraint, ...]:
    """Constraints from tables ``{name, params}``; a constraint that is one already is checked again."""
    result: list[Constraint] = []
    for index, entry in enumerate(fields.entries(value, path)):
        where = f"{path}[{index}]"
        table: object = {"name": entry.name, "params": entry.params} if isinstance(entry, Constraint) else entry
        members = fields.table_fields(table, where, required=frozenset({"name"}), optional=frozenset({"params"}))
        result.append(
            Constraint(
                fields.text(members["name"], f"{where}.name"),
                fields.json_object(members.get("params", {}), f"{where}.params"),
            )
        )
    return tuple(result)


def function_calls(value: object, path: str) -> tuple[FunctionCall, ...]:
    """Function calls from tables of exactly ``name`` and ``arguments`` (a decoded JSON object).

    Raises:
        SpecError: There is no list of such tables.
        InvalidTask: A name is no string, or the arguments are no object.
    """
    result: list[FunctionCall] = []
    for index, entry in enumerate(fields.entries(value, path)):
        where = f"{path}[{index}]"
        table: object = attrs.asdict(entry, recurse=False) if isinstance(entry, FunctionCall) else entry
        members = fields.table_fields(table, where, required=frozenset({"name", "arguments"}), optional=frozenset())
        name, arguments = members["name"], members["arguments"]
        if not isinstance(name, str):
            raise InvalidTask(f"{where}.name must be a string, not {type(name).__name__}")
        if not isinstance(arguments, dict):
            raise InvalidTask(f"{where}.arguments must be an object, not {type(arguments).__name__}")
        given = cast("dict[str, Any]", arguments)
        result.append(FunctionCall(name, fields.json_object(given, f"{where}.arguments")))
    return tuple(result)


CONSTRAINTS = fields.named(constraints)


@attrs.frozen(kw_only=True)
class MathSpec(AnswerSpec):
    """A mathematical expression, compared symbolically."""

    expected: str = attrs.field(converter=fields.TEXT)
    math_type: MathType = attrs.field(default=MathType.SCALAR, converter=fields.named(fields.choice(MathType)))
    profile: MathProfile = attrs.field(default=MathProfile.ANCHORED, converter=fields.named(fields.choice(MathProfile)))
    allow_additive_constant: bool = attrs.field(default=False, converter=fields.FLAG)


@attrs.frozen(kw_only=True)
class IfevalSpec(AnswerSpec):
    """Instruction-following constraints, all of which must hold."""

    constraints: tuple[Constraint, ...] = attrs.field(converter=CONSTRAINTS)


@attrs.frozen(kw_only=True)
class JsonSchemaSpec(AnswerSpec):
    """A document that must be valid against a JSON Schema in the tests directory."""

    schema: str = attrs.field(default="schema.json", converter=fields.TEXT)
    format: SchemaFormat = attrs.field(default=SchemaFormat.JSON, converter=fields.named(fields.choice(SchemaFormat)))


@attrs.frozen(kw_only=True)
class XmlElementsSpec(AnswerSpec):
    """Names that an XML answer must carry as elements or attributes: all ``required``, one of ``any_of``."""

    required: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    any_of: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)


@attrs.frozen(kw_only=True)
class CsvColumnsSpec(AnswerSpec):
    """Header columns that a CSV answer must carry: all ``required``, one of ``any_of``."""

    required: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    any_of: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)


@attrs.frozen(kw_only=True)
class StructuredExactSpec(AnswerSpec):
    """A JSON value that the answer must equal. In TOML ``expected`` is a JSON string: null must survive."""

    expected: JsonValue = attrs.field(converter=fields.JSON_VALUE, eq=fields.json_identity)
    numeric_types: NumericTypePolicy = attrs.field(
        default=NumericTypePolicy.VALUE, converter=fields.named(fields.choice(NumericTypePolicy))
    )


@attrs.frozen(kw_only=True)
class PredictedActionSpec(AnswerSpec):
    """Function calls that the answer must match one to one, in any order."""

    expected_calls: tuple[FunctionCall, ...] = attrs.field(converter=fields.named(function_calls))
    numeric_tolerance: float | None = attrs.field(default=None, converter=fields.OPTIONAL_NUMBER)


@attrs.frozen(kw_only=True)
class ReasoningGymSpec(AnswerSpec):
    """A Reasoning Gym data set's own score of an answer to a trusted entry."""

    dataset: str = attrs.field(converter=fields.TEXT)
    entry: str = attrs.field(default="entry.json", converter=fields.TEXT)
    params: str | None = attrs.field(default=None, converter=fields.OPTIONAL_TEXT)


@attrs.frozen(kw_only=True)
class StructureClosureSpec(AnswerSpec):
    """A continuation of ``prefix`` that must complete ``expected``. An extension of the contract."""

    prefix: str = attrs.field(converter=fields.TEXT)
    expected: str = attrs.field(converter=fields.TEXT)
    format: ClosureFormat = attrs.field(converter=fields.named(fields.choice(ClosureFormat)))
    empty_output: EmptyOutput = attrs.field(default=EmptyOutput.GRADE, converter=EMPTY_OUTPUT)


@attrs.frozen(kw_only=True)
class UnsolvableSpec(AnswerSpec):
    """A task without a right answer: every answer scores zero. An extension of the contract."""
