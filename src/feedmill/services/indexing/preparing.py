"""Prepares documents for the index, one at a time, so that a document that cannot be prepared costs only itself.

A part that fails is left out if that is safe: the stored text, the incoming links, then metadata and text (``iter_reduced``).
The access class and the terms of URL patterns are never left out: if they cannot be determined, the document is set aside.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from feedmill.core.documents.anchors import NO_INCOMING_LINKS, IncomingLinks
from feedmill.model.document import Document
from feedmill.model.entrybuild import BuildFailure
from feedmill.model.search import IndexDocument
from feedmill.ports import BlobStore, IndexWriter
from feedmill.services.indexing.entries import NO_TEXT, StoredText, entry_of, read_stored_text
from feedmill.services.isolation.batches import belongs_to_item, describe, run_each
from feedmill.services.isolation.faultpoints import fault_point


def iter_reduced(document: IndexDocument) -> Iterator[tuple[IndexDocument, str]]:
    """Yields a document and its reduced forms, each with the name of the omitted parts, "" for the full form."""
    yield document, ""
    plain = replace(document, has_values=False)
    yield plain, "its numbers and dates"
    yield replace(plain, metadata=()), "its metadata"
    yield replace(plain, body="", headings="", navigation="", anchors=(), links=()), "its text"
    bare = replace(plain, title="", body="", headings="", navigation="", metadata=(), anchors=(), links=(), language=None)
    yield bare, "all but its URL"


READ_ROW = "index.row"
READ_TEXT = "index.text"
BUILD = "index.entry"
PUT = "index.put"
COMMIT = "index.commit"
READ_LINKS = "index.links"

LACKS_TEXT = "its text"
LACKS_LINKS = "what links say of it"

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Preparation(Generic[P]):
    """The entry for the engine, None if no form could be built, and what failed on the way."""

    entry: P | None
    build_failure: BuildFailure | None = None


def find_incoming_links(
    find: Callable[[Sequence[Document]], dict[int, IncomingLinks]], documents: Sequence[Document]
) -> tuple[dict[int, IncomingLinks], dict[int, BuildFailure]]:
    """Returns by id what incoming links say about documents, and what failed; a failed document counts as one without incoming links."""
    if not documents:
        return {}, {}
    try:
        for document in documents:
            fault_point(READ_LINKS, document.url)
        return find(documents), {}
    except BaseException as error:
        if not belongs_to_item(error):
            raise

    def find_one(document: Document) -> dict[int, IncomingLinks]:
        fault_point(READ_LINKS, document.url)
        return find([document])

    done, failed = run_each(documents, find_one, step=READ_LINKS)
    incoming = {key: one for _, found in done for key, one in found.items()}
    return incoming, {each.item.id or 0: BuildFailure(READ_LINKS, each.reason, LACKS_LINKS) for each in failed}


def read_text(blobs: BlobStore, document: Document) -> tuple[StoredText, BuildFailure | None]:
    """Returns a document's stored text, empty if it cannot be read, and what failed."""
    try:
        fault_point(READ_TEXT, document.url)
        return read_stored_text(blobs, document), None
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        return NO_TEXT, BuildFailure(READ_TEXT, describe(READ_TEXT, error), LACKS_TEXT)


def assemble(
    document: Document, stored: StoredText, incoming: IncomingLinks, list_patterns: Callable[[str], tuple[str, ...]]
) -> tuple[IndexDocument | None, BuildFailure | None]:
    """Returns a document in the form that the index takes, and what failed. It is None if the data that controls its access is missing."""
    try:
        return entry_of(document, stored, incoming or NO_INCOMING_LINKS, list_patterns(document.url)), None
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        return None, BuildFailure(BUILD, describe(BUILD, error))


def prepare(build: Callable[[IndexDocument], P], document: IndexDocument) -> Preparation[P]:
    """Builds a document's entry, in the first of its forms that can be built."""
    reason = ""
    for form, omitted in iter_reduced(document):
        try:
            fault_point(BUILD, document.url)
            entry = build(form)
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            # The first failure, that of the whole document, is the one to report.
            reason = reason or describe(BUILD, error)
        else:
            return Preparation(entry, BuildFailure(BUILD, reason, omitted) if omitted else None)
    return Preparation(None, BuildFailure(BUILD, reason))


def put_isolated(writers: Sequence[IndexWriter], document: IndexDocument) -> BuildFailure | None:
    """Builds a document's entry once and passes it to all writers; returns what failed."""
    prepared = prepare(writers[0].prepare, document)
    if prepared.entry is None:
        return prepared.build_failure
    try:
        fault_point(PUT, document.url)
        for writer in writers:
            writer.put_prepared([prepared.entry])
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        return BuildFailure(PUT, describe(PUT, error))
    return prepared.build_failure
