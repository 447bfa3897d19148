"""Converts rows of documents to model objects and back."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from feedmill.adapters.store.rows import Row
from feedmill.adapters.store.schema import documents
from feedmill.adapters.store.values import dumps, from_micros, loads, to_micros
from feedmill.core.access.classes import class_by
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.access import AccessClass
from feedmill.model.document import (
    Attachment,
    Attributes,
    AuthMethod,
    BlobRef,
    Document,
    DocumentState,
    Event,
    EventKind,
    Metadata,
    Origin,
    Text,
)
from feedmill.ports import StoredRefs

R = TypeVar("R")

_STATES = {state.value: state for state in DocumentState}
_MAX_DAMAGE = 300
_NAME_LISTS = ("unsearchable", "unsortable", "undisplayed", "robots", "only_by_field", "only_in_text", "uncounted")
_ORIGINS = {origin.value: origin for origin in Origin}


def _pairs(text: str) -> Metadata:
    return tuple([(name, value) for name, value in loads(text)]) if text != "[]" else ()


def _attributes_to_json(attributes: Attributes) -> str:
    """Writes only the values that differ from the default, since most records set few."""
    fields: dict[str, object] = {}
    if attributes.display_url is not None:
        fields["display_url"] = attributes.display_url
    if attributes.mimetype is not None:
        fields["mimetype"] = attributes.mimetype
    if attributes.last_modified is not None:
        fields["last_modified"] = to_micros(attributes.last_modified)
    if attributes.authmethod is not None:
        fields["authmethod"] = attributes.authmethod.value
    for name in ("pagerank", "feedrank", "scoring", "title", "server_secures"):
        value = getattr(attributes, name)
        if value is not None:
            fields[name] = value
    for name in ("lock", "crawl_immediately", "crawl_once", "links", "link_texts", "text_bytes", "overrides_own", *_NAME_LISTS):
        value = getattr(attributes, name)
        if value:
            fields[name] = value
    if attributes.attachments:
        fields["attachments"] = [(each.start, each.size_bytes, each.mimetype, each.name) for each in attributes.attachments]
    return dumps(fields)


@lru_cache(maxsize=1_000)
def _attributes_from_json(text: str) -> Attributes:
    fields = loads(text)
    if "last_modified" in fields:
        fields["last_modified"] = from_micros(fields["last_modified"])
    if "authmethod" in fields:
        fields["authmethod"] = AuthMethod(fields["authmethod"])
    for name in ("links", "link_texts", *_NAME_LISTS):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "attachments" in fields:
        fields["attachments"] = tuple(
            Attachment(start=start, size_bytes=size, mimetype=mimetype, name=name) for start, size, mimetype, name in fields["attachments"]
        )
    return Attributes(**fields)


def text_to_json(text: Text | None) -> str | None:
    """Returns the stored form of a document's extracted text."""
    if text is None:
        return None
    fields: dict[str, object] = {"source": text.source}
    for name in ("blob", "title", "mimetype", "language", "reason"):
        value = getattr(text, name)
        if value is not None:
            fields[name] = value
    if text.metadata:
        fields["metadata"] = text.metadata
    if text.robots:
        fields["robots"] = sorted(text.robots)
    if text.date is not None:
        fields["date"] = to_micros(text.date)
    return dumps(fields)


def text_from_json(text: str | None) -> Text | None:
    """Returns a document's extracted text from its stored form."""
    if text is None:
        return None
    fields = loads(text)
    if "metadata" in fields:
        fields["metadata"] = tuple([(name, value) for name, value in fields["metadata"]])
    if "robots" in fields:
        fields["robots"] = frozenset(fields["robots"])
    if "date" in fields:
        fields["date"] = from_micros(fields["date"])
    return Text(**fields)


def refs_from_row(row: Row) -> StoredRefs:
    """Returns the blob references of a document's row."""
    content = None if row["content"] is None else BlobRef(row["content"])
    return StoredRefs(document_id=row["id"], content=content, text=_find_text(row["text"]))


def _find_text(text: str | None) -> Text | None:
    """Returns a document's extracted text, or None if it cannot be read: then its blob is unknown too."""
    try:
        return text_from_json(text)
    except Exception:  # noqa: BLE001 - as above
        return None


DOCUMENT = (
    *(documents.c.id, documents.c.url, documents.c.state, documents.c.origin, documents.c.datasource, documents.c.version),
    *(documents.c.feed_id, documents.c.seen_feed_id, documents.c.attributes, documents.c.metadata, documents.c.secure),
    *(documents.c.content, documents.c.content_bytes, documents.c.charset, documents.c.text, documents.c.updated_at, documents.c.events),
    documents.c.access_class,
)
"""The columns of a document, in the order in which they are read."""


