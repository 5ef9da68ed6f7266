"""Digests of the files that somebody else's plug-ins are written in: a reference alone does not say what ran."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hylo_core.errors import RefError
from hylo_core.refs import parse_ref
from hylo_eval.queue.configuration import SOURCE_DIGEST


def source_of(plugin: Any) -> dict[str, str]:
    """Digest of the file a plug-in is written in: other code does not go on with somebody's run in silence.

    Hylo's own files have a digest of their own in every configuration, and what the file imports is not looked at.

    Args:
        plugin: A class or a function.

    Returns:
        The member ``source_digest``; empty for what is Hylo's, and for what no file defines.
    """
    try:
        path = Path(inspect.getsourcefile(plugin) or "")
    except (TypeError, OSError):  # an object of another kind; a class of an interactive session
        return {}
    if not path.is_file() or path.resolve().is_relative_to(Path(__file__).resolve().parents[1]):
        return {}
    return {SOURCE_DIGEST: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"}


def source_digests(
    agent_ref: Mapping[str, Any], env_ref: Mapping[str, Any], safety: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The digests that a run has on record of the files of agent, env and filters; empty texts where it has none."""
    filters = [str(item[SOURCE_DIGEST]) for item in safety if SOURCE_DIGEST in item]
    return [str(agent_ref.get(SOURCE_DIGEST, "")), str(env_ref.get(SOURCE_DIGEST, "")), *filters]


def source_of_env(factory: Any, made_from: Mapping[str, Any]) -> dict[str, str]:
    """The same for an env factory that was passed as an object.

    Args:
        factory: The env factory.
        made_from: Its reference and options, where the caller has named them: what the reference names is then what a
            command would run, and a function around it is not. Imports nothing that is not there.
    """
    name = made_from.get("ref")
    if not isinstance(name, str):
        return source_of(factory)
    try:
        ref = parse_ref(name)
    except RefError:
        return {}
    found: Any = sys.modules.get(ref.module)
    for member in ref.attribute.split("."):
        found = getattr(found, member, None)
    return source_of(found)
