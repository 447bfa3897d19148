"""What a store keeps of documents and of who may see them."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feedmill.model.access import AccessKey, AclVersion, ClassPeriod, PackedClasses, StoredAcl
from feedmill.model.document import BlobRef, Document, Event, Text


class Documents(Protocol):
    """Documents by URL; a gone one keeps its row for its history."""

    def find_many(self, urls: Sequence[str]) -> dict[str, Document]:
        """Finds documents, gone ones too, by URL."""

    def find_class(self, url: str) -> int | None:
        """Finds the class of a live document, None where there is none.

        It reads one document in any case, another one where the URL has none, so that the time does not tell whether there is one.
        """

    def find_urls_by_digest(self, start: bytes) -> list[str]:
        """Finds the URLs of documents, gone ones too, whose digest begins so; two at most."""

    def find_ids(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the ids of live documents by URL."""

    def find_by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        """Finds documents, gone ones too, by id."""

    def save_many(
        self, documents: Sequence[Document], *, at: datetime | None = None, feed_id: int = 0, moved: Container[str] | None = None
    ) -> dict[str, int]:
        """Inserts or replaces documents by URL and gives the id of each. The caller holds the only write transaction.

        Where a document's class changes, that is kept as of ``at`` (None: when the document was updated), by ``feed_id``, 0 for none.
        ``moved`` names the URLs of which that may be so; None: of any.
        """

    def save_texts(self, texts: Sequence[tuple[int, Text]], *, at: datetime) -> None:
        """Sets what extraction made of documents, by id, where the content is still the one that it was made from."""

    def add_events(self, events: Sequence[tuple[int, int, Event]]) -> None:
        """Keeps events, each with its document's id and its number; of each document the last 20 stay."""

    def list_events(self, document_id: int) -> list[Event]:
        """Lists what is kept of a document's history, oldest first."""

    def list_live(self, *, after: int, limit: int, datasource: str | None = None, unseen_by: int | None = None) -> list[Document]:
        """Lists live documents by id from ``after`` on, of one source, and of those only the ones that feed ``unseen_by`` did not name."""

    def list_live_urls(self, *, after: int, limit: int, open_only: bool = False) -> list["LiveUrl"]:
        """Lists the URLs of live documents, by id from ``after`` on; with ``open_only`` of those alone that nothing makes secure."""

    def list_guarded_sources(self) -> list[str]:
        """Lists the sources that have live documents with an ACL."""

    def list_for_eviction(self, limit: int) -> list[Document]:
        """Lists live documents in the order in which the licence gives them up: unlocked, lowest pagerank, oldest update."""

    def count_live(self) -> int:
        """Counts live documents."""

    def list_refs(self, *, after: int, limit: int) -> list["StoredRefs"]:
        """Lists what live documents keep as blobs, by id from ``after`` on; those that keep nothing are left out."""

    def move_refs(self, moves: Sequence[tuple["StoredRefs", "StoredRefs"]]) -> int:
        """Sets the second in place of the first, where a document still keeps exactly the first, and counts these."""

    def forget_old(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through documents by id from ``after`` on: removes gone ones last changed before a time, and events older than it.

        Gives the last id that it has gone through, None when there was none left.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUrl:
    """What must be known of a document to mark it by its URL, or to see whether it is in the right class."""

    document_id: int
    url: str
    version: int
    datasource: str
    secure: bool = False
    access_class: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRefs:
    """What one document keeps in the blob store: its content, and the text that was made of one."""

    document_id: int
    content: BlobRef | None
    text: Text | None


class ClassPeriods(Protocol):
    """Which class each document was in, and when."""

    def list_of(self, ids: Sequence[int]) -> dict[int, list[ClassPeriod]]:
        """Lists what documents were in and are in, by id, oldest first; each spell ends where the next begins."""

    def list_held(self, *, after: int, limit: int) -> dict[int, int]:
        """Lists the live documents and the class that each is in, by id from ``after`` on."""

    def list_moved(self, classes: Sequence[int], since: datetime, *, after: int, limit: int) -> dict[int, int | None]:
        """Lists documents that moved to another class since a time, gone ones too, or are in one of these classes.

        By id from ``after`` on, each with the class that it has been in all the time, None where it moved.
        """


class Acls(Protocol):
    """ACLs by the URL that they stand for, a document's or not."""

    def find_many(self, urls: Sequence[str]) -> dict[str, StoredAcl]:
        """Finds ACLs by URL."""

    def save_many(self, acls: Sequence[StoredAcl], *, at: datetime) -> None:
        """Inserts or replaces ACLs by URL, and keeps a version of each that is another than before."""

    def remove_many(self, urls: Sequence[str], *, at: datetime, feed_id: int = 0) -> None:
        """Removes ACLs by URL, and keeps since when there is none."""

    def list_of_source(self, datasource: str, *, limit: int, unseen_by: int | None = None) -> list[StoredAcl]:
        """Lists ACLs that a source wrote last, of those only the ones that feed ``unseen_by`` did not name."""

    def find_classes(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the class that each URL's ACL makes, by URL; URLs without an ACL are left out."""

    def list_classes(self, *, after: int, limit: int) -> list[int]:
        """Lists the classes that ACLs make now, each once, by number from ``after`` on."""

    def find_classes_at(self, urls: Sequence[str], at: datetime) -> dict[str, int]:
        """Finds the class that each URL's ACL made at a time, as above."""

    def find_last_change(self, urls: Sequence[str], *, after: datetime, until: datetime) -> AclVersion | None:
        """Finds the newest version that any of these URLs' ACLs has got after a time and up to another."""

    def newest_version(self) -> int:
        """Returns the number of the newest version, 0 when there is none."""

    def list_versions(self, *, after: int, limit: int) -> list[AclVersion]:
        """Lists versions of ACLs by number."""

    def forget_versions(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through versions older than a time, by number from ``after`` on: removes those that did not hold any more at that time.

        Gives the last number that it has gone through, None when there was none left.
        """


class Classes(Protocol):
    """The classes of documents with the same access key. A number once given is never given to another."""

    def number_many(self, keys: Sequence[AccessKey]) -> dict[AccessKey, int]:
        """Returns the number of each class, a new one where there is none yet."""

    def newest(self) -> int:
        """Returns the highest number given so far."""

    def get_many(self, numbers: Sequence[int]) -> dict[int, AccessKey]:
        """Returns what classes are; those that are no more are left out."""

    def find_rules(self, numbers: Sequence[int]) -> dict[int, int]:
        """Finds the policies of classes, 0 for none; classes that are no more are left out."""

    def iter_packed(self, after: int) -> Iterator[PackedClasses]:
        """Returns all classes whose number is greater, by number, many at a time."""

    def remove_unused(self, *, after: int, limit: int) -> int | None:
        """Goes through classes by number from ``after`` on: removes those that no document, ACL or version has.

        Gives the last number that it has gone through, None when there was none left.
        """
