"""The manifest of a run: what was run, with what, on what. No secrets: nothing of the process environment is kept."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from hylo_core.canonical import digest
from hylo_core.frozen import thaw
from hylo_eval.evaluation.source_files import source_of
from hylo_eval.families import BASE_PACKAGES, find_family, simulating_versions, without_places
from hylo_eval.interpreters.looking import packages_of
from hylo_eval.interpreters.own import hylo_version, source_digest
from hylo_eval.interpreters.probe import installed_versions
from hylo_eval.traces.files import write_atomically
from hylo_eval.traces.manifest import MANIFEST_SCHEMA

if TYPE_CHECKING:
    from hylo_eval.evaluation.plan import Plan
    from hylo_eval.evaluation.recipe import RunSetup
    from hylo_eval.safety.protocol import SafetyFilter


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
        "env": {"spec": setup.env_spec.to_dict(), **_placeless(setup)},
        "simulator": {"versions": dict(setup.versions), "renderer": setup.renderer},
        "safety": [thaw(item) for item in setup.safety],
        "max_attempts": setup.max_attempts,
        # Left out of a run that is not repeated: it is the configuration it was before there were repetitions.
        **({} if setup.replicate == 1 else {"replicate": setup.replicate}),
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
        "env": {**config["env"], **thaw(setup.env_ref)},
        "selection": selection,
        "tasks_digest": plan.tasks_digest,
        "scorers": list(scorers),
        "interpreter": thaw(setup.interpreter),
        "versions": {**_base_versions(setup), **setup.versions},
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
    """Each filter's own description, in order, with the digest of its file where it is somebody else's."""
    return [{**safety_filter.describe(), **source_of(type(safety_filter))} for safety_filter in filters]


def describe_interpreter(env: str) -> dict[str, Any]:
    """The interpreter that this process runs on, and the packages in it that matter to an environment.

    Args:
        env: Reference of the env factory; empty where it is an object.
    """
    family = find_family(env)
    names = packages_of("" if family is None else family.name)
    return {
        "executable": without_home(sys.executable),
        "python": platform.python_version(),
        "packages": installed_versions([*names]),
    }


def without_home(path: str) -> str:
    """A path as a manifest has it: a person's name is nobody's business."""
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib's raises where there is no home
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def _placeless(setup: RunSetup) -> dict[str, Any]:
    """What the env was made from, without where on a machine something lies that the versions identify."""
    ref = thaw(setup.env_ref)
    if not isinstance(ref.get("options"), dict):
        return ref
    return {**ref, "options": without_places(str(ref.get("ref", "")), ref["options"], setup.versions)}


def _base_versions(setup: RunSetup) -> dict[str, str]:
    """Versions in the interpreter that the episodes run in, which need not be this one."""
    packages: Mapping[str, str] = setup.interpreter.get("packages", {})
    found = {name: packages[name] for name in BASE_PACKAGES if name in packages}
    return simulating_versions(str(setup.env_ref.get("ref", "")), found)
