"""What agents are called beside each other: two settings of one agent are two agents, and must look like two."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, cast

import attrs

from hylo_core.canonical import digest
from hylo_core.errors import ContractError
from hylo_core.frozen import thaw

_SHOWN: Final = 3
"""Settings a label names; more than these make no label."""
_VALUE_LENGTH: Final = 32
_DIGEST_LENGTH: Final = 8
_UNSET: Final = object()


class NamedAgent(Protocol):
    """An agent as a run or a record knows it."""

    @property
    def agent(self) -> str:
        """Name and version."""
        ...

    @property
    def agent_digest(self) -> str:
        """Digest of its whole manifest; empty where that is not on record."""
        ...

    @property
    def agent_settings(self) -> Mapping[str, Any]:
        """Its components and options."""
        ...


@attrs.frozen(kw_only=True)
class AgentName:
    """An agent by what a list of runs knows of it; the members are those of `NamedAgent`."""

    agent: str
    agent_digest: str
    agent_settings: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


def agent_name_of(manifest: Mapping[str, Any]) -> AgentName:
    """An agent by a run's manifest, whatever somebody has written there."""
    declared = manifest.get("agent")
    if not isinstance(declared, Mapping):
        return AgentName(agent="unknown", agent_digest="")
    members: dict[str, Any] = thaw(declared)
    try:
        found = digest(members)
    except ContractError:
        found = ""
    return AgentName(
        agent=f"{members.get('name', 'unknown')} {members.get('version', 'unknown')}",
        agent_digest=found,
        agent_settings=settings_of(members),
    )


def settings_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The components and options of an agent's manifest; an option has the last word."""
    found: dict[str, Any] = {}
    for name in ("components", "options"):
        members = manifest.get(name)
        if isinstance(members, Mapping):
            found |= cast("Mapping[str, Any]", members)
    return found


def agent_labels(agents: Sequence[NamedAgent]) -> tuple[str, ...]:
    """A label for each agent: name and version, and what sets it apart from others of that name and version.

    Args:
        agents: All that are shown together; the same agent may stand among them several times.

    Returns:
        In the order given: ``act 1`` where nobody else has that name; ``act 1, noise=0.2`` where another ``act 1`` has
        another noise; ``act 1, digest 1f2e3d4c``, the beginning of its manifest's, where settings do not tell it from
        another.
    """
    apart: dict[str, dict[str, NamedAgent]] = {}
    for item in agents:
        apart.setdefault(item.agent, {})[item.agent_digest] = item
    words = {(name, own): text for name, group in apart.items() for own, text in _set_apart(list(group.values()))}
    return tuple(f"{item.agent}{words[item.agent, item.agent_digest]}" for item in agents)


def side_labels(agents: Sequence[NamedAgent], run_ids: Sequence[str]) -> tuple[str, ...]:
    """As :func:`agent_labels`, and runs of one agent are told apart by their ids: ``act 1 (monday)``.

    Args:
        agents: Of runs that are shown beside each other.
        run_ids: Of the same runs.
    """
    labels = agent_labels(agents)
    return tuple(
        f"{label} ({run_id})" if labels.count(label) > 1 else label
        for label, run_id in zip(labels, run_ids, strict=True)
    )


def settings_words(settings: Mapping[str, Any]) -> str:
    """Settings as ``noise=0.2, seed=1``, the first few of them; empty where there are none."""
    shown = [f"{name}={_text(value)}" for name, value in sorted(settings.items())[:_SHOWN]]
    return ", ".join((*shown, "…") if len(settings) > _SHOWN else shown)


def _set_apart(group: Sequence[NamedAgent]) -> list[tuple[str, str]]:
    if len(group) == 1:
        return [(group[0].agent_digest, "")]
    names = sorted({name for item in group for name in item.agent_settings})
    differing = [name for name in names if len({_text(item.agent_settings.get(name, _UNSET)) for item in group}) > 1]
    if len(differing) > _SHOWN:
        differing = []
    texts = [
        "".join(f", {_setting(name, item.agent_settings.get(name, _UNSET))}" for name in differing) for item in group
    ]
    return [
        (item.agent_digest, text if texts.count(text) == 1 else f"{text}, digest {_short(item.agent_digest)}")
        for item, text in zip(group, texts, strict=True)
    ]


def _setting(name: str, value: object) -> str:
    return f"{name} unset" if value is _UNSET else f"{name}={_text(value)}"


def _text(value: object) -> str:
    """A value as it is typed; long ones are cut, and then the digest has to tell them apart."""
    if value is _UNSET:
        return "unset"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _VALUE_LENGTH else f"{text[: _VALUE_LENGTH - 1]}…"


def _short(agent_digest: str) -> str:
    return agent_digest.removeprefix("sha256:")[:_DIGEST_LENGTH] or "unknown"
