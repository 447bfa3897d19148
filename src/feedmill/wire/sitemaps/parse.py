"""Reads sitemaps: XML, index files, and plain text with one URL a line, each of them also as gzip.

1. Elements count by their local names: many sitemaps have a wrong namespace or none.
2. What stands before an error counts; the error is reported. URLs beyond ``MAX_URLS`` and bytes beyond ``MAX_SITEMAP_BYTES`` do not count.
3. A URL is absolute, of http or https. Others are left out.
4. ``lastmod`` that is no date is left out. ``priority`` and ``changefreq`` do not count, since the crawler sees how often a page changes.

Source: sitemaps.org, "Sitemaps XML format".
"""

import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.targets import parse_target
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.errors import BadRequest
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.small import SmallReader

MAX_URLS: Final = 50_000
MAX_SITEMAP_BYTES: Final = 52_428_800
_GZIP: Final = b"\x1f\x8b"
_MAX_DATE_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A URL, and when it last changed, None if that is not stated."""

    url: str
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """What a sitemap lists: pages, and further sitemaps (of an index file). ``fault`` says why it was not read to its end."""

    pages: tuple[SitemapEntry, ...] = ()
    sitemaps: tuple[SitemapEntry, ...] = ()
    fault: str = ""


def parse_sitemap(body: bytes) -> Sitemap:
    """Returns what a sitemap lists. Errors: none."""
    body, fault = _unpack(body)
    if len(body) > MAX_SITEMAP_BYTES:
        body, fault = body[:MAX_SITEMAP_BYTES], f"more than {MAX_SITEMAP_BYTES} bytes"
    begun = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not begun.startswith(b"<"):
        return _read_text(begun, fault)
    reader = _SitemapReader()
    try:
        reader.read_whole_document(begun)
    except _Full:
        fault = f"more than {MAX_URLS} URLs"
    except NotWellFormed as exc:
        fault = fault or str(exc)
    return Sitemap(pages=tuple(reader.pages), sitemaps=tuple(reader.sitemaps), fault=fault)


def _unpack(body: bytes) -> tuple[bytes, str]:
    if not body.startswith(_GZIP):
        return body, ""
    inflater = zlib.decompressobj(31)
    try:
        unpacked = inflater.decompress(body, MAX_SITEMAP_BYTES + 1)
    except zlib.error:
        return b"", "a gzip file that cannot be read"
    return unpacked, "" if inflater.eof or len(unpacked) > MAX_SITEMAP_BYTES else "a gzip file that is cut short"


def _read_text(body: bytes, fault: str) -> Sitemap:
    pages: list[SitemapEntry] = []
    for line in body.decode("utf-8", "replace").splitlines():
        url = line.strip()
        if _is_url(url):
            if len(pages) == MAX_URLS:
                fault = f"more than {MAX_URLS} URLs"
                break
            pages.append(SitemapEntry(url))
    return Sitemap(pages=tuple(pages), fault=fault)


def _is_url(url: str) -> bool:
    if len(url) > MAX_URL_CHARACTERS:
        return False
    try:
        parse_target(url)
    except BadRequest:
        return False
    return True


class _Full(Exception):
    """There are as many URLs as count."""


class _SitemapReader(SmallReader):
    def __init__(self) -> None:
        super().__init__(has_namespaces=False)
        self.pages: list[SitemapEntry] = []
        self.sitemaps: list[SitemapEntry] = []
        self._values: dict[str, str] = {}

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        if _local(name) in ("url", "sitemap") and len(self.path) == 2:
            self._values = {}

    def end(self, name: str) -> None:
        kind = _local(name)
        if len(self.path) != 2 or kind not in ("url", "sitemap"):
            return
        url = self._values.get("loc", "").strip()
        if _is_url(url):
            if len(self.pages) + len(self.sitemaps) == MAX_URLS:
                raise _Full
            entry = SitemapEntry(url, parse_date(self._values.get("lastmod", "")))
            (self.pages if kind == "url" else self.sitemaps).append(entry)

    def take_text(self, text: str) -> None:
        if len(self.path) != 3:
            return
        name = _local(self.path[2])
        # An image's or a video's ``loc`` is deeper, or has a prefix of its own.
        if name in ("loc", "lastmod") and _prefix(self.path[2]) == _prefix(self.path[1]):
            so_far = self._values.get(name, "")
            if len(so_far) <= (MAX_URL_CHARACTERS if name == "loc" else _MAX_DATE_CHARACTERS):
                self._values[name] = so_far + text


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _prefix(name: str) -> str:
    return name.rpartition(":")[0]
