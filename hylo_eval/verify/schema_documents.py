"""Documents against a JSON Schema: reading both, and the verdict of one on the other.

Everything here may be slow or unbounded on hostile input. The json-schema mode decides which part runs in its
own process and which in a child with a deadline (:mod:`hylo_eval.verify.schema_child`).
"""

from __future__ import annotations

import datetime as dt
import json
import math
import tomllib
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias, cast

import attrs

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.specs.answer import SchemaFormat
from hylo_eval.verify.verdict import InvalidTask

MAX_NODES: Final = 1_000_000
"""Values of a document, the repeated ones of YAML aliases counted each time."""

MAX_ERRORS: Final = 100
MAX_SHOWN_CHARACTERS: Final = 400

Outcome: TypeAlias = tuple[float, dict[str, Any]]
"""A reward and its detail, as JSON values."""

# Their cost is not linear in the document: backtracking, comparison of all pairs, recursion.
_COSTLY_KEYWORDS: Final = frozenset(
    {"pattern", "patternProperties", "uniqueItems", "$ref", "$dynamicRef", "$recursiveRef"}
)
# One instance of every JSON type, for finding a schema that refers to itself without end.
_PROBES: Final[tuple[Any, ...]] = (None, True, 0, "", [], {})


class NonfiniteNumberError(ValueError):
    """A document holds an infinity or NaN, which JSON does not have."""


@attrs.frozen
class CompiledSchema:
    """A valid schema.

    Attributes:
        validator: The jsonschema validator, without any access to the network.
    """

    validator: Any


def schema_text(content: bytes, path: str) -> str:
    """The text of a schema file.

    Raises:
        InvalidTask: It is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidTask(f"the schema {path} is not UTF-8") from error


def decode_schema(content: bytes, path: str) -> dict[str, Any]:
    """The JSON object that a schema file holds.

    Raises:
        InvalidTask: It is not UTF-8, not JSON, no object, or holds a nonfinite number.
    """
    try:
        schema = json.loads(schema_text(content, path), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise InvalidTask(f"the schema {path} is nested too deeply") from error
    except ValueError as error:
        raise InvalidTask(f"the schema {path} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise InvalidTask(f"the schema {path} is not a JSON object")
    try:
        _PlainCopy().of(schema)
    except (ValueError, RecursionError) as error:
        raise InvalidTask(f"the schema {path} cannot be used: {error}") from error
    return cast("dict[str, Any]", schema)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def is_costly(schema: dict[str, Any]) -> bool:
    """Whether validation against a schema may take more than linear time.

    A property that is merely named like a costly keyword counts too: the answer decides on a process only.
    """
    pending: list[Any] = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if not _COSTLY_KEYWORDS.isdisjoint(members):
                return True
            pending.extend(members.values())
        elif isinstance(value, list):
            pending.extend(cast("list[Any]", value))
    return False


def compile_schema(schema: dict[str, Any]) -> CompiledSchema:
    """Checks a schema against its metaschema and resolves every reference in it.

    The dialect is the one that ``$schema`` names, or 2020-12.

    Raises:
        InvalidTask: It is no schema, refers to something that is not in it, or refers to itself without end.
        GradingInfraError: jsonschema is not installed.
    """
    jsonschema = import_extra("jsonschema", extra="schema")
    specifications = import_extra("jsonschema_specifications", extra="schema")
    try:
        # The dialect is looked up by whatever ``$schema`` holds: a number, a list, half an address.
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(schema)
        _resolve_references(schema, kind, specifications.REGISTRY)
        # With this registry nothing is ever fetched: an unknown reference is unresolvable.
        validator = kind(schema, registry=specifications.REGISTRY)
        for probe in _PROBES:
            validator.is_valid(probe)
    except jsonschema.exceptions.SchemaError as error:
        raise InvalidTask(f"the schema is not a valid JSON Schema: {error.message:.400}") from error
    except RecursionError as error:
        raise InvalidTask("the schema refers to itself without end, or is nested too deeply") from error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InvalidTask(f"the schema cannot be used: {type(error).__name__}: {error}") from error
    return CompiledSchema(validator)


def _resolve_references(schema: dict[str, Any], kind: Any, registry: Any) -> None:
    referencing = import_extra("referencing.jsonschema", extra="schema")
    exceptions = import_extra("referencing.exceptions", extra="schema")
    specification = referencing.specification_with(kind.ID_OF(kind.META_SCHEMA))
    root = specification.create_resource(schema)
    pending: list[tuple[Any, Any]] = [(root, registry.resolver_with_root(root))]
    while pending:
        resource, resolver = pending.pop()
        contents: Any = resource.contents
        if not isinstance(contents, dict):
            continue
        for keyword in ("$ref", "$dynamicRef"):
            reference = cast("dict[str, Any]", contents).get(keyword)
            if isinstance(reference, str):
                try:
                    resolver.lookup(reference)
                except exceptions.Unresolvable as error:
                    raise InvalidTask(f"the schema's reference {reference!r:.200} cannot be resolved") from error
        pending.extend((part, resolver.in_subresource(part)) for part in resource.subresources())


def read_document(text: str, notation: SchemaFormat) -> Any:
    """The value of a document, dates and times as their ISO text.

    Raises:
        NonfiniteNumberError: It holds an infinity or NaN.
        ValueError: It cannot be parsed, or is larger than a million values.
        RecursionError: It is nested too deeply.
    """
    match notation:
        case SchemaFormat.JSON:
            document = json.loads(text)
        case SchemaFormat.TOML:
            document = tomllib.loads(text)
        case SchemaFormat.YAML:
            document = _read_yaml(text)
    return _PlainCopy().of(document)


def _read_yaml(text: str) -> Any:
    yaml = import_extra("yaml", extra="schema")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if document is None:
        raise ValueError("the YAML document is empty")
    return document


class _PlainCopy:
    """Copies a document with every alias written out, and stops when that has no end."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def of(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"the document holds more than {MAX_NODES} values")
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NonfiniteNumberError("the document holds a number that is not finite")
            return value
        if isinstance(value, dict):
            members = cast("dict[Any, Any]", value)
            return {key: self.of(entry) for key, entry in members.items()}
        if isinstance(value, list):
            return [self.of(entry) for entry in cast("list[Any]", value)]
        if isinstance(value, dt.date | dt.time):
            return value.isoformat()
        return value


