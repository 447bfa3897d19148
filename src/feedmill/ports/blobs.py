"""The ports of the blob store, which stores bytes by reference, and of its garbage collection."""

from collections.abc import Sequence
from typing import BinaryIO, Protocol

from feedmill.model.document import BlobRef


class BlobStore(Protocol):
    """Stores bytes by reference: small blobs packed together, each large one in its own file.

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
        """Returns the path of a blob with its own file, or None for a packed blob."""

    def close(self) -> None:
        """Closes the files."""


class BlobFile(Protocol):
    """A pack of blobs, or the file of a single blob, in the blob folder. Units: seconds since its last change."""

    @property
    def name(self) -> str:
        """The unique name of the pack or file."""

    @property
    def size_bytes(self) -> int:
        """The size of the file in bytes."""

    @property
    def age_seconds(self) -> float:
        """The time since the last change, in seconds."""

    @property
    def is_in_use(self) -> bool:
        """Whether a process may still write to it."""


class BlobGarbage(Protocol):
    """The files in the blob folder, for a caller that knows all references and may remove the rest."""

    def list_packs(self) -> Sequence[BlobFile]:
        """Lists packs by name."""

    def list_files(self) -> Sequence[BlobFile]:
        """Lists the files of single blobs by name."""

    def home(self, ref: BlobRef) -> str:
        """Returns the name of the pack or file that holds a blob. Errors: Corrupt for an invalid reference."""

    def put_copy(self, data: bytes) -> BlobRef:
        """Writes a copy of a blob, even if space is short, because the caller then removes the original. Errors: DiskFull."""

    def remove_pack(self, name: str) -> None:
        """Removes a pack. A pack that does not exist is no error. Errors: Conflict while it is written to."""

    def remove_file(self, name: str) -> None:
        """Removes the file of a single blob. A file that does not exist is no error."""
