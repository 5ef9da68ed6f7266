"""The manifest of a run: what was run, with what, on what. No secrets: nothing of the process environment is kept."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from hylo_core.canonical import digest
from hylo_core.frozen import thaw
from hylo_eval.traces.files import write_atomically
from hylo_eval.traces.manifest import MANIFEST_SCHEMA

if TYPE_CHECKING:
    from hylo_eval.evaluation.plan import Plan
    from hylo_eval.evaluation.recipe import RunSetup
    from hylo_eval.safety.protocol import SafetyFilter

_PACKAGES = ("numpy", "scipy", "gymnasium", "mujoco", "torch")


def build_config(plan: Plan, setup: RunSetup) -> dict[str, Any]:
    """All that must not change while a run goes on, as JSON. It holds what was asked for, not every single instance."""
    verifier = plan.benchmark.verifier
    return {
        "benchmark": {
            **plan.benchmark_ref.to_dict(),
            **({} if verifier is None else {"verifier": verifier.to_dict()}),
        },
        "selection": thaw(plan.selection),
        "overrides": dict(plan.overrides),
        "agent": {**setup.agent.to_dict(), "spec": setup.agent_spec.to_dict(), **thaw(setup.agent_ref)},
        "env": {"spec": setup.env_spec.to_dict(), **thaw(setup.env_ref)},
        "simulator": {"versions": dict(setup.versions), "renderer": setup.renderer},
        "safety": [thaw(item) for item in setup.safety],
        "max_attempts": setup.max_attempts,
        "hylo": {"version": hylo_version(), "source_digest": source_digest()},
    }


def build_manifest(
    plan: Plan, setup: RunSetup, *, run_id: str, scorers: Sequence[str], details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The manifest as JSON; ``config_digest`` is the digest of :func:`build_config`."""
    config = build_config(plan, setup)
    selection = {
        **config["selection"],
        "instances": plan.count,
        "keys_digest": digest([item.key for item in plan.declared]),
    }
    return {
        "schema": MANIFEST_SCHEMA,
        "run_id": run_id,
        "created_at": now(),
        "config_digest": digest(config),
        **{name: value for name, value in config.items() if name != "simulator"},
        "selection": selection,
        "tasks_digest": plan.tasks_digest,
        "scorers": list(scorers),
        "versions": {**_installed(), **setup.versions},
        "renderer": setup.renderer,
        "host": describe_host(),
        **(details or {}),
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe_host() -> dict[str, Any]:
    """The machine this process runs on."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "executable": Path(sys.executable).name,
        "processors": os.cpu_count(),
        "name": platform.node(),
    }


def write_manifest(manifest: Mapping[str, Any], path: Path) -> None:
    """Write a manifest, atomically."""
    write_atomically(path, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def describe_safety(filters: Sequence[SafetyFilter]) -> list[Mapping[str, Any]]:
    """Each filter's own description, in order."""
    return [safety_filter.describe() for safety_filter in filters]


@cache
def hylo_version() -> str:
    """The installed version of Hylo."""
    return metadata.version("hylo-eval")


@cache
def source_digest() -> str:
    """Digest of Hylo's own source files: other code does not continue a run in silence."""
    sha = hashlib.sha256()
    package = Path(__file__).resolve().parents[1]
    for root in (package.parent / "hylo_core", package):
        for path in sorted(root.rglob("*.py")):
            sha.update(path.relative_to(package.parent).as_posix().encode() + b"\0")
            sha.update(path.read_bytes() + b"\0")
    return f"sha256:{sha.hexdigest()}"


def _installed() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
