"""The first and the last event of a trace, as read back. The traces of a run differ little in them, and have many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

import attrs
import orjson

from hylo_core.contract import Record
from hylo_core.errors import ContractError
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeEnd, EpisodeStart, EpisodeStatus

RecordT = TypeVar("RecordT", bound=Record)


def read_start(event: Mapping[str, Any]) -> EpisodeStart:
    """The start event of these members, which are those of the current schema.

    Raises:
        ContractError: They break the contract.
    """
    try:
        return _start_like_another(event)
    except (ContractError, AttributeError, LookupError, TypeError):
        return EpisodeStart.from_dict(event)  # the long way, which says what is wrong with it


def read_end(event: Mapping[str, Any]) -> EpisodeEnd:
    """The end event of these members.

    Raises:
        ContractError: They break the contract.
    """
    try:
        # The constructor makes every check but that of the status, at a third of the cost.
        members: dict[str, Any] = {**event, "status": EpisodeStatus(event["status"])}
        return EpisodeEnd(**members)
    except (ContractError, LookupError, TypeError, ValueError):
        return EpisodeEnd.from_dict(event)


def _start_like_another(event: Mapping[str, Any]) -> EpisodeStart:
    """A start event by way of the one it shares nearly everything with: the traces of a run differ in their seeds.

    Raises:
        ContractError, AttributeError, LookupError, TypeError: It breaks the contract; reading it whole says how.
    """
    instance: Mapping[str, Any] = event["instance"]
    seeds: Mapping[str, Any] = event.get("seeds", {})
    if not set(map(type, seeds.values())) <= {int}:
        raise TypeError(seeds)
    shared = {**event, "instance": {**instance, "seed": 0, "episode_index": 0}, "seeds": {}, "volatile": {}}
    make_instance, make_start = _makers(orjson.dumps(shared))
    own = make_instance(seed=instance["seed"], episode_index=instance["episode_index"])
    return make_start(instance=own, seeds=seeds, volatile=event.get("volatile", {}))


@lru_cache(maxsize=32)
def _makers(encoded: bytes) -> tuple[partial[TaskInstance], partial[EpisodeStart]]:
    """What makes the instances and the start events that have all but their own members in common."""
    start = EpisodeStart.from_dict(orjson.loads(encoded))
    return _maker(start.instance, "seed", "episode_index"), _maker(start, "instance", "seeds", "volatile")


def _maker(record: RecordT, *own: str) -> partial[RecordT]:
    shared = {field.name: getattr(record, field.name) for field in attrs.fields(type(record)) if field.name not in own}
    return partial(type(record), **shared)
