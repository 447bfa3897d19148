"""Files for reading and appending blobs: appends that can be undone, open files shared by threads, and the meaning of errors."""

import errno
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

from cachetools import LRUCache

from feedmill.model.errors import Busy, Corrupt, DiskFull, FeedmillError

_SMALL_BYTES = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def translate(error: OSError, what: str) -> FeedmillError:
    """Returns our error for an operating system's error."""
    if error.errno in _FULL:
        return DiskFull(f"no space {what}: {error.strerror}")
    if error.errno in _SCARCE:
        return Busy(f"out of resources {what}: {error.strerror}")
    return Corrupt(f"failed {what}: {error.strerror or error}")


class AppendFile:
    """A new file that this process alone appends to, marked as in use by a lock that ends with the process."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.end = 0
        self.durable_end = 0
        self.fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        # Until this call the file does not look used. Clean-up leaves young files alone, so it does not remove this one.
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def append(self, data: bytes) -> int:
        """Writes bytes and returns their offset. If that fails, the file is unchanged. Errors: OSError."""
        start, written = self.end, 0
        view = memoryview(data)
        try:
            while written < len(view):
                written += os.pwrite(self.fd, view[written:], start + written)
        except OSError:
            # What was written is removed, since the next blob begins at the same place.
            os.ftruncate(self.fd, start)
            raise
        self.end = start + written
        return start

    def close(self) -> None:
        """Closes the file."""
        os.close(self.fd)


def is_in_use(path: Path) -> bool:
    """Returns whether a living process appends to a file. Errors: OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


class ReadFile:
    """A file open for reading. It closes when the last thread releases it."""

    def __init__(self, path: Path) -> None:
        # Set before ``open`` can fail, because ``__del__`` runs after a failure too.
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read(self, offset: int, length: int) -> bytes | None:
        """Returns bytes, or None if the file does not hold all of them. Errors: OSError."""
        # a wrong length must not allocate memory that no file fills
        if length > _SMALL_BYTES and os.fstat(self._fd).st_size < offset + length:
            return None
        data = os.pread(self._fd, length, offset)
        if len(data) == length:
            return data
        parts, got = [data], len(data)
        while got < length:
            data = os.pread(self._fd, length - got, offset + got)
            if not data:
                return None
            parts.append(data)
            got += len(data)
        return b"".join(parts)


class ReadFiles:
    """The most recently read files, held open."""

    def __init__(self, locate: Callable[[str], Path], limit: int = 32) -> None:
        self._locate = locate
        self._lock = threading.Lock()
        self._open: LRUCache[str, ReadFile] = LRUCache(limit)

    def get(self, name: str) -> ReadFile:
        """Returns an open file by name. Errors: OSError."""
        with self._lock:
            found = self._open.get(name)
            if found is not None:
                return found
        # Without the lock, so that a slow disk delays no other file. Two
        # threads may open the same file; one of both is closed after its use.
        opened = ReadFile(self._locate(name))
        with self._lock:
            self._open[name] = opened
        return opened

    def forget(self, name: str) -> None:
        """Releases a file."""
        with self._lock:
            self._open.pop(name, None)

    def clear(self) -> None:
        """Releases all files."""
        with self._lock:
            self._open.clear()
