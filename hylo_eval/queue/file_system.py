"""Which file systems a queue may lie on."""

from __future__ import annotations

import re
from pathlib import Path

from hylo_eval.errors import QueueError

NETWORK_FILE_SYSTEMS = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.beegfs", "fuse.blobfuse", "fuse.blobfuse2",
    "fuse.ceph", "fuse.ceph-fuse", "fuse.cvmfs2", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys",
    "fuse.juicefs", "fuse.mount-s3", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "wekafs",
})  # fmt: skip
"""Their locks or shared memory do not hold between machines, which SQLite's write-ahead log needs."""

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def file_system_of(folder: Path, mounts: str) -> str:
    """The type of the file system that holds a folder.

    Args:
        folder: An absolute path without symbolic links.
        mounts: The text of ``/proc/self/mountinfo``.

    Returns:
        The type as the kernel names it, ``ext4``; empty when no mount holds the folder.
    """
    found, depth = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        # A later mount on the same point hides the earlier one.
        if len(point.parts) >= depth and folder.is_relative_to(point):
            found, depth = after.split(" ")[0], len(point.parts)
    return found


def refuse_network_file_system(folder: Path) -> None:
    """Refuse a folder on a file system that several machines share.

    Raises:
        QueueError: It is on one. Where the kernel does not say (off Linux), nothing is refused.
    """
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    kind = file_system_of(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise QueueError(
            f"{folder} is on a network file system ({kind}), where the locks of a work queue do not hold",
            fix="choose a folder on a local disk with --run-root, and copy the finished run",
        )