def document_from_row(row: Sequence[Any]) -> Document:
    """Returns the document of a row with the columns above.

    Columns are read by position, not by name, since every document is read three times while it is processed. If a row cannot be decoded,
    only the damaged columns are lost: see ``Document.damage``. Errors: none.
    """
    try:
        return _decode(row)
    except Exception as error:  # noqa: BLE001 - whatever stands in one row must not keep others from being read
        return _salvage(row, error)


def _decode(row: Sequence[Any]) -> Document:
    id_, url, state, origin, datasource, version, feed_id, seen_feed_id, attributes, metadata, secure, *others = row
    content, content_bytes, charset, text, updated_at, events, access_class = others
    return Document(
        id=id_,
        url=url,
        state=_STATES[state],
        origin=_ORIGINS[origin],
        datasource=datasource,
        version=version,
        feed_id=feed_id or None,
        seen_feed_id=seen_feed_id or None,
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


def _salvage(row: Sequence[Any], error: Exception) -> Document:
    """Returns what can be read of a row. If it is unknown whether a document is open, it is closed."""
    values = dict(zip((column.name for column in DOCUMENT), row, strict=True))
    damaged: list[str] = []

    def read(name: str, decode: Callable[[Any], R], otherwise: R) -> R:
        try:
            return decode(values[name])
        except Exception:  # noqa: BLE001 - as above
            damaged.append(name)
            return otherwise

    # Unknown means closed.
    secure = read("secure", _flag, True)
    # its protection may be in its attributes, so it stays closed until a feed sends it with an authmethod
    protected = Attributes(authmethod=AuthMethod.HTTPBASIC) if secure else Attributes()
    document = Document(
        id=values["id"],
        url=read("url", _text, ""),
        state=read("state", _STATES.__getitem__, DocumentState.LIVE),
        origin=read("origin", _ORIGINS.__getitem__, Origin.CONTENT),
        datasource=read("datasource", _text, ""),
        version=read("version", _number, 0),
        feed_id=read("feed_id", _number, 0) or None,
        seen_feed_id=read("seen_feed_id", _number, 0) or None,
        attributes=read("attributes", _attributes_from_json, protected),
        metadata=read("metadata", _pairs, ()),
        secure=secure,
        content=read("content", lambda value: None if value is None else BlobRef(_text(value)), None),
        content_bytes=read("content_bytes", _number, 0),
        charset=read("charset", lambda value: None if value is None else _text(value), None),
        text=read("text", text_from_json, None),
        updated_at=read("updated_at", from_micros, from_micros(0)),
        events=read("events", _number, 0),
        access_class=read("access_class", _number, int(AccessClass.CLOSED)),
    )
    names = ", ".join(damaged) or "row"
    return replace(document, damage=f"{names} cannot be read: {type(error).__name__}: {' '.join(str(error).split())}"[:_MAX_DAMAGE])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{type(value).__name__} in place of a number")
    return value


def _flag(value: object) -> bool:
    # SQLite has no booleans, so a damaged flag may be any value.
    if value not in (0, 1):
        raise ValueError(f"{value!r} in place of a flag")
    return bool(value)


def document_to_row(document: Document) -> dict[str, Any]:
    """Returns the columns of a document, except its id."""
    return {
        "url_digest": digest_of_url(document.url),
        "url": document.url,
        "state": document.state.value,
        "origin": document.origin.value,
        "datasource": document.datasource,
        "version": document.version,
        "feed_id": document.feed_id or 0,
        "seen_feed_id": document.seen_feed_id or 0,
        "secure": document.secure,
        "locked": document.attributes.lock,
        "rank": document.rank,
        "attributes": _attributes_to_json(document.attributes),
        "metadata": dumps(document.metadata) if document.metadata else "[]",
        "content": document.content,
        "content_bytes": document.content_bytes,
        "charset": document.charset,
        "text": text_to_json(document.text),
        "updated_at": to_micros(document.updated_at),
        "events": document.events,
        "access_class": document.access_class,
    }


def class_of_columns(text: str | None, access_class: int, *, is_secure: bool) -> int:
    """Returns the number of a document's class from its columns. If they cannot be read, no user may see that class."""
    try:
        return class_by(text_from_json(text), _number(access_class), is_secure=is_secure)
    except Exception:  # noqa: BLE001 - as above
        return AccessClass.CLOSED


def find_event(row: Row) -> Event | None:
    """Returns the event of a row, or None if it cannot be read."""
    try:
        return _event_from_row(row)
    except Exception:  # noqa: BLE001 - as above
        return None


def _event_from_row(row: Row) -> Event:
    return Event(kind=EventKind(row["kind"]), at=from_micros(row["at"]), feed_id=row["feed_id"], line=row["line"], detail=row["detail"])
