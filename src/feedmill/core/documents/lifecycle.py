"""Decides what a change does to the URL that it names.

Rules, in the order in which they are applied:

- If the patterns refuse a URL, the record is in error and the URL's document is removed. Patterns stop no delete and no ACL.
- A put of a content feed makes its source the owner, whichever source owned the document before. Parts that it omits stay, unless it states
  the whole document. A record with content states all its attributes; one without content leaves the attributes that it omits. The last
  authmethod given for the URL stays in force until another is given.
- An update changes what it states of a document that its own source owns through a content feed or a run. For any other URL it is in
  error: it is no whole document, and the rest of another source's document would lose the protection of that source.
- A request to crawl changes nothing if a content feed owns the document.
- The changes of a pull source's run have the same rights as those of a content feed.
- A fetch brings documents and deletions only. It changes nothing if a content feed or a run owns the document. It never changes the owner:
  it acts in the name of the source that named the URL, or in the crawler's own name for a URL that no source named.
- A delete works for the owner, and for every source if no content feed owns the document. If only an ACL is left, it works for the ACL's
  writer.
- Only an ACL change changes an ACL: see ``_next_acl``. An ACL is removed with its document only if the same source wrote it.
- A record in error changes nothing, but its URL counts as named, so a full feed does not sweep it. The same is true of a delete that the
  source had no right to make.

Every function depends on its arguments alone. Sources: Feeds Protocol Developer's Guide, "Fed Documents Aren't Updated or Removed as
Specified in the Feed XML"; docs/explanation/ownership.md.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from feedmill.core.access.classes import is_secure
from feedmill.core.documents.receipts import entry_at
from feedmill.core.documents.urlstate import ApplyContext, Outcome, ReceiptCount, Rules, UrlState, revised
from feedmill.model.access import AclOrigin, StoredAcl
from feedmill.model.change import (
    AclChange,
    Change,
    Delete,
    DeleteMatching,
    InvalidRecord,
    PutAcl,
    PutDocument,
    RefreshIndex,
    RequestCrawl,
    UpdateDocument,
)
from feedmill.model.document import Attributes, BlobRef, Document, DocumentState, Event, EventKind, Metadata, Origin
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.model.provenance import ProvenanceKind

_BROUGHT: dict[ProvenanceKind, tuple[type[Change], ...]] = {
    ProvenanceKind.FEED: (PutDocument, UpdateDocument, RequestCrawl, Delete, PutAcl, RefreshIndex, InvalidRecord),
    ProvenanceKind.RUN: (PutDocument, UpdateDocument, RequestCrawl, Delete, PutAcl, RefreshIndex, InvalidRecord),
    ProvenanceKind.FETCH: (PutDocument, Delete, InvalidRecord),
    ProvenanceKind.MAINTENANCE: (),
}
"""The changes that each provenance may bring."""

_NO_CONTENT: dict[str, Any] = {"content": None, "content_bytes": 0, "charset": None, "text": None}


NOTHING_TO_DELETE = "there is no document to delete"
"""The notice in a feed's log about a delete of a URL without a document."""

NOTHING_TO_UPDATE = "there is no document to update"
"""The error in a feed's log about an update of a URL without a fed document."""

PUBLIC_NOW = "the document is public now: no acl and no other rule protects it"
"""The warning in a feed's log when a document loses its protection."""


def apply(change: Change, state: UrlState, context: ApplyContext, content: BlobRef | None = None) -> Outcome:
    """Returns the outcome of a change. Shape: ``content`` is the stored content of the change."""
    outcome = _apply(change, state, context, content)
    if change.notes:
        notes = tuple(_log(change, note.level, note.reason) for note in change.notes)
        return replace(outcome, log=notes + outcome.log)
    return outcome


