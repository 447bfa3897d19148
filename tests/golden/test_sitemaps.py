"""Sitemaps in all their forms."""

import gzip
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.wire.sitemaps.parse import MAX_SITEMAP_BYTES, MAX_URLS, Sitemap, SitemapEntry, parse_sitemap

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
URLS = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="{NAMESPACE}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://example.com/a?x=1&amp;y=2 </loc><lastmod>2026-11-20</lastmod><priority>0.8</priority></url>
  <url><loc>http://example.com/b</loc><lastmod>soon</lastmod>
    <image:image><image:loc>http://example.com/i.png</image:loc></image:image></url>
  <url><loc>/relative</loc></url>
  <url><loc>ftp://example.com/</loc></url>
  <url><loc>{"http://example.com/" + "x" * 9_000}</loc></url>
</urlset>""".encode()
PAGES = (SitemapEntry("http://example.com/a?x=1&y=2", datetime(2026, 11, 20, tzinfo=UTC)), SitemapEntry("http://example.com/b"))
INDEX = f"""<sitemapindex xmlns="{NAMESPACE}"><sitemap><loc>http://example.com/1.xml.gz</loc>
<lastmod>2026-11-20T10:00:00+01:00</lastmod></sitemap></sitemapindex>""".encode()


@pytest.mark.parametrize(
    "body",
    [
        URLS,
        b"\xef\xbb\xbf" + URLS,
        b"\n" + URLS,
        gzip.compress(URLS),
        URLS.replace(NAMESPACE.encode(), b"http://www.google.com/schemas/sitemap/0.84"),
        URLS.replace(b"<url", b"<s:url")
        .replace(b"</url", b"</s:url")
        .replace(b"<loc", b"<s:loc")
        .replace(b"</loc", b"</s:loc")
        .replace(b"<lastmod", b"<s:lastmod")
        .replace(b"</lastmod", b"</s:lastmod"),
    ],
    ids=["plain", "mark", "blank", "gzip", "old", "prefix"],
)
def test_urls(body: bytes) -> None:
    assert parse_sitemap(body) == Sitemap(pages=PAGES)


def test_index_names_sitemaps() -> None:
    assert parse_sitemap(INDEX).sitemaps == (SitemapEntry("http://example.com/1.xml.gz", datetime(2026, 11, 20, 9, tzinfo=UTC)),)


def test_repeated_value_counts_once() -> None:
    body = b"<urlset><url><loc>http://a/1</loc><loc>http://a/2</loc></url></urlset>"
    assert parse_sitemap(body).pages == (SitemapEntry("http://a/1"),)


def test_text_has_a_url_a_line() -> None:
    found = parse_sitemap("http://example.com/ü\r\n\nno url\nhttps://example.com/b\n".encode())
    assert [entry.url for entry in found.pages] == ["http://example.com/ü", "https://example.com/b"]


@pytest.mark.parametrize(
    "body",
    [
        URLS[:-40],
        URLS.replace(b"ftp:", b"ftp: & "),
        gzip.compress(URLS)[:-20],
        URLS.replace(b"<urlset", b"<!DOCTYPE x><urlset", 1),
        b"\x1f\x8bx",
    ],
    ids=["cut", "ampersand", "cut gzip", "doctype", "no gzip"],
)
def test_what_stands_before_a_fault_counts(body: bytes) -> None:
    found = parse_sitemap(body)
    assert found.fault
    assert found.pages in (PAGES, ())


def test_limits() -> None:
    many = b"<urlset>" + b"<url><loc>http://a/</loc></url>" * (MAX_URLS + 1) + b"</urlset>"
    assert (len(parse_sitemap(many).pages), "50000" in parse_sitemap(many).fault) == (MAX_URLS, True)
    assert len(parse_sitemap(b"http://a/\n" * (MAX_URLS + 1)).pages) == MAX_URLS
    bomb = gzip.compress(b" " * (MAX_SITEMAP_BYTES + 10))
    assert parse_sitemap(bomb).fault


@given(st.binary(max_size=200) | st.text(alphabet="<>/&urlsetloc:", max_size=200).map(str.encode))
def test_any_bytes_are_read(body: bytes) -> None:
    assert isinstance(parse_sitemap(body), Sitemap)
    assert isinstance(parse_sitemap(b"<urlset><url>" + body), Sitemap)
