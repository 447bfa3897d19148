"""Makes a change (``PutDocument`` or ``Delete``) of each fetched page, and applies it with the entry of the crawl queue in one transaction.

A page counts only if its lease still holds. A URL whose content a feed or a run owns is not crawled any more. The final URL of redirects is
the record: a URL that only links named gets no document of its own then, one that a feed named keeps its record.

A body that is empty, or too large to be read, is a failed fetch: what was fetched before stays until the fetches of a month have failed.

A page that says noindex is excluded. It stays a document that no search finds, for its links and its ACL.
"""

import codecs
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import lru_cache
from io import BytesIO
from typing import Final

import structlog

from feedmill.core.crawling.linkrules import is_endless
from feedmill.core.crawling.rate import add_fetches
from feedmill.core.crawling.schedule import FrequencyRules, schedule
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.core.urls.digests import digest_of_url
from feedmill.core.urls.patternrules import split_url
from feedmill.core.urls.targets import parse_target
from feedmill.model.change import AclChange, Change, Content, Delete, PutDocument, SourcePosition
from feedmill.model.crawling import CrawlEntry, CrawlMention, CrawlSite, CrawlState, CrawlUrgency, FetchedPage, FetchRecord
from feedmill.model.document import Attributes, AuthMethod, BlobRef, Document, DocumentState, Origin
from feedmill.model.errors import BadRequest
from feedmill.model.feed import LogLevel
from feedmill.model.provenance import from_fetch
from feedmill.model.queue import QueueName
from feedmill.model.topic import Topic
from feedmill.ports import Clock, InFlight, Lane, Notifier, Store, UnitOfWork
from feedmill.services.crawling.duplicates import Duplicate, DuplicateCandidate, DuplicateFinder, Originals
from feedmill.services.crawling.redirects import DeadEnd, find_dead_end, note_dead_end
from feedmill.services.crawling.requesting import CRAWLER
from feedmill.services.feeds.feeding import Admission, BatchResult, ChangeBatch, ItemsFailed, PutBlobs, evict_isolated
from feedmill.services.isolation.attempts import Attempts, key_of, read_interruptions
from feedmill.services.isolation.batches import belongs_to_item, describe, run_halved
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.services.keyvalues import CRAWL_RATE
from feedmill.telemetry.metrics import FETCH_SECONDS, FETCHED_BYTES, FETCHES
from feedmill.wire.gsaheaders.schema import CrawlHeaders
from feedmill.wire.pagehead.parse import PageHead, read_page_head

