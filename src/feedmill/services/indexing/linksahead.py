"""The links of the crawled pages whose entries were written last.

The indexer has a page's text at hand when it writes the entry. It passes the links on from here, so that they are crawled before the
commit, and so that a page which is new because of such a link has the link's text in its first entry. All of it is in memory and may be
lost at any time: the queue of documents whose links must be read is in the store.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from feedmill.core.documents.anchors import list_link_texts
from feedmill.model.document import Document, Text
from feedmill.model.extraction import Link

MAX_LINKS: Final = 30_000
"""How many links are in memory, about ten megabytes. Those of the pages that were written first are dropped."""


@dataclass(slots=True)
class _Page:
    """The links of one version of a page, the texts of links that are made of them, and whether they were added to the crawl queue."""

    version: int
    text: Text | None
    links: Sequence[Link]
    texts: Mapping[str, str] | None = None
    is_followed: bool = False

    def is_of(self, document: Document) -> bool:
        return self.version == document.version and self.text == document.text


class LinksAhead:
    """The links of pages by document id, and which of these pages link to a URL."""

    def __init__(self, max_links: int = MAX_LINKS) -> None:
        self._max_links = max_links
        self._count = 0
        self._pages: OrderedDict[int, _Page] = OrderedDict()
        self._sources: dict[str, dict[int, None]] = {}

    def put(self, document: Document, links: Sequence[Link]) -> None:
        """Notes the links of a page in place of those of its earlier version."""
        assert document.id is not None
        self.drop([document.id])
        self._pages[document.id] = _Page(document.version, document.text, links)
        self._count += len(links)
        for link in links:
            self._sources.setdefault(link.url, {})[document.id] = None
        while self._count > self._max_links:
            self.drop([next(iter(self._pages))])

    def drop(self, ids: Iterable[int]) -> None:
        """Forgets pages."""
        for key in ids:
            page = self._pages.pop(key, None)
            for link in page.links if page is not None else ():
                sources = self._sources.get(link.url, {})
                sources.pop(key, None)
                if not sources:
                    self._sources.pop(link.url, None)
            self._count -= len(page.links) if page is not None else 0

    def find_links(self, document: Document) -> Sequence[Link] | None:
        """Returns the links of a page, None if they are not known for exactly this version of it."""
        page = self._pages.get(document.id or 0)
        return page.links if page is not None and page.is_of(document) else None

    def find_texts(self, document: Document) -> Mapping[str, str] | None:
        """Returns what a page says about the pages to which it links, by URL; None as above."""
        page = self._pages.get(document.id or 0)
        if page is None or not page.is_of(document):
            return None
        if page.texts is None:
            page.texts = list_link_texts(document.url, page.links)
        return page.texts

    def list_sources(self, url: str) -> list[int]:
        """Lists the pages that link to a URL, in the order in which they were written."""
        return list(self._sources.get(url, ()))

    def note_followed(self, documents: Iterable[Document]) -> None:
        """Notes that the links of pages were added to the crawl queue."""
        for document in documents:
            page = self._pages.get(document.id or 0)
            if page is not None and page.is_of(document):
                page.is_followed = True

    def is_followed(self, document: Document) -> bool:
        """Returns whether the links of exactly this version of a page were added to the crawl queue."""
        page = self._pages.get(document.id or 0)
        return page is not None and page.is_followed and page.is_of(document)
