"""Whether a log is that of the run in whose folder it lies: what its header and the run's manifest both say.

A log that was moved in from another run agrees with itself; only the manifest beside it tells. The header is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from hylo_core.frozen import thaw
from hylo_eval.errors import EvalError
from hylo_eval.evallog.consistency import Contradiction, LogContradiction
from hylo_eval.evallog.v02 import EvalLog, LogHeader
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest

IMPORTED: Final = "imported"
"""The member of a manifest that says from which file the run was imported: it has no traces."""

_BASIS: Final = "the manifest beside it says"
_OF_BENCHMARK: Final = ("id", "version", "digest", "split")
_COPIED: Final = (("tasks_digest",), ("selection", "keys_digest"))
"""Members of the manifest that a log repeats, and that nobody changes when a run is continued."""


_CONDITIONS: Final = (
    "config_digest",
    "overrides",
    "agent",
    "env",
    "safety",
    "max_attempts",
    "replicate",
    "versions",
    "renderer",
)
"""Members of the manifest under which a run came about: nobody changes them either, and comparisons believe them."""

CONDITIONS_OF_RUN: Final = ("eval.run_id", *(f"eval.manifest.{name}" for name in _CONDITIONS))
"""Where the paths begin of what no trace tells: which run it was, and under which conditions it came about."""


def foreign_members(log: EvalLog | LogHeader, manifest: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Where a log is of another run than a manifest: run, benchmark, agent, selection, conditions, number of episodes.

    What either of them does not say is not compared: a log of v0.1 repeats no manifest, and an imported one was made
    under another name.
    """
    logged: dict[str, tuple[Any, tuple[str, ...]]] = {
        **({} if IMPORTED in manifest else {"eval.run_id": (log.eval.run_id, ("run_id",))}),
        **{f"eval.benchmark.{name}": (getattr(log.benchmark, name), ("benchmark", name)) for name in _OF_BENCHMARK},
        **{f"eval.agent.{name}": (getattr(log.agent, name), ("agent", name)) for name in ("name", "version")},
        **{".".join(("eval.manifest", *path)): (_member(log.eval.manifest, *path), path) for path in _COPIED},
    }
    for path, (recorded, place) in logged.items():
        expected = _member(manifest, *place)
        if isinstance(recorded, str) and isinstance(expected, str) and recorded != expected:
            yield Contradiction(path, recorded, expected, _BASIS)
    if IMPORTED not in manifest:
        yield from _other_conditions(log.eval.manifest, manifest)
    planned = _member(manifest, "selection", "instances")
    if log.status == "complete" and type(planned) is int and planned != log.results.n_episodes:
        yield Contradiction("results.n_episodes", log.results.n_episodes, planned, _BASIS)


def refuse_foreign(log: EvalLog | LogHeader, run: RunFolder, source: Path) -> None:
    """Let only a log pass that is of the run it lies in; where the manifest cannot be read, nothing tells.

    Raises:
        LogContradiction: It is of another run.
    """
    try:
        manifest = read_manifest(run.manifest)
    except EvalError:
        return
    found = tuple(foreign_members(log, manifest))
    if found:
        raise LogContradiction(
            str(source),
            found,
            remark="it is the log of another run",
            fix=f"put the log of {run.run_id} back",
        )


def _other_conditions(recorded: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Where a log's copy of the manifest says otherwise than the manifest does."""
    for name in _CONDITIONS:
        if name not in recorded or name not in manifest:
            continue
        copied = thaw(recorded[name])
        if copied != manifest[name]:
            from hylo_eval.queue.configuration import ABSENT, differences

            for item in differences(copied, manifest[name], f"eval.manifest.{name}"):
                stored, given = (None if value is ABSENT else value for value in (item.stored, item.given))
                yield Contradiction(item.path, stored, given, _BASIS)


def _member(members: Mapping[str, Any], *path: str) -> Any:
    found: Any = members
    for name in path:
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return found
