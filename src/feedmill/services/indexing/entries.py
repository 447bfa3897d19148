"""Builds index entries from what the store holds of a document, its text, and what incoming links say about it."""

from collections.abc import Sequence
from typing import NamedTuple

import structlog

from feedmill.core.access.classes import class_of
from feedmill.core.documents.anchors import NO_INCOMING_LINKS, IncomingLinks
from feedmill.core.documents.presentation import (
    counted_metadata,
    searchable_metadata,
    shown_date,
    shown_language,
    shown_title,
    sortable_metadata,
    text_metadata,
)
from feedmill.core.ranking.scoring import fed_rank
from feedmill.core.text.textblob import decode_headings, decode_link_texts, decode_link_urls, decode_main_and_navigation
from feedmill.model.document import Document
from feedmill.model.errors import Corrupt
from feedmill.model.search import IndexDocument
from feedmill.ports import BlobStore

log = structlog.get_logger(__name__)


class StoredText(NamedTuple):
    """The stored result of an extraction: the text, the URLs of its links with their texts, its headings, and its page's navigation."""

    body: str
    links: Sequence[str] = ()
    link_texts: Sequence[str] = ()
    headings: str = ""
    navigation: str = ""


NO_TEXT = StoredText("")


def read_stored_text(blobs: BlobStore, document: Document) -> StoredText:
    """Returns what is stored of a document's text; empty if there is none or it cannot be read."""
    if document.text is None or document.text.blob is None:
        return NO_TEXT
    try:
        data = blobs.read(document.text.blob)
        main, navigation = decode_main_and_navigation(data)
        return StoredText(main, decode_link_urls(data), decode_link_texts(data), decode_headings(data), navigation)
    except Corrupt as error:
        log.error("text_lost", url=document.url, reason=str(error))
        return NO_TEXT


def entry_of(
    document: Document, stored: StoredText, incoming: IncomingLinks = NO_INCOMING_LINKS, patterns: tuple[str, ...] = ()
) -> IndexDocument:
    """Returns the document in the form that the index takes."""
    text, attributes = document.text, document.attributes
    assert document.id is not None
    hidden = attributes.unsearchable or attributes.only_in_text
    return IndexDocument(
        key=document.id,
        url=document.url,
        display_url=document.attributes.display_url,
        access_class=int(class_of(document)),
        title=shown_title(document) or "",
        body=stored.body,
        metadata=searchable_metadata(document),
        sort_metadata=sortable_metadata(document) if hidden or attributes.unsortable else None,
        text_metadata=text_metadata(document) if attributes.only_by_field or attributes.only_in_text else None,
        facet_metadata=counted_metadata(document) if attributes.uncounted else None,
        datasource=document.datasource,
        mimetype=(text.mimetype if text is not None else None) or document.attributes.mimetype or "",
        language=shown_language(document),
        last_modified=shown_date(document),
        pagerank=fed_rank(document.attributes),
        links=(*stored.links, *document.attributes.links),
        headings=stored.headings,
        navigation=stored.navigation,
        anchors=incoming.texts,
        link_rank=incoming.rank,
        patterns=patterns,
    )
