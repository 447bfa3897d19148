"""A disk of its own for a test, small enough to be filled."""

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CHUNK = bytes(1 << 20)


class SmallDisk:
    """A mounted disk; ``fill`` lays a file on it that ``clear`` takes away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @property
    def free_bytes(self) -> int:
        """How much may still be written."""
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Fills the disk except for so many bytes."""
        with self._ballast.open("ab", buffering=0) as file:
            try:
                while (spare_bytes := self.free_bytes - leave_bytes) > 0:
                    file.write(_CHUNK[: min(len(_CHUNK), spare_bytes)])
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def clear(self) -> None:
        """Frees the space that it took."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(size_bytes: int) -> Iterator[SmallDisk]:
    """Mounts a disk in memory for a block; skips the test where that is not allowed.

    It lies outside the test's own folder: where the run is killed the mount stays, and the next run could not remove that folder.
    """
    home = Path(tempfile.mkdtemp(prefix="feedmill-disk-"))
    folder = home / "disk"
    folder.mkdir()
    try:
        mount = shutil.which("mount")
        mounting = [mount or "", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
        if mount is None or subprocess.run(mounting, capture_output=True).returncode:
            pytest.skip("mounting a small disk needs root")
        try:
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    finally:
        shutil.rmtree(home)
