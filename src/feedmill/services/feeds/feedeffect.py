"""Counts what a feed would do to the stored documents, and changes nothing.

The changes are decided as the feeder decides them. The feed is read three times: to check that it is well-formed, to find the URLs that it
names, and to decide. Memory holds a digest of every URL, and the states of the URLs that the feed names more than once.

The licence limit is not considered, because what it evicts depends on all feeds that wait.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import BinaryIO, Protocol

from feedmill.core.documents.lifecycle import apply
from feedmill.core.documents.receipts import final_state
from feedmill.core.documents.urlstate import ApplyContext, ReceiptCount, Rules, UrlState
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.change import Change, PutDocument, UpdateDocument
from feedmill.model.document import BlobRef, Document
from feedmill.model.errors import BadFeed, Corrupt
from feedmill.model.feed import FeedKind, FeedState, FeedType, LogEntry
from feedmill.model.provenance import from_feed
from feedmill.ports import Store
from feedmill.services.feeds.progress import unread
from feedmill.services.feeds.reading import PIECE_BYTES, FeedReader

MAX_LOG_ENTRIES = 10_000
SLICE = 500
_NO_FEED = 0
_NEW_CONTENT = BlobRef("")


class ReadBlobs(Protocol):
    """The part of ``ports.BlobStore`` that compares contents."""

    def read(self, ref: BlobRef) -> bytes:
        """Reads all bytes of a blob. Errors: Corrupt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEffect:
    """What a feed would do: documents added, changed and deleted, and its errors. A log beyond ``MAX_LOG_ENTRIES`` is cut."""

    state: FeedState
    add: int = 0
    change: int = 0
    delete: int = 0
    errors: int = 0
    log: tuple[LogEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectTools:
    """What the count depends on."""

    store: Store
    blobs: ReadBlobs
    rules: Rules
    clock: Callable[[], datetime]


def find_effect(reader: FeedReader[Change], kind: FeedKind, datasource: str, tools: EffectTools) -> FeedEffect:
    """Returns what a feed would do. A feed that cannot be read is one error. Errors: NotFound from the opener."""
    try:
        report = reader.scan()
    except BadFeed as error:
        return FeedEffect(state=FeedState.FAILED_IN_ERROR, errors=1, log=(unread(error),))
    named = _find_named(_read(reader, is_repaired=report.repaired))
    count = _Count(tools, datasource, named.repeated)
    changes = _read(reader, is_repaired=report.repaired)
    while taken := [(change, _digest_content(change)) for change in islice(changes, SLICE)]:
        count.add_slice(taken)
    effect = count.finish(report.log)
    if kind.feedtype is FeedType.FULL and effect.state is not FeedState.FAILED_IN_ERROR:
        return replace(effect, delete=effect.delete + _count_unnamed(tools.store, datasource, named.by_records))
    return effect


def _read(reader: FeedReader[Change], *, is_repaired: bool) -> Iterator[Change]:
    """Yields the changes. The content of each can be read until the next one."""
    for change in reader.changes(repaired=is_repaired):
        yield change
        if isinstance(change, PutDocument | UpdateDocument) and change.content is not None:
            change.content.stream.close()


def _digest_content(change: Change) -> bytes | None:
    """Returns a digest of the content of a change, None without content."""
    if not isinstance(change, PutDocument | UpdateDocument) or change.content is None:
        return None
    return _digest_of(change.content.stream)


def _digest_of(stream: BinaryIO) -> bytes:
    digest = hashlib.blake2b()
    while piece := stream.read(PIECE_BYTES):
        digest.update(piece)
    return digest.digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """Digests of the URLs that the feed names: in a record, and more than once."""

    by_records: set[bytes] = field(default_factory=set)
    repeated: set[bytes] = field(default_factory=set)


def _find_named(changes: Iterator[Change]) -> _Named:
    named, seen = _Named(), set[bytes]()
    for change in changes:
        if change.url is not None:
            digest = digest_of_url(change.url)
            (named.repeated if digest in seen else seen).add(digest)
            if change.place.record:
                named.by_records.add(digest)
    return named


class _Count:
    """Counts changes in their order. Each URL is counted once, by its state before the feed and after it."""

    def __init__(self, tools: EffectTools, datasource: str, repeated: set[bytes]) -> None:
        self._tools = tools
        self._context = ApplyContext(provenance=from_feed(_NO_FEED, datasource), now=tools.clock(), rules=tools.rules)
        self._repeated = repeated
        self._held: dict[str, tuple[UrlState, UrlState]] = {}
        self._counts = dict.fromkeys(ReceiptCount, 0)
        self._add = self._change = self._delete = 0
        self._log: list[LogEntry] = []

    def add_slice(self, taken: Sequence[tuple[Change, bytes | None]]) -> None:
        """Counts changes, each with a digest of its content, None without content."""
        urls = list(dict.fromkeys(change.url for change, _ in taken if change.url is not None))
        with self._tools.store.reading() as unit:
            documents, acls = unit.documents.reader.find_many(urls), unit.access.acls.find_many(urls)
        for change, digest in taken:
            url = change.url or ""
            stored = UrlState(url=url, document=documents.get(url), acl=acls.get(url))
            before, now = self._held.get(url, (stored, stored))
            after = self._apply(change, now, self._find_content(change, digest, before.live))
            if change.url is None:
                continue
            if digest_of_url(url) in self._repeated:
                self._held[url] = (before, after)
            else:
                self._note(before, after)

    def _apply(self, change: Change, now: UrlState, content: BlobRef | None) -> UrlState:
        outcome = apply(change, now, self._context, content)
        self._counts[outcome.counted] += 1
        self._log.extend(outcome.log[: MAX_LOG_ENTRIES - len(self._log)])
        return outcome.state

    def _find_content(self, change: Change, digest: bytes | None, stored: Document | None) -> BlobRef | None:
        """Returns the stored content if the new one has the same bytes."""
        if digest is None or not isinstance(change, PutDocument | UpdateDocument) or change.content is None:
            return None
        if stored is None or stored.content is None or stored.content_bytes != change.content.size_bytes:
            return _NEW_CONTENT
        try:
            same = hashlib.blake2b(self._tools.blobs.read(stored.content)).digest() == digest
        except Corrupt:
            # another feed has replaced it meanwhile
            return _NEW_CONTENT
        return stored.content if same else _NEW_CONTENT

    def _note(self, before: UrlState, after: UrlState) -> None:
        if before.live is None or after.live is None:
            self._add += after.live is not None
            self._delete += before.live is not None
        else:
            self._change += _is_changed(before, after)

    def finish(self, log: tuple[LogEntry, ...]) -> FeedEffect:
        """Returns the counts. ``log``: the entries about the feed as a whole."""
        for before, after in self._held.values():
            self._note(before, after)
        errors = self._counts[ReceiptCount.ERROR]
        return FeedEffect(
            state=final_state(included=self._counts[ReceiptCount.INCLUDED], errors=errors, acls=self._counts[ReceiptCount.ACL]),
            add=self._add,
            change=self._change,
            delete=self._delete,
            errors=errors,
            log=(*log, *self._log),
        )


def _is_changed(before: UrlState, after: UrlState) -> bool:
    """Returns whether a live document differs in more than its history."""
    was, now = before.live, after.live
    if was is None or now is None:
        return was is not now
    same = replace(
        now,
        version=was.version,
        feed_id=was.feed_id,
        seen_feed_id=was.seen_feed_id,
        updated_at=was.updated_at,
        events=was.events,
        text=was.text,
        access_class=was.access_class,
    )
    acls = [None if state.acl is None else (state.acl.acl, state.acl.origin) for state in (before, after)]
    return same != was or acls[0] != acls[1]


def _count_unnamed(store: Store, datasource: str, named: set[bytes]) -> int:
    """Counts the documents of a source that no record names."""
    count = after = 0
    with store.reading() as unit:
        while live := unit.documents.scan.list_live_urls(after=after, limit=SLICE, datasource=datasource):
            after = live[-1].document_id
            count += sum(digest_of_url(each.url) not in named for each in live)
    return count
