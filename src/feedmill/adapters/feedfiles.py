"""The feeds as they were received, a file each in one folder.

A feed is written as ``NAME.part`` and gets its name when it is complete: sync the file, rename it, sync the folder, in that order. A
large feed is written back to the disk while it arrives, so that the sync at the end is short. One thread does that for all files,
with at most one range a file at a time, so that no write waits for it. The kernel call for it (``sync_file_range``) is not in Python's
library. Without it in the C library, only the sync takes longer.
"""

import ctypes
import errno
import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from feedmill.adapters.syncing import sync_folder
from feedmill.model.errors import Busy, DiskFull, FeedmillError, NotFound

PART: Final = ".part"
"""The suffix of a file that is still being received."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_WRITE_BACK_BYTES: Final = 8_388_608
_SYNC_FILE_RANGE_WRITE: Final = 2  # <linux/fs.h>: begin to write, do not wait


class FolderFeedFiles:
    """Feed files in a folder. Units: ``reserve_bytes`` is the free space below which no new data is accepted."""

    def __init__(self, folder: Path, *, reserve_bytes: int = 0) -> None:
        self._folder = folder
        self._reserve_bytes = reserve_bytes
        self._write_back_thread = ThreadPoolExecutor(1, thread_name_prefix="feed-write-back")
        folder.mkdir(parents=True, exist_ok=True)

    def create(self) -> "FolderFeedFile":
        """Opens a new file under a temporary name. Errors: DiskFull, Busy."""
        name = f"{time.time_ns():x}-{secrets.token_hex(8)}"
        try:
            return FolderFeedFile(self._folder, name, self._reserve_bytes, self._write_back_thread)
        except OSError as exc:
            raise _translate(exc, "create a file for a feed") from exc

    def open(self, name: str) -> BinaryIO:
        """Opens a received file. Errors: NotFound."""
        try:
            return self._path(name).open("rb")
        except FileNotFoundError as exc:
            raise NotFound(f"feed file {name!a} is no longer stored") from exc

    def remove(self, name: str) -> None:
        """Removes a file, including one that is still being received. Errors: Busy."""
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as exc:
            raise _translate(exc, "remove a feed file") from exc

    def list(self) -> Iterator[tuple[str, int, float]]:
        """Lists all files; those still being received have names that end in ``.part``."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    yield entry.name, status.st_size, status.st_mtime

    def _path(self, name: str) -> Path:
        if not name or "/" in name or name.startswith("."):
            raise NotFound(f"{name!a} is no feed file's name")
        return self._folder / name


class FolderFeedFile:
    """A feed that is being received."""

    def __init__(self, folder: Path, name: str, reserve_bytes: int, write_back_thread: Executor) -> None:
        self.name = name
        self._folder = folder
        self._reserve_bytes = reserve_bytes
        self._size_bytes = 0
        self._write_back_thread = write_back_thread
        self._written_back_bytes = 0
        self._writing_back: Future[None] | None = None
        self._path = folder / (name + PART)
        _check_space(folder, reserve_bytes)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes. Errors: DiskFull, Busy."""
        rest = memoryview(data)
        try:
            while rest:
                written = os.write(self._descriptor, rest)
                self._size_bytes += written
                rest = rest[written:]
            if self._size_bytes - self._written_back_bytes >= _WRITE_BACK_BYTES and (
                self._writing_back is None or self._writing_back.done()
            ):
                _check_space(self._folder, self._reserve_bytes)
                span = self._size_bytes - self._written_back_bytes
                self._writing_back = self._write_back_thread.submit(_start_write_back, self._descriptor, self._written_back_bytes, span)
                self._written_back_bytes = self._size_bytes
        except OSError as exc:
            raise _translate(exc, "write a feed") from exc

    def commit(self) -> int:
        """Makes bytes and folder entry durable and returns the size. Errors: DiskFull, Busy."""
        try:
            # The order matters: a name without ``.part`` promises whole,
            # durable bytes, and "Success" promises that the name survives too.
            os.fsync(self._descriptor)
            self._close()
            self._path.rename(self._folder / self.name)
            self._path = self._folder / self.name
            sync_folder(self._folder)
        except OSError as exc:
            raise _translate(exc, "keep a feed") from exc
        return self._size_bytes

    def discard(self) -> None:
        """Closes and removes the file, even if it was committed. Upkeep removes what cannot be removed here."""
        with suppress(OSError):
            self._close()
            self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        """Closes the descriptor once no other thread uses it."""
        # The thread may still use the descriptor, whose number would belong to another file after the close.
        if self._writing_back is not None:
            wait([self._writing_back])
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


def _check_space(folder: Path, reserve_bytes: int) -> None:
    """Raises the error of a full disk when less than the reserve is free."""
    if reserve_bytes <= 0:
        return
    status = os.statvfs(folder)
    # ``f_bavail`` leaves out the blocks that only root may use.
    if status.f_bavail * status.f_frsize < reserve_bytes:
        raise OSError(errno.ENOSPC, f"less than {reserve_bytes} bytes are free", str(folder))


def _translate(error: OSError, act: str) -> FeedmillError:
    if error.errno in _FULL:
        return DiskFull(f"cannot {act}: {error.strerror}")
    return Busy(f"cannot {act}: {error.strerror}")


def _start_write_back(descriptor: int, start: int, length: int) -> None:
    """Asks the kernel to begin writing a range to the disk, without waiting for it."""
    if _sync_file_range is not None:
        _sync_file_range(descriptor, start, length, _SYNC_FILE_RANGE_WRITE)


_sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None)
if _sync_file_range is not None:
    _sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
