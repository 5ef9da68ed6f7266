"""The settings of a run that decide its numbers, in one line: those that differ from the benchmark's definition."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from hylo_eval.report.text import printable_line

_SELECTION: Final = ("tasks", "key", "episodes", "max_episodes", "shard")
_LONGEST: Final = 60
"""Characters of one value; what is longer stands in the manifest."""


def settings_line(manifest: Mapping[str, Any]) -> str:
    """One line for people: ``settings: episodes=20, max_steps=30, agent noise=0.5``.

    Args:
        manifest: As it stands in the run folder or in its log; untrusted, so what is of another kind is left out.
    """
    return f"settings: {differing_settings(manifest) or 'as the benchmark defines them'}"


def differing_settings(manifest: Mapping[str, Any]) -> str:
    """The settings that differ from the benchmark's definition, between commas; empty where none does."""
    return ", ".join(_settings(manifest))


def _settings(manifest: Mapping[str, Any]) -> Iterator[str]:
    selection, invocation = _members(manifest, "selection"), _members(manifest, "invocation")
    yield from _named({name: selection[name] for name in _SELECTION if name in selection})
    yield from _named(_members(manifest, "overrides"))
    yield from _named({name: manifest[name] for name in ("replicate",) if name in manifest})
    workers = _members(manifest, "execution").get("workers", 1)
    yield from _named({} if workers == 1 else {"workers": workers})
    yield from _named(_members(_members(manifest, "agent"), "options"), "agent ")
    # The manifest's options hold the benchmark's own, too; how the run was called does not.
    env = _members(invocation, "env_arg") if invocation else _members(_members(manifest, "env"), "options")
    yield from _named(env, "env ")
    yield from _named({name: invocation[name] for name in ("safety",) if name in invocation})


def _members(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _named(values: Mapping[str, Any], of: str = "") -> Iterator[str]:
    for name, value in values.items():
        text = f"{of}{name}={_shown(value)}"
        yield printable_line(text)


def _shown(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        text = "+".join(map(str, cast("Sequence[Any]", value)))
    else:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
