"""Rows to model and back."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, overload

import sqlalchemy as sa

from feedmill.adapters.store.schema import digest, documents
from feedmill.model.access import Access, Acl, AclOrigin, Entry, InheritanceType, Principal, Scope, StoredAcl
from feedmill.model.document import Attributes, AuthMethod, BlobRef, Document, DocumentState, Event, EventKind, Metadata, Origin, Text
from feedmill.model.feed import Feed, FeedKind, FeedState, LogEntry, LogLevel, Phase
from feedmill.ports import KeptRefs, Lane, Mark, Stage

Row = sa.RowMapping

_STATES = {state.value: state for state in DocumentState}
_ORIGINS = {origin.value: origin for origin in Origin}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DECODER = json.JSONDecoder()


@overload
def to_micros(moment: datetime) -> int: ...
@overload
def to_micros(moment: datetime | None) -> int | None: ...
def to_micros(moment: datetime | None) -> int | None:
    """Gives a time as the store keeps it, None for none."""
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


@overload
def from_micros(micros: int) -> datetime: ...
@overload
def from_micros(micros: int | None) -> datetime | None: ...
def from_micros(micros: int | None) -> datetime | None:
    """Gives a stored time back, None for none. Units: aware UTC."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def plain(text: str) -> str:
    """Gives a text with signs in place of what no database takes: NUL and halves of surrogate pairs."""
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    return text.encode("utf-8", "replace").decode("utf-8") if _has_half_pair(text) else text


