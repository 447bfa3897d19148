"""Finds the crawled pages that are a document already, under another URL.

A page is a duplicate in two cases: it names another URL of its host as canonical, or its bytes are those of another page of the same site.
A duplicate has no document; its entry names the URL of the original. The original is the page that became known first.

1. A page keeps its own document if a feed named it, if headers of an adaptor describe it, or if only a part of it was read.
2. A canonical URL counts if it was not fetched yet, or is a document. So pages that name each other do not all disappear, and neither
   does one whose canonical URL fails, is excluded, or redirects back.
3. Only public documents have duplicates, and only public pages are duplicates. Who may see a closed document is decided for its URL, by
   ACLs, policies or its server, and may change: users who may see one of two copies must find it. When an original becomes closed, its
   duplicates are fetched again.
4. If more pages than ``MAX_COPIES`` have the same bytes, the site makes ever new URLs for one page: the others are an infinite URL space.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from feedmill.core.crawling.linkrules import LinkRules
from feedmill.core.crawling.sites import site_of
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlState
from feedmill.model.document import Document, DocumentState
from feedmill.ports import UnitOfWork

MAX_COPIES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateCandidate:
    """A public page that may be a duplicate. ``canonical`` is the URL that it prefers, "" for none; ``checksum`` is that of its bytes."""

    url: str
    canonical: str
    checksum: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """What a page is a duplicate of, and why; ``is_endless``: it is one of too many. ``is_new``: the original may be unknown."""

    original: str
    reason: str
    is_endless: bool = False
    is_new: bool = False


class DuplicateFinder:
    """Finds duplicates by the rules for links; without ``rules`` it finds none."""

    def __init__(self, rules: LinkRules | None) -> None:
        self._rules = rules

    def find_canonical(self, url: str, link: str) -> str:
        """Returns the canonical URL of a page if its link to it counts, else ""."""
        return (self._rules.find_canonical(url, link) or "") if self._rules is not None and link else ""

    def look(self, unit: UnitOfWork, pages: Sequence[DuplicateCandidate]) -> "Originals":
        """Reads what is known of the originals of pages."""
        rules = self._rules
        if rules is None or not pages:
            return Originals(entries={}, documents={}, by_bytes={}, copies={})
        by_bytes: dict[tuple[str, bytes], str] = {}
        for site in {site_of(page.url) for page in pages}:
            checksums = [page.checksum for page in pages if site_of(page.url) == site]
            same = rules.list_same_sites(site)
            by_bytes |= {(site, checksum): url for checksum, url in unit.feeds.crawling.queue.find_by_checksum(checksums, same).items()}
        urls = list({*by_bytes.values(), *(page.canonical for page in pages if page.canonical)})
        found = unit.documents.reader.find_many(urls)
        return Originals(
            entries=unit.feeds.crawling.queue.find_many(urls),
            documents={url: document for url, document in found.items() if document.state is DocumentState.LIVE},
            by_bytes=by_bytes,
            copies={url: unit.feeds.crawling.reports.list_duplicates([url], MAX_COPIES) for url in set(by_bytes.values())},
        )


class Originals:
    """What is known of the originals of some pages. The pages are decided in order, each with what was decided before it."""

    def __init__(
        self,
        *,
        entries: Mapping[str, CrawlEntry],
        documents: Mapping[str, Document],
        by_bytes: Mapping[tuple[str, bytes], str],
        copies: Mapping[str, Iterable[str]],
    ) -> None:
        self._entries = entries
        self._documents = documents
        self._by_bytes = dict(by_bytes)
        self._copies = {url: set(listed) for url, listed in copies.items()}
        self._secure = {url for url, document in documents.items() if document.secure}
        self._decided: dict[str, bool] = {}

    def decide(self, page: DuplicateCandidate) -> Duplicate | None:
        """Returns what a page is a duplicate of, None if it is a document of its own."""
        found = self._find_by_canonical(page) or self._find_by_bytes(page)
        self.note(page.url, is_document=found is None)
        if found is None:
            self._by_bytes.setdefault((site_of(page.url), page.checksum), page.url)
        return found

    def note(self, url: str, *, is_document: bool, is_secure: bool = False) -> None:
        """Notes whether a URL that was just fetched is a document, and a closed one."""
        self._decided[url] = is_document
        if is_secure:
            self._secure.add(url)
        else:
            self._secure.discard(url)

    def _find_by_canonical(self, page: DuplicateCandidate) -> Duplicate | None:
        target = page.canonical
        if not target or target in self._secure:
            return None
        entry, is_document = self._entries.get(target), self._decided.get(target)
        is_new = is_document is None and target not in self._documents and (entry is None or entry.state is CrawlState.WAITING)
        if not (is_new or is_document or (is_document is None and target in self._documents)):
            return None
        return Duplicate(original=target, reason=f"its canonical URL is {target}", is_new=is_new)

    def _find_by_bytes(self, page: DuplicateCandidate) -> Duplicate | None:
        original = self._by_bytes.get((site_of(page.url), page.checksum))
        if original is None or original == page.url:
            return None
        entry = self._entries.get(original)
        is_document = self._decided.get(original, original in self._documents)
        is_hidden = entry is not None and original not in self._decided and entry.state.group is CrawlGroup.EXCLUDED
        if not is_document or is_hidden or original in self._secure:
            return None
        copies = self._copies.setdefault(original, set())
        is_endless = page.url not in copies and len(copies) >= MAX_COPIES
        if not is_endless:
            copies.add(page.url)
        reason = f"it has the same content as {original}"
        if is_endless:
            reason += f", as more than {MAX_COPIES} other URLs have"
        return Duplicate(original=original, reason=reason, is_endless=is_endless)
