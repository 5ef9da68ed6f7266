"""Mode json-schema: the answer is a JSON, YAML or TOML document that is valid against a JSON Schema.

The document may stand in a Markdown fence. Formats are annotations and are not asserted. A short document is
judged in this process when the schema's cost is linear and neither nests deeply, everything else in a child with a
deadline.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.bounded_call import BoundedCallError, call_bounded
from hylo_eval.verify.extraction import fenced_block
from hylo_eval.verify.json_depth import text_nests_deeper
from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.schema_documents import (
    CompiledSchema,
    compile_schema,
    decode_schema,
    is_costly,
    judge_document,
    judge_value,
    schema_text,
)
from hylo_eval.verify.specs.answer import SchemaFormat
from hylo_eval.verify.verdict import InvalidTask, Reward, Status, zero

if TYPE_CHECKING:
    from hylo_eval.verify.json_comparison import JsonValue
    from hylo_eval.verify.specs.answer import JsonSchemaSpec

DEADLINE_SECONDS: Final = 10.0
MAX_IN_PROCESS_CHARACTERS: Final = 64 << 10
MAX_IN_PROCESS_LINES_CHARACTERS: Final = 4 << 10
"""For YAML and TOML, whose parsers are not linear: of so few characters they take milliseconds at worst."""

MAX_IN_PROCESS_DEPTH: Final = 100
"""Nesting of a schema or a document. Their readers and validators recurse in C, as deeply as Python's recursion limit
allows, which overruns the stack of a thread that was given a small one: that ends the whole process."""

_YAML_INDICATORS: Final = frozenset("&*!")
"""Begin anchors, aliases and tags, by which a short document becomes a large or an odd one."""

_YAML_OPENING: Final = re.compile(r"(?:\A|[\r\n\x85\u2028\u2029])([-?: \t]++)")

_CHILD: Final = "hylo_eval.verify.schema_child"


def check_json_schema(spec: JsonSchemaSpec) -> None:
    """Raises InvalidTask for a schema path that leaves the tests directory."""
    path = PurePosixPath(spec.schema)
    if not spec.schema or path.is_absolute() or ".." in path.parts or "\0" in spec.schema:
        raise InvalidTask(f"schema {spec.schema!r:.200} must be a path inside the tests directory")


@lru_cache(maxsize=256)
def _usable_schema(content: bytes, path: str) -> CompiledSchema | None:
    """The compiled schema, or None for one that must be used in the child."""
    text = schema_text(content, path)
    if not text_nests_deeper(text, MAX_IN_PROCESS_DEPTH):
        schema = decode_schema(content, path)
        if len(content) <= MAX_IN_PROCESS_CHARACTERS and not is_costly(schema):
            return compile_schema(schema)
    try:
        call_bounded(f"{_CHILD}:check_schema", text, path, timeout_seconds=DEADLINE_SECONDS)
    except BoundedCallError as error:
        raise InvalidTask(f"the schema {path} cannot be checked: {error}") from error
    return None


def check_schema_file(spec: JsonSchemaSpec, resources: Resources) -> None:
    """Raises InvalidTask unless the task holds the schema and it is one."""
    _usable_schema(resources.read(spec.schema), spec.schema)


def _is_bounded(document: str, notation: SchemaFormat) -> bool:
    """Whether reading a document takes no time, memory and stack to speak of, whatever stands in it."""
    if notation is SchemaFormat.JSON:
        return len(document) <= MAX_IN_PROCESS_CHARACTERS and not text_nests_deeper(document, MAX_IN_PROCESS_DEPTH)
    if len(document) > MAX_IN_PROCESS_LINES_CHARACTERS:
        return False
    if notation is SchemaFormat.TOML:  # whose reader recurses in Python alone
        return True
    return _YAML_INDICATORS.isdisjoint(document) and not _may_nest_deeply(document)


def _may_nest_deeply(document: str) -> bool:
    """Whether YAML nests deeper than it may here; true of some that does not, which the child then reads."""
    # Quotation marks within YAML's plain text are ordinary characters: every bracket counts. Each character of a
    # line's indentation and of the indicators that follow it makes room for two levels at most, a list in a mapping.
    brackets = document.count("[") + document.count("{")
    openings = map(len, _YAML_OPENING.findall(document))
    return brackets + 2 * max(openings, default=0) > MAX_IN_PROCESS_DEPTH


def grade_json_schema_candidate(spec: JsonSchemaSpec, candidate: str, schema: bytes) -> Reward:
    """Scores a document against the content of a schema file."""
    compiled = _usable_schema(schema, spec.schema)
    document = fenced_block(candidate)
    notation = spec.format
    if compiled is not None and _is_bounded(document, notation):
        reward, detail = judge_document(compiled, document, notation)
        return Reward(reward, Status.SCORED, detail)
    try:
        reward, detail = call_bounded(
            f"{_CHILD}:grade_document",
            schema.decode(),
            spec.schema,
            document,
            str(notation),
            timeout_seconds=DEADLINE_SECONDS,
        )
    except BoundedCallError as error:
        # The schema alone was usable, so it is this document that is too much.
        return zero(f"candidate_{error.failure}", error=str(error))
    return Reward(float(reward), Status.SCORED, detail)


def grade_json_value_candidate(schema: bytes, candidate: JsonValue, *, path: str = "schema.json") -> Reward:
    """Scores a decoded JSON value against the content of a schema file of linear cost.

    Raises:
        InvalidTask: The schema is none, or is one whose use needs a deadline; grade the text instead.
    """
    compiled = _usable_schema(schema, path)
    if compiled is None:
        raise InvalidTask(f"the schema {path} needs a deadline; grade the document's text")
    reward, detail = judge_value(compiled, candidate)
    return Reward(reward, Status.SCORED, detail)


def _grade(spec: JsonSchemaSpec, text: str, resources: Resources) -> Reward:
    return grade_json_schema_candidate(spec, text, resources.read(spec.schema))


GRADER: Final = AnswerGrader["JsonSchemaSpec"](
    check_spec=check_json_schema, check_task=check_schema_file, grade_output=_grade, grade_candidate=_grade
)
