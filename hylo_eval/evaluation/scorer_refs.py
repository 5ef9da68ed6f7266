"""From scorers to what a log says of them, so that they are found again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from hylo_core.score import Scorer
from hylo_eval.evallog.v02 import ScorerDeclaration


def declare(scorers: Iterable[Scorer]) -> dict[str, ScorerDeclaration]:
    """What a log says of scorers, by name, in their order."""
    return {
        scorer.name: ScorerDeclaration(
            ref=scorer_ref(scorer),
            binary=getattr(scorer, "binary", False) is True,
            unit=str(getattr(scorer, "unit", "")),
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
        again: Any = type(scorer)()
        return _members(again) == _members(scorer)
    except Exception:  # noqa: BLE001 - somebody's code: what it raises only means that there is no such reference
        return False


def _members(scorer: Any) -> dict[str, Any]:
    slots = [name for kind in type(scorer).__mro__ for name in getattr(kind, "__slots__", ())]
    return {
        **{name: getattr(scorer, name, None) for name in slots if name != "__weakref__"},
        **getattr(scorer, "__dict__", {}),
    }
