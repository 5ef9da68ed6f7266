"""What the machine offers, told from made-up machines."""

import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from hylo_eval.doctor import machine
from hylo_eval.doctor.machine import existing_parent, file_system_of, gpu_finding, run_root_findings

MOUNTS = """\
1 0 8:1 / / rw - ext4 /dev/root rw
2 1 0:5 / {folder} rw shared:1 - {kind} server:/export rw
3 1 0:6 / {folder}/with\\040space rw - tmpfs tmpfs rw
garbage
"""


def test_the_deepest_mount_decides():
    """A path belongs to the mount nearest to it, also when its name holds a space."""
    mounts = MOUNTS.format(folder="/mnt/lab", kind="nfs4")
    assert file_system_of(Path("/mnt/lab/runs"), mounts) == "nfs4"
    assert file_system_of(Path("/mnt/laboratory"), mounts) == "ext4"
    assert file_system_of(Path("/mnt/lab/with space/runs"), mounts) == "tmpfs"
    assert file_system_of(Path("/mnt/lab"), "") == "unknown"


@pytest.mark.parametrize(
    ("kind", "outcomes"), [("ext4", ["ok"]), ("nfs4", ["ok", "warning"]), ("tmpfs", ["ok", "warning"])]
)
def test_network_and_memory_file_systems_are_warned_of(kind, outcomes, tmp_path):
    """They can be written, and locks or restarts bite later."""
    found = run_root_findings(tmp_path / "new" / "runs", MOUNTS.format(folder=tmp_path, kind=kind))
    assert [finding.outcome for finding in found] == outcomes
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_broken(tmp_path, monkeypatch):
    """Shown by a trial and not by permission bits."""

    def refuse(**_: object):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(machine.tempfile, "NamedTemporaryFile", refuse)
    (finding,) = run_root_findings(tmp_path, "")
    assert finding.outcome == "broken"
    assert finding.text == f"nothing can be written to {tmp_path}: Permission denied"


@pytest.mark.parametrize(("free", "outcome"), [(10 * 1024**2, "broken"), (1024**3, "warning"), (5 * 1024**3, "ok")])
def test_free_space_is_judged(free, outcome, tmp_path, monkeypatch):
    """Full is broken, scarce is a warning."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert run_root_findings(tmp_path, "")[0].outcome == outcome


def test_the_parent_of_a_file_is_its_folder(tmp_path):
    """A run root below a file cannot be made, and the nearest folder is tried in its place."""
    (tmp_path / "file").write_text("")
    assert existing_parent(tmp_path / "file" / "runs") == tmp_path


@pytest.mark.parametrize(
    ("script", "outcome", "text"),
    [
        ("echo 'NVIDIA H200, 143771 MiB, 560.1'", "ok", "NVIDIA H200, 143771 MiB, 560.1"),
        ("echo 'NVIDIA-SMI has failed'; exit 9", "warning", "does not answer: NVIDIA-SMI has failed"),
        ("echo 'no library' >&2; exit 12", "warning", "does not answer: no library"),
    ],
)
def test_what_nvidia_smi_says_is_told(script, outcome, text, tmp_path):
    """A driver that does not answer is a warning and no exception."""
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    finding = gpu_finding({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert finding.outcome == outcome
    assert text in finding.text


def test_no_gpu_is_no_fault(tmp_path):
    """Every family runs on the CPU."""
    assert gpu_finding({"PATH": str(tmp_path)}).outcome == "info"


@pytest.mark.parametrize(("version", "outcome"), [((3, 11), "ok"), ((3, 12), "ok"), ((3, 14), "warning")])
def test_an_untested_python_is_a_warning(version, outcome, monkeypatch):
    """Newer ones may work; nobody has tried."""
    monkeypatch.setattr(machine.sys, "version_info", (*version, 1, "final", 0))
    assert machine.python_finding().outcome == outcome


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (None, None),
        ("not json", None),
        ('{"url": "file:///a%20b/hylo", "dir_info": {"editable": true}}', Path("/a b/hylo/hylo_eval")),
        ('{"url": "file:///x", "dir_info": {}}', None),
        ('{"url": "https://x/y.whl", "archive_info": {}}', None),
    ],
)
def test_pips_record_of_an_editable_installation_is_read(record, expected):
    """PEP 610; anything else counts as a plain installation."""
    assert machine._installed_folder(record) == expected