def _apply(change: Change, state: UrlState, context: ApplyContext, content: BlobRef | None) -> Outcome:
    if not isinstance(change, _BROUGHT[context.provenance.kind]):
        return _reject(change, state, context, f"this change cannot come from a {context.provenance.kind.value}", EventKind.REJECTED)
    # Before any rule that compares sources.
    context = _in_name_of_owner(state, context)
    match change:
        case InvalidRecord():
            return _reject(change, state, context, change.reason, EventKind.REJECTED)
        case PutDocument() | UpdateDocument() | RequestCrawl():
            refusal = context.rules.refusal(change.url)
            if refusal is not None:
                # What the patterns refuse must not stay either, even if it was admitted under earlier patterns.
                gone = _without_document(state, context)
                return _reject(change, gone, context, refusal, EventKind.BLOCKED)
            if isinstance(change, RequestCrawl):
                return _request_crawl(change, state, context)
            if isinstance(change, UpdateDocument):
                return _update(change, state, context, content)
            return (_put_fetched if _is_fetch(context) else _put_document)(change, state, context, content)
        case Delete():
            return _delete(change, state, context)
        case PutAcl():
            return _put_acl(change, state, context)
        case RefreshIndex():
            return Outcome(state=state, counted=ReceiptCount.INCLUDED)
        case DeleteMatching():
            raise TypeError("the feeder deletes what matches a pattern one by one")


def _is_fetch(context: ApplyContext) -> bool:
    return context.provenance.kind is ProvenanceKind.FETCH


def _in_name_of_owner(state: UrlState, context: ApplyContext) -> ApplyContext:
    """Returns the context of a fetch in the name of the source that named the URL; another context as it is."""
    if not _is_fetch(context) or state.live is None or state.live.origin is Origin.CONTENT:
        return context
    return replace(context, provenance=replace(context.provenance, datasource=state.live.datasource))


# --- documents ------------------------------------------------------------------------------------------------------------------


def _put_document(change: PutDocument, state: UrlState, context: ApplyContext, content: BlobRef | None) -> Outcome:
    old = state.live
    starts_afresh = old is None or change.whole or old.origin is Origin.WEB
    metadata = change.metadata if change.metadata is not None else () if starts_afresh or old is None else old.metadata
    retained = None if starts_afresh else old
    if content is None and retained is not None:
        body: dict[str, Any] = {}
    elif change.content is None:
        body = _NO_CONTENT
    else:
        body = {"content": content, "content_bytes": change.content.size_bytes, "charset": change.content.charset, "text": None}
    attributes = _next_attributes(change.attributes, state.document, states_all=starts_afresh or content is not None)
    if change.attributes.authmethod is not None:
        # what the server said of a copy that was fetched earlier no longer counts
        attributes = replace(attributes, server_secures=None)
    acl, log = _next_acl(change, change.acl, change.metadata is not None, state, context)
    document = _next_document(state, context, Origin.CONTENT, attributes, acl, metadata=metadata, **body)
    if not starts_afresh and _opens_for_others(old, document):
        return _put_document(replace(change, whole=True), state, context, content)
    kind = _kind_of_put(change, old, context)
    return _settled(change, UrlState(url=state.url, document=document, acl=acl), state, context, kind, log)


def _update(change: UpdateDocument, state: UrlState, context: ApplyContext, content: BlobRef | None) -> Outcome:
    """Updates a document whose content this source fed; for any other URL the change is in error."""
    old = state.live
    if old is None or old.origin is Origin.WEB:
        return _reject(change, state, context, NOTHING_TO_UPDATE, EventKind.REJECTED)
    if old.datasource != context.datasource:
        reason = f"data source {old.datasource} owns this document, so that it is not updated"
        return _reject(change, state, context, reason, EventKind.REJECTED)
    body: dict[str, Any] = {}
    if change.content is not None:
        body = {"content": content, "content_bytes": change.content.size_bytes, "charset": change.content.charset, "text": None}
    attributes = replace(old.attributes, **{name: getattr(change.attributes, name) for name in change.stated})
    metadata = (*((name, value) for name, value in old.metadata if name.strip().casefold() not in change.names), *change.metadata)
    acl = _named(state.acl, context)
    document = _next_document(state, context, Origin.CONTENT, attributes, acl, metadata=metadata, **body)
    kind = EventKind.METADATA_FED if change.content is None else EventKind.REPLACED
    return _settled(change, UrlState(url=state.url, document=document, acl=acl), state, context, kind, ())


