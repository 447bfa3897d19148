"""The store's repositories of failures by document and of interruptions by item."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.failure import Failure


class Failures(Protocol):
    """The newest failure of each document that has one."""

    def put_many(self, failures: Sequence[Failure]) -> None:
        """Stores failures. A failure of the same document and version adds to its attempts; any other replaces the earlier one."""

    def find_many(self, document_ids: Sequence[int]) -> dict[int, Failure]:
        """Finds failures by document."""

    def list_of_others(self, program: str, *, after: int, limit: int) -> list[Failure]:
        """Lists failures that other versions of the program stored, by document above ``after``."""

    def remove_many(self, document_ids: Sequence[int]) -> None:
        """Removes the failures of documents. A document without a failure is no error."""

    def count(self) -> dict[str, int]:
        """Counts documents by the step that failed."""


class Interruptions(Protocol):
    """How often work on an item ended the process, by the item's key.

    Example::

        with store.writing() as unit:
            count = unit.processing.interruptions.add("extract:7", now)
    """

    def add(self, key: str, at: datetime) -> int:
        """Adds one interruption and returns the new count."""

    def list_counts(self) -> dict[str, int]:
        """Lists all counts by key."""

    def remove(self, keys: Sequence[str]) -> None:
        """Removes the counts of items. An item without a count is no error."""
