"""Blobs in memory, for tests and for tools that store nothing."""

import threading
from typing import BinaryIO

from feedmill.model.document import BlobRef
from feedmill.model.errors import Corrupt


class MemoryBlobs:
    """Implements ``ports.BlobStore``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs: dict[BlobRef, bytes] = {}

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        data = stream.read(size_bytes)
        if len(data) != size_bytes:
            raise Corrupt(f"the bytes to keep ended after {len(data)} of {size_bytes}")
        with self._lock:
            ref = BlobRef(f"m/{len(self._blobs)}")
            self._blobs[ref] = bytes(data)
        return ref

    def sync(self) -> None:
        """Does nothing, because memory is never durable."""

    def read(self, ref: BlobRef) -> bytes:
        try:
            return self._blobs[ref]
        except KeyError as exc:
            raise Corrupt(f"there is no blob '{ref}'") from exc

    def size(self, ref: BlobRef) -> int:
        return len(self.read(ref))

    def path(self, ref: BlobRef) -> str | None:
        """Returns None: no blob is a file."""
        self.read(ref)
        return None

    def close(self) -> None:
        self._blobs.clear()
