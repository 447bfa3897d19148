"""Reads sitemaps: XML, index files, and plain text with one URL a line, each of them also as gzip.

1. ``reader`` reads the XML.
2. What stands before an error counts; the error is reported. URLs beyond ``MAX_URLS`` and bytes beyond ``MAX_SITEMAP_BYTES`` do not count.
3. A URL is absolute, of http or https. Others are left out.
4. ``lastmod`` that is no date is left out. ``priority`` and ``changefreq`` do not count, since the crawler sees how often a page changes.

Source: sitemaps.org, "Sitemaps XML format".
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.targets import parse_target
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.errors import BadRequest
from feedmill.wire.sitemaps.reader import SitemapElement, SitemapReader
from feedmill.wire.xmlstream.errors import NotWellFormed

MAX_URLS: Final = 50_000
MAX_SITEMAP_BYTES: Final = 52_428_800
_GZIP: Final = b"\x1f\x8b"
_PIECE_BYTES: Final = 262_144
_TOO_MANY: Final = f"more than {MAX_URLS} URLs"


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
    return _read_xml(begun, fault)


def _read_xml(body: bytes, fault: str) -> Sitemap:
    reader, entries = SitemapReader(), _Entries()
    try:
        try:
            # piece by piece, because the elements of the whole file may need far more memory than those that count
            for begin in range(0, len(body), _PIECE_BYTES):
                reader.read_piece(body[begin : begin + _PIECE_BYTES])
                entries.add(reader.take_complete())
            reader.read_piece(b"", is_last=True)
        except NotWellFormed as exc:
            fault = fault or str(exc)
        entries.add(reader.take_complete())
    except _Full:
        fault = _TOO_MANY
    return entries.build(fault)


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
                fault = _TOO_MANY
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


class _Entries:
    """The entries of a sitemap that count."""

    def __init__(self) -> None:
        self.pages: list[SitemapEntry] = []
        self.sitemaps: list[SitemapEntry] = []

    def add(self, elements: Iterable[SitemapElement]) -> None:
        """Adds the elements with a URL. Errors: _Full."""
        for element in elements:
            if _is_url(element.url):
                if len(self.pages) + len(self.sitemaps) == MAX_URLS:
                    raise _Full
                (self.sitemaps if element.is_sitemap else self.pages).append(SitemapEntry(element.url, parse_date(element.last_modified)))

    def build(self, fault: str) -> Sitemap:
        return Sitemap(pages=tuple(self.pages), sitemaps=tuple(self.sitemaps), fault=fault)
