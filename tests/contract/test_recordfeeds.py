"""Feeds made of CSV, JSON lines, mbox and sitemaps, by the command, read back with a parser that knows nothing of the maker."""

import gzip
import json
import time
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from typer.testing import CliRunner

from feedmill.adapters.recordfiles import iter_lines
from feedmill.cli.main import build_app
from feedmill.conformance.counterparts.appliance import Appliance
from feedmill.conformance.counterparts.script import ApplianceScript
from feedmill.conformance.counterparts.server import serving
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.errors import BadRequest
from feedmill.wire.recordsources import record
from feedmill.wire.recordsources.mbox import iter_messages

SITEMAP = '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{}\n</urlset>'
INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{}\n</sitemapindex>'


def make(folder: Path, source: str | Path, *words: str, code: int = 0) -> tuple[etree._Element, list[str]]:
    """Makes a feed, and returns it with the reasons for what was left out, which the report says of the source."""
    output = folder / "out.xml"
    done = CliRunner().invoke(build_app(), ["make-feed", str(source), "--datasource", "d", "--output", str(output), *words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    left_out = json.loads(done.stdout)["left_out"]
    assert {each["path"] for each in left_out} <= {str(source)}
    return etree.parse(str(output)).getroot(), [each["reason"] for each in left_out]


def write(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def metas(found: Any) -> list[tuple[str, str]]:
    return [(meta.get("name"), meta.get("content")) for meta in found.iter("meta")]


def test_rows_become_documents_with_metadata(tmp_path: Path) -> None:
    text = 'url,title,content,kind,last_modified\r\na,"A, b",text <a>,memo,2026-01-02\r\nb,,"two\r\nlines",,\r\n'
    root, left_out = make(tmp_path, write(tmp_path / "t.csv", b"\xef\xbb\xbf" + text.encode()), "--base-url", "http://a.example.com/")
    one, two = root.iter("record")
    assert (one.get("url"), one.get("mimetype"), one.get("last-modified")) == ("http://a.example.com/a", "text/html", "2026-01-02")
    assert "<title>A, b</title>" in str(one.findtext("content"))
    assert (metas(one), metas(two)) == ([("kind", "memo")], [])
    assert b64decode(str(two.findtext("content"))) == b"two\r\nlines"
    assert (root.findtext("header/feedtype"), left_out) == ("full", [])


@pytest.mark.parametrize(("delimiter", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16"), ("|", "utf-16-be"), (",", "utf-16-le")])
def test_tables_of_spreadsheets_are_read(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = f'URL{delimiter}Title{delimiter}"Kind, of"\r\na{delimiter}Ä{delimiter}"x{delimiter} y, z"\r\n'
    mark = "\ufeff" if encoding in ("utf-16-be", "utf-16-le") else ""
    root, _ = make(tmp_path, write(tmp_path / "t.csv", (mark + text).encode(encoding)), "--base-url", "http://a.example.com/")
    (one,) = root.iter("record")
    assert (one.get("url"), metas(one)) == ("http://a.example.com/a", [("Kind, of", f"x{delimiter} y, z")])
    assert "<title>Ä</title>" in str(one.findtext("content"))


@pytest.mark.parametrize(
    ("given", "mimetype", "content"),
    [
        ({"content": "<p>x"}, "text/html", b"<title>&#196; &lt;b&gt;</title><p>x"),
        ({"content_base64": b64encode(b"\xe4").decode()}, "text/html", b"<title>&#196; &lt;b&gt;</title>\xe4"),
        ({"content_base64": b64encode(b"x").decode()}, "application/pdf", b"x"),
    ],
)
def test_title_of_an_object_counts_where_the_content_can_hold_it(
    tmp_path: Path, given: dict[str, str], mimetype: str, content: bytes
) -> None:
    value = {"url": "http://a/1", "title": "Ä <b>", "mimetype": mimetype, **given}
    root, _ = make(tmp_path, write(tmp_path / "o.jsonl", json.dumps(value)))
    found = root.find(".//content")
    assert found is not None
    text = str(found.text)
    assert (b64decode(text) if found.get("encoding") else text.encode()) == content


def test_objects_in_utf_16_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="UTF-16"):
        make(tmp_path, write(tmp_path / "o.jsonl", json.dumps({"url": "http://a/1"}).encode("utf-16")))


def test_bad_rows_are_named_and_the_others_stay(tmp_path: Path) -> None:
    root, left_out = make(tmp_path, write(tmp_path / "t.csv", "url,kind\nhttp://a/1,x\nhttp://a/2\n,y\nhttp://a/3,z\n"), code=1)
    assert [found.get("url") for found in root.iter("record")] == ["http://a/1", "http://a/3"]
    assert left_out == ["line 3: the row has 1 values, the first row 2", "line 4, column 1: the url is empty"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "line 1: the first row"),
        (b"a,b\n", "line 1: there is no column 'url'; the columns are a, b"),
        (b"url,url\n", "line 1, column 2: there are two columns 'url'"),
        (b'url\n"open\n', "line 2: this is no CSV"),
        (b"url\nhttp://a/\xff\n", "this is no UTF-8"),
    ],
    ids=["empty", "columns", "twice", "quote", "bytes"],
)
def test_table_that_cannot_be_read_names_the_place(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(BadRequest) as caught:
        make(tmp_path, write(tmp_path / "t.csv", data))
    assert reason in str(caught.value)
    assert not (tmp_path / "out.xml").exists()


def test_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.recordfiles.MAX_LINE_CHARACTERS", 10)
    with write(tmp_path / "t.csv", "url\n" + "x" * 50).open("rb") as stream, pytest.raises(BadRequest, match="line 2 has more than 10"):
        list(iter_lines(stream))


def test_objects_become_documents(tmp_path: Path) -> None:
    acl = {
        "inherit_from": "http://a/p",
        "principals": [{"name": "ann"}, {"name": "g", "scope": "group", "access": "deny", "case_sensitive": False}],
    }
    objects = [
        {"url": "http://a/1", "content": "text", "metadata": {"kind": ["memo", "note"], "by": "ann"}, "acl": acl, "pagerank": 90},
        {"url": "http://a/2", "content_base64": b64encode(b"%PDF-1.4").decode(), "mimetype": "application/pdf"},
        {"url": "http://a/3", "action": "delete"},
    ]
    path = write(tmp_path / "o.jsonl.gz", gzip.compress("\n\n".join(map(json.dumps, objects)).encode()))
    root, _ = make(tmp_path, path, "--feedtype", "incremental")
    one, two, three = root.iter("record")
    assert metas(one) == [("kind", "memo"), ("kind", "note"), ("by", "ann")]
    assert (one.get("pagerank"), one.find("acl").get("inherit-from")) == ("90", "http://a/p")  # type: ignore[union-attr]
    assert [(each.get("scope"), each.get("access"), each.text) for each in one.iter("principal")] == [
        ("user", "permit", "ann"),
        ("group", "deny", "g"),
    ]
    assert (two.get("mimetype"), b64decode(str(two.findtext("content")))) == ("application/pdf", b"%PDF-1.4")
    assert (three.get("action"), len(three)) == ("delete", 0)
    # users that the command names may see what says nothing of its own
    root, _ = make(tmp_path, path, "--feedtype", "incremental", "--permit-user", "bob")
    assert [[each.text for each in document.iter("principal")] for document in root.iter("record")] == [["ann", "g"], ["bob"], []]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 1, column 2: this is no JSON: Expecting property name enclosed in double quotes"),
        ("[" * 100_000, "line 1: this is no JSON in UTF-8"),
        ("[]", "line 1: this is no object"),
        ("{}", "line 1: the url is missing or empty"),
        ('{"url": "a", "colour": 1}', "line 1: the member 'colour' is unknown"),
        ('{"url": "a", "content": 1}', "line 1: content is no text"),
        ('{"url": "a", "content": "", "content_base64": ""}', "line 1: there are both content and content_base64"),
        ('{"url": "a", "content_base64": "?"}', "line 1: content_base64 is no base64"),
        ('{"url": "a", "metadata": {"n": [1]}}', "line 1: a value of the metadata 'n' is no text"),
        ('{"url": "a", "metadata": []}', "line 1: metadata is no object"),
        ('{"url": "a", "pagerank": true}', "line 1: pagerank is no whole number"),
        ('{"url": "a", "action": "burn"}', "line 1: the action 'burn' is neither add nor delete"),
        ('{"url": "a", "acl": {"principals": [{}]}}', "line 1: acl is no object with principals that have names"),
        (
            '{"url": "a", "acl": {"principals": [{"name": "x", "scope": "all"}]}}',
            "line 1: the scope of a principal is neither user nor group",
        ),
    ],
    ids=str,
)
def test_bad_line_is_named_and_the_others_stay(tmp_path: Path, line: str, reason: str) -> None:
    root, left_out = make(tmp_path, write(tmp_path / "o.ndjson", line + '\n{"url": "http://a/2"}\n'), code=1)
    assert [found.get("url") for found in root.iter("record")] == ["http://a/2"]
    assert left_out == [reason]


def test_messages_become_documents(tmp_path: Path) -> None:
    first = b"Message-ID:\n <one@example.com>\nDate: Tue, 6 Nov 2007 12:45:26 +0000\nSubject: A\n\nbody\nFrom here it goes on\n"
    path = write(tmp_path / "m.mbox", b"From ann Tue Nov  6 2007\n" + first + b"\nFrom bob Wed\nDate: never\n\nsecond\n")
    root, _ = make(tmp_path, path, "--base-url", "http://mail.example.com/")
    one, two = root.iter("record")
    assert [found.get("url") for found in (one, two)] == ["http://mail.example.com/one@example.com", "http://mail.example.com/message-2"]
    assert (one.get("mimetype"), one.get("last-modified"), two.get("last-modified")) == (
        "message/rfc822",
        "Tue, 6 Nov 2007 12:45:26 +0000",
        None,
    )
    assert b64decode(str(one.findtext("content"))) == first + b"\n"


def test_messages_with_the_same_id_are_kept_apart_unless_they_are_the_same(tmp_path: Path) -> None:
    texts = ("one", "two", "one", "three")
    data = "".join(f"From a\nMessage-ID: <m@b>\n\n{text}\n\n" for text in texts)
    root, _ = make(tmp_path, write(tmp_path / "m.mbox", data), "--base-url", "http://a/")
    assert [found.get("url") for found in root.iter("record")] == ["http://a/m@b", "http://a/m@b-2", "http://a/m@b", "http://a/m@b-3"]


def test_many_messages_with_the_same_id_cost_little() -> None:
    data = "".join(f"From a\nMessage-ID: <m@b>\n\n{number}\n\n" for number in range(50_000))
    began = time.process_time()
    assert sum(1 for _ in iter_messages(BytesIO(data.encode()), "http://a/")) == 50_000
    assert time.process_time() - began < 10


def test_message_that_is_too_large_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.wire.recordsources.mbox.MAX_RECORD_BYTES", 10)
    path = write(tmp_path / "m.mbox", b"From a\n\n" + b"x" * 20 + b"\n\nFrom b\n\nsmall\n")
    with path.open("rb") as stream:
        large, small = iter_messages(stream, "")
    assert isinstance(large, record.SkippedRecord)
    assert isinstance(small, record.SourceRecord)


def test_file_that_is_no_mbox_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="line 1: this is no mbox"):
        make(tmp_path, write(tmp_path / "m.mbox", "Subject: x\n"))


def test_sitemap_becomes_a_feed_of_urls(tmp_path: Path) -> None:
    long = f"<url><loc>http://a/{'x' * 70_000}</loc></url>"
    entries = f"<url><loc> http://a/1?x=1&amp;y </loc><lastmod>2026-01-02</lastmod></url>\n<url><lastmod>2026</lastmod></url>\n{long}"
    root, left_out = make(tmp_path, write(tmp_path / "sitemap.xml", SITEMAP.format(entries)), code=1)
    (found,) = root.iter("record")
    assert (found.get("url"), found.get("last-modified"), root.findtext("header/feedtype")) == (
        "http://a/1?x=1&y",
        "2026-01-02",
        "metadata-and-url",
    )
    assert left_out == [
        f"{tmp_path / 'sitemap.xml'}, line 4: <loc> is missing or empty",
        f"{tmp_path / 'sitemap.xml'}, line 5: <loc> has more than {MAX_URL_CHARACTERS} characters",
    ]


def test_index_on_disk_leads_to_the_files_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "one.xml.gz", gzip.compress(SITEMAP.format("<url><loc>http://a/1</loc></url>").encode()))
    write(tmp_path / "bad.xml", "<urlset>\n<url>")
    names = ("one.xml.gz", "bad.xml", "none.xml", "one.xml.gz")
    index = INDEX.format("\n".join(f"<sitemap><loc>http://a/maps/{name}</loc></sitemap>" for name in names))
    root, left_out = make(tmp_path, write(tmp_path / "index.xml", index), code=1)
    assert [found.get("url") for found in root.iter("record")] == ["http://a/1"]
    assert left_out[0].endswith("line 4: the sitemap http://a/maps/none.xml is not beside this file")
    assert left_out[1].endswith("bad.xml: line 2, column 6: not XML: no element found")