def _put_fetched(change: PutDocument, state: UrlState, context: ApplyContext, content: BlobRef | None) -> Outcome:
    """Puts what the crawler fetched: the content is replaced, what the naming feed said about the document stays.

    Without content (the server answered that it is unchanged) the content stays. Metadata is merged by name, or replaced if the change is
    whole. An ACL goes only if the server says that the document has none.
    """
    old = state.live
    if old is not None and old.origin is Origin.CONTENT:
        notice = f"data source {old.datasource} fed this document's content, so that a fetch changes nothing"
        return Outcome(state=state, counted=ReceiptCount.INCLUDED, log=(_log(change, LogLevel.NOTICE, notice),))
    body: dict[str, Any] = {} if old is not None else _NO_CONTENT
    if change.content is not None:
        body = {"content": content, "content_bytes": change.content.size_bytes, "charset": change.content.charset, "text": None}
    metadata = _merge_metadata(() if old is None or change.whole else old.metadata, change.metadata or ())
    withdrawn: dict[str, Any] = dict.fromkeys(change.withdrawn, False)
    attributes = replace(_fetched_attributes(change.attributes, state), **withdrawn)
    acl, log = _next_acl(change, replace(change.acl, legacy=None), change.acl.overwrite is True, state, context)
    document = _next_document(state, context, Origin.WEB, attributes, acl, metadata=metadata, **body)
    return _settled(change, UrlState(url=state.url, document=document, acl=acl), state, context, EventKind.FETCHED, log)


def _merge_metadata(old: Metadata, new: Metadata) -> Metadata:
    """Returns metadata in which the names of ``new`` have its values, and other names their old ones."""
    names = {name for name, _ in new}
    return (*((name, value) for name, value in old if name not in names), *new)


def _fetched_attributes(given: Attributes, state: UrlState) -> Attributes:
    """Returns the attributes after a fetch, which knows type and date of the content better than the feed that named the URL."""
    if state.live is None:
        return _next_attributes(given, state.document, states_all=True)
    old = state.live.attributes
    return replace(
        old,
        display_url=given.display_url or old.display_url,
        mimetype=given.mimetype or old.mimetype,
        last_modified=given.last_modified or old.last_modified,
        lock=given.lock or old.lock,
        authmethod=given.authmethod or old.authmethod,
        server_secures=old.server_secures if given.server_secures is None else given.server_secures,
        scoring=given.scoring or old.scoring,
        crawl_once=given.crawl_once or old.crawl_once,
        links=given.links or old.links,
        link_texts=given.link_texts if given.links else old.link_texts,
        robots=given.robots,
    )


def _kind_of_put(change: PutDocument, old: Document | None, context: ApplyContext) -> EventKind:
    if old is None:
        return EventKind.FED
    if old.datasource != context.datasource:
        return EventKind.TAKEN_OVER
    return EventKind.REPLACED if change.whole or change.content is not None else EventKind.METADATA_FED


