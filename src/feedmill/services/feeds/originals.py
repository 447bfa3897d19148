"""Joins a new text with the original bytes of its document.

An update of a dataload may state the text of a document alone. The file of an earlier item stays: its title, its type and its
metadata are not stated by the update. Both are one content, which begins with the text (``Attributes.text_bytes``).
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace

from feedmill.model.change import Change, Content, Delete, PutDocument, UpdateDocument
from feedmill.model.document import BlobRef, Document
from feedmill.model.errors import FeedmillError
from feedmill.ports import Store
from feedmill.services.feeds.feeding import CONTENT_STEP, FeedBlobs, Slice, faulty_of
from feedmill.services.isolation.batches import belongs_to_item, describe

MAX_ORIGINAL_BYTES = 128 * 1_048_576
"""A larger content is not read to change its text."""


@dataclass(frozen=True, slots=True)
class _Present:
    """The content that a document has before a change: a text of ``text_bytes``, then the original."""

    ref: BlobRef | None = None
    text_bytes: int = 0
    size_bytes: int = 0


def join_originals(taken: Slice, datasource: str, store: Store, blobs: FeedBlobs) -> Slice:
    """Returns a slice in which the content of each update that states a text alone has the original bytes too.

    An update whose document cannot be read becomes a record in error. Errors: those of infrastructure.
    """
    if not any(_states_text_alone(change) for change, _ in taken):
        return taken
    present = _find_present((change.url for change, _ in taken if _states_text_alone(change) and change.url is not None), datasource, store)
    joined: Slice = []
    for change, content in taken:
        if isinstance(change, UpdateDocument) and content is not None and _states_text_alone(change):
            change, content = _join(change, content, present.get(change.url, _Present()), blobs)
        if change.url in present:
            present[change.url] = _follow(change, content, present[change.url])
        joined.append((change, content))
    return joined


def _states_text_alone(change: Change) -> bool:
    return isinstance(change, UpdateDocument) and change.leaves_original and change.content is not None


def _find_present(urls: Iterable[str], datasource: str, store: Store) -> dict[str, _Present]:
    wanted = list(dict.fromkeys(urls))
    with store.reading() as unit:
        found = unit.documents.reader.find_many(wanted)
    return {url: _present_of(found.get(url), datasource) for url in wanted}


def _present_of(document: Document | None, datasource: str) -> _Present:
    if document is None or document.datasource != datasource:
        return _Present()
    return _Present(document.content, document.attributes.text_bytes, document.content_bytes)


def _follow(change: Change, content: BlobRef | None, present: _Present) -> _Present:
    """Returns the content after a change of the same slice."""
    match change:
        case Delete():
            return _Present()
        case PutDocument() | UpdateDocument() if change.content is not None:
            return _Present(content, change.attributes.text_bytes, change.content.size_bytes)
        case PutDocument(whole=True):
            return _Present()
    return present


def _join(change: UpdateDocument, text: BlobRef, present: _Present, blobs: FeedBlobs) -> tuple[Change, BlobRef | None]:
    assert change.content is not None
    if present.ref is None or present.size_bytes <= present.text_bytes:
        return change, text
    if present.size_bytes > MAX_ORIGINAL_BYTES:
        return faulty_of(change, "the document is too large to change its text alone; send RawData too"), None
    try:
        data = blobs.read(text) + blobs.read(present.ref)[present.text_bytes :]
        joined = blobs.put(io.BytesIO(data), len(data))
    except Exception as error:
        if not belongs_to_item(error):
            raise
        return faulty_of(change, str(error) if isinstance(error, FeedmillError) else describe(CONTENT_STEP, error)), None
    content = Content(stream=io.BytesIO(), size_bytes=len(data), charset=change.content.charset)
    return replace(change, content=content), joined
