"""What kind of file system a session lies on."""

from __future__ import annotations

from pathlib import Path

NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs", "fuse.s3fs"}
    | {"fuse.glusterfs", "fuse.rclone", "beegfs", "gpfs", "virtiofs", "orangefs", "vboxsf"}
)
"""File systems without the shared memory between machines that SQLite's write-ahead log needs."""


def filesystem_of(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str | None:
    """Type of the file system that holds ``path`` (``ext4``, ``nfs4``, …); ``None`` if it can't be told."""
    try:
        text = mountinfo.read_text(errors="surrogateescape")
        wanted = path.resolve()
    except OSError:
        return None
    best, kind = -1, None
    for line in text.splitlines():
        left, found, right = line.partition(" - ")
        parts = left.split()
        if not found or len(parts) < 5 or not right:
            continue
        mount = Path(parts[4].encode(errors="surrogateescape").decode("unicode_escape", "surrogateescape"))
        if (mount == wanted or mount in wanted.parents) and len(mount.parts) >= best:
            best, kind = len(mount.parts), right.split()[0]
    return kind