def _request_crawl(change: RequestCrawl, state: UrlState, context: ApplyContext) -> Outcome:
    old = state.live
    if old is not None and old.origin is Origin.CONTENT:
        notice = f"data source {old.datasource} fed this document's content, so that naming it for crawling changes nothing"
        return Outcome(state=state, counted=ReceiptCount.INCLUDED, log=(_log(change, LogLevel.NOTICE, notice),))
    attributes = _next_attributes(change.attributes, state.document, states_all=True)
    acl, log = _next_acl(change, change.acl, change.metadata is not None, state, context)
    body: dict[str, Any] = {} if old is not None else {"metadata": (), **_NO_CONTENT}
    if change.metadata is not None:
        body["metadata"] = change.metadata
    document = _next_document(state, context, Origin.WEB, attributes, acl, **body)
    if _opens_for_others(old, document):
        body = {"metadata": change.metadata or (), **_NO_CONTENT}
        document = _next_document(state, context, Origin.WEB, attributes, acl, **body)
    return _settled(change, UrlState(url=state.url, document=document, acl=acl), state, context, EventKind.NAMED, log)


def _opens_for_others(old: Document | None, document: Document) -> bool:
    """Returns whether a source takes over a document whose protection ends by it, so that what the earlier owner stated must go."""
    return old is not None and old.datasource != document.datasource and old.secure and not document.secure


def _next_document(
    state: UrlState, context: ApplyContext, origin: Origin, attributes: Attributes, acl: StoredAcl | None, **body: Any
) -> Document:
    """Returns the next version of the document with its owner, feed and security. ``body`` is replaced and everything else is unchanged."""
    old = state.document
    changed: dict[str, Any] = {
        "state": DocumentState.LIVE,
        "origin": origin,
        "datasource": context.datasource,  # the owner from now on
        "feed_id": context.feed_id,
        "seen_feed_id": _seen_by(old, context),
        "attributes": attributes,
        "secure": _is_secure_now(state.url, context.datasource, attributes, acl is not None, context.rules),
        "updated_at": context.now,
    }
    if old is None:
        return Document(id=None, url=state.url, version=1, **{"metadata": (), **_NO_CONTENT, **changed, **body})
    return revised(old, version=old.version + 1, **changed, **body)


def _seen_by(old: Document | StoredAcl | None, context: ApplyContext) -> int | None:
    """Returns the last feed of the owner that named the URL. Changes that no feed brings leave it: a full feed may be in progress."""
    if context.feed_id is not None:
        return context.feed_id
    return None if old is None or old.datasource != context.datasource else old.seen_feed_id


def _next_attributes(given: Attributes, document: Document | None, *, states_all: bool) -> Attributes:
    if document is None:
        return given
    old = document.attributes
    authmethod = given.authmethod or old.authmethod
    server_secures = old.server_secures if given.server_secures is None else given.server_secures
    if states_all:
        is_same = authmethod is given.authmethod and server_secures is given.server_secures
        return given if is_same else replace(given, authmethod=authmethod, server_secures=server_secures)
    return Attributes(
        display_url=given.display_url or old.display_url,
        mimetype=old.mimetype or given.mimetype,
        last_modified=given.last_modified or old.last_modified,
        lock=given.lock or old.lock,
        authmethod=authmethod,
        server_secures=server_secures,
        pagerank=old.pagerank if given.pagerank is None else given.pagerank,
        feedrank=old.feedrank if given.feedrank is None else given.feedrank,
        scoring=given.scoring or old.scoring,
        crawl_immediately=given.crawl_immediately or old.crawl_immediately,
        crawl_once=given.crawl_once or old.crawl_once,
        title=given.title or old.title,
        links=given.links or old.links,
        link_texts=given.link_texts if given.links else old.link_texts,
        text_bytes=old.text_bytes,
        attachments=old.attachments,
        overrides_own=given.overrides_own or old.overrides_own,
        unsearchable=given.unsearchable or old.unsearchable,
        unsortable=given.unsortable or old.unsortable,
        undisplayed=given.undisplayed or old.undisplayed,
        robots=given.robots or old.robots,
        only_by_field=given.only_by_field or old.only_by_field,
        only_in_text=given.only_in_text or old.only_in_text,
        uncounted=given.uncounted or old.uncounted,
    )


