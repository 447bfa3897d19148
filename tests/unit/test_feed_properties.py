"""What holds for every input: no crash, no dependence on where pieces end, nothing lost by repair."""

import io
from dataclasses import replace
from xml.parsers import expat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feedmill.model.change import Change
from feedmill.model.errors import BadFeed
from feedmill.model.feed import LogEntry
from feedmill.wire.gsafeed.content import Undecodable, decode_base64
from feedmill.wire.xmlstream.charset import find_codec
from feedmill.wire.xmlstream.reader import Element, XmlReader
from feedmill.wire.xmlstream.repair import Repairer
from tests.feedreaders import GIVEN, gsafeed_reader, gsagroups_reader

FRAGMENTS = (
    "\ufeff",
    " ",
    "\n",
    "\r\n",
    "<?xml version='1.0' encoding='UTF8'?>",
    "<?xml version=\u20191.0\u2019 encoding=\u2019UTF-8\u2019?>",
    '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "">',
    '<!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" ">"\n',
    "<!DOCTYPE gsafeed [<!ENTITY a 'b'>]>",
    "<!DOCTYPE gsafeed [<!-- <!ENTITY --> ]>",
    "<gsafeed>",
    "</gsafeed>",
    "<group>",
    "<group/>",
    "</group>",
    "<record url='http://a.example.com/1'>",
    "<record url=\u201chttp://a.example.com/2\u201d lock='true'>",
    '<record url="http://a.example.com/?a=1&b=2"mimetype="text/html"/>',
    "</record>",
    "<content>",
    "<content encoding='base64binary'>",
    "<content encoding='base64compressed'>",
    "</content>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?pi ",
    "?>",
    "Zm9v",
    "eJw=",
    "&",
    "&amp;",
    "&ocirc;",
    "&#1;",
    "&#233;",
    "&lt",
    "\u00e9",
    "\x0b",
    "<meta name='a' content='b'/>",
    "<meta name='google:aclusers' content='joe'/>",
    "<acl url='http://a.example.com/'>",
    "<principal scope='user' access='permit'>",
    "</principal>",
    "</acl>",
    "<",
    ">",
    '"',
    "'",
    "=",
)
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
BYTES = st.one_of(
    st.binary(max_size=300),
    TEXTS.map(lambda text: text.encode()),
    TEXTS.map(lambda text: text.encode("utf-16")),
    TEXTS.map(lambda text: text.encode("cp1252", "replace")),
    TEXTS.map(lambda text: f"<gsafeed><group>{text}</group></gsafeed>".encode()),
    TEXTS.map(lambda text: f"<gsafeed><group>{text}</group></gsafeed>".encode("cp1252", "replace")),
)


def read_wholly(data: bytes, piece_bytes: int) -> tuple[object, ...]:
    """Returns all that a reading says, in a form that can be compared."""
    reader = gsafeed_reader(lambda: io.BytesIO(data), replace(GIVEN, max_inflated_bytes=10_000), piece_bytes=piece_bytes)
    try:
        report = reader.scan()
    except BadFeed as error:
        return error.reason, error.line, error.column
    changes = list(reader.changes(repaired=report.repaired))
    assert report.changes == len(changes)
    assert report.records == sum(change.place.record > 0 for change in changes)
    return report, [_comparable(change) for change in changes]


def _comparable(change: Change) -> tuple[object, ...]:
    content = getattr(change, "content", None)
    if content is None:
        return repr(change), change.place
    with content.stream as stream:
        return repr(change).split("content=")[0], change.place, content.size_bytes, stream.read(), change.notes


def repair(data: bytes, piece_bytes: int) -> tuple[bytes, list[LogEntry]]:
    repairer = Repairer()
    pieces = [repairer.feed(data[at : at + piece_bytes]) for at in range(0, len(data), piece_bytes)]
    return b"".join(pieces) + repairer.close(), repairer.report


@given(data=BYTES, piece_bytes=st.integers(min_value=1, max_value=40))
@example(data=b"<gsafeed><group><record url='http://a.example.com/1'><content>\r", piece_bytes=1)
def test_reading_in_any_pieces_returns_the_same(data: bytes, piece_bytes: int) -> None:
    assert read_wholly(data, piece_bytes) == read_wholly(data, 1_000_000)


@given(data=BYTES)
def test_groups_reading_of_any_bytes_raises_nothing_but_bad_feed(data: bytes) -> None:
    reader = gsagroups_reader(data)
    try:
        report = reader.scan()
    except BadFeed:
        return
    assert report.records == len(list(reader.changes(repaired=report.repaired)))


@given(data=BYTES, piece_bytes=st.integers(min_value=1, max_value=40))
def test_repair_in_any_pieces_returns_the_same(data: bytes, piece_bytes: int) -> None:
    try:
        whole = repair(data, 1_000_000)
    except BadFeed:
        with pytest.raises(BadFeed):
            repair(data, piece_bytes)
        return
    assert repair(data, piece_bytes) == whole


@given(data=BYTES)
def test_repair_that_makes_xml_leaves_nothing_to_repair(data: bytes) -> None:
    try:
        once, _ = repair(data, 1_000_000)
        expat.ParserCreate("utf-8").Parse(once, True)
    except (BadFeed, expat.ExpatError):
        return
    assert repair(once, 1_000_000) == (once, [])


@given(data=BYTES)
def test_repair_keeps_lines(data: bytes) -> None:
    if b"\n" not in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    try:
        repaired, _ = repair(data, 1_000_000)
    except BadFeed:
        return
    if data[:1] != b"\x00" and data[1:2] != b"\x00":
        assert repaired.count(b"\n") == data.count(b"\n")


@given(text=TEXTS, piece_bytes=st.integers(min_value=1, max_value=1_000))
def test_repair_of_well_formed_text_changes_nothing_behind_the_prolog(text: str, piece_bytes: int) -> None:
    data = f"<r>{text}</r>".encode()
    try:
        reader = XmlReader("r", Element())
        reader.feed(data)
        reader.close()
    except BadFeed:
        return
    assert repair(data, piece_bytes) == (data, [])


@given(data=st.binary(max_size=2_000), wrap=st.integers(min_value=1, max_value=100), padded=st.booleans())
def test_base64_of_any_shape_is_decoded(data: bytes, wrap: int, padded: bool) -> None:
    import base64

    text = base64.b64encode(data).decode()
    text = text if padded else text.rstrip("=")
    assert decode_base64("\n".join(text[at : at + wrap] for at in range(0, len(text), wrap))) == data


@given(text=st.text(max_size=200))
def test_base64_of_any_text_raises_nothing_but_undecodable(text: str) -> None:
    try:
        decode_base64(text)
    except Undecodable:
        return


@given(label=st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30))
def test_charset_label_of_any_shape_returns_a_codec_of_text_or_none(label: str) -> None:
    codec = find_codec(label)
    if codec is not None:
        assert isinstance(b"".decode(codec), str)