def _has_half_pair(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _loads(text: str) -> Any:
    """Reads what ``_dumps`` wrote, without the looks that ``json.loads`` takes at texts of others: three a document, three times."""
    return _DECODER.raw_decode(text)[0]


def _dumps(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, separators=(",", ":")) if _has_half_pair(text) else text


def _pairs(text: str) -> Metadata:
    return tuple((name, value) for name, value in _loads(text)) if text != "[]" else ()


# --- feeds ----------------------------------------------------------------------------------------------------------------------


def feed_from_row(row: Row) -> Feed:
    """Gives the feed of a row."""
    return Feed(
        id=row["id"],
        datasource=row["datasource"],
        kind=FeedKind(row["kind"]),
        file=row["file"],
        repaired_file=row["repaired_file"],
        size_bytes=row["size_bytes"],
        received_at=from_micros(row["received_at"]),
        client=row["client"],
        state=FeedState(row["state"]),
        phase=Phase(row["phase"]),
        records=row["records"],
        applied=row["applied"],
        included=row["included"],
        errors=row["errors"],
        acls=row["acls"],
        logged=row["logged"],
        finished_at=from_micros(row["finished_at"]),
        searchable_at=from_micros(row["searchable_at"]),
    )


def feed_progress(feed: Feed) -> dict[str, Any]:
    """Gives the columns of a feed that change while it is worked on."""
    return {
        "repaired_file": feed.repaired_file,
        "state": feed.state.value,
        "phase": feed.phase.value,
        "records": feed.records,
        "applied": feed.applied,
        "included": feed.included,
        "errors": feed.errors,
        "acls": feed.acls,
        "logged": feed.logged,
        "finished_at": to_micros(feed.finished_at),
        "searchable_at": to_micros(feed.searchable_at),
    }


def log_from_row(row: Row) -> LogEntry:
    """Gives the log entry of a row."""
    return LogEntry(level=LogLevel(row["level"]), record=row["record"], line=row["line"], url=row["url"], reason=row["reason"])


# --- documents ------------------------------------------------------------------------------------------------------------------


def _attributes_to_json(attributes: Attributes) -> str:
    """Writes only what differs from the default: most records say little."""
    kept: dict[str, object] = {}
    if attributes.display_url is not None:
        kept["display_url"] = attributes.display_url
    if attributes.mimetype is not None:
        kept["mimetype"] = attributes.mimetype
    if attributes.last_modified is not None:
        kept["last_modified"] = to_micros(attributes.last_modified)
    if attributes.authmethod is not None:
        kept["authmethod"] = attributes.authmethod.value
    for name in ("pagerank", "feedrank", "scoring"):
        value = getattr(attributes, name)
        if value is not None:
            kept[name] = value
    for name in ("lock", "crawl_immediately", "crawl_once"):
        if getattr(attributes, name):
            kept[name] = True
    return _dumps(kept)


@lru_cache(maxsize=1_000)
def _attributes_from_json(text: str) -> Attributes:
    kept = _loads(text)
    if "last_modified" in kept:
        kept["last_modified"] = from_micros(kept["last_modified"])
    if "authmethod" in kept:
        kept["authmethod"] = AuthMethod(kept["authmethod"])
    return Attributes(**kept)


def text_to_json(text: Text | None) -> str | None:
    """Gives what extraction made of a document as the store keeps it."""
    if text is None:
        return None
    kept: dict[str, object] = {"source": text.source}
    for name in ("blob", "title", "mimetype", "language", "reason"):
        value = getattr(text, name)
        if value is not None:
            kept[name] = value
    if text.metadata:
        kept["metadata"] = text.metadata
    if text.robots:
        kept["robots"] = sorted(text.robots)
    return _dumps(kept)


def text_from_json(text: str | None) -> Text | None:
    """Gives back what extraction made of a document."""
    if text is None:
        return None
    kept = _loads(text)
    kept["metadata"] = tuple((name, value) for name, value in kept.get("metadata", ()))
    kept["robots"] = frozenset(kept.get("robots", ()))
    return Text(**kept)


def refs_from_row(row: Row) -> KeptRefs:
    """Gives what the document of a row keeps as blobs."""
    content = None if row["content"] is None else BlobRef(row["content"])
    return KeptRefs(document_id=row["id"], content=content, text=text_from_json(row["text"]))


DOCUMENT = (
    *(documents.c.id, documents.c.url, documents.c.state, documents.c.origin, documents.c.datasource, documents.c.version),
    *(documents.c.feed_id, documents.c.seen_feed_id, documents.c.attributes, documents.c.metadata, documents.c.secure),
    *(documents.c.content, documents.c.content_bytes, documents.c.charset, documents.c.text, documents.c.updated_at, documents.c.events),
    documents.c.access_class,
)
"""The columns that make a document, in the order in which they are read."""


def document_from_row(row: Sequence[Any]) -> Document:
    """Gives the document of a row of the columns above. By place, not by name: every document is read three times on its way."""
    id_, url, state, origin, datasource, version, feed_id, seen_feed_id, attributes, metadata, secure, *others = row
    content, content_bytes, charset, text, updated_at, events, access_class = others
    return Document(
        id=id_,
        url=url,
        state=_STATES[state],
        origin=_ORIGINS[origin],
        datasource=datasource,
        version=version,
        feed_id=feed_id,
        seen_feed_id=seen_feed_id,
        attributes=_attributes_from_json(attributes),
        metadata=_pairs(metadata),
        secure=bool(secure),
        content=content,
        content_bytes=content_bytes,
        charset=charset,
        text=text_from_json(text),
        updated_at=from_micros(updated_at),
        events=events,
        access_class=access_class,
    )


def document_to_row(document: Document) -> dict[str, Any]:
    """Gives the columns of a document but for its id."""
    return {
        "url_digest": digest(document.url),
        "url": document.url,
        "state": document.state.value,
        "origin": document.origin.value,
        "datasource": document.datasource,
        "version": document.version,
        "feed_id": document.feed_id,
        "seen_feed_id": document.seen_feed_id,
        "secure": document.secure,
        "locked": document.attributes.lock,
        "rank": document.rank,
        "attributes": _attributes_to_json(document.attributes),
        "metadata": _dumps(document.metadata) if document.metadata else "[]",
        "content": document.content,
        "content_bytes": document.content_bytes,
        "charset": document.charset,
        "text": text_to_json(document.text),
        "updated_at": to_micros(document.updated_at),
        "events": document.events,
        "access_class": document.access_class,
    }


def event_from_row(row: Row) -> Event:
    """Gives the event of a row."""
    return Event(kind=EventKind(row["kind"]), at=from_micros(row["at"]), feed_id=row["feed_id"], line=row["line"], detail=row["detail"])


# --- acls -----------------------------------------------------------------------------------------------------------------------


def entries_to_json(entries: Sequence[Entry]) -> str:
    """Gives the entries of an ACL as the store keeps them."""
    return _dumps([_entry_to_list(entry) for entry in entries])


def entries_from_json(text: str) -> tuple[Entry, ...]:
    """Gives the entries of a kept ACL back."""
    return tuple(_entry_from_list(kept) for kept in _loads(text))


def _entry_to_list(entry: Entry) -> list[object]:
    who = entry.principal
    return [entry.access.value, who.scope.value, who.name, who.namespace, who.case_sensitive, who.unqualified]


def _entry_from_list(kept: list[Any]) -> Entry:
    access, scope, name, namespace, case_sensitive, unqualified = kept
    principal = Principal(scope=Scope(scope), name=name, namespace=namespace, case_sensitive=case_sensitive, unqualified=unqualified)
    return Entry(access=Access(access), principal=principal)


def acl_from_row(row: Row) -> StoredAcl:
    """Gives the ACL of a row."""
    return StoredAcl(
        url=row["url"],
        acl=Acl(
            entries=entries_from_json(row["entries"]),
            inheritance_type=InheritanceType(row["inheritance_type"]),
            inherit_from=row["inherit_from"],
        ),
        origin=AclOrigin(row["origin"]),
        datasource=row["datasource"],
        feed_id=row["feed_id"],
        seen_feed_id=row["seen_feed_id"],
    )


def acl_to_row(stored: StoredAcl) -> dict[str, Any]:
    """Gives the columns of an ACL."""
    return {
        "url_digest": digest(stored.url),
        "url": stored.url,
        "datasource": stored.datasource,
        "feed_id": stored.feed_id,
        "seen_feed_id": stored.seen_feed_id,
        "origin": stored.origin.value,
        "inheritance_type": stored.acl.inheritance_type.value,
        "inherit_from": None if stored.acl.inherit_from is None else plain(stored.acl.inherit_from),
        "entries": entries_to_json(stored.acl.entries),
    }


# --- marks ----------------------------------------------------------------------------------------------------------------------


def mark_from_row(row: Row) -> Mark:
    """Gives the mark of a row."""
    return Mark(
        document_id=row["document_id"],
        version=row["version"],
        stage=Stage(row["stage"]),
        lane=Lane(row["lane"]),
        feed_id=row["feed_id"],
        datasource=row["datasource"],
        tightens=row["tightens"],
        repeats=row["repeats"],
    )


def mark_to_row(mark: Mark) -> dict[str, Any]:
    """Gives the columns of a mark."""
    return {
        "document_id": mark.document_id,
        "version": mark.version,
        "stage": mark.stage.value,
        "lane": mark.lane.value,
        "feed_id": mark.feed_id,
        "datasource": mark.datasource,
        "tightens": mark.tightens,
        "repeats": mark.repeats,
    }
