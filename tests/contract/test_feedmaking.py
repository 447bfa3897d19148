"""Feeds made of real folders, read back with a parser that knows nothing of the maker."""

import os
import zlib
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from feedmill.bootstrap.feedmaking import make_feeds
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind
from feedmill.services.feeds.feedmaking import FeedPlan, WrittenFeed, mimetype_of

BASE = "http://files.example.com/share/"


def plan(folder: Path, **changes: object) -> FeedPlan:
    made = FeedPlan(folder=folder / "in", output=folder / "out.xml", datasource="share", kind=FeedKind.FULL, base_url=BASE)
    return replace(made, **changes)  # type: ignore[arg-type]


def fill(folder: Path, files: dict[bytes, bytes]) -> None:
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder / "in"), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def read(made: WrittenFeed, *, part: int = 0) -> list[etree._Element]:
    tree = etree.parse(str(made.files[part].path))
    assert tree.findtext("header/datasource") == "share"
    assert tree.findtext("header/feedtype") == made.files[part].kind.value
    records = tree.findall("group/record")
    assert len(records) == made.files[part].records
    return records


def content(record: etree._Element) -> bytes:
    element = record.find("content")
    assert element is not None
    data = b64decode(element.text or "", validate=True)
    return zlib.decompress(data) if element.get("encoding") == "base64compressed" else data


@pytest.mark.parametrize("compress", [False, True])
def test_feed_of_a_folder_holds_every_file_whole(tmp_path: Path, compress: bool) -> None:
    files = {b"a.html": b"<p>a</p>", b"b/c.pdf": os.urandom(2_000_003), b"b/empty.txt": b"", b"z.bin": bytes(range(256)) * 7}
    fill(tmp_path, files)
    made = make_feeds(plan(tmp_path, compress=compress))
    records = read(made)
    assert [record.get("url") for record in records] == [BASE + "a.html", BASE + "z.bin", BASE + "b/c.pdf", BASE + "b/empty.txt"]
    assert [record.get("mimetype") for record in records] == ["text/html", "application/octet-stream", "application/pdf", "text/plain"]
    assert {record.get("url", "").removeprefix(BASE).encode(): content(record) for record in records} == files
    assert made.left_out == ()
    assert made.files[0].size_bytes == made.files[0].path.stat().st_size


def test_feed_of_odd_names_makes_urls_that_lead_back(tmp_path: Path) -> None:
    names = [b"a b&c<d>\"e'.txt", b"new\nline", b"\xff\xfe.md", "übung.html".encode(), b"100%.txt", b"q?x=1#y"]
    fill(tmp_path, dict.fromkeys(names, b"x"))
    urls = {record.get("url") for record in read(make_feeds(plan(tmp_path)))}
    quoted = ["a%20b%26c%3Cd%3E%22e%27.txt", "new%0Aline", "%FF%FE.md", "%C3%BCbung.html", "100%25.txt", "q%3Fx%3D1%23y"]
    assert urls == {BASE + name for name in quoted}


def test_feed_leaves_links_and_what_is_no_file_alone(tmp_path: Path) -> None:
    fill(tmp_path, {b"real.txt": b"x"})
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    os.mkfifo(tmp_path / "in" / "pipe")
    assert [record.get("url") for record in read(make_feeds(plan(tmp_path)))] == [BASE + "real.txt"]


def test_feed_that_follows_links_enters_each_folder_once(tmp_path: Path) -> None:
    fill(tmp_path, {b"real.txt": b"x"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.txt").write_text("y")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "more").symlink_to(tmp_path / "other")
    urls = [record.get("url") for record in read(make_feeds(plan(tmp_path, follow_links=True)))]
    assert urls == [BASE + "real.txt", BASE + "more/more.txt"]


def test_feed_takes_and_leaves_by_patterns(tmp_path: Path) -> None:
    fill(tmp_path, dict.fromkeys([b"a.html", b"a.txt", b".git/x.html", b"sub/b.html", b"sub/old/c.html"], b"x"))
    chosen = plan(tmp_path, include=("*.html",), exclude=(".git", "sub/old/"))
    assert [record.get("url") for record in read(make_feeds(chosen))] == [BASE + "a.html", BASE + "sub/b.html"]


def test_feed_beyond_its_size_is_split_and_only_the_first_part_is_full(tmp_path: Path) -> None:
    fill(tmp_path, {f"{number}.bin".encode(): bytes(300_000) for number in range(5)})
    made = make_feeds(plan(tmp_path, max_bytes=1_000_000))
    assert [file.path.name for file in made.files] == ["out.xml", "out-2.xml", "out-3.xml"]
    assert [file.kind for file in made.files] == [FeedKind.FULL, FeedKind.INCREMENTAL, FeedKind.INCREMENTAL]
    assert all(file.size_bytes <= 1_000_000 for file in made.files)
    assert sum(len(read(made, part=part)) for part in range(3)) == 5


def test_feed_leaves_out_what_is_too_large_and_says_so(tmp_path: Path) -> None:
    fill(tmp_path, {b"a.txt": b"x", b"large.bin": bytes(900_000)})
    made = make_feeds(plan(tmp_path, max_bytes=1_000_000))
    assert len(read(made)) == 1
    assert [(Path(path).name, reason) for path, reason in made.left_out] == [("large.bin", "too large for a feed of at most 1000000 bytes")]


def test_feed_written_into_its_own_folder_does_not_hold_itself(tmp_path: Path) -> None:
    fill(tmp_path, {b"a.txt": b"x"})
    chosen = plan(tmp_path, output=tmp_path / "in" / "out.xml")
    for _ in range(2):
        urls = [record.get("url") for record in read(make_feeds(chosen))]
    assert urls == [BASE + "a.txt"]
    assert len(list((tmp_path / "in").iterdir())) == 2


def test_feed_of_an_empty_folder_is_an_empty_feed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert read(make_feeds(plan(tmp_path))) == []


def test_feed_that_fails_leaves_no_half_file(tmp_path: Path) -> None:
    fill(tmp_path, {b"a.txt": b"x", b"b.txt": b"x"})

    def fail(_found: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        make_feeds(plan(tmp_path), fail)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_feed_of_wrong_plans_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(BadRequest, match="no base URL"):
        make_feeds(plan(tmp_path, base_url="/share"))
    with pytest.raises(BadRequest, match="no folder"):
        make_feeds(plan(tmp_path / "none"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"A.HTML", "text/html"),
        (b"x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"x.md", "text/markdown"),
        (b"x.html.gz", "application/gzip"),
        (b"README", "application/octet-stream"),
        (b"\xff.pdf", "application/pdf"),
    ],
)
def test_mimetype_is_that_of_the_extension(name: bytes, expected: str) -> None:
    assert mimetype_of(name) == expected
