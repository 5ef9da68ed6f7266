"""How a run is continued after all whose simulator, or whose files, are others now than at its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hylo_core.canonical import join
from hylo_eval.families import Place, places_of
from hylo_eval.queue.configuration import ABSENT, SOURCE_DIGEST, Difference

_VERSIONS: Final = "simulator.versions"
_ANEW: Final = "begin another run, without --resume and under another --run-id"


def how_to_continue(found: Sequence[Difference], env: str) -> str:
    """The fix where versions or files on record differ, which nobody can leave out; empty where none does.

    Args:
        found: Where the configuration differs from the one that the run was begun with.
        env: Alias or reference of the environment.
    """
    places = {join(_VERSIONS, place.version): place for place in places_of(env)}
    versions = [difference for difference in found if difference.path.startswith(f"{_VERSIONS}.")]
    files = [difference for difference in found if difference.is_other_file]
    if not versions and not files:
        return ""
    fixes = [_of_place(places[item.path], item) for item in versions if item.path in places]
    if any(item.path not in places for item in versions):
        fixes.append(f"continue it in an installation with the stored versions, or {_ANEW}")
    if files:
        named = " and ".join(_of_files(item.path) for item in files)
        fixes.append(f"put the file of {named} back as it was; or {_ANEW}")
    # A place that holds nothing identifiable is part of the configuration; its fix is the one above.
    explained = {item.path for item in (*versions, *files)} | {
        f"env.options.{place.option}" for place in places.values()
    }
    rest = [item for item in found if item.path not in explained and item not in files]
    if any(not (item.is_code or item.is_file_off_record) for item in rest):
        fixes.append("leave out what else differs")
    return "; ".join(fixes)


def _of_files(path: str) -> str:
    part = path.removesuffix(f".{SOURCE_DIGEST}")
    return {"agent": "the agent", "env": "the environment"}.get(part, f"the safety filter {part}")


def _of_place(place: Place, difference: Difference) -> str:
    if difference.stored is ABSENT:
        return f"{_ANEW}: this one was begun where the {place.option} were missing"
    return f"name the {place.option} again that it was begun with, {place.naming}; or {_ANEW}"
