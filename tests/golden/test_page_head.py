"""What the head of a page tells the crawler."""

import pytest

from feedmill.wire.pagehead.parse import MAX_HEAD_BYTES, PageHead, read_page_head

URL = "http://web.test/dir/page.html?s=1"


def read(html: str | bytes, charset: str | None = None, agent: str = "gsa-crawler") -> PageHead:
    return read_page_head(html if isinstance(html, bytes) else html.encode(), charset, URL, agent)


@pytest.mark.parametrize(
    ("html", "robots"),
    [
        ('<meta name="robots" content="noindex, nofollow">', ("noindex", "nofollow")),
        ("<META NAME=Robots CONTENT=NONE>", ("noindex", "nofollow")),
        ("<meta content='noarchive' name='GSA-Crawler'/>", ("noarchive",)),
        ('<meta name="otherbot" content="noindex">', ()),
        ('<meta name="mybot" content="noindex">', ("noindex",)),
        ('<meta name="robots" content="index,follow">', ()),
        ('<!-- <meta name="robots" content="noindex"> -->', ()),
        ('<script>"<meta name=robots content=noindex>"</script>', ()),
        ('<title><meta name="robots" content="noindex"></title>', ()),
        ('<body><meta name="robots" content="noindex">', ()),
        ('<meta name="robots" content="nosnippet"><meta name="robots" content="noindex">', ("noindex", "nosnippet")),
        ("<!-- never ends <meta name=robots content=noindex>", ()),
    ],
)
def test_robots_tags(html: str, robots: tuple[str, ...]) -> None:
    assert read(f"<!DOCTYPE html><html><head>{html}", agent="mybot").robots == robots


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ('<link rel="canonical" href="/a">', "http://web.test/a"),
        ('<link href="b?x=1&amp;y=2" rel="nofollow Canonical">', "http://web.test/dir/b?x=1&y=2"),
        ('<base href="http://cdn.test/x/"><link rel=canonical href=c>', "http://cdn.test/x/c"),
        ('<link rel="alternate" href="/other"><link rel="canonical" href="/1"><link rel="canonical" href="/2">', "http://web.test/1"),
        ('<link rel="canonical" href="">', ""),
        ('<link rel="canonical" href="http://[broken/">', ""),
        ('<link rel="canonical">', ""),
        ('</head><body><link rel="canonical" href="/a">', ""),
        ('<link rel="canonical" href="/\x00a">', ""),
    ],
)
def test_canonical(html: str, canonical: str) -> None:
    assert read(f"<html><head>{html}").canonical == canonical


def test_charset_is_that_of_the_mark_or_the_header() -> None:
    html = '<link rel="canonical" href="/ü">'
    for encoding, charset in (("latin-1", "latin-1"), ("utf-16", "latin-1"), ("utf-8", None), ("utf-8", "nope")):
        assert read(html.encode(encoding), charset).canonical == "http://web.test/ü"


@pytest.mark.parametrize("piece", ["<", "<!--", "<meta ", '<meta a="', "<link a=", "<script", "<meta" + " " * 50, "=", "\x00", "<title>"])
def test_any_text_is_read_in_time_that_grows_with_it(piece: str) -> None:
    assert read(piece * (3 * MAX_HEAD_BYTES // len(piece))) == PageHead()
