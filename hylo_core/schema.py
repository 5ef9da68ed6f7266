"""Schema ids and the migrations between them: pure functions from dict to dict, one step a version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hylo_core.errors import SchemaError
from hylo_core.evallog_migrations import evallog_v01_to_v02, evallog_v02_to_v01

TRACE_SCHEMA = "hylo.trace/v0.1"
EVALLOG_V01 = "hylo.evallog/v0.1"
EVALLOG_SCHEMA = "hylo.evallog/v0.2"

Migration = Callable[[Mapping[str, Any]], dict[str, Any]]

UPGRADES: Mapping[str, tuple[str, Migration]] = {EVALLOG_V01: (EVALLOG_SCHEMA, evallog_v01_to_v02)}
"""From a schema id to the next one and how to get there."""

DOWNGRADES: Mapping[str, tuple[str, Migration]] = {EVALLOG_SCHEMA: (EVALLOG_V01, evallog_v02_to_v01)}
"""From a schema id to the one before it, for readers of older releases."""

_KNOWN = (TRACE_SCHEMA, EVALLOG_V01, EVALLOG_SCHEMA)


def migrate(document: Mapping[str, Any], schema: object, target: str) -> dict[str, Any]:
    """Bring a document of schema ``schema`` to ``target``, which may be a newer or an older version.

    Raises:
        SchemaError: The document names no schema, one of another family, or a version this release does not know.
    """
    migrated = dict(document)
    for step in _steps(schema, target):
        migrated = step(migrated)
    return migrated


def _steps(schema: object, target: str) -> list[Migration]:
    if not isinstance(schema, str):
        raise SchemaError(f"names no schema; expected {target!r}")
    for table in (UPGRADES, DOWNGRADES):
        steps: list[Migration] = []
        current = schema
        while current != target and current in table:
            current, step = table[current]
            steps.append(step)
        if current == target:
            return steps
    raise SchemaError(_unreadable(schema, target))


def _unreadable(schema: str, target: str) -> str:
    family = target.partition("/")[0]
    if not schema.startswith(f"{family}/"):
        return f"is of schema {schema!r}; expected {target!r}"
    known = " and ".join(repr(name) for name in _KNOWN if name.startswith(f"{family}/"))
    return f"is of schema {schema!r}, which this release cannot read (it knows {known}); upgrade hylo-eval"
