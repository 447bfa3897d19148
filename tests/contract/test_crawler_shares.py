"""Shares of files: what is read, what leads out, and what an unmounted share means."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions, ShareRule
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest

PREFIX = "file://files.example.com/docs/"


def fetch(folder: Path, path: str, *, is_public: bool = False, **given: Any) -> FetchedPage:
    share = ShareRule(prefix=PREFIX, folder=str(folder), is_public=is_public)
    request = FetchRequest(**{"url": PREFIX + path, "max_bytes": 1_000, "seconds": 60.0, **given})
    return asyncio.run(HttpFetcher(FetchOptions(shares=(share,))).fetch(request))


def test_file_is_closed_unless_the_share_is_public(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "ü b.txt").write_text("text")
    for path in ("sub/ü b.txt", "sub/%C3%BC%20b.txt"):
        page = fetch(tmp_path, path)
        assert (page.state, page.body, page.url) == (CrawlState.CRAWLED, b"text", PREFIX + path)
        assert dict(page.headers)["content-type"] == "text/plain"
        assert (page.used_access, page.make_public) == (True, False)
    assert fetch(tmp_path, "sub/ü b.txt", is_public=True).make_public


def test_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("text")
    first = fetch(tmp_path, "a.txt")
    again = fetch(tmp_path, "a.txt", etag=first.etag)
    assert (again.state, again.body) == (CrawlState.CRAWLED_FROM_CACHE, b"")
    file.write_text("other text")
    assert fetch(tmp_path, "a.txt", etag=first.etag).body == b"other text"


def test_folder_is_a_page_of_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a & b?.txt").write_text("")
    (tmp_path / "link").symlink_to("/etc")
    for path, url in (("", PREFIX), ("sub", f"{PREFIX}sub/"), ("sub/", f"{PREFIX}sub/")):
        page = fetch(tmp_path, path)
        assert (page.state, page.url) == (CrawlState.CRAWLED, url)
        assert ("x-robots-tag", "noindex") in page.headers
    body = fetch(tmp_path, "").body.decode()
    assert f'<a href="{PREFIX}sub/">sub</a>' in body
    assert f'<a href="{PREFIX}a%20%26%20b%3F.txt">a &amp; b?.txt</a>' in body
    assert "link" not in body


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "%2e%2e/secret",
        "a%2f..%2f..%2fsecret",
        "link/passwd",
        "inner",
        "./a.txt",
        "sub//x",
        "a.txt/",
        "a%00b",
        "pipe",
        "x" * 300,
    ],
)
def test_nothing_leads_out_of_the_folder(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("text")
    (root / "link").symlink_to("/etc")
    (root / "inner").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    page = fetch(root, path)
    assert (page.state, page.body) == (CrawlState.NOT_FOUND, b"")
    assert page.reason


def test_share_that_is_not_mounted_removes_nothing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        assert fetch(folder, "a.txt").state is CrawlState.CONNECTION_FAILED
    (tmp_path / "other.txt").write_text("")
    assert fetch(tmp_path, "a.txt").state is CrawlState.NOT_FOUND


@pytest.mark.parametrize(("name", "stored"), [("a.txt", 1_000), ("a.bin", 0)])
def test_large_file_is_cut_if_it_is_text(name: str, stored: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x" * 1_001)
    page = fetch(tmp_path, name)
    assert (page.state, len(page.body), page.is_cut) == (CrawlState.CRAWLED, stored, True)


def test_other_file_urls_are_not_fetched(tmp_path: Path) -> None:
    assert fetch(tmp_path, "", url="file:///etc/passwd").state is CrawlState.UNHANDLED_PROTOCOL


def test_large_folder_is_listed_in_pieces(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"file {number:03}.txt").write_text("")
    path, seen = ".", list[str]()
    while path:
        links = re.findall(r'<a href="([^"]+)"', fetch(tmp_path, path.removeprefix("."), max_bytes=8_000).body.decode())
        assert 0 < len(links) < 300
        seen += [link for link in links if "?after=" not in link]
        path = next((link.removeprefix(PREFIX) for link in links if "?after=" in link), "")
    assert len(seen) == len(set(seen)) == 300
