"""What a verifier is given of an episode: the task it was, and the trajectory it became."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from hylo_core.frozen import thaw
from hylo_eval.traces.encoding import encode_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_core.trace import EpisodeTrace

SUMMARY_SCHEMA: Final = "hylo.episode_summary/v0.1"

REFERENCE: Final = "reference"
"""The member of ``TaskSpec.params`` with the right answer."""

_MAX_NUMBERS: Final = 64
"""A longer observation is named by its length in the summary."""


def task_of(trace: EpisodeTrace) -> dict[str, Any]:
    """The task as a verifier gets it.

    Returns:
        ``prompt``: the instruction actually used; ``reference``: ``params["reference"]``, where the task has one;
        ``params``: all parameters of the task. Plain JSON.
    """
    params: dict[str, Any] = thaw(trace.instance.spec.params)
    prompt = trace.instance.spec.instruction if trace.reset is None else trace.reset.instruction
    task: dict[str, Any] = {"prompt": prompt, "params": params}
    return {**task, REFERENCE: params[REFERENCE]} if REFERENCE in params else task


def trajectory_of(trace: EpisodeTrace, *, events: bool) -> Any:
    """The trajectory as a verifier gets it.

    Args:
        trace: The episode.
        events: Whether the verifier takes it raw (a plugin).

    Returns:
        Of an agent that answers in text its messages, ``{"role": "assistant", "content": ...}`` a reply. Of any other
        the list of the trace's events for a verifier that takes it raw, else :func:`summary_of` as JSON text.
    """
    if trace.steps and all(isinstance(step.proposed, str) for step in trace.steps):
        return [{"role": "assistant", "content": step.proposed} for step in trace.steps if step.inference]
    if events:
        return list(events_of(trace))
    return orjson.dumps(summary_of(trace), option=orjson.OPT_SORT_KEYS).decode()


def summary_of(trace: EpisodeTrace) -> dict[str, Any]:
    """An episode in a few members, for a judge that reads text.

    It holds what happened and not what the simulator thinks of it: neither success nor reward, so that the judgement
    is one of its own and agreement with the simulator means something.
    """
    end = trace.end
    summary: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "instruction": task_of(trace)["prompt"],
        "status": None if end is None else str(end.status),
        "steps": len(trace.steps),
        "max_steps": trace.instance.spec.max_steps,
        "safety_interventions": len(trace.safety),
        "errors": [{"phase": event.phase, "type": event.error_type} for event in trace.errors],
    }
    if trace.reset is not None:
        summary["first_observation"] = _brief(trace.reset.observation)
    if trace.steps:
        summary["last_observation"] = _brief(trace.steps[-1].observation)
        summary["first_action"] = _brief_value(trace.steps[0].applied)
        summary["last_action"] = _brief_value(trace.steps[-1].applied)
    return summary


def events_of(trace: EpisodeTrace) -> Iterator[dict[str, Any]]:
    """The events as the trace's own lines hold them, up to the end event; ``volatile`` among their members."""
    yield {"type": trace.start.type, "schema": trace.start.schema, **trace.start.to_dict()}
    if trace.reset is not None:
        yield _plain(trace.reset)
    pending = list(trace.safety)
    for step in trace.steps:
        while pending and pending[0].index <= step.index:
            yield _plain(pending.pop(0))
        yield _plain(step)
    yield from map(_plain, pending)
    for event in (*trace.errors, *(() if trace.end is None else (trace.end,))):
        yield {"type": event.type, **event.to_dict()}


def _plain(event: Any) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for field in event.__attrs_attrs__:
        value = getattr(event, field.name)
        if value is not None:
            members[field.name] = encode_value(thaw(value))
    return orjson.loads(orjson.dumps({"type": event.type, **members}, option=orjson.OPT_SERIALIZE_NUMPY))


def _brief(observation: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _brief_value(value) for key, value in observation.items()}


def _brief_value(value: Any) -> Any:
    plain: Any = orjson.loads(orjson.dumps(encode_value(thaw(value)), option=orjson.OPT_SERIALIZE_NUMPY))
    numbers = _count(plain)
    return plain if numbers <= _MAX_NUMBERS else f"({numbers} numbers)"


def _count(value: Any) -> int:
    return sum(map(_count, cast("list[Any]", value))) if isinstance(value, list) else 1
