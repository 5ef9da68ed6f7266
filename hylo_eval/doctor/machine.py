"""What the machine offers: Python, processors, a GPU, and a place for runs."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hylo_eval.child import run_child
from hylo_eval.doctor.findings import Finding
from hylo_eval.installing import install_command

TESTED_PYTHONS: Final = ((3, 11), (3, 12))
GPU_DEADLINE_SECONDS: Final = 15.0
"""A wedged driver makes nvidia-smi hang."""
LOW_DISK_BYTES: Final = 2 * 1024**3
FULL_DISK_BYTES: Final = 64 * 1024**2
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.ceph-fuse",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.juicefs",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "smb2",
        "smb3",
        "smbfs",
        "virtiofs",
        "wekafs",
    }
)
"""File systems whose locks and renames are not those of a local disk."""
MEMORY_FILE_SYSTEMS: Final = frozenset({"tmpfs", "ramfs"})

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def python_finding() -> Finding:
    """The running interpreter."""
    version = platform.python_version()
    text = f"{version} on {platform.system()} {platform.machine()}, {sys.executable}"
    if sys.version_info[:2] not in TESTED_PYTHONS:
        tested = " and ".join(f"{major}.{minor}" for major, minor in TESTED_PYTHONS)
        return Finding(
            check="python",
            outcome="warning",
            text=f"{text}; Hylo is tested with {tested}",
            fix="python3.12 -m venv .venv && . .venv/bin/activate",
        )
    return Finding(check="python", outcome="ok", text=text)


def hylo_finding() -> Finding:
    """Whether the code that runs is the code that is installed."""
    from importlib import metadata

    import hylo_eval

    running = Path(hylo_eval.__file__ or "").resolve().parent
    try:
        distribution = metadata.distribution("hylo-eval")
    except metadata.PackageNotFoundError:
        return Finding(
            check="hylo",
            outcome="warning",
            text=f"runs from {running} without being installed, so plug-ins of other packages may not be found",
            fix=install_command("-e", str(running.parent)),
        )
    installed = _installed_folder(distribution.read_text("direct_url.json")) or Path(
        str(distribution.locate_file("hylo_eval"))
    )
    if installed.resolve() != running:
        return Finding(
            check="hylo",
            outcome="warning",
            text=f"runs from {running}, but {distribution.version} is installed from {installed}",
            fix="unset PYTHONPATH, or run from another folder",
        )
    return Finding(check="hylo", outcome="ok", text=f"{distribution.version}, {running}")


def _installed_folder(direct_url: str | None) -> Path | None:
    """The package's folder of an editable installation, from pip's record of it (PEP 610)."""
    import json
    from urllib.parse import unquote, urlsplit

    if direct_url is None:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
        record: Any = json.loads(direct_url)
        if record["dir_info"].get("editable"):
            return Path(unquote(urlsplit(str(record["url"])).path)) / "hylo_eval"
    return None


def processor_finding() -> Finding:
    """Processors this process may use, and memory."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return Finding(check="machine", outcome="info", text=f"{usable} processors")
    return Finding(check="machine", outcome="info", text=f"{usable} processors, {_gib(total)} of memory")


def gpu_finding(environment: Mapping[str, str]) -> Finding:
    """NVIDIA GPUs as nvidia-smi lists them. None is no fault: every family runs on the CPU."""
    command = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if command is None:
        return Finding(check="gpu", outcome="info", text="no nvidia-smi; simulators and rendering use the CPU")
    outcome = run_child(
        [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"],
        deadline_seconds=GPU_DEADLINE_SECONDS,
        environment=environment,
    )
    if outcome.returncode != 0:
        # nvidia-smi writes its errors to standard output.
        said = outcome.stdout.strip().splitlines()
        reason = said[-1][:400] if said and not outcome.stderr.strip() else outcome.reason
        return Finding(
            check="gpu",
            outcome="warning",
            text=f"nvidia-smi is here and does not answer: {reason}",
            fix="load the driver (sudo modprobe nvidia) or restart the machine; nvidia-smi must list the GPU",
        )
    return Finding(check="gpu", outcome="ok", text="; ".join(outcome.stdout.strip().splitlines()[:8]) or "none listed")


def run_root_findings(run_root: Path, mounts: str) -> tuple[Finding, ...]:
    """Whether runs can be written, how much fits, and on what kind of file system.

    Args:
        run_root: Where runs go; it need not exist yet and is not made.
        mounts: The text of ``/proc/self/mountinfo``; empty where there is none.
    """
    folder = existing_parent(run_root)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".hylo-doctor-") as trial:
            trial.write(b"hylo")
            trial.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return (
            Finding(
                check="run root",
                outcome="broken",
                text=f"nothing can be written to {folder}: {error.strerror or error}",
                fix="choose another folder: hylo-eval run … --run-root FOLDER",
            ),
        )
    kind = file_system_of(folder, mounts)
    return (_space_finding(run_root, free, kind), *_file_system_findings(run_root, kind))


def existing_parent(path: Path) -> Path:
    """The nearest folder that exists, the path itself or above it."""
    path = path.absolute()
    for candidate in (path, *path.parents):
        with contextlib.suppress(OSError):
            if candidate.is_dir():
                return candidate
    return Path("/")


def file_system_of(folder: Path, mounts: str) -> str:
    """The type of the file system a folder lies on; ``unknown`` where the table of mounts does not say."""
    target = folder.resolve()
    best, kind = -1, "unknown"
    for line in mounts.splitlines():
        # man 5 proc: id, parent, device, root, mount point, options, optional fields, "-", type, source, …
        left, _, right = line.partition(" - ")
        fields, types = left.split(), right.split()
        if len(fields) < 5 or not types:
            continue
        point = Path(_ESCAPED.sub(lambda match: chr(int(match.group(1), 8)), fields[4]))
        depth = len(point.parts)
        if target.is_relative_to(point) and depth >= best:
            best, kind = depth, types[0]
    return kind


def read_mounts() -> str:
    """The table of mounts; empty where the system has none."""
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _space_finding(run_root: Path, free: int, kind: str) -> Finding:
    text = f"{run_root.absolute()} can be written, {_gib(free)} free ({kind})"
    if free < FULL_DISK_BYTES:
        return Finding(
            check="run root",
            outcome="broken",
            text=f"the disk of {run_root.absolute()} is full: {free // 1024**2} MiB free",
            fix="delete old runs, or hylo-eval run … --run-root FOLDER",
        )
    if free < LOW_DISK_BYTES:
        return Finding(
            check="run root",
            outcome="warning",
            text=f"{text}; an evaluation with videos can need more",
            fix="delete old runs, or hylo-eval run … --run-root FOLDER",
        )
    return Finding(check="run root", outcome="ok", text=text)


def _file_system_findings(run_root: Path, kind: str) -> tuple[Finding, ...]:
    fix = "hylo-eval run … --run-root FOLDER, with a folder on a local disk"
    if kind in NETWORK_FILE_SYSTEMS:
        text = f"{run_root.absolute()} lies on a network file system ({kind}), where locks of runs are not reliable"
        return (Finding(check="run root", outcome="warning", text=text, fix=fix),)
    if kind in MEMORY_FILE_SYSTEMS:
        text = f"{run_root.absolute()} lies in memory ({kind}): runs are gone after a restart"
        return (Finding(check="run root", outcome="warning", text=text, fix=fix),)
    return ()


def _gib(size: int) -> str:
    return f"{size / 1024**3:.1f} GiB"