FETCH_STEP: Final = "fetch"
_NOINDEX: Final = {
    CrawlState.ROBOTS_NOINDEX: "its X-Robots-Tag says noindex",
    CrawlState.DISALLOWED_BY_META_TAG: "a robots tag of the page says noindex",
}
_TOO_LARGE: Final = "its body is larger than limits.max_document_bytes"
MAX_KEY_CHARACTERS: Final = 900
LEFT_AT_ONCE: Final = 1_000
"""How many duplicates of pages that are gone are fetched again at once; the others follow by their schedule."""
QUICK_PAGES: Final = 50
"""Up to this number the pages of one transaction are indexed before longer work, if someone asked for one of them."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A page that was fetched for an entry, and when."""

    entry: CrawlEntry
    page: FetchedPage
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyDependencies:
    """What applying pages needs.

    ``read_headers`` reads the headers of a page, ``read_head`` the head of HTML; ``owner`` is that of its leases. ``find_redirected``
    returns the URL under which the target of a page's redirect is crawled, "" if it is that of the page; ``max_redirects`` bounds how many
    URLs redirect to one another. ``in_flight`` notes the page that is worked on.
    """

    store: Store
    blobs: PutBlobs
    clock: Clock
    admission: Callable[[], Admission]
    notifier: Notifier
    frequency: FrequencyRules
    duplicates: DuplicateFinder
    read_headers: Callable[[FetchedPage], CrawlHeaders]
    read_head: Callable[[FetchedPage], PageHead]
    owner: str
    find_redirected: Callable[[str, str], str] = lambda page, target: "" if target == page else target
    max_redirects: int = 10
    in_flight: InFlight = field(default_factory=NoInFlight)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    entry: CrawlEntry
    change: Change | None = None
    content: BlobRef | None = None
    mention: CrawlMention | None = None
    dead_end: DeadEnd | None = None
    leaves_duplicates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A page with what it says of itself. ``candidate`` is None if it cannot be a duplicate; ``is_secure``: not all users may see it.

    ``target`` is the URL to which it redirects, "" for none; then the page has no document under its own URL, unless a feed named it.
    """

    fetched: Fetched
    headers: CrawlHeaders
    is_secure: bool
    robots: tuple[str, ...] = ()
    checksum: bytes = b""
    target: str = ""
    candidate: DuplicateCandidate | None = None


class PageApplier:
    """Applies the pages of one crawler. It works in a thread beside the event loop."""

    def __init__(self, tools: ApplyDependencies) -> None:
        self._tools = tools
        self._attempts = Attempts(tools.store, tools.in_flight, tools.clock)

    def apply(self, fetched: Sequence[Fetched], sites: Sequence[CrawlSite] = ()) -> None:
        """Applies pages, and stores what is known of sites. A page that cannot be applied costs itself. Errors: those of infrastructure.

        A page that ended the process is applied alone, after the others; one that does so again and again is not applied.
        """
        suspected = [each for each in fetched if self._attempts.count(_key_of(each))]
        others = [each for each in fetched if not self._attempts.count(_key_of(each))] if suspected else fetched
        self._apply_each(others, sites)
        for each in suspected:
            key = _key_of(each)
            if self._attempts.is_hopeless(key):
                self._set_aside(each, read_interruptions(FETCH_STEP, self._attempts.count(key)), sites)
            else:
                self._apply_each([each], sites)
            self._attempts.clear([key])
        if not fetched and sites:
            self._apply([], sites)
        if fetched:
            self._evict()
            self._tools.notifier.notify(Topic.EXTRACTION)
            self._tools.notifier.notify(Topic.INDEXING)

    def _apply_each(self, fetched: Sequence[Fetched], sites: Sequence[CrawlSite]) -> None:
        for failed in run_halved(fetched, lambda part: self._apply(part, sites), step=FETCH_STEP):
            self._set_aside(failed.item, failed.reason, sites)

    def _set_aside(self, fetched: Fetched, reason: str, sites: Sequence[CrawlSite]) -> None:
        """Stores that a page could not be applied; its URL is tried again later, and its document stays as it is."""
        log.error("page_not_applied", url=fetched.entry.url, reason=reason)
        self._apply([replace(fetched, page=FetchedPage(state=CrawlState.OTHER_ERROR, url=fetched.page.url, reason=reason))], sites)

    def _apply(self, fetched: Sequence[Fetched], sites: Sequence[CrawlSite]) -> None:
        urls = [each.entry.url for each in fetched]
        with self._tools.store.reading() as unit:
            documents = _find_live(unit, urls)
        read = [self._read_noted(each, documents.get(each.entry.url)) for each in fetched]
        with self._tools.store.reading() as unit:
            originals = self._tools.duplicates.look(unit, [each.candidate for each in read if each.candidate is not None])
            dead_ends = self._find_dead_ends(unit, [each for each in read if each.target])
        planned = [self._plan_noted(each, documents.get(each.fetched.entry.url), originals, dead_ends) for each in read]
        if any(each.content is not None for each in planned):
            self._tools.blobs.sync()
        with self._tools.store.writing() as unit:
            self._write(unit, planned, sites)
        for one in planned:
            _count(one.entry)

    def _read_noted(self, fetched: Fetched, document: Document | None) -> _Read:
        with self._attempts.on(_key_of(fetched)):
            if fetched.page.state in (CrawlState.CRAWLED, CrawlState.CRAWLED_FROM_CACHE):
                fault_point(FETCH_STEP, fetched.entry.url)
            return self._read(fetched, document)

    def _plan_noted(self, read: _Read, document: Document | None, originals: Originals, dead_ends: Mapping[str, DeadEnd]) -> _Planned:
        with self._attempts.on(_key_of(read.fetched)):
            return self._plan(read, document, originals, dead_ends.get(read.fetched.entry.url))

    def _write(self, unit: UnitOfWork, planned: Sequence[_Planned], sites: Sequence[CrawlSite]) -> None:
        queue = unit.feeds.crawling.queue
        urls = [each.entry.url for each in planned]
        stored, documents = queue.find_many(urls), _find_live(unit, urls)
        # a page whose lease has ended is fetched by another process: it counts for nothing here
        held = [each for each in planned if each.entry.url in stored and stored[each.entry.url].lease_owner in ("", self._tools.owner)]
        # content was fed while the page was fetched; it takes over the URL
        owned = [url for url, document in documents.items() if document.origin is Origin.CONTENT]
        wanted = [each for each in held if each.entry.url not in owned]
        changes = [(each.change, each.content) for each in wanted if each.change is not None]
        if changes:
            notes = self._tools.in_flight
            is_awaited = any(_is_requested(stored[each.entry.url]) for each in wanted if each.change is not None)
            lane = Lane.QUICK if is_awaited and len(changes) <= QUICK_PAGES else Lane.BULK
            batch = ChangeBatch(unit, self._context(), lane, begin=lambda _step, url: notes.begin(_key_of_url(url)))
            batch.load(change.url for change, _ in changes if change.url is not None)
            try:
                for change, content in changes:
                    notes.begin(_key_of_url(change.url or ""))
                    batch.apply(change, content)
                _check(batch.finish())
            finally:
                notes.end()
        if any(each.content is not None and _is_own(documents.get(each.entry.url)) for each in wanted):
            unit.feeds.sources.note_crawled(CRAWLER)
        queue.save_many([each.entry for each in wanted])
        queue.remove_many(owned)
        reasons = {url: each.dead_end.reason for each in wanted if each.dead_end is not None for url in each.dead_end.others}
        ended = [note_dead_end(entry, reasons[url]) for url, entry in queue.find_many(list(reasons)).items()] if reasons else []
        queue.save_many([entry for entry in ended if entry is not None])
        mentions = [each.mention for each in wanted if each.mention is not None]
        if left := [each.entry.url for each in wanted if each.leaves_duplicates]:
            # their original is no document any more, or another one
            mentions += [CrawlMention(url=url, is_request=True) for url in unit.feeds.crawling.reports.list_duplicates(left, LEFT_AT_ONCE)]
        queue.add_many(mentions, self._tools.clock())
        if wanted:
            rate = unit.state.key_values.get(CRAWL_RATE) or ""
            unit.state.key_values.put(CRAWL_RATE, add_fetches(rate, self._tools.clock(), len(wanted)))
        unit.feeds.crawling.sites.save_many(sites)
        unit.processing.queues.note_progress(QueueName.CRAWL)

    def _context(self) -> ApplyContext:
        return ApplyContext(provenance=from_fetch(CRAWLER), now=self._tools.clock(), rules=self._tools.admission().rules)

    def _evict(self) -> None:
        limit = self._tools.admission().max_documents
        while limit and evict_isolated(self._tools.store, limit, self._context(), Lane.BULK):
            pass

    # --- planning ---

    def _read(self, fetched: Fetched, document: Document | None) -> _Read:
        """Reads what a page says of itself."""
        entry, page = fetched.entry, fetched.page
        headers = self._tools.read_headers(page)
        if headers.crawl_once is not None and (page.state is CrawlState.CRAWLED or headers.keeps_content):
            fetched = replace(fetched, entry=replace(entry, is_once=headers.crawl_once))
        is_stored_secure = document is not None and document.secure
        is_secure = (page.used_access and not page.make_public) or bool(headers.is_secure) or headers.states_acl or is_stored_secure
        if page.state is not CrawlState.CRAWLED:
            return _Read(fetched=fetched, headers=headers, is_secure=is_secure)
        head, checksum = self._tools.read_head(page), hashlib.blake2b(page.body, digest_size=16).digest()
        robots = tuple(dict.fromkeys((*headers.robots.names, *head.robots)))
        is_own = (document is not None and document.datasource != CRAWLER) or headers.describes or page.is_cut or not page.body
        candidate, target = None, _find_redirect(entry.url, page)
        target = target and self._tools.find_redirected(entry.url, target)
        if not (is_own or is_secure or "noindex" in robots or target):
            canonical = self._tools.duplicates.find_canonical(entry.url, headers.canonical or head.canonical)
            candidate = DuplicateCandidate(url=entry.url, canonical=canonical, checksum=checksum)
        return _Read(
            fetched=fetched, headers=headers, is_secure=is_secure, robots=robots, checksum=checksum, target=target, candidate=candidate
        )

    def _plan(self, read: _Read, document: Document | None, originals: Originals, dead_end: DeadEnd | None) -> _Planned:
        duplicate = originals.decide(read.candidate) if read.candidate is not None else None
        planned = self._plan_page(read, document, dead_end) if duplicate is None else self._plan_duplicate(read, document, duplicate)
        is_document = not isinstance(planned.change, Delete) and (document is not None or planned.change is not None)
        if read.candidate is None:
            originals.note(planned.entry.url, is_document=is_document, is_secure=read.is_secure)
        is_new_content = planned.content is not None and read.fetched.entry.crawled_at is not None
        return replace(planned, leaves_duplicates=not is_document or is_new_content or read.is_secure)

    def _plan_page(self, read: _Read, document: Document | None, dead_end: DeadEnd | None) -> _Planned:
        fetched, page = read.fetched, read.fetched.page
        if page.state is CrawlState.CRAWLED and read.target and _is_own(document):
            return self._plan_redirect(read, document, dead_end)
        if page.state is CrawlState.CRAWLED:
            failure = self._find_failure(read, document)
            return self._plan_content(read, document) if failure is None else self._plan_failure(fetched, *failure)
        if page.state is CrawlState.CRAWLED_FROM_CACHE:
            return self._plan_unchanged(read, document)
        return self._plan_failure(fetched, page.state, page.reason)

    def _plan_redirect(self, read: _Read, document: Document | None, dead_end: DeadEnd | None) -> _Planned:
        """Plans a page that is crawled under the URL to which it redirects, unless redirects go on without end."""
        fetched, entry, target = read.fetched, read.fetched.entry, read.target
        if dead_end is not None:
            failed = self._plan_failure(fetched, CrawlState.LONG_REDIRECT_CHAIN, dead_end.reason, redirected_to=target)
            return replace(failed, dead_end=dead_end)
        if is_endless(split_url(target).path):
            return self._plan_failure(fetched, CrawlState.INFINITE_URL_SPACE, f"it redirects to {target}, which repeats itself")
        reason = f"it redirects to {target}, which is crawled under its own URL"
        scheduled, _ = self._schedule(fetched, CrawlState.CRAWLED, reason, is_changed=False, redirected_to=target)
        mention = CrawlMention(url=target, referrer=entry.url, depth=entry.depth)
        return _Planned(
            entry=replace(scheduled, duplicate_of=""), change=_delete(entry.url) if document is not None else None, mention=mention
        )

    def _find_dead_ends(self, unit: UnitOfWork, redirecting: Sequence[_Read]) -> dict[str, DeadEnd]:
        """Returns, by their URLs, why redirects lead to no page."""
        fresh = {each.fetched.entry.url: each.target for each in redirecting}
        found = ((each.fetched.entry, find_dead_end(unit, each.fetched.entry, fresh, self._tools.max_redirects)) for each in redirecting)
        return {entry.url: dead_end for entry, dead_end in found if dead_end is not None}

    def _plan_failure(self, fetched: Fetched, state: CrawlState, reason: str, *, redirected_to: str = "") -> _Planned:
        scheduled, removes = self._schedule(fetched, state, reason, is_changed=False, redirected_to=redirected_to)
        return _Planned(entry=scheduled, change=_delete(fetched.entry.url) if removes else None)

    def _find_failure(self, read: _Read, document: Document | None) -> tuple[CrawlState, str] | None:
        """Returns why a body counts for nothing, with the state, None if it does count.

        A document of which nothing could be read before has its URL and its metadata, so such a body takes nothing from it. What a feed
        named is a document without a body too. If an adaptor describes an empty page, it says that the content is not to be searched.
        """
        page = read.fetched.page
        if page.body:
            return None
        has_content = document is not None and document.content is not None and document.content_bytes > 0
        stays = "; the content that was fetched before stays" if has_content else ""
        if page.is_cut:
            return (CrawlState.OTHER_ERROR, _TOO_LARGE + stays) if has_content else None
        is_document = read.headers.describes or (not _is_own(document) and not has_content)
        return None if is_document else (CrawlState.EMPTY_DOCUMENT, "its body is empty" + stays)

    def _plan_duplicate(self, read: _Read, document: Document | None, duplicate: Duplicate) -> _Planned:
        entry, page = read.fetched.entry, read.fetched.page
        is_same = read.checksum == entry.checksum
        state = CrawlState.CRAWLED_FROM_CACHE if is_same else CrawlState.CRAWLED
        if duplicate.is_endless:
            state = CrawlState.INFINITE_URL_SPACE
        scheduled, _ = self._schedule(read.fetched, state, duplicate.reason, is_changed=not is_same)
        if not duplicate.is_endless:
            original = duplicate.original
            scheduled = replace(scheduled, etag=page.etag, modified=page.modified, checksum=read.checksum, duplicate_of=original)
        mention = CrawlMention(url=duplicate.original, referrer=entry.url, depth=entry.depth) if duplicate.is_new else None
        return _Planned(entry=scheduled, change=_delete(entry.url) if document is not None else None, mention=mention)

    def _plan_unchanged(self, read: _Read, document: Document | None) -> _Planned:
        """Plans a page whose content is that of the last fetch. Its headers count if they state anything (204), or forbid the index.

        A document becomes closed if its server requires credentials now.
        """
        fetched, headers = read.fetched, read.headers
        entry, page, robots = fetched.entry, fetched.page, headers.robots.names
        if document is not None and not headers.keeps_content:
            # a response 304 need not repeat the header
            robots = tuple(dict.fromkeys((*document.attributes.robots, *robots)))
        state = page.state
        if entry.state is CrawlState.DISALLOWED_BY_META_TAG:
            # the page still says so itself
            state, robots = entry.state, tuple(dict.fromkeys(("noindex", *robots)))
        elif headers.robots.noindex or (entry.state is CrawlState.ROBOTS_NOINDEX and not headers.keeps_content):
            state = CrawlState.ROBOTS_NOINDEX
        scheduled, _ = self._schedule(fetched, state, _join_reasons(state, page.reason), is_changed=False)
        closes = read.is_secure and document is not None and not document.secure
        states = headers.keeps_content or headers.robots.noindex or closes
        return _Planned(entry=scheduled, change=_put(entry.url, page, headers, None, robots) if states else None)

    def _plan_content(self, read: _Read, document: Document | None) -> _Planned:
        fetched, headers, robots = read.fetched, read.headers, read.robots
        entry, page = fetched.entry, fetched.page
        # a server that ignores conditional requests sends the same body again
        is_same = read.checksum == entry.checksum and document is not None and document.content is not None
        state = CrawlState.CRAWLED_FROM_CACHE if is_same else CrawlState.CRAWLED
        if "noindex" in robots:
            state = CrawlState.ROBOTS_NOINDEX if headers.robots.noindex else CrawlState.DISALLOWED_BY_META_TAG
        notes = "; ".join(filter(None, (page.reason, _describe_size(page), *headers.faults)))[:500]
        scheduled, _ = self._schedule(fetched, state, _join_reasons(state, notes), is_changed=not is_same)
        scheduled = replace(scheduled, etag=page.etag, modified=page.modified, checksum=read.checksum, duplicate_of="")
        if is_same:
            return _Planned(entry=scheduled, change=_put(entry.url, page, headers, None, robots))
        try:
            stored = self._tools.blobs.put(BytesIO(page.body), len(page.body))
        except Exception as error:
            if not belongs_to_item(error):
                raise
            failed, _ = self._schedule(fetched, CrawlState.OTHER_ERROR, describe(FETCH_STEP, error), is_changed=False)
            return _Planned(entry=failed)
        return _Planned(entry=scheduled, change=_put(entry.url, page, headers, page.body, robots), content=stored)

    def _schedule(
        self, fetched: Fetched, state: CrawlState, reason: str, *, is_changed: bool, redirected_to: str = ""
    ) -> tuple[CrawlEntry, bool]:
        page = fetched.page
        record = FetchRecord(
            at=fetched.at,
            state=state,
            http_status=page.http_status,
            size_bytes=len(page.body),
            seconds=page.seconds,
            reason=reason,
            redirected_to=redirected_to,
        )
        following = schedule(fetched.entry, record, self._tools.frequency.find(fetched.entry.url), is_changed=is_changed)
        return following.entry, following.removes


def _is_requested(entry: CrawlEntry) -> bool:
    """Returns whether a feed, an administrator or a start URL asks for a page. No one waits for what a link or the schedule brings."""
    if entry.urgency is CrawlUrgency.NEW:
        return not entry.referrer or entry.crawled_at is not None
    return entry.urgency is CrawlUrgency.IMMEDIATE


def _count(entry: CrawlEntry) -> None:
    """Counts the last fetch of an entry."""
    for record in entry.history[-1:]:
        FETCHES.add(str(int(record.state)))
        FETCHED_BYTES.add(count=record.size_bytes)
        FETCH_SECONDS.observe(record.seconds)


def _key_of(fetched: Fetched) -> str:
    return _key_of_url(fetched.entry.url)


def _key_of_url(url: str) -> str:
    """Returns the key of a URL in flight, which has a limited length."""
    return key_of(FETCH_STEP, url if url.isascii() and len(url) <= MAX_KEY_CHARACTERS else digest_of_url(url).hex())


def _check(result: BatchResult) -> None:
    """Raises ItemsFailed if a page could not be applied, so that its URL does not count as crawled."""
    failed = {entry.url: entry.reason for entry in result.log if entry.level is LogLevel.ERROR and entry.url}
    if failed:
        raise ItemsFailed(failed)


def _find_live(unit: UnitOfWork, urls: Sequence[str]) -> dict[str, Document]:
    found = unit.documents.reader.find_many(urls)
    return {url: document for url, document in found.items() if document.state is DocumentState.LIVE}


def _is_own(document: Document | None) -> bool:
    """Returns whether a document is, or will be, the crawler's, because no feed named its URL."""
    return document is None or document.datasource == CRAWLER


