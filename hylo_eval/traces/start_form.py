"""The bytes of a start event. Nearly all of it is the same in every trace of a run, and is encoded once.

What is the same is the same object: contracts cannot change, so those that were met before are known again by
identity.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from hylo_core.contract import Record
from hylo_core.frozen import thaw
from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.trace import ArrayLayout, EpisodeStart

_MOST_KNOWN: Final = 512
"""How many contracts are remembered: an env that describes itself by a new value each time shall not fill memory."""

_DEFAULTS: Final[dict[type, Record]] = {
    EnvSpec: EnvSpec(),
    AgentSpec: AgentSpec(),
    ArrayLayout: ArrayLayout(),
}
_known: dict[int, tuple[Record, bytes, bool]] = {}


def encode_start(event: EpisodeStart) -> bytes:
    """The stable part of a start event: its JSON form without ``volatile``, after type and schema."""
    instance = event.instance
    members: dict[str, Any] = {
        "type": event.type,
        "schema": event.schema,
        "instance": {
            "spec": _form(instance.spec),
            "seed": instance.seed,
            "episode_index": instance.episode_index,
            "split": instance.split,
        },
        "benchmark": _form(event.benchmark),
        "agent": _form(event.agent),
    }
    for name, described in (("env_spec", event.env_spec), ("agent_spec", event.agent_spec)):
        if not _is_default(described):
            members[name] = _form(described)
    if event.observations:
        members["observations"] = {key: _form(layout) for key, layout in event.observations.items()}
    if not _is_default(event.action):
        members["action"] = _form(event.action)
    if event.versions:
        members["versions"] = thaw(event.versions)
    if event.renderer != "none":
        members["renderer"] = event.renderer
    if event.seeds:
        members["seeds"] = thaw(event.seeds)
    return orjson.dumps(members)


def _form(record: Record) -> orjson.Fragment:
    return orjson.Fragment(_look_up(record)[1])


def _is_default(record: Record) -> bool:
    return _look_up(record)[2]


def _look_up(record: Record) -> tuple[Record, bytes, bool]:
    """The value itself, so that nothing else gets its identity; its JSON form; whether it is its type's default."""
    found = _known.get(id(record))
    if found is None or found[0] is not record:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = record, orjson.dumps(record.to_dict()), record == _DEFAULTS.get(type(record))
        _known[id(record)] = found
    return found