def judge_document(compiled: CompiledSchema, text: str, notation: SchemaFormat) -> Outcome:
    """The outcome of a document: 1.0 for a valid one, else 0.0 and the reason."""
    try:
        document = read_document(text, notation)
    except RecursionError:
        return 0.0, {"reason": "candidate_nesting_limit"}
    except NonfiniteNumberError:
        return 0.0, {"reason": "nonfinite_number"}
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        return 0.0, {"reason": "parse_error", "error": str(error)[:MAX_SHOWN_CHARACTERS]}
    return judge_value(compiled, document)


def _place(error: Any) -> list[str]:
    return [str(part) for part in error.path]


def judge_value(compiled: CompiledSchema, document: Any) -> Outcome:
    """The outcome of a decoded document; see :func:`judge_document`."""
    try:
        if compiled.validator.is_valid(document):
            return 1.0, {"reason": "valid"}
        errors: list[Any] = list(islice(compiled.validator.iter_errors(document), MAX_ERRORS))
        first: Any = min(errors, key=_place)
        return 0.0, {
            "reason": "schema_violation",
            "errors": len(errors),
            "path": "/".join(str(part) for part in first.path)[:MAX_SHOWN_CHARACTERS],
            "error": first.message[:MAX_SHOWN_CHARACTERS],
        }
    except RecursionError:
        return 0.0, {"reason": "candidate_nesting_limit"}
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        # A key that is no string, or an integer beyond a float: nothing that JSON Schema speaks about.
        return 0.0, {"reason": "unsupported_value", "error": f"{type(error).__name__}: {error}"[:400]}


@lru_cache(maxsize=64)
def compiled_from_text(content: bytes, path: str) -> CompiledSchema:
    """The compiled schema of a file's content, compiled once."""
    return compile_schema(decode_schema(content, path))