def _join_reasons(state: CrawlState, reason: str) -> str:
    """Returns the reason of a fetched page, with why it is in no result. Such a page stays for its links and its ACL."""
    return "; ".join(filter(None, (_NOINDEX.get(state, ""), reason)))


def _describe_size(page: FetchedPage) -> str:
    """Returns what of a page that is too large is a document, "" if it is not."""
    if not page.is_cut:
        return ""
    return f"{_TOO_LARGE}; its beginning is searched" if page.body else f"{_TOO_LARGE}; its URL and its metadata are searched"


def _delete(url: str) -> Delete:
    return Delete(place=SourcePosition(record=0), url=url)


def _put(url: str, page: FetchedPage, headers: CrawlHeaders, body: bytes | None, robots: tuple[str, ...]) -> PutDocument:
    """Returns the change that a page makes. Metadata of its headers replaces all earlier metadata. ``robots`` are its rules."""
    mimetype, charset = _read_type(page)
    content = None if body is None else Content(stream=BytesIO(body), size_bytes=len(body), charset=charset)
    return PutDocument(
        place=SourcePosition(record=0),
        url=url,
        attributes=Attributes(
            display_url=headers.display_url,
            mimetype=mimetype if body is not None else None,
            last_modified=_read_date(page),
            lock=bool(headers.lock),
            authmethod=_find_authmethod(page, headers),
            server_secures=headers.is_secure,
            scoring=headers.scoring,
            crawl_once=bool(headers.crawl_once),
            links=tuple(target for _, target in headers.anchors),
            link_texts=tuple(text for text, _ in headers.anchors),
            robots=robots,
        ),
        metadata=headers.metadata,
        content=content,
        withdrawn=frozenset(name for name in ("lock", "crawl_once") if getattr(headers, name) is False),
        acl=AclChange(element=headers.acl or headers.legacy_acl, overwrite=True if headers.states_acl else None),
        whole=headers.metadata is not None,
    )


