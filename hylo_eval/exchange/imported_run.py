"""An imported log as a run folder: a manifest and a log, no traces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from hylo_core.canonical import digest
from hylo_core.frozen import thaw
from hylo_eval.errors import cannot_read
from hylo_eval.evallog.belonging import IMPORTED
from hylo_eval.evallog.files import write_evallog
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.evaluation.comparing.evidence import UNKNOWN_RENDERER
from hylo_eval.evaluation.manifest import write_manifest
from hylo_eval.interpreters.own import hylo_version
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import MANIFEST_SCHEMA


def write_imported(log: EvalLog, source: Path, *, form: str, run_root: Path, run_id: str) -> RunFolder:
    """Write a run folder of an imported log.

    Args:
        log: What was read.
        source: The file it was read from; the manifest keeps its name and digest.
        form: Of that file, such as ``inspect-robots``.
        run_root: The folder of the runs.
        run_id: The new folder's name.

    Raises:
        EvalError: There is such a run already, or it cannot be written.
    """
    run = RunFolder.at(run_root, run_id)
    origin = {"from": form, "file": source.name, "file_sha256": _file_digest(source), "at": _now()}
    manifest = {**(thaw(log.eval.manifest) or _manifest_of(log)), IMPORTED: origin}
    log = attrs.evolve(log, eval=attrs.evolve(log.eval, manifest=log.eval.manifest or manifest))
    run.create()
    write_manifest(manifest, run.manifest)
    write_evallog(log, run.partial_evallog if log.status == "partial" else run.evallog)
    return run


def _manifest_of(log: EvalLog) -> Mapping[str, Any]:
    """What is known of a run that was never ours."""
    benchmark = log.benchmark
    keys = [sample.key for sample in log.samples]
    config: dict[str, Any] = {
        "benchmark": {
            "id": benchmark.id,
            "version": benchmark.version,
            "digest": benchmark.digest,
            "split": benchmark.split,
        },
        "selection": {"instances": len(keys), "keys_digest": digest(keys)},
        "overrides": {},
        "tasks_digest": digest(sorted({sample.task_id for sample in log.samples})),
        "agent": {"name": log.agent.name, "version": log.agent.version},
        "env": {},
        "safety": [],
        "hylo": {"version": hylo_version()},
    }
    return {
        "schema": MANIFEST_SCHEMA,
        "run_id": log.run_id,
        "created_at": log.stats.started_at or _now(),
        "config_digest": digest(config),
        **config,
        "scorers": list(log.eval.scorers),
        "versions": {},
        "renderer": UNKNOWN_RENDERER,
    }


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise cannot_read(str(path), error) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
