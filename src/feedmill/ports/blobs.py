"""The ports of the blob store, which stores bytes by reference, and of its garbage collection."""

from collections.abc import Sequence
from typing import BinaryIO, Protocol

from feedmill.model.document import BlobRef


class BlobStore(Protocol):
    """Stores bytes by reference.

    Example::

        ref = blobs.put(BytesIO(data), len(data))
        blobs.sync()
    """

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Writes bytes. They are durable only after ``sync``. Errors: DiskFull, also before the disk is full to the last byte."""

    def sync(self) -> None:
        """Makes all written bytes durable. Call it before the transaction that stores the references.

        Errors: Broken, when the state on the disk is unknown; from then on nothing is written.
        """

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob. Errors: Corrupt."""

    def size(self, ref: BlobRef) -> int:
        """Returns the size of a blob in bytes."""

    def path(self, ref: BlobRef) -> str | None:
        """Returns the path of a local file that holds exactly this blob, None if there is none."""

    def close(self) -> None:
        """Closes the files."""


class BlobObject(Protocol):
    """What the backend stores as one: a file or an object with one blob, or a pack of many."""

    @property
    def name(self) -> str:
        """The unique name of the object."""

    @property
    def size_bytes(self) -> int:
        """The size of the object in bytes."""

    @property
    def age_seconds(self) -> float:
        """The time since the last change, in seconds."""

    @property
    def is_in_use(self) -> bool:
        """Whether a process may still write to it."""

    @property
    def is_pack(self) -> bool:
        """Whether it may hold several blobs."""


class BlobGarbage(Protocol):
    """The garbage collection of a blob store, for a caller that knows all references: what none of them names may be removed.

    Example::

        used = {garbage.find_object(ref) for ref in refs}
        unused = [each.name for each in garbage.list_objects() if each.name not in used]
    """

    def list_objects(self) -> Sequence[BlobObject]:
        """Lists all objects, packs first, by name."""

    def find_object(self, ref: BlobRef) -> str:
        """Returns the name of the object that holds a blob, which may be missing. Errors: Corrupt for an invalid reference."""

    def put_copy(self, data: bytes) -> BlobRef:
        """Writes a copy of a blob, even if space is short, because the caller then removes the original. Errors: DiskFull."""

    def remove_object(self, name: str) -> None:
        """Removes an object with all its blobs. One that does not exist is no error. Errors: Conflict while it is written to."""
