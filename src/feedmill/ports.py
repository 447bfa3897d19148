"""What the services need of the outside world. Each is small, synchronous, and filled by one technology in ``adapters``.

A store is used in units of work: ``with store.writing() as unit`` is one transaction, committed at the end of the block and rolled
back by an exception; ``with store.reading() as unit`` is a snapshot that sees no half of anybody's transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import BinaryIO, Protocol

from feedmill.core.snippets import Sought
from feedmill.model.access import AccessKey, AclVersion, ClassSet, PackedClass, Principal, StoredAcl
from feedmill.model.change import PutGroup
from feedmill.model.document import BlobRef, Document, Event, Text
from feedmill.model.extraction import Answer, Task
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.feed import DataSource, Feed, LogEntry, NewFeed
from feedmill.model.identity import PrincipalKey, Subject
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import Hits, IndexDocument, Node, Sort
from feedmill.model.serving import KeptSetting
from feedmill.signinports import Accounts, ApiTokens, OneTimes, Sessions

Clock = Callable[[], datetime]
"""Gives the time now as an aware UTC time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who takes feeds, until when, and of which size: from ``min_bytes`` on, below ``max_bytes`` where one is given."""

    owner: str
    until: datetime
    min_bytes: int = 0
    max_bytes: int | None = None


class FileUse(Enum):
    """What a file in the feed folder is to its feed: bytes still to be applied, bytes as received, or a repaired copy no longer read."""

    NEEDED = "needed"
    RECEIVED = "received"
    SPENT = "spent"


class Feeds(Protocol):
    """The feeds that were received, and their logs."""

    def add(self, feed: NewFeed) -> int:
        """Keeps a feed as received and gives its id; ids grow in the order of acknowledgement."""

    def get(self, feed_id: int) -> Feed:
        """Gives a feed. Errors: NotFound."""

    def list_newest(self, datasource: str | None, limit: int) -> list[Feed]:
        """Lists feeds, newest first, of one data source or of all."""

    def count_waiting(self) -> int:
        """Counts the feeds that are not wholly applied."""

    def list_claimable(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Lists what ``claim`` would take."""

    def claim(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Takes up to ``limit`` feeds under a lease.

        Each is the first unapplied one of its queue, claimed by nobody else, and of a size that the lease takes. A data source's feeds
        are a queue, and all groups feeds are one. A feed that the owner holds already is given again, its lease renewed.
        """

    def release(self, owner: str) -> None:
        """Gives back all that ``owner`` holds."""

    def save(self, feed: Feed, log: Sequence[LogEntry] = ()) -> None:
        """Stores a feed's progress and appends to its log."""

    def list_log(self, feed_id: int, limit: int) -> list[LogEntry]:
        """Lists a feed's log in the order written."""

    def list_unsettled(self) -> list[Feed]:
        """Lists feeds whose changes are applied but not all obeyed or searchable: phase SETTLE, or DONE without ``searchable_at``."""

    def list_prunable(self, keep: int) -> list[Feed]:
        """Lists final feeds beyond the newest ``keep`` of their data source."""

    def remove(self, feed_ids: Sequence[int]) -> None:
        """Forgets feeds and their logs."""

    def find_files(self, names: Sequence[str]) -> dict[str, "FileUse"]:
        """Finds what feeds use files for, by name; one that no feed knows is left out."""


class Sources(Protocol):
    """The data sources."""

    def list(self) -> list[DataSource]:
        """Lists all, by name, with their counts."""

    def mark_deleted(self, name: str) -> None:
        """Shows a source as deleted until it is fed again."""

    def forget(self, name: str) -> None:
        """Removes a source's name and its feeds, but for one still being applied."""


class Documents(Protocol):
    """Documents by URL; a gone one keeps its row for its history."""

    def find_many(self, urls: Sequence[str]) -> dict[str, Document]:
        """Finds documents, gone ones too, by URL."""

    def find_by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        """Finds documents, gone ones too, by id."""

    def save_many(self, documents: Sequence[Document]) -> dict[str, int]:
        """Inserts or replaces documents by URL and gives the id of each. The caller holds the only write transaction."""

    def save_texts(self, texts: Sequence[tuple[int, Text]]) -> None:
        """Sets what extraction made of documents, by id, where the content is still the one that it was made from."""

    def add_events(self, events: Sequence[tuple[int, int, Event]]) -> None:
        """Keeps events, each with its document's id and its number; of each document the last 20 stay."""

    def list_events(self, document_id: int) -> list[Event]:
        """Lists what is kept of a document's history, oldest first."""

    def list_live(self, *, after: int, limit: int, datasource: str | None = None, unseen_by: int | None = None) -> list[Document]:
        """Lists live documents by id from ``after`` on, of one source, and of those only the ones that feed ``unseen_by`` did not name."""

    def list_live_urls(self, *, after: int, limit: int) -> list["LiveUrl"]:
        """Lists the URLs of live documents, by id from ``after`` on."""

    def list_for_eviction(self, limit: int) -> list[Document]:
        """Lists live documents in the order in which the licence gives them up: unlocked, lowest pagerank, oldest update."""

    def count_live(self) -> int:
        """Counts live documents."""

    def list_refs(self, *, after: int, limit: int) -> list["KeptRefs"]:
        """Lists what live documents keep as blobs, by id from ``after`` on; those that keep nothing are left out."""

    def move_refs(self, moves: Sequence[tuple["KeptRefs", "KeptRefs"]]) -> int:
        """Sets the second in place of the first, where a document still keeps exactly the first, and counts these."""

    def forget_old(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through documents by id from ``after`` on: removes gone ones last changed before a time, and events older than it.

        Gives the last id that it has gone through, None when there was none left.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveUrl:
    """What must be known of a document to mark it by its URL."""

    document_id: int
    url: str
    version: int
    datasource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRefs:
    """What one document keeps in the blob store: its content, and the text that was made of one."""

    document_id: int
    content: BlobRef | None
    text: Text | None


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

    def find_classes_at(self, urls: Sequence[str], at: datetime) -> dict[str, int]:
        """Finds the class that each URL's ACL made at a time, as above."""

    def newest_version(self) -> int:
        """Gives the number of the newest version, 0 when there is none."""

    def list_versions(self, *, after: int, limit: int) -> list[AclVersion]:
        """Lists versions of ACLs by number."""

    def forget_versions(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Goes through versions older than a time, by number from ``after`` on: removes those that did not hold any more at that time.

        Gives the last number that it has gone through, None when there was none left.
        """


class Classes(Protocol):
    """The classes of documents with the same access key. A number once given is never given to another."""

    def number_many(self, keys: Sequence[AccessKey]) -> dict[AccessKey, int]:
        """Gives the number of each class, a new one where there is none yet."""

    def newest(self) -> int:
        """Gives the highest number given so far."""

    def get_many(self, numbers: Sequence[int]) -> dict[int, AccessKey]:
        """Gives what classes are; those that are no more are left out."""

    def iter_packed(self, after: int) -> Iterator[PackedClass]:
        """Gives all classes whose number is greater, by number."""

    def remove_unused(self, *, after: int, limit: int) -> int | None:
        """Goes through classes by number from ``after`` on: removes those that no document, ACL or version has.

        Gives the last number that it has gone through, None when there was none left.
        """


class Stage(Enum):
    """What a marked document waits for."""

    EXTRACT = "extract"
    INDEX = "index"


class Lane(Enum):
    """How urgent a mark is: a small change does not wait behind a large feed."""

    QUICK = 0
    BULK = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A document whose newest version the index does not show yet. ``tightens``: until it does, an access class of before is obeyed."""

    document_id: int
    version: int
    stage: Stage
    lane: Lane
    feed_id: int
    datasource: str
    tightens: bool = False


class Marks(Protocol):
    """The outbox between the store and the index: one mark a document, written in the transaction of its change."""

    def put_many(self, marks: Sequence[Mark]) -> None:
        """Sets marks; a later one of a document replaces the earlier, but ``tightens`` stays once set and the quicker lane wins."""

    def list(self, stage: Stage, limit: int, *, lane: Lane | None = None, after: Mark | None = None) -> list[Mark]:
        """Lists marks of a stage, quick lane first, then oldest first; with ``after`` those that come behind that mark."""

    def advance(self, marks: Sequence[Mark]) -> None:
        """Moves marks of exactly these versions from EXTRACT to INDEX."""

    def remove(self, marks: Sequence[Mark]) -> None:
        """Removes marks of exactly these versions."""

    def find_many(self, document_ids: Sequence[int]) -> dict[int, Mark]:
        """Finds marks by document."""

    def count(self) -> dict[Stage, int]:
        """Counts marks by stage."""

    def list_open_feeds(self, feed_ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Gives which of the feeds still have marks, and which have marks that tighten."""


class Facts(Protocol):
    """Single values by name: index generation, settings digests, set-once facts of the data folder."""

    def get(self, name: str) -> str | None:
        """Gives a value, None when it was never set."""

    def put(self, name: str, value: str) -> None:
        """Sets a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """A definition of a group that a later one, or its source's end, has overtaken."""

    id: int
    memberships: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDefinition:
    """A group as a layer defines it. Shape: ``key`` is the digest of the group's exact key."""

    id: int
    key: bytes
    group: Subject
    memberships: int


class Groups(Protocol):
    """The groups database: who is a member of which group, by group source.

    A groups feed builds a layer that nobody sees, and publishes or drops it as a whole. Of a group's definitions in one source the newest
    counts, those in several sources are united. Groups feeds are worked on one after the other, so one layer at a time is built.
    """

    def find_parents(self, keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that have members of these keys: each key with each such group, once, in any order."""

    def generation(self) -> int:
        """Gives a number that grows whenever groups change for those who look; 0 before there were any."""

    def list_visible(self) -> dict[int, str]:
        """Lists the layers that are seen, by feed, with their sources."""

    def iter_definitions(self, feed_id: int) -> Iterator[GroupDefinition]:
        """Gives the definitions of a layer, also those that a newer one covers."""

    def iter_members(self, feed_id: int) -> Iterator[Sequence[tuple[int, bytes]]]:
        """Gives the members of a layer's definitions, many at a time: the definition's id and the digest of the member's key."""

    def count_memberships(self) -> int:
        """Counts the members of all groups that are seen, a member once in each group and source."""

    def build(self, feed_id: int, source: str, *, whole: bool) -> None:
        """Begins a feed's layer, where it is not begun yet. ``whole``: once published it is all that the source has."""

    def define_many(self, feed_id: int, definitions: Sequence[PutGroup]) -> int:
        """Puts definitions into a layer, each in place of an earlier one of its group, and counts the layer's members so far."""

    def extend(self, feed_id: int, group: Principal, members: Sequence[Principal]) -> int:
        """Adds further members to a group that the layer defines, and counts as above."""

    def keep_many(self, feed_id: int, groups: Sequence[Principal]) -> None:
        """Takes over into a whole layer the definitions that its source has now of groups that the layer does not define."""

    def expected_memberships(self, feed_id: int) -> int:
        """Counts what ``count_memberships`` would give once the layer is published."""

    def publish(self, feed_id: int) -> None:
        """Shows a layer; a whole one in place of all that its source had."""

    def drop(self, feed_id: int) -> None:
        """Gives up a layer, if there is one."""

    def clean(self, feed_id: int, source: str) -> None:
        """Removes all that a source has, for a feed that says so."""

    def list_dead(self, *, after: int, limit: int) -> list[DeadGroup]:
        """Lists definitions that nobody sees any more, by id from ``after`` on."""

    def trim_dead(self, definition_id: int, limit: int) -> int:
        """Removes up to ``limit`` members of a dead definition and counts them."""

    def remove_dead(self, definition_ids: Sequence[int]) -> None:
        """Removes dead definitions with their members."""

    def remove_empty_layers(self) -> None:
        """Forgets layers without definitions, but for one that is being built."""


class KeptSettings(Protocol):
    """What was set by API, by section and name; it wins over the settings file."""

    def list(self) -> list[KeptSetting]:
        """Lists all, by section and name."""

    def find(self, section: str, name: str) -> KeptSetting | None:
        """Finds one."""

    def put(self, kept: KeptSetting) -> None:
        """Sets one, in place of what it was."""

    def remove(self, section: str, name: str) -> None:
        """Removes one; none of that name is no error."""


class UnitOfWork(Protocol):
    """The repositories of one transaction."""

    @property
    def feeds(self) -> Feeds:
        """The feeds."""

    @property
    def sources(self) -> Sources:
        """The data sources."""

    @property
    def documents(self) -> Documents:
        """The documents."""

    @property
    def acls(self) -> Acls:
        """The ACLs."""

    @property
    def classes(self) -> Classes:
        """The classes of documents."""

    @property
    def marks(self) -> Marks:
        """The outbox."""

    @property
    def facts(self) -> Facts:
        """The facts."""

    @property
    def groups(self) -> Groups:
        """The groups database."""

    @property
    def kept_settings(self) -> KeptSettings:
        """What was set by API."""

    @property
    def accounts(self) -> Accounts:
        """The local users."""

    @property
    def sessions(self) -> Sessions:
        """The sessions."""

    @property
    def api_tokens(self) -> ApiTokens:
        """The tokens of programs."""

    @property
    def one_times(self) -> OneTimes:
        """Values for one use."""


class Store(Protocol):
    """The truth. Errors: Busy, DiskFull, Corrupt, each with nothing of the unit kept."""

    def writing(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a write transaction; writers take turns, so that none waits longer than the transaction before it."""

    def reading(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a read snapshot."""

    def close(self) -> None:
        """Closes all connections."""


class BlobStore(Protocol):
    """Bytes by reference: small ones packed together, large ones a file each."""

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        """Writes bytes; they are durable only after ``sync``. Errors: DiskFull."""

    def sync(self) -> None:
        """Makes everything put so far durable; called before the transaction that keeps the references.

        Errors: Broken, when what is on the disk is not known; from then on nothing is written.
        """

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob. Errors: Corrupt."""

    def size(self, ref: BlobRef) -> int:
        """Gives the size of a blob in bytes."""

    def path(self, ref: BlobRef) -> str | None:
        """Gives the path of a blob that is a file of its own, None for a packed one."""

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
        """Gives the name of the pack or file that a blob is in. Errors: Corrupt for what is no reference."""

    def remove_pack(self, name: str) -> None:
        """Removes a pack; one that is not there is no error. Errors: Conflict while it is written to."""

    def remove_file(self, name: str) -> None:
        """Removes a single file, as above."""


class Extractor(Protocol):
    """Turns documents' bytes into text, out of process; a hostile document costs itself alone."""

    def submit(self, task: Task, *, quick: bool) -> None:
        """Hands a task over; ``quick`` uses the workers kept free for small work, with a short time limit."""

    def collect(self, timeout_seconds: float) -> list[Answer]:
        """Gives what is done, waiting up to the time for the first. Every task submitted is answered exactly once.

        Errors: Busy while nothing can be extracted; what was submitted waits.
        """

    def capacity(self, *, quick: bool) -> int:
        """Gives how many more tasks may be submitted now without piling up."""

    def close(self) -> None:
        """Ends the workers."""


class Vocabulary(Protocol):
    """The words of an index as people write them, but for letter case and accents."""

    def complete(self, start: str, within: Node, access: ClassSet, limit: int) -> list[tuple[str, int]]:
        """Finds words of titles that begin so, in documents that match and that the asker may see, each with their number, most first.

        Where the start holds several words, those before the last are in the same titles.
        """

    def count(self, word: str, access: ClassSet) -> int:
        """Counts the documents that hold a word in title or text and that the asker may see."""

    def find_alike(self, word: str, limit: int) -> list[str]:
        """Finds words that differ little from a word, the likeliest first.

        They are words of any documents: none leaves before ``count`` says that the asker may see one that holds it.
        """


class SearchIndex(Protocol):
    """The derived index, read side. Every query takes the asker's class set: the type demands it."""

    def search(
        self,
        query: Node,
        access: ClassSet,
        *,
        start: int,
        num: int,
        sort: Sort | None = None,
        bias: ScoreBias | None = None,
        explains: bool = False,
    ) -> Hits:
        """Finds documents that match and that the asker may see, best first or as the sort says.

        ``bias`` moves the best of them where they are not sorted otherwise; ``explains`` gives scores in their parts.
        """

    def list_by_key(self, query: Node, access: ClassSet, *, after: int, num: int) -> Hits:
        """Lists documents that match and that the asker may see by their keys, those behind one; the total counts all that match."""

    def count_facets(self, query: Node, access: ClassSet, facets: Sequence[Facet]) -> tuple[FacetCounts, ...]:
        """Counts facets, in the order given, over all documents that match and that the asker may see; counts are exact."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the index as it is now."""

    def terms(self, query: Node) -> tuple[str, ...]:
        """Gives the words that a query would highlight, as the index folds them."""

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does: folded token, start and end character in the text."""

    def seek(self, query: Node) -> Sought:
        """Gives what a query highlights, its words in all the forms that it finds."""

    def is_visible(self, token: str) -> bool:
        """Whether searches from now on see what the commit that gave the token wrote; reloads when behind."""

    def count(self) -> int:
        """Counts documents in the index."""


class IndexWriter(Protocol):
    """The derived index, write side; one writer an index."""

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents, each replacing the earlier one of its key."""

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""

    def commit(self) -> str:
        """Makes all of it durable and gives the commit's token. After any error nothing of the batch is kept and the writer is usable."""

    def close(self) -> None:
        """Closes the writer; what was not committed is gone."""


class Bell(Protocol):
    """Wakes another process when there is something to do; a ring may be lost, so who waits also looks by himself now and then."""

    def ring(self, role: str) -> None:
        """Wakes a role."""

    def wait(self, timeout_seconds: float) -> None:
        """Waits until rung or the time is over."""


class FeedFiles(Protocol):
    """The folder of feeds as they were received."""

    def create(self) -> "FeedFile":
        """Opens a new file to receive into. Errors: DiskFull."""

    def open(self, name: str) -> BinaryIO:
        """Opens a received file. Errors: NotFound."""

    def remove(self, name: str) -> None:
        """Removes a file; none of that name is no error."""

    def list(self) -> Iterator[tuple[str, int, float]]:
        """Lists names, sizes in bytes and times of last change (seconds since the epoch).

        A file that is still being received has a name that ends in ``.part``.
        """


class FeedFile(Protocol):
    """A file that is being received. Errors: DiskFull from each write."""

    name: str

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes."""

    def commit(self) -> int:
        """Makes bytes and folder entry durable, closes, and gives the size in bytes."""

    def discard(self) -> None:
        """Closes and removes the file, a committed one too; does not raise."""
