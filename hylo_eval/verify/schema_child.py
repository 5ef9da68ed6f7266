"""The part of the json-schema mode that runs in a child process with a deadline."""

from __future__ import annotations

from typing import Any

from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.schema_documents import compiled_from_text, judge_document
from hylo_eval.verify.specs.answer import SchemaFormat


def prepare() -> None:
    """Imports the libraries, outside of any deadline."""
    import_extra("jsonschema", extra="schema")
    import_extra("yaml", extra="schema")


def check_schema(schema: str, path: str) -> None:
    """Raises InvalidTask unless the text is a usable schema."""
    compiled_from_text(schema.encode(), path)


def grade_document(schema: str, path: str, text: str, notation: str) -> list[Any]:
    """The reward and the detail of a document."""
    return list(judge_document(compiled_from_text(schema.encode(), path), text, SchemaFormat(notation)))
