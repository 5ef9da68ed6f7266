"""From scorers to what a log says of them, so that they are found again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from hylo_core.score import Scorer
from hylo_eval.evallog.v02 import ScorerDeclaration
from hylo_eval.evaluation.source_files import source_of

_DEEPEST = 4
"""Levels of members that are compared."""


def declare(scorers: Iterable[Scorer]) -> dict[str, ScorerDeclaration]:
    """What a log says of scorers, by name, in their order."""
    return {
        scorer.name: ScorerDeclaration(
            ref=scorer_ref(scorer),
            binary=getattr(scorer, "binary", False) is True,
            unit=str(getattr(scorer, "unit", "")),
            **source_of(type(scorer)),
        )
        for scorer in scorers
    }


def scorer_ref(scorer: Scorer) -> str:
    """``package.module:Attr`` from which an equal scorer can be made; empty where there is none.

    That is a name the scorer itself has in the module of its class, or its class, when the class can be called without
    arguments and gives a scorer with the same members.
    """
    kind = type(scorer)
    module = sys.modules.get(kind.__module__)
    if module is None or kind.__module__ == "__main__":
        return ""
    for name, value in vars(module).items():
        if value is scorer:
            return f"{kind.__module__}:{name}"
    if getattr(module, kind.__qualname__, None) is not kind or not _made_without_arguments(scorer):
        return ""
    return f"{kind.__module__}:{kind.__qualname__}"


def _made_without_arguments(scorer: Scorer) -> bool:
    try:
        return _alike(type(scorer)(), scorer)
    except (Exception, SystemExit):  # noqa: BLE001 - somebody's code: that it raises means that there is no such reference
        return False


def _alike(one: Any, other: Any, depth: int = 0) -> bool:
    """Whether two objects are equal, or of one class with members that are alike: a scorer may hold scorers."""
    if type(one) is not type(other):
        return False
    if one == other:
        return True
    mine, theirs = _members(one), _members(other)
    if depth > _DEEPEST or (depth and not mine):
        return False
    return mine.keys() == theirs.keys() and all(_alike(mine[name], theirs[name], depth + 1) for name in mine)


def _members(value: Any) -> dict[str, Any]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {name: getattr(value, name, None) for name in slots if name != "__weakref__"}
    return {**found, **getattr(value, "__dict__", {})}