def _delete(change: Delete, state: UrlState, context: ApplyContext) -> Outcome:
    old = state.live
    if old is None:
        if state.acl is not None and state.acl.datasource == context.datasource and not _is_fetch(context):
            events = (_event(EventKind.ACL_CHANGED, change, context, "removed"),)
            return Outcome(state=replace(state, acl=None), counted=ReceiptCount.INCLUDED, events=events)
        return Outcome(state=state, counted=ReceiptCount.INCLUDED, log=(_log(change, LogLevel.NOTICE, NOTHING_TO_DELETE),))
    if old.origin is Origin.CONTENT and (old.datasource != context.datasource or _is_fetch(context)):
        notice = f"data source {old.datasource} owns this document, so that it is not deleted"
        # Nothing is deleted, but the feed has named the URL, so its sweep must not remove the ACL either.
        named = replace(state, acl=_named(state.acl, context))
        return Outcome(state=named, counted=ReceiptCount.INCLUDED, log=(_log(change, LogLevel.NOTICE, notice),))
    events = (_event(EventKind.DELETED, change, context),)
    return Outcome(state=_without_document(state, context), counted=ReceiptCount.INCLUDED, events=events)


def gone(document: Document, feed_id: int | None, now: datetime) -> Document:
    """Returns a document in the form that is stored only for its history."""
    return replace(
        document,
        state=DocumentState.GONE,
        version=document.version + 1,
        feed_id=feed_id,
        metadata=(),
        updated_at=now,
        **_NO_CONTENT,
    )


def _without_document(state: UrlState, context: ApplyContext) -> UrlState:
    if state.live is None:
        return state
    acl = None if state.acl is not None and state.acl.datasource == context.datasource else state.acl
    return replace(state, document=gone(state.live, context.feed_id, context.now), acl=acl)


def _reject(change: Change, state: UrlState, context: ApplyContext, reason: str, kind: EventKind) -> Outcome:
    document = state.document
    if document is None:
        origin = Origin.WEB if _is_fetch(context) else Origin.CONTENT
        fresh = _next_document(state, context, origin, Attributes(), state.acl)
        # A row without a document, so that the history of the URL can show the rejection.
        document = replace(fresh, state=DocumentState.GONE, version=0)
    is_record = change.place.record > 0
    if is_record and document.datasource == context.datasource:
        document = replace(document, seen_feed_id=_seen_by(document, context))
    seen = UrlState(url=state.url, document=document, acl=_named(state.acl, context))
    events = (_event(kind, change, context, reason),)
    return Outcome(state=seen, counted=ReceiptCount.ERROR, log=(_log(change, LogLevel.ERROR, reason),), events=events)


# --- access ---------------------------------------------------------------------------------------------------------------------


def _next_acl(
    change: PutDocument | RequestCrawl, given: AclChange, has_metadata: bool, state: UrlState, context: ApplyContext
) -> tuple[StoredAcl | None, tuple[LogEntry, ...]]:
    """Returns the URL's next ACL.

    An ``<acl>`` replaces it; without one, ``google:acl*`` metadata does. Metadata without any such entry removes an ACL that came as
    metadata. With an explicit ``overwrite-acls="true"`` it also removes one that came as ``<acl>``; with ``"false"`` it removes neither.
    Content alone never changes the ACL.
    """
    old = state.acl
    acl, origin = (given.element, AclOrigin.ELEMENT) if given.element is not None else (given.legacy, AclOrigin.METADATA)
    if acl is not None:
        stored = StoredAcl(
            url=state.url,
            acl=acl,
            origin=origin,
            datasource=context.datasource,
            feed_id=context.feed_id,
            seen_feed_id=_seen_by(old, context),
        )
        return stored, ()
    if old is None:
        return None, ()
    if has_metadata and given.overwrite is not False and (old.origin is AclOrigin.METADATA or given.overwrite):
        return None, (_log(change, LogLevel.NOTICE, f"metadata without an acl removed the acl that data source {old.datasource} wrote"),)
    return _named(old, context), ()


