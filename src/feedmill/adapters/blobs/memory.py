"""Blobs in memory, for tests and for tools that keep nothing."""

import threading
from typing import BinaryIO

from feedmill.model.document import BlobRef
from feedmill.model.errors import Corrupt


class MemoryBlobs:
    """Fills ``ports.BlobStore``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs: dict[BlobRef, bytes] = {}

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Keeps bytes."""
        data = stream.read(size_bytes)
        if len(data) != size_bytes:
            raise Corrupt(f"the bytes to keep ended after {len(data)} of {size_bytes}")
        with self._lock:
            ref = BlobRef(f"m/{len(self._blobs)}")
            self._blobs[ref] = bytes(data)
        return ref

    def sync(self) -> None:
        """Does nothing; memory is as durable as it gets."""

    def read(self, ref: BlobRef) -> bytes:
        """Returns all bytes of a blob."""
        try:
            return self._blobs[ref]
        except KeyError as exc:
            raise Corrupt(f"there is no blob '{ref}'") from exc

    def size(self, ref: BlobRef) -> int:
        """Returns the size of a blob."""
        return len(self.read(ref))

    def path(self, ref: BlobRef) -> str | None:
        """Returns None: no blob is a file."""
        self.read(ref)
        return None

    def close(self) -> None:
        """Forgets all."""
        self._blobs.clear()
