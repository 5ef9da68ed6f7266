"""Schema ids and the migrations between them: pure functions from dict to dict, one step a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hylo_core.errors import SchemaError

TRACE_SCHEMA = "hylo.trace/v0.1"
EVALLOG_SCHEMA = "hylo.evallog/v0.1"

Migration = Callable[[Mapping[str, Any]], dict[str, Any]]

MIGRATIONS: Mapping[str, tuple[str, Migration]] = {}
"""From a schema id to the next one and how to get there. Empty while every family has one released version."""

_KNOWN = (TRACE_SCHEMA, EVALLOG_SCHEMA)


def migrate(document: Mapping[str, Any], schema: object, target: str) -> dict[str, Any]:
    """Bring a document of schema ``schema`` to ``target``.

    Raises:
        SchemaError: The document names no schema, one of another family, or a version this release does not know.
    """
    if not isinstance(schema, str):
        raise SchemaError(f"names no schema; expected {target!r}")
    current = schema
    migrated = dict(document)
    while current != target:
        if current not in MIGRATIONS:
            raise SchemaError(_unreadable(schema, target))
        current, step = MIGRATIONS[current]
        migrated = step(migrated)
    return migrated


def _unreadable(schema: str, target: str) -> str:
    family, _, _ = target.partition("/")
    if not schema.startswith(f"{family}/"):
        return f"is of schema {schema!r}; expected {target!r}"
    return f"is of schema {schema!r}, which this release cannot read (it knows {target!r}); upgrade hylo-eval"
