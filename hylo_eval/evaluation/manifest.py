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

import attrs
import orjson

from hylo_core.canonical import digest
from hylo_core.frozen import thaw
from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.trace import AgentInfo
from hylo_eval.traces.files import write_atomically

if TYPE_CHECKING:
    from hylo_eval.evaluation.plan import Plan
    from hylo_eval.safety.protocol import SafetyFilter

MANIFEST_SCHEMA = "hylo.manifest/v0.1"
_PACKAGES = ("numpy", "scipy", "gymnasium", "mujoco", "torch")


@attrs.frozen(kw_only=True)
class RunSetup:
    """What a run consists of beside its plan.

    Attributes:
        agent: The agent manifest.
        agent_spec: What the agent expects.
        agent_ref: The reference and options the agent was made from; empty for an object passed in.
        env_spec: What the environment offers.
        env_ref: The reference and options the environment is made from; empty for a factory passed in.
        safety: Each filter's own description.
        versions: The simulator's packages.
        renderer: What draws the pictures.
        max_attempts: Tries of an episode whose infrastructure fails.
    """

    agent: AgentInfo
    agent_spec: AgentSpec
    agent_ref: Mapping[str, Any]
    env_spec: EnvSpec
    env_ref: Mapping[str, Any]
    safety: Sequence[Mapping[str, Any]]
    versions: Mapping[str, str]
    renderer: str
    max_attempts: int


def build_manifest(plan: Plan, setup: RunSetup, *, run_id: str, scorers: Sequence[str]) -> dict[str, Any]:
    """The manifest as JSON; ``config_digest`` covers all that must not change when a run is continued."""
    benchmark = plan.benchmark
    config: dict[str, Any] = {
        "benchmark": {
            "id": benchmark.id,
            "version": benchmark.version,
            "digest": benchmark.digest(),
            "split": plan.split,
            **({"verifier": benchmark.verifier.to_dict()} if benchmark.verifier else {}),
        },
        "selection": {
            "episodes": len(plan.instances),
            "keys_digest": digest([instance.key for instance in plan.instances]),
        },
        "overrides": dict(plan.overrides),
        "tasks_digest": plan.tasks_digest,
        "agent": {**setup.agent.to_dict(), "spec": setup.agent_spec.to_dict(), **thaw(setup.agent_ref)},
        "env": {"spec": setup.env_spec.to_dict(), **thaw(setup.env_ref)},
        "safety": [dict(item) for item in setup.safety],
        "max_attempts": setup.max_attempts,
        "hylo": {"version": hylo_version(), "source_digest": source_digest()},
    }
    return {
        "schema": MANIFEST_SCHEMA,
        "run_id": run_id,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "config_digest": digest(config),
        **config,
        "scorers": list(scorers),
        "versions": {**_installed(), **setup.versions},
        "renderer": setup.renderer,
        "host": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "executable": Path(sys.executable).name,
            "processors": os.cpu_count(),
            "name": platform.node(),
        },
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
