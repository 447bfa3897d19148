"""The store's repositories of documents."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feedmill.model.document import BlobRef, Document, Event, Text


class DocumentReader(Protocol):
    """Reads documents by URL or id. A deleted document keeps its row, for its history.

    Example::

        with store.reading() as unit:
            document = unit.documents.reader.find_many([url]).get(url)
    """

    def find_many(self, urls: Sequence[str]) -> dict[str, Document]:
        """Finds documents, including deleted ones, by URL."""

    def find_by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        """Finds documents, including deleted ones, by id."""

    def find_ids(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the ids of live documents by URL."""

    def find_class(self, url: str) -> int | None:
        """Returns the access class of a live document, or None if there is none.

        It always reads one document, a different one if the URL has none. So the duration does not reveal whether the document exists.
        """

    def find_urls_by_digest(self, start: bytes) -> list[str]:
        """Finds up to two URLs of documents, including deleted ones, whose digest begins with ``start``."""

    def list_events(self, document_id: int) -> list[Event]:
        """Lists the stored events of a document, oldest first."""


class DocumentWriter(Protocol):
    """Changes documents. The caller holds the only write transaction."""

    def save_many(
        self, documents: Sequence[Document], *, at: datetime | None = None, feed_id: int | None = None, moved: Container[str] | None = None
    ) -> dict[str, int]:
        """Inserts or replaces documents by URL and returns the id of each.

        If a document's access class changes, it stores the change as of ``at`` (None: the time of the document's update) and ``feed_id``,
        None for no feed. ``moved`` names the URLs whose class may have changed; None: any.
        """

    def save_texts(self, texts: Sequence[tuple[int, Text]], *, at: datetime) -> None:
        """Stores the extracted texts of documents by id, if the document still has the content from which the text was extracted."""

    def add_events(self, events: Sequence[tuple[int, int, Event]]) -> None:
        """Stores events, each with its document's id and its number. Each document keeps its last 20 events."""


class DocumentScan(Protocol):
    """Goes through live documents, for sweeps and counts."""

    def list_live(self, *, after: int, limit: int, datasource: str | None = None, unseen_by: int | None = None) -> list[Document]:
        """Lists live documents by id above ``after``, of one source if given.

        With ``unseen_by``, only documents that this feed did not name are listed.
        """

    def list_live_urls(self, *, after: int, limit: int, datasource: str | None = None, open_only: bool = False) -> list["LiveUrl"]:
        """Lists the URLs of live documents, or those of one source, by id above ``after``.

        With ``open_only`` only documents without any access rule.
        """

    def list_changed(self, since: datetime, *, after: int, limit: int, within: int, datasource: str | None = None) -> "ChangedDocuments":
        """Lists documents, including deleted ones, whose row or class changed at ``since`` or later, by id above ``after``.

        It goes through the next ``within`` documents and ends early at ``limit``.
        """

    def list_guarded_sources(self) -> list[str]:
        """Lists the sources that have live documents with an ACL."""

    def list_for_eviction(self, limit: int) -> list[Document]:
        """Lists live documents in the order of eviction at the licence limit: unlocked, lowest pagerank, oldest update."""

    def count_live(self) -> int:
        """Counts live documents."""


class DocumentUpkeep(Protocol):
    """Moves the blobs of documents, and removes old documents and events."""

    def list_refs(self, *, after: int, limit: int) -> list["StoredRefs"]:
        """Lists the blob references of live documents by id above ``after``. Documents without blobs are left out."""

    def move_refs(self, moves: Sequence[tuple["StoredRefs", "StoredRefs"]]) -> int:
        """Replaces the first references with the second if the document still has exactly the first. Returns how many it replaced."""

    def forget_old(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through documents by id above ``after``: removes deleted documents last changed before a time, and older events.

        Returns the last id of this step, or None if there was none left.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDocuments:
    """Documents that have changed. ``reached`` is the id with which the listing goes on, None if there is nothing behind it."""

    documents: list[Document]
    reached: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUrl:
    """The data of a document that is needed to create an index task by its URL, or to check its access class."""

    document_id: int
    url: str
    version: int
    datasource: str
    secure: bool = False
    access_class: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRefs:
    """The blob references of one document: its content and its extracted text."""

    document_id: int
    content: BlobRef | None
    text: Text | None
