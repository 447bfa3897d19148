"""Bytes of dataloads and of the replies to them."""

import io
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from feedmill import __version__
from feedmill.model.change import AclChange, Change, Delete, InvalidRecord, Note, PutDocument, RefreshIndex, SourcePosition
from feedmill.model.dataload import Profile
from feedmill.model.document import Attributes
from feedmill.model.errors import BadFeed
from feedmill.model.feed import LogLevel
from feedmill.ports.feedformats import FormatOptions
from feedmill.services.feeds.reading import FeedReader
from feedmill.wire.dataload.parse import read_types
from feedmill.wire.dataload.render import ItemResult, Status, render_refusal, render_reply
from feedmill.wire.registry import DATALOAD, FORMATS
from tests.feedreaders import GIVEN

OPTIONS = replace(
    GIVEN,
    profile=Profile(name="default", categories=("Press",), charset="ISO-8859-1"),
    read_local=lambda moment: moment.replace(tzinfo=timezone(timedelta(hours=2))).astimezone(UTC),
)
MANUAL = b"""<?xml version="1.0" encoding="UTF-8"?>
<ThunderstoneReplication
  xmlns:dt="urn:schemas-microsoft-com:datatypes"
>
<Item>
  <Type>I</Type>
  <Size>150369</Size>
  <Url>http://www.example.com/dir/page.html</Url>
  <Title>Sprocket &amp; Gear</Title>
  <Body>the body</Body>
  <Modified>2005-10-25 11:21:07</Modified>
  <RawData dt:dt="bin.base64"></RawData>
</Item>
<Item><Type>D</Type><Url>http://www.example.com/gone</Url></Item>
<Item><Type>UI</Type></Item>
</ThunderstoneReplication>"""


def reader(data: bytes, options: FormatOptions = OPTIONS, piece_bytes: int = 65_536) -> FeedReader[Change]:
    return FeedReader(opener=lambda: io.BytesIO(data), format=FORMATS.documents[DATALOAD].open(options), piece_bytes=piece_bytes)


def read(data: bytes, piece_bytes: int = 65_536) -> list[Change]:
    reading = reader(data, piece_bytes=piece_bytes)
    report, changes = reading.scan(), list(reading.changes())
    assert (report.records, report.changes) == (len(changes), len(changes))
    return changes


def load_of(item: str, root: str = "ThunderstoneReplication", attributes: str = "") -> bytes:
    return f"<{root}{attributes}><Item>{item}</Item></{root}>".encode()


def read_put(inside: str) -> PutDocument:
    (change,) = read(load_of(f"<Type>I</Type><Url>http://www.example.com/a</Url>{inside}"))
    assert isinstance(change, PutDocument), change
    return change


def content_of(put: PutDocument) -> tuple[bytes, int, str | None]:
    assert put.content is not None
    with put.content.stream as stream:
        return stream.read(), put.attributes.text_bytes, put.content.charset


@pytest.mark.parametrize("piece_bytes", [1, 7, 65_536])
def test_items_become_changes_in_order_with_their_lines(piece_bytes: int) -> None:
    put, delete, refresh = read(MANUAL, piece_bytes)

    assert isinstance(put, PutDocument)
    assert content_of(put) == (b"the body", 8, "utf-8")
    assert replace(put, content=None) == PutDocument(
        place=SourcePosition(record=1, line=5),
        url="http://www.example.com/dir/page.html",
        attributes=Attributes(
            title="Sprocket & Gear", last_modified=datetime(2005, 10, 25, 9, 21, 7, tzinfo=UTC), text_bytes=8, overrides_own=True
        ),
        metadata=(("size", "150369"),),
        acl=AclChange(overwrite=False),
        whole=True,
    )
    assert delete == Delete(place=SourcePosition(record=2, line=14), url="http://www.example.com/gone")
    assert refresh == RefreshIndex(place=SourcePosition(record=3, line=15))


def test_reading_from_a_checkpoint_skips_items() -> None:
    assert [change.place.record for change in reader(MANUAL).changes(2)] == [3]


def test_types_are_read_without_the_rest() -> None:
    pieces = (MANUAL[at : at + 5] for at in range(0, len(MANUAL), 5))

    assert list(read_types(pieces)) == ["I", "D", "UI"]
    assert list(read_types(iter([load_of("<Url>x</Url>")]))) == [""]
    assert list(read_types(iter([load_of('<Type dt:dt="bin.base64">VQ==</Type>')]))) == ["U"]
    assert list(read_types(iter([load_of('<Type dt:dt="bin.base64">*</Type>')]))) == ["*"]


def test_unknown_elements_are_named_and_ignored() -> None:
    put = read_put("<Fluff size='1'><Title>inner</Title></Fluff><x:Titel>t</x:Titel><Fluff/><Body>b</Body>")
    assert put.attributes.title is None
    assert [note.reason for note in put.notes] == ["<Fluff> is unknown and ignored", "<Titel> is unknown and ignored"]


def test_title_that_is_cut_is_named() -> None:
    put = read_put(f"<Title>{'x' * 1_001}</Title>")

    assert put.attributes.title == "x" * 1_000
    assert put.notes == (Note(level=LogLevel.WARNING, reason="Title was cut after 1000 characters"),)


