"""What steps could not do: failures by document, interruptions by item."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.failure import Failure


class Failures(Protocol):
    """The newest failure of each document that has one."""

    def put_many(self, failures: Sequence[Failure]) -> None:
        """Stores failures; one of the same document and version counts its attempts on, any other replaces the earlier one."""

    def find_many(self, document_ids: Sequence[int]) -> dict[int, Failure]:
        """Finds failures by document."""

    def list_of_others(self, program: str, *, after: int, limit: int) -> list[Failure]:
        """Lists failures of other versions of the program, by document, those behind one."""

    def remove_many(self, document_ids: Sequence[int]) -> None:
        """Removes the failures of documents; one that has none is no error."""

    def count(self) -> dict[str, int]:
        """Counts documents by the step that failed."""


class Interruptions(Protocol):
    """How often work on an item ended the process, by the item's key."""

    def add(self, key: str, at: datetime) -> int:
        """Counts one more and returns how often it was."""

    def list(self) -> dict[str, int]:
        """Lists all by key."""

    def remove(self, keys: Sequence[str]) -> None:
        """Removes the counts of items; one that has none is no error."""