def test_index_over_http_keeps_to_its_server(tmp_path: Path) -> None:
    index = INDEX.format("<sitemap><loc>/one.xml.gz</loc></sitemap><sitemap><loc>http://other.example.com/x</loc></sitemap>")
    write(tmp_path / "one.gz", gzip.compress(SITEMAP.format("<url><loc>http://a/1</loc></url>").encode()))
    rules = [{"path": "/sitemap.xml", "body": index}, {"path": "/one.xml.gz", "file": "one.gz"}]
    script = ApplianceScript.model_validate({"answers": rules})
    with serving(Appliance(script), script, folder=tmp_path) as server:
        root, left_out = make(tmp_path, f"{server.url}/sitemap.xml", code=1)
        with pytest.raises(BadRequest, match="the server answers with status 404"):
            make(tmp_path, f"{server.url}/none.xml")
    assert [found.get("url") for found in root.iter("record")] == ["http://a/1"]
    assert "is on another server" in left_out[0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html/>", "line 1: this is no sitemap: the root is <html>"),
        (b"\n<urlset>", "line 2, column 9: not XML"),
        (b'<!DOCTYPE urlset [<!ENTITY a "b">]><urlset/>', "line 1: a document type declaration, which is refused"),
        (b"\x1f\x8b broken", "the gzip data is damaged"),
    ],
    ids=["html", "cut", "entity", "gzip"],
)
def test_sitemap_that_cannot_be_read_names_the_place(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason.replace("[", r"\[")):
        make(tmp_path, write(tmp_path / "s.xml", data))


def test_large_feed_is_split_and_only_its_first_part_is_full(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"url": f"http://a/{number}", "content": "x" * 400_000}) + "\n" for number in range(5))
    done = CliRunner().invoke(
        build_app(),
        [
            "make-feed",
            str(write(tmp_path / "o.jsonl", lines)),
            "--datasource",
            "d",
            "--output",
            str(tmp_path / "o.xml"),
            "--max-bytes",
            "1000000",
            "--json",
        ],
    )
    assert [(file["feedtype"], file["records"]) for file in json.loads(done.stdout)["files"]] == [
        ("full", 2),
        ("incremental", 2),
        ("incremental", 1),
    ]


@pytest.mark.parametrize("name", ["none", "unknown.bin"])
def test_source_that_is_none_is_wrong_use(tmp_path: Path, name: str) -> None:
    write(tmp_path / "unknown.bin", "x")
    done = CliRunner().invoke(build_app(), ["make-feed", str(tmp_path / name), "--datasource", "d"])
    assert done.exit_code == 2
