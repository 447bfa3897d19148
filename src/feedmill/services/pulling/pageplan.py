"""What a run does about the items of one page: compares them with the store, and stores the contents of those that differ.

Nothing is written to the store here: the run applies what is planned, in the transaction that stores its checkpoint.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.change import Change, PutDocument
from feedmill.model.document import BlobRef, Document, DocumentState
from feedmill.model.errors import BadRequest, FeedmillError
from feedmill.model.pulling import PullRun, RunMode, StoredItem
from feedmill.ports import (
    Clock,
    DeletedItem,
    EarlierRetrieval,
    FailedItem,
    ListedItem,
    NothingRetrieved,
    Notifier,
    PulledItem,
    PullPage,
    RepeatedItem,
    RetrievableItem,
    RetrievedItem,
    SkippedItem,
    Store,
)
from feedmill.services.feeds.feeding import Admission, PutBlobs
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.pulling.itemwatch import ItemWatch
from feedmill.services.pulling.retrieving import Retrievals, Retrieve, close_retrieval

RETRIEVED_AT_ONCE: Final = 20
"""After so many documents were retrieved, they are applied although the page is not at its end."""
LOGGED_URL_CHARACTERS: Final = 500
LOAD_STEP: Final = "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullDependencies:
    """What a run depends on; ``owner`` names the process that holds the leases."""

    store: Store
    blobs: PutBlobs
    clock: Clock
    admission: Callable[[], Admission]
    notifier: Notifier
    owner: str


@dataclass(slots=True)
class PlannedItem:
    """What is to be done for one item: ``stored`` replaces what the store holds of it, ``counted`` names the count that it adds to.

    ``is_unnamed`` says that it is in error and nobody knows of which document.
    """

    stored: StoredItem | None = None
    change: Change | None = None
    content: BlobRef | None = None
    counted: str = ""
    messages: list[str] = field(default_factory=list)
    is_unnamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieving:
    """How the documents of a page are retrieved, ``parallel`` of them at once.

    ``check`` is called while one is waited for. ``find_listed_at`` returns when the run of a listing began, None if that is not known.
    """

    parallel: int
    check: Callable[[], None]
    find_listed_at: Callable[[int], datetime | None]


class PagePlan:
    """The plan of one page. ``named_deleted`` is what a dry run has read of it, by URL: whether the page names it as deleted."""

    def __init__(self, page: PullPage, run: PullRun, tools: PullDependencies, watch: ItemWatch, retrieving: Retrieving) -> None:
        self._page = page = replace(page, items=tuple(map(_check_item, page.items)))
        self._run = run
        self._is_dry = run.request.is_dry
        self._blobs = tools.blobs
        self._watch = watch
        self._retrieving = retrieving
        self._admission = tools.admission()
        urls = [item.url for item in page.items if not isinstance(item, SkippedItem) and item.url is not None]
        with tools.store.reading() as unit:
            self._known = dict(unit.feeds.pulling.items.find_many(run.source, urls))
            self.named_deleted = unit.feeds.pulling.dry_items.find_many(run.source, urls) if self._is_dry else {}
            self._live = {url for url, document in unit.documents.reader.find_many(urls).items() if is_owned(document, run.source)}
            # whether there is a page at the URL is for the crawler to find out, again and again
            crawled = [item.url for item in page.items if isinstance(item, ListedItem) and item.is_crawled and item.url in self._known]
            self._live |= unit.feeds.crawling.queue.find_many(crawled).keys()

    def iter_parts(self) -> Iterator[tuple[PullPage, list[PlannedItem]]]:
        """Yields the page with what is planned for its items.

        Before it come parts of what is planned with a page that reaches no further than the one before, because retrieving all documents
        of a page may take long.
        """
        # after the process has ended, the document that ended it is to be known
        is_careful, needed = self._watch.is_careful, list(self._list_needed())
        places = {place for place, _ in needed}
        at_once = [] if is_careful else [(place, self._bind(item)) for place, item in needed]
        planned: list[PlannedItem] = []
        # parts of a page are applied with the checkpoint before it: an interrupted run reads the page again and finds them unchanged
        before, taken = PullPage(checkpoint=self._run.checkpoint), 0
        named: dict[str, bytes] = {}
        """The digests with which the page has named documents so far."""
        check, parallel = self._retrieving.check, self._retrieving.parallel
        with self._watch.on_batch() if at_once else nullcontext(), Retrievals(at_once, parallel, check) as retrievals:
            for place, item in enumerate(self._page.items):
                if isinstance(item, RetrievableItem):
                    if named.get(item.url) == item.digest:
                        # a document that cannot be retrieved, or is not there, is not requested for each place in the page
                        continue
                    named[item.url] = item.digest
                    check()
                    is_begun = place in places and not is_careful
                    retrieve = partial(retrievals.take, place) if is_begun else partial(self._retrieve_alone, item)
                    planned.append(self._plan_retrievable(item, retrieve))
                else:
                    if isinstance(item, DeletedItem):
                        named.pop(item.url, None)
                    planned.append(self._plan_item(item))
                taken += place in places
                if taken >= RETRIEVED_AT_ONCE:
                    self._sync(planned)
                    yield before, planned
                    planned, taken = [], 0
        self._sync(planned)
        yield self._page, planned

    def _sync(self, planned: Sequence[PlannedItem]) -> None:
        if any(each.content is not None for each in planned):
            self._blobs.sync()

    def _plan_item(self, item: PulledItem) -> PlannedItem:
        match item:
            case SkippedItem():
                return PlannedItem(messages=[f"skipped: {item.reason}"])
            case FailedItem(url=None):
                return PlannedItem(counted="errors", messages=[item.reason], is_unnamed=True)
            case FailedItem():
                assert item.url is not None
                return self._plan_failure(item.url, item.reason)
            case DeletedItem():
                return self._plan_deletion(item.url)
            case ListedItem():
                return self._plan_listed(item)
            case RepeatedItem():
                return _plan_repeated(item.url)
            case RetrievableItem():
                raise AssertionError("documents that are retrieved are planned by _plan_retrievable")

    def _plan_failure(self, url: str, reason: str) -> PlannedItem:
        if self._is_dry:
            self.named_deleted[url] = False
        planned = plan_failure(url, reason, self._known.get(url), self._run.listing)
        if planned.stored is not None:
            self._known[url] = planned.stored
        return planned

    def _plan_deletion(self, url: str) -> PlannedItem:
        if url not in self._known:
            # a source may name as deleted what it owns although no run has listed it
            if url not in self._live:
                return PlannedItem()
            self._known[url] = StoredItem(url=url, digest=b"", listing=0)
        if self._is_dry:
            self.named_deleted[url] = True
        stored = self._known[url] = replace(self._known[url], listing=self._run.listing, is_deleted=True)
        return PlannedItem(stored=stored)

    def _count_put(self, url: str) -> str:
        """Returns the count to which a document that is put adds."""
        counted = "changed" if url in self._live else "added"
        self._live.add(url)
        return counted

    def _is_unchanged(self, item: ListedItem) -> bool:
        before = self._known.get(item.url)
        return before is not None and before.digest == item.digest and bool(item.digest) and item.url in self._live

    # --- items whose content comes with the page ---

    def _plan_listed(self, item: ListedItem) -> PlannedItem:
        url, run, before = item.url, self._run, self._known.get(item.url)
        is_named = before is not None and not before.is_deleted and before.listing == run.listing
        if (is_named or self.named_deleted.get(url) is False) and run.mode is RunMode.FULL and not run.checkpoint:
            return _plan_repeated(url)
        if self._is_dry:
            return self._plan_dry(item)
        stored = StoredItem(url=url, digest=item.digest, listing=run.listing)
        if before is not None and self._is_unchanged(item):
            self._known[url] = stored
            is_counted = is_named or run.first_listing <= before.listing < run.listing
            return PlannedItem(stored=stored, counted="" if is_counted else "unchanged")
        set_aside = self._watch.find_refusal(url)
        if set_aside:
            return self._plan_failure(url, set_aside)
        try:
            with self._watch.on(url):
                fault_point(LOAD_STEP, url)
                change = item.load()
                content = self._put_content(change)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            return self._plan_failure(url, _explain(error))
        self._known[url] = stored
        return PlannedItem(stored=stored, change=change, content=content, counted=self._count_put(url))

    def _plan_dry(self, item: ListedItem) -> PlannedItem:
        url = item.url
        self.named_deleted[url] = False
        refusal = self._admission.rules.refusal(url)
        if refusal is not None:
            return PlannedItem(counted="errors", messages=[f"{url}: {refusal}"])
        is_unchanged = self._is_unchanged(item)
        self._known[url] = StoredItem(url=url, digest=item.digest, listing=self._run.listing)
        return PlannedItem(counted="unchanged" if is_unchanged else self._count_put(url))

    def _put_content(self, change: Change) -> BlobRef | None:
        if not isinstance(change, PutDocument) or change.content is None:
            return None
        with change.content.stream as stream:
            return self._blobs.put(stream, change.content.size_bytes)

    # --- items whose content is retrieved ---

    def _list_needed(self) -> Iterator[tuple[int, RetrievableItem]]:
        """Yields the documents of the page that must be retrieved, each at its first place."""
        seen: set[str] = set()
        for place, item in enumerate(self._page.items):
            is_retrieved = isinstance(item, RetrievableItem) and item.url not in seen and not self._watch.find_refusal(item.url)
            if isinstance(item, RetrievableItem) and is_retrieved and not self._is_current(item):
                yield place, item
            if not isinstance(item, SkippedItem) and item.url is not None:
                seen.add(item.url)

    def _is_current(self, item: RetrievableItem) -> bool:
        """Returns whether a document need not be retrieved: by its digest, or because this run has retrieved it already."""
        before = self._known.get(item.url)
        if before is None or not before.digest or before.is_deleted or item.url not in self._live:
            return False
        return before.digest == item.digest if item.digest else self._run.first_listing <= before.listing <= self._run.listing

    def _bind(self, item: RetrievableItem) -> Retrieve:
        before = self._known.get(item.url)
        is_stored = before is not None and before.digest and item.url in self._live
        at = self._retrieving.find_listed_at(before.listing) if before is not None and is_stored else None
        earlier = None if before is None or at is None else EarlierRetrieval(digest=before.digest, at=at)
        return partial(_retrieve, item, earlier)

    def _retrieve_alone(self, item: RetrievableItem) -> RetrievedItem | NothingRetrieved:
        with self._watch.on(item.url):
            return self._bind(item)()

    def _plan_retrievable(self, item: RetrievableItem, retrieve: Retrieve) -> PlannedItem:
        url, run, before = item.url, self._run, self._known.get(item.url)
        refusal = self._admission.rules.refusal(url)
        if self._is_dry:
            self.named_deleted[url] = False
        if self._is_current(item):
            assert before is not None
            self._known[url] = stored = replace(before, listing=run.listing)
            is_counted = run.first_listing <= before.listing <= run.listing
            return PlannedItem(stored=stored, counted="" if is_counted else "unchanged")
        set_aside = self._watch.find_refusal(url)
        if set_aside:
            return self._plan_failure(url, set_aside)
        try:
            retrieved = retrieve()
            if retrieved is NothingRetrieved.NOT_FOUND:
                return replace(self._plan_deletion(url), messages=[f"{url}: the retriever does not find it"])
            if retrieved is NothingRetrieved.UP_TO_DATE:
                if before is None or not before.digest or url not in self._live:
                    raise BadRequest("the retriever says that it is up to date, but it was never retrieved")
                self._known[url] = stored = StoredItem(url=url, digest=item.digest or before.digest, listing=run.listing)
                return PlannedItem(stored=stored, counted="unchanged")
            assert isinstance(retrieved, RetrievedItem)
            digest = item.digest or retrieved.digest
            is_same = before is not None and before.digest == digest and url in self._live
            content = None
            if is_same or self._is_dry:
                close_retrieval(retrieved)
            else:
                content = self._put_content(retrieved.change)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            return self._plan_failure(url, _explain(error))
        self._known[url] = stored = StoredItem(url=url, digest=digest, listing=run.listing)
        if is_same:
            return PlannedItem(stored=stored, counted="unchanged")
        if self._is_dry and refusal is not None:
            return PlannedItem(counted="errors", messages=[f"{url}: {refusal}"])
        change = None if self._is_dry else retrieved.change
        return PlannedItem(stored=stored, change=change, content=content, counted=self._count_put(url))


def is_owned(document: Document, source: str) -> bool:
    """Returns whether a document belongs to a source."""
    return document.state is DocumentState.LIVE and document.datasource == source


def plan_failure(url: str, reason: str, before: StoredItem | None, listing: int) -> PlannedItem:
    """Plans an item in error: its document stays, and the next run applies it again."""
    stored = None if before is None else StoredItem(url=url, digest=b"", listing=listing)
    return PlannedItem(stored=stored, counted="errors", messages=[f"{url[:LOGGED_URL_CHARACTERS]}: {reason}"])


def _plan_repeated(url: str) -> PlannedItem:
    return PlannedItem(counted="errors", messages=[f"{url}: the source lists this document more than once; the first one counts"])


def _explain(error: Exception) -> str:
    return str(error) if isinstance(error, FeedmillError) else describe(LOAD_STEP, error)


def _retrieve(item: RetrievableItem, earlier: EarlierRetrieval | None) -> RetrievedItem | NothingRetrieved:
    fault_point(LOAD_STEP, item.url)
    return item.retrieve(earlier)


def _check_item(item: PulledItem) -> PulledItem:
    """Returns an item, or that its URL, in which there is an id of the source, is too long."""
    if isinstance(item, ListedItem | RetrievableItem) and len(item.url) > MAX_URL_CHARACTERS:
        return FailedItem(url=item.url, reason=f"the url is longer than {MAX_URL_CHARACTERS} characters")
    return item