def _find_authmethod(page: FetchedPage, headers: CrawlHeaders) -> AuthMethod | None:
    """Returns what makes the document secure: the crawler needed credentials, or the server says that it is."""
    if page.used_access and not page.make_public:
        return AuthMethod.HTTPBASIC
    if headers.is_secure is None:
        return None
    return AuthMethod.HTTPBASIC if headers.is_secure else AuthMethod.NONE


def _find_header(page: FetchedPage, name: str) -> str:
    return next((value for found, value in page.headers if found == name), "")


def read_head(page: FetchedPage, agent: str) -> PageHead:
    """Returns what the head of a page says, nothing if it is no HTML. ``agent`` is the crawler's name for robots."""
    mimetype, charset = _read_type(page)
    is_html = mimetype in ("text/html", "application/xhtml+xml") or (mimetype is None and page.body.lstrip()[:1] == b"<")
    return read_page_head(page.body, charset, page.url, agent) if is_html else PageHead()


def _read_type(page: FetchedPage) -> tuple[str | None, str | None]:
    """Returns the media type and the charset that a response states; a charset that does not exist is none."""
    return _parse_type(" ".join(_find_header(page, "content-type").split()))


@lru_cache(maxsize=256)
def _parse_type(header: str) -> tuple[str | None, str | None]:
    message = Message()
    message["content-type"] = header
    charset = message.get_content_charset()
    try:
        known = None if charset is None else codecs.lookup(charset).name
    except (LookupError, ValueError):
        known = None
    return (message.get_content_type() if header else None), known


def _read_date(page: FetchedPage) -> datetime | None:
    try:
        moment = parsedate_to_datetime(_find_header(page, "last-modified"))
    except (ValueError, TypeError, OverflowError):
        return None
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)


def _find_redirect(url: str, page: FetchedPage) -> str:
    """Returns the final URL of redirects, "" if there were none."""
    try:
        requested = parse_target(url).url
    except BadRequest:
        return ""
    return page.url if page.url and page.url not in (url, requested) else ""
