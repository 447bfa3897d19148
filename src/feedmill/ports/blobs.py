"""Bytes by reference, and what lies in their folder."""

from collections.abc import Sequence
from typing import BinaryIO, Protocol

from feedmill.model.document import BlobRef


class BlobStore(Protocol):
    """Bytes by reference: small ones packed together, large ones a file each."""

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Writes bytes; they are durable only after ``sync``. Errors: DiskFull, also before the disk is full to the last byte."""

    def sync(self) -> None:
        """Makes everything put so far durable; called before the transaction that keeps the references.

        Errors: Broken, when what is on the disk is not known; from then on nothing is written.
        """

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob. Errors: Corrupt."""

    def size(self, ref: BlobRef) -> int:
        """Returns the size of a blob in bytes."""

    def path(self, ref: BlobRef) -> str | None:
        """Returns the path of a blob that is a file of its own, None for a packed one."""

    def close(self) -> None:
        """Closes the files."""


class BlobFile(Protocol):
    """A pack of blobs, or a blob that is a file of its own, as it lies in the folder. Units: seconds since its last change."""

    @property
    def name(self) -> str:
        """Its name, which no other pack or file has."""

    @property
    def size_bytes(self) -> int:
        """Its size."""

    @property
    def age_seconds(self) -> float:
        """How long it has been as it is."""

    @property
    def is_in_use(self) -> bool:
        """Whether a process may still write to it."""


class BlobGarbage(Protocol):
    """What lies in the blob folder, for who knows all references and may remove the rest."""

    def list_packs(self) -> Sequence[BlobFile]:
        """Lists packs by name."""

    def list_files(self) -> Sequence[BlobFile]:
        """Lists single files by name."""

    def home(self, ref: BlobRef) -> str:
        """Returns the name of the pack or file that a blob is in. Errors: Corrupt for what is no reference."""

    def put_copy(self, data: bytes) -> BlobRef:
        """Writes a copy of a blob, also where room is short: what it was copied out of is removed then. Errors: DiskFull."""

    def remove_pack(self, name: str) -> None:
        """Removes a pack; one that is not there is no error. Errors: Conflict while it is written to."""

    def remove_file(self, name: str) -> None:
        """Removes a single file, as above."""