@pytest.mark.parametrize(
    ("root", "attributes", "item"),
    [
        ("ThunderstoneReplication", "", '<Title dt:dt="bin.base64">VGl0bGU=</Title>'),
        (
            "ThunderstoneReplication",
            ' xmlns="urn:x" xmlns:d="urn:schemas-microsoft-com:datatypes"',
            '<Title d:dt=" BIN.BASE64 ">VGl0\nbGU</Title>',
        ),
        ("t:ThunderstoneReplication", ' xmlns:t="urn:x"', '<t:Title dt="bin.base64">VGl0bGU=</t:Title>'),
        ("ThunderstoneReplication", "", "<Title>Wrong</Title><Title>Title</Title>"),
    ],
)
def test_any_spelling_of_the_namespaces_is_read(root: str, attributes: str, item: str) -> None:
    (change,) = read(load_of(f"<Type> i </Type><Url>http://www.example.com/a</Url>{item}", root, attributes))

    assert isinstance(change, PutDocument)
    assert change.attributes.title == "Title"


def test_body_precedes_raw_data_in_the_content() -> None:
    assert content_of(read_put('<RawData dt:dt="bin.base64">cmF3</RawData><Body>text</Body>')) == (b"textraw", 4, "utf-8")


def test_charset_is_that_of_a_body_in_base64() -> None:
    body = '<Body dt:dt="bin.base64">6Q==</Body>'

    assert content_of(read_put(body)) == (b"\xe9", 1, "cp1252")
    assert content_of(read_put(f"{body}<Charset>UTF-16LE</Charset>"))[2] == "utf-16-le"
    assert content_of(read_put("<Body>\xe9</Body><Charset>UTF-16LE</Charset>"))[2] == "utf-8"


@pytest.mark.parametrize("charset", ["UTF-16LE", "UTF-16", "UTF-32BE", "ISO-2022-JP", "HZ-GB-2312", "UTF-8"])
@pytest.mark.parametrize("title", ["\u65e5\u672c", "AB"])
def test_title_in_base64_is_read_in_its_charset(charset: str, title: str) -> None:
    data = b64encode(title.encode(charset.removesuffix("-GB-2312"))).decode()

    put = read_put(f'<Title dt:dt="bin.base64">{data}</Title><Charset>{charset}</Charset>')

    assert put.attributes.title == title


@pytest.mark.parametrize("charset", ["UTF-16LE", "ISO-2022-JP"])
def test_title_that_is_not_in_its_charset_is_utf8(charset: str) -> None:
    data = b64encode("\xe9\xe9x".encode()).decode()

    assert read_put(f'<Title dt:dt="bin.base64">{data}</Title><Charset>{charset}</Charset>').attributes.title == "\xe9\xe9x"


def test_nuls_are_removed_from_text_in_base64() -> None:
    data = b64encode(b"a\x00/b\x00").decode()

    attributes = read_put("".join(f'<{name} dt:dt="bin.base64">{data}</{name}>' for name in ("Title", "MimeType"))).attributes

    assert (attributes.title, attributes.mimetype) == ("a/b", "a/b")


def test_additional_field_that_the_profile_lacks_is_named() -> None:
    put = read_put("<u:State>NY</u:State>")

    assert put.notes == (Note(level=LogLevel.WARNING, reason='the profile "default" has no additional field "State"'),)


@pytest.mark.parametrize(
    "inside",
    ['<Body dt:dt="bin.base64">*</Body>', "<RawData>*</RawData>", '<Errors dt:dt="bin.base64">PGE+</Errors>', "<Refs>no base64</Refs>"],
)
def test_content_of_a_faulty_item_is_closed(inside: str) -> None:
    spools: list[io.BytesIO] = []

    def open_spool() -> io.BytesIO:
        spools.append(io.BytesIO())
        return spools[-1]

    other = f"<Body>{'x' * 300_000}</Body>"
    data = load_of(f"<Type>I</Type><Url>http://www.example.com/a</Url>{other}{inside}")

    (change,) = reader(data, replace(OPTIONS, spool=open_spool)).changes()

    assert isinstance(change, InvalidRecord)
    assert change.url == "http://www.example.com/a"
    assert all(spool.closed for spool in spools)


@pytest.mark.parametrize(
    "data", [b"", b"text", b"<Item/>", MANUAL[:-5], b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + load_of("").replace(b"<Item>", b"&b;<Item>")]
)
def test_broken_dataload_is_refused(data: bytes) -> None:
    with pytest.raises(BadFeed):
        reader(data).scan()


def lines(*inside: str) -> bytes:
    whole = ('<?xml version="1.0" encoding="UTF-8"?>', "<ThunderstoneReplicationResult>", *inside, "</ThunderstoneReplicationResult>", "")
    return "\n".join(whole).encode()


def test_reply_names_each_item() -> None:
    results: Iterator[ItemResult] = iter(
        [
            ItemResult(status=Status.OK, type="I"),
            ItemResult(status=Status.OK, type="D", info="Not found"),
            ItemResult(status=Status.OK, type="DP", deleted=3),
            ItemResult(status=Status.UNKNOWN_TYPE, type="<\x01>", info="a & b"),
        ]
    )

    assert b"".join(render_reply(results)) == lines(
        "<ItemResult><rid>000000000</rid><Type>I</Type><Status>OK</Status></ItemResult>",
        "<ItemResult><rid>000000000</rid><Type>D</Type><Status>OK</Status><Info>Not found</Info></ItemResult>",
        "<ItemResult><rid>000000000</rid><Type>DP</Type><DP>3</DP><Status>OK</Status></ItemResult>",
        "<ItemResult><rid>000000000</rid><Type>&lt;\ufffd&gt;</Type><Status>FAIL_UNKNOWNTYPE</Status><Info>a &amp; b</Info></ItemResult>",
        "<Rows>4</Rows>",
        f"<Version>Feedmill {__version__}</Version>",
    )


def test_refusal_has_no_rows() -> None:
    assert render_refusal(Status.NOT_ALLOWED) == lines(
        "<ItemResult><rid>000000000</rid><Status>Not Allowed</Status></ItemResult>",
        "<Rows>0</Rows>",
        f"<Version>Feedmill {__version__}</Version>",
    )
