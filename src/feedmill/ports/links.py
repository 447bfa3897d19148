"""The store's repository of anchor texts: what pages say about the documents to which they link."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol


class LinkWork(Enum):
    """Work that waits: read the links of a document, or write changed anchor texts of a document to the index."""

    READ = 0
    WRITE = 1


class LinkTexts(Protocol):
    """The anchor texts of links, by source and target document."""

    def find_by_source(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds the anchor texts of sources: for each source its texts by target. Sources without texts are left out."""

    def find_by_target(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds the anchor texts of targets: for each target its texts by source. Targets without texts are left out."""

    def put_many(self, texts: Mapping[tuple[int, int], str]) -> None:
        """Stores texts by source and target."""

    def remove_many(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Removes texts by source and target."""


class LinkQueue(Protocol):
    """The documents whose links must be read, or whose anchor texts must be written to the index.

    Example::

        with store.writing() as unit:
            unit.processing.link_queue.queue(LinkWork.READ, [7])
    """

    def queue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Queues documents for work. A document is queued at most once."""

    def list_queued(self, work: LinkWork, limit: int) -> list[int]:
        """Lists the documents that are queued for work, by id."""

    def find_queued(self, work: LinkWork, ids: Sequence[int]) -> set[int]:
        """Finds those of the documents that are queued for work."""

    def unqueue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Removes documents from the queue."""
