"""Returns what the store knows about a URL, and whether a search can find it now.

A document is searchable once the index shows its newest version. It is not searchable in these cases: a step failed for it and none of it
could be indexed; an index task shows that it waits for extraction or for the index; it was only named for crawling; its source or its own
robots tag says noindex.
"""

from dataclasses import dataclass

from feedmill.core.crawling.reasons import describe_crawl
from feedmill.model.access import StoredAcl
from feedmill.model.crawling import CrawlEntry, CrawlState
from feedmill.model.document import Document, DocumentState, Event, Origin
from feedmill.model.errors import NotFound
from feedmill.model.failure import Failure
from feedmill.ports import IndexTask, Stage, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStatus:
    """The state of a live document. ``reason`` states why it is not fully searchable, None when it is."""

    state: str
    searchable: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A live document with its ACL, its state and its history, oldest first."""

    document: Document
    acl: StoredAcl | None
    status: DocumentStatus
    history: list[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlHistory:
    """The stored history of a URL that has no document now, oldest first, never empty."""

    url: str
    history: list[Event]


def inspect_url(store: Store, url: str) -> Inspection:
    """Returns what the store knows about a URL's document.

    Errors: NotFound if there is no document now, even if the URL has an ACL; Busy.
    """
    with store.reading() as unit:
        document = unit.documents.reader.find_many([url]).get(url)
        if document is None or document.id is None or document.state is not DocumentState.LIVE:
            raise unknown_document(url)
        acl = unit.access.acls.find_many([url]).get(url)
        task = unit.processing.index_tasks.find_many([document.id]).get(document.id)
        failure = unit.processing.failures.find_many([document.id]).get(document.id)
        history = unit.documents.reader.list_events(document.id)
        entry = unit.feeds.crawling.queue.find_many([url]).get(url) if document.origin is Origin.WEB else None
    return Inspection(document=document, acl=acl, status=find_status(document, task, failure, entry), history=history)


def find_url_history(store: Store, url: str) -> UrlHistory:
    """Returns the history of a URL whose document is gone or was never accepted. Errors: NotFound if there is no history; Busy."""
    with store.reading() as unit:
        document = unit.documents.reader.find_many([url]).get(url)
        history = unit.documents.reader.list_events(document.id) if document is not None and document.id is not None else []
    if not history:
        raise unknown_document(url)
    return UrlHistory(url=url, history=history)


def unknown_document(url: str) -> NotFound:
    """Returns the error for a URL without a document."""
    return NotFound(f"there is no document {url[:2000]!a}")


def find_status(
    document: Document, task: IndexTask | None, failure: Failure | None = None, entry: CrawlEntry | None = None
) -> DocumentStatus:
    """Returns the state of a live document.

    Shape: ``task`` is the document's index task, None when there is none; ``failure`` is its newest failure; ``entry`` is that of its URL
    in the crawl queue.
    """
    text = document.text
    is_waiting = task is not None and not task.is_refresh
    if document.origin is Origin.WEB and document.content is None:
        return DocumentStatus(state="known, not crawled", searchable=False, reason=_explain_uncrawled(entry))
    if task is not None and task.stage is Stage.EXTRACT:
        return DocumentStatus(state="waiting for extraction", searchable=False, reason="its content is not extracted yet")
    if is_waiting:
        return DocumentStatus(state="waiting for the index", searchable=False, reason="the index does not show its newest version yet")
    if "noindex" in document.attributes.robots:
        return DocumentStatus(state="not indexed", searchable=False, reason="its source says noindex")
    if text is not None and "noindex" in text.robots:
        return DocumentStatus(state="not indexed", searchable=False, reason="its own robots tag says noindex")
    if failure is not None:
        return DocumentStatus(state="indexed" if failure.is_found else "failed", searchable=failure.is_found, reason=failure.reason)
    if document.awaits_extraction:
        return DocumentStatus(state="waiting for extraction", searchable=False, reason="its content is not extracted yet")
    return DocumentStatus(state="indexed", searchable=True, reason=text.reason if text is not None else None)


def _explain_uncrawled(entry: CrawlEntry | None) -> str:
    if entry is None or entry.state is CrawlState.WAITING:
        return "it was named for crawling and has not been crawled"
    return describe_crawl(entry)