def _named(acl: StoredAcl | None, context: ApplyContext) -> StoredAcl | None:
    """Returns an ACL, marked as named if the feed is from the ACL's writer."""
    if acl is None or acl.datasource != context.datasource:
        return acl
    return replace(acl, seen_feed_id=_seen_by(acl, context))


def _put_acl(change: PutAcl, state: UrlState, context: ApplyContext) -> Outcome:
    if change.acl is None:
        if state.acl is None or state.acl.datasource != context.datasource:
            notice = "there is no acl of this data source to remove"
            return Outcome(state=state, counted=ReceiptCount.ACL, log=(_log(change, LogLevel.NOTICE, notice),))
        stored = None
    else:
        stored = StoredAcl(
            url=change.url,
            acl=change.acl,
            origin=AclOrigin.ELEMENT,
            datasource=context.datasource,
            feed_id=context.feed_id,
            seen_feed_id=_seen_by(state.acl, context),
        )
    after = replace(state, acl=stored, document=_reconsidered(state.document, stored, context))
    events = (_event(EventKind.ACL_CHANGED, change, context, "removed" if stored is None else ""),) if after.document else ()
    return Outcome(state=after, counted=ReceiptCount.ACL, log=_warn_if_public(change, state, after), events=events)


def secured(document: Document, has_acl: bool, rules: Rules) -> Document:
    """Returns a document with its security according to the current rules."""
    secure = _is_secure_now(document.url, document.datasource, document.attributes, has_acl, rules)
    return document if secure is document.secure else replace(document, secure=secure)


def _is_secure_now(url: str, datasource: str, attributes: Attributes, has_acl: bool, rules: Rules) -> bool:
    return is_secure(
        has_acl=has_acl,
        authmethod=attributes.authmethod,
        server_secures=attributes.server_secures is True,
        source_secure=datasource in rules.secure_sources,
        make_public=rules.make_public(url),
    )


def _reconsidered(document: Document | None, acl: StoredAcl | None, context: ApplyContext) -> Document | None:
    """Returns the next version of a live document of which only the ACL changed."""
    if document is None or document.state is not DocumentState.LIVE:
        return document
    again = secured(document, acl is not None, context.rules)
    return replace(again, version=document.version + 1, feed_id=context.feed_id, updated_at=document.updated_at)


def _warn_if_public(change: Change, before: UrlState, after: UrlState) -> tuple[LogEntry, ...]:
    was, now = before.live, after.live
    was_protected = before.acl is not None or (was is not None and was.secure)
    if was_protected and now is not None and not now.secure:
        return (_log(change, LogLevel.WARNING, PUBLIC_NOW),)
    return ()


def _settled(
    change: PutDocument | UpdateDocument | RequestCrawl,
    after: UrlState,
    before: UrlState,
    context: ApplyContext,
    kind: EventKind,
    log: tuple[LogEntry, ...],
) -> Outcome:
    return Outcome(
        state=after,
        counted=ReceiptCount.INCLUDED,
        log=log + _warn_if_public(change, before, after),
        events=(_event(kind, change, context), *_report_events(change, context)),
    )


def _report_events(change: PutDocument | UpdateDocument | RequestCrawl, context: ApplyContext) -> tuple[Event, ...]:
    reports = () if isinstance(change, RequestCrawl) else change.reports
    return tuple(_event(EventKind.REPORTED, change, context, report) for report in reports)


def _log(change: Change, level: LogLevel, reason: str) -> LogEntry:
    return entry_at(change.place, level, reason, url=change.url)


def _event(kind: EventKind, change: Change, context: ApplyContext, detail: str = "") -> Event:
    if context.provenance.run_id is not None:
        detail = f"run {context.provenance.run_id}{': ' if detail else ''}{detail}"
    return Event(kind=kind, at=context.now, feed_id=context.feed_id, line=change.place.line, detail=detail)
