"""Pull sources, and the store's repositories of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from feedmill.model.change import PutDocument, RequestCrawl
from feedmill.model.pulling import PullRun, PullState, RunMode, RunRequest, StoredItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedItem:
    """A document that the source has.

    Shape: two items of a URL with the same digest are the same document. ``load`` is called only if the digest is not that of the last
    run; an error that it raises costs this item. ``is_crawled`` if it returns a request to crawl instead of a document.
    """

    url: str
    digest: bytes
    load: Callable[[], PutDocument | RequestCrawl]
    is_crawled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedItem:
    """A document that the source names as deleted."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedItem:
    """An item that cannot be read. Its document stays. ``url`` is None if it is not known."""

    url: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItem:
    """An entry of the source that is no document."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedItem:
    """A document that the source lists a second time. The first one counts."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRetrieval:
    """What is known of the last retrieval of a document: the digest that was stored, and a time at which it was not outdated."""

    digest: bytes
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedItem:
    """A document that was retrieved. ``digest`` distinguishes two retrievals if the listing does not."""

    change: PutDocument
    digest: bytes


class NothingRetrieved(Enum):
    """What a retrieval says instead of a document."""

    UP_TO_DATE = "up to date"
    NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievableItem:
    """A document that the source has, and that is retrieved one by one, several at once.

    Shape: with ``digest`` b"" the listing does not say whether the document has changed, so each run retrieves it. ``retrieve`` gets None
    if it must return the document, and may be called from several threads; an error that it raises costs this item.
    """

    url: str
    digest: bytes
    retrieve: Callable[[EarlierRetrieval | None], RetrievedItem | NothingRetrieved]


PulledItem = ListedItem | RetrievableItem | DeletedItem | FailedItem | SkippedItem | RepeatedItem


@dataclass(frozen=True, slots=True, kw_only=True)
class PullPage:
    """Some items of a source.

    Shape: ``checkpoint`` is where the reading continues after this page, "" if it can only begin again. ``since`` is the point in time for
    the next incremental run as far as it is known, "" if this page says nothing about it.
    """

    items: tuple[PulledItem, ...] = ()
    checkpoint: str = ""
    since: str = ""


class PullSource(Protocol):
    """A place from which the server reads documents by itself.

    Example::

        for page in source.iter_pages(RunMode.FULL, since="", checkpoint=""):
            ...  # compare the items with the store, apply what differs
        source.close()
    """

    def iter_pages(self, mode: RunMode, *, since: str, checkpoint: str) -> Iterator[PullPage]:
        """Reads the source page by page to its end, at least one page. Errors: FeedmillError if it cannot be read to its end."""

    def close(self) -> None:
        """Closes all connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row as it is shown now."""

    data: bytes
    mimetype: str


class RowSource(Protocol):
    """A pull source whose documents are rows that can be read one by one.

    Example::

        url = source.find_url(["7"])
        row = source.read_row(["7"])
        source.close()
    """

    def find_url(self, keys: Sequence[str]) -> str:
        """Returns the URL of the document with these keys. Errors: NotFound if the source has no such URLs."""

    def read_row(self, keys: Sequence[str]) -> ShownRow | None:
        """Reads a row, None if the source has no query for it. Errors: NotFound if it is gone, UpstreamFailure."""

    def close(self) -> None:
        """Closes all connections."""


class PullStates(Protocol):
    """The states of the pull sources."""

    def list(self) -> list[PullState]:
        """Lists the states by name."""

    def get(self, source: str, now: datetime) -> PullState:
        """Returns the state of a source; a new source becomes known at ``now``."""

    def save(self, state: PullState) -> None:
        """Stores a state."""

    def renew(self, source: str, owner: str, until: datetime) -> bool:
        """Extends a lease. Returns False if ``owner`` does not hold it any more."""


class PullRuns(Protocol):
    """The runs of pull sources: those that wait, and the history."""

    def add(self, source: str, request: RunRequest, now: datetime) -> PullRun:
        """Stores a request for a run."""

    def get(self, run_id: int) -> PullRun:
        """Returns a run. Errors: NotFound."""

    def save(self, run: PullRun) -> None:
        """Stores the progress of a run."""

    def list_newest(self, source: str | None, limit: int) -> list[PullRun]:
        """Lists runs, newest first, of one source or of all."""

    def list_open(self) -> list[PullRun]:
        """Lists the runs that are requested or in progress, oldest first."""

    def prune(self, source: str, keep: int) -> None:
        """Removes all finished runs of a source but the newest."""


class DryRunItems(Protocol):
    """The items that the dry run in progress has read of a source."""

    def find_many(self, source: str, urls: Sequence[str]) -> dict[str, bool]:
        """Finds items by URL, and whether the reading named each as deleted."""

    def put_many(self, source: str, items: Mapping[str, bool]) -> None:
        """Stores items by URL, with whether the reading named each as deleted."""

    def count_to_delete(self, source: str, mode: RunMode) -> int:
        """Counts what a run would delete that read the same.

        In full mode, the items of earlier runs that the reading did not name are counted too.
        """

    def remove_some(self, source: str, limit: int) -> bool:
        """Removes items, at most ``limit``. Returns whether there were any."""


class PullItems(Protocol):
    """The items that a source's runs have applied."""

    def find_many(self, source: str, urls: Sequence[str]) -> dict[str, StoredItem]:
        """Finds items by URL."""

    def put_many(self, source: str, items: Sequence[StoredItem]) -> None:
        """Stores items, replacing earlier ones of the same URLs."""

    def remove_many(self, source: str, urls: Sequence[str]) -> None:
        """Removes items."""

    def count(self, source: str) -> int:
        """Counts the items of a source."""

    def count_to_delete(self, source: str, listing: int, mode: RunMode) -> int:
        """Counts what ``list_to_delete`` lists."""

    def list_to_delete(self, source: str, listing: int, mode: RunMode, *, after: bytes, limit: int) -> list[tuple[bytes, str]]:
        """Lists positions and URLs, behind a position, of the items that a reading named as deleted.

        In full mode, the items that the reading did not name are listed too.
        """
