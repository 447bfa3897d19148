"""What documents tell of those that they link to."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol


class LinkWork(Enum):
    """What waits: links of a document are to be read, or what is told of a document has changed and is to be written to the index."""

    READ = 0
    WRITE = 1


class Links(Protocol):
    """Anchor texts by the document that links and the one that it leads to, and what is still to be done for them."""

    def find_by_source(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds what documents tell: for each the text by the document it tells of; those that tell nothing are left out."""

    def find_by_target(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds what is told of documents: for each the text by the document that tells; those of which nothing is told are left out."""

    def put_many(self, texts: Mapping[tuple[int, int], str]) -> None:
        """Sets texts by source and target."""

    def remove_many(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Removes texts by source and target."""

    def queue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Puts documents in line for work; one that stands there already stays once."""

    def list_queued(self, work: LinkWork, limit: int) -> list[int]:
        """Lists the documents that wait for work, by id."""

    def find_queued(self, work: LinkWork, ids: Sequence[int]) -> set[int]:
        """Finds those of the documents that wait for work."""

    def unqueue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Takes documents out of the line."""
