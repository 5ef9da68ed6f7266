"""Which file system holds a folder, by the kernel's own list."""

from __future__ import annotations

from pathlib import Path

import pytest

from hylo_eval.queue.file_system import file_system_of

MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /home rw shared:3 master:1 - nfs4 server:/home rw,addr=10.0.0.1
24 23 0:21 / /home/lab/scratch rw - xfs /dev/sdb rw
25 22 0:22 / /mnt/with\040blank rw - cifs //server/share rw
26 22 0:23 / /data rw - nfs old:/data rw
27 26 0:24 / /data rw - tmpfs tmpfs rw
a line that is none
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/var/runs", "ext4"),
        ("/home", "nfs4"),
        ("/home/lab/runs", "nfs4"),
        ("/home/lab/scratch/runs", "xfs"),
        ("/homes", "ext4"),
        ("/mnt/with blank/runs", "cifs"),
        ("/data/runs", "tmpfs"),
    ],
)
def test_the_deepest_and_latest_mount_counts(folder: str, kind: str):
    """A local disk inside a network home is local; a name that only begins alike is elsewhere."""
    assert file_system_of(Path(folder), MOUNTS) == kind


def test_without_mounts_nothing_is_known():
    """And so nothing is refused."""
    assert file_system_of(Path("/var"), "") == ""
