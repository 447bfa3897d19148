"""Request bodies as each old client writes them, in any chunks, give the same fields and the same feed."""

import base64
import gzip
import random
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.model.errors import BadRequest, TooLarge
from feedmill.wire.upload.reader import FEED_FORM, UploadReader
from tests.thorough import count_examples

XML = b'<?xml version="1.0" encoding="UTF-8"?>\r\n<gsafeed><group>\r\n--<\r\n--<< text</group></gsafeed>'
RAW = b"<gsafeed><header><datasource> hr </datasource><feedtype>full</feedtype></header><group/></gsafeed>"
DOLLAR = "----------boundary_of_feed_data$"
FIELDS = {"datasource": "hr", "feedtype": "full"}


class Case(NamedTuple):
    """A body as a client sends it."""

    content_type: str
    body: bytes
    data: bytes
    values: dict[str, str] = FIELDS
    coding: str = ""


def library(data: bytes) -> bytes:
    """Writes a body as Google's Java clients do."""
    parts = (("datasource", "text/plain", b"hr"), ("feedtype", "text/plain", b"full"), ("data", "text/xml", data))
    lines = [
        b'--<<\r\nContent-Disposition: form-data; name="%s"\r\nContent-Type: %s\r\n\r\n%s\r\n' % (n.encode(), t.encode(), v)
        for n, t, v in parts
    ]
    return b"".join(lines) + b"--<<--\r\n"


def toolkit(order: Sequence[str], data: bytes, *, data_head: bytes = b"", tail: bytes = b"") -> bytes:
    """Writes a body as the toolkit's scripts do."""
    values = {"datasource": b"hr", "feedtype": b"full", "data": data}
    parts = []
    for name in order:
        head = data_head if name == "data" else b""
        parts += [b"--" + DOLLAR.encode(), b'Content-Disposition: form-data; name="' + name.encode() + b'"' + head, b"", values[name]]
    return b"\r\n".join([*parts, *([tail] if tail or data_head else []), b"--" + DOLLAR.encode() + b"--", b""])


def decorated(head: bytes, data: bytes) -> bytes:
    """Writes a body whose part with the feed has a line more in its head."""
    return library(b"~").replace(b"text/xml\r\n", b"text/xml\r\n" + head + b"\r\n").replace(b"~", data)


SAFE = XML.replace(b"\r\n--<<", b"\r\n-- <<")
TOOLKIT_TYPE = f"multipart/form-data; boundary={DOLLAR}"

CASES = {
    "adaptor library": Case("multipart/form-data; boundary=<<", library(SAFE), SAFE),
    "adaptor library, compressed": Case("multipart/form-data; boundary=<<", gzip.compress(library(SAFE)), SAFE, coding="gzip"),
    "two gzip members": Case(
        "multipart/form-data; boundary=<<", gzip.compress(library(SAFE)[:99]) + gzip.compress(library(SAFE)[99:]), SAFE, coding="x-gzip"
    ),
    "zlib deflate": Case("multipart/form-data; boundary=<<", zlib.compress(library(SAFE)), SAFE, coding="deflate"),
    "raw deflate": Case("multipart/form-data; boundary=<<", zlib.compress(library(SAFE))[2:-4], SAFE, coding="Deflate"),
    "toolkit order": Case(TOOLKIT_TYPE, toolkit(("feedtype", "datasource", "data"), XML), XML),
    "data first": Case(TOOLKIT_TYPE, toolkit(("data", "feedtype", "datasource"), XML), XML),
    "connector script": Case(
        TOOLKIT_TYPE,
        toolkit(("datasource", "feedtype", "data"), XML, data_head=b"\r\nContent-Type: application/xml"),
        XML + b"\r\n",
    ),
    "file with odd name": Case(
        TOOLKIT_TYPE,
        toolkit(("datasource", "feedtype", "data"), XML, data_head='; filename="f\xfcr.xml"'.encode("latin-1"), tail=b""),
        XML + b"\r\n",
    ),
    "quoted boundary": Case('multipart/form-data; charset=UTF-8; Boundary="<<"', library(SAFE), SAFE),
    "boundary of another": Case("multipart/form-data; boundary=other", library(SAFE), SAFE),
    "no boundary": Case("multipart/form-data", library(SAFE), SAFE),
    "no type at all": Case("", library(SAFE), SAFE),
    "leading empty line": Case("multipart/form-data", b"\r\n" + library(SAFE), SAFE),
    "preamble and epilogue": Case("multipart/form-data; boundary=<<", b"for old readers\r\n" + library(SAFE) + b"bye", SAFE),
    "lines that end in LF": Case("multipart/form-data; boundary=<<", library(b"~").replace(b"\r", b"").replace(b"~", SAFE), SAFE),
    "lines that end in LF, the last without": Case("", library(b"~").replace(b"\r", b"").replace(b"~", SAFE).rstrip(), SAFE),
    "lines that end in LF, but for the last delimiter": Case(
        "multipart/form-data; boundary=<<", library(b"~").replace(b"\r", b"").replace(b"~\n", SAFE + b"\r\n"), SAFE
    ),
    "lines that end in LF and an epilogue": Case(
        "", library(b"~").replace(b"\r", b"").replace(b"~", SAFE) + b"bye\n\n--<<\n" + b"x" * 20_000, SAFE
    ),
    "false length of a part": Case("multipart/form-data; boundary=<<", decorated(b"Content-Length: 3", SAFE), SAFE),
    "senseless length of a part": Case("multipart/form-data; boundary=<<", decorated(b"content-length: many", SAFE), SAFE),
    "base64 as mail has it": Case(
        "multipart/form-data; boundary=<<", decorated(b"Content-Transfer-Encoding: BASE64", base64.encodebytes(SAFE)), SAFE
    ),
    "base64 without padding": Case(
        "multipart/form-data; boundary=<<", decorated(b"content-transfer-encoding: base64", base64.b64encode(SAFE).rstrip(b"=")), SAFE
    ),
    "binary as mail has it": Case("multipart/form-data; boundary=<<", decorated(b"Content-Transfer-Encoding: 8bit", SAFE), SAFE),
    "urlencoded under a wrong header": Case(
        "multipart/form-data",
        b"feedtype=full&datasource=hr&data=%3C%3Fxml+version%3D%221.0%22%3F%3E%0D%0A%3ca/>",
        b'<?xml version="1.0"?>\r\n<a/>',
    ),
    "urlencoded": Case("application/x-www-form-urlencoded", b"data=%3Ca%2F%3E%&datasource=h%72&feedtype=full&push", b"<a/>%"),
    "raw xml": Case("text/xml", RAW, RAW),
    "raw xml with a mark and blanks": Case("application/octet-stream", b"\xef\xbb\xbf\r\n " + RAW, b"\xef\xbb\xbf\r\n " + RAW),
    "raw xml in utf-16": Case("text/xml", RAW.decode().encode("utf-16"), RAW.decode().encode("utf-16")),
    "raw xml in big-endian utf-16": Case("", RAW.decode().encode("utf-16-be"), RAW.decode().encode("utf-16-be")),
    "raw xml under a form's header": Case("application/x-www-form-urlencoded", RAW, RAW),
}


def read(case: Case, cuts: Sequence[int]) -> tuple[bytes, dict[str, str]]:
    """Reads a case's body cut at the given places."""
    reader = UploadReader(FEED_FORM, content_type=case.content_type, content_encoding=case.coding, max_feed_bytes=1_000_000)
    edges = [0, *sorted(cut % (len(case.body) + 1) for cut in cuts), len(case.body)]
    data = b"".join(piece for start, end in pairwise(edges) for piece in reader.read_chunk(case.body[start:end]))
    data += b"".join(reader.finish())
    assert reader.size_bytes == len(data)
    return data, reader.values


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=count_examples(60))
@given(cuts=st.lists(st.integers(0, 5000), max_size=12))
def test_upload_cut_anywhere_reads_the_same(name: str, cuts: list[int]) -> None:
    case = CASES[name]
    assert read(case, cuts) == (case.data, case.values)


@pytest.mark.parametrize("name", CASES)
def test_upload_byte_by_byte_reads_the_same(name: str) -> None:
    case = CASES[name]
    assert read(case, range(len(case.body))) == (case.data, case.values)


@pytest.mark.parametrize("step", [1, 7, 4096, 65_536, 10_000_000])
def test_upload_large_part_with_near_delimiters_reads_the_same(step: int) -> None:
    chance = random.Random(step)
    pieces = (b"\r\n--<", b"\r", b"\r\n", b"\r\n-", b"text ", b"--<<", b"\n--<<", b"x" * 999)
    data = re.sub(rb"\r+\n--<<", b"\n--<<", b"".join(chance.choices(pieces, k=300 if step == 1 else 2000)))
    body = library(data)
    reader = UploadReader(FEED_FORM, content_type="multipart/form-data; boundary=<<", content_encoding="", max_feed_bytes=10_000_000)
    out = b"".join(piece for start in range(0, len(body), step) for piece in reader.read_chunk(body[start : start + step]))
    assert out + b"".join(reader.finish()) == data


@settings(max_examples=count_examples(300))
@given(
    body=st.one_of(st.binary(max_size=300), st.text("-<>=&%\r\n\x00ab", max_size=80).map(str.encode)),
    content_type=st.sampled_from(["", "multipart/form-data; boundary=<<", "text/xml", 'multipart/form-data; boundary="']),
    coding=st.sampled_from(["", "gzip", "deflate"]),
    cuts=st.lists(st.integers(0, 300), max_size=4),
)
def test_upload_any_bytes_are_read_or_refused(body: bytes, content_type: str, coding: str, cuts: list[int]) -> None:
    def outcome(cuts: list[int]) -> object:
        try:
            return read(Case(content_type, body, b"", coding=coding), cuts)
        except BadRequest:
            return "refused"

    assert outcome(cuts) == outcome([])


@pytest.mark.parametrize("cut", range(2, len(library(SAFE)) - 4, 7))
def test_upload_truncated_multipart_is_refused(cut: int) -> None:
    with pytest.raises(BadRequest):
        read(Case("multipart/form-data; boundary=<<", library(SAFE)[:cut], b""), [])


def test_upload_truncated_gzip_is_refused() -> None:
    with pytest.raises(BadRequest, match="stops in the middle"):
        read(Case("", gzip.compress(library(SAFE))[:-9], b"", coding="gzip"), [])


def test_upload_gzip_bomb_is_refused_early() -> None:
    bomb = gzip.compress(b"<a>" + bytes(50_000_000))
    reader = UploadReader(FEED_FORM, content_type="", content_encoding="gzip", max_feed_bytes=1_000_000)
    seen: list[bytes] = []
    with pytest.raises(TooLarge, match=r"gate\.max_feed_bytes"):
        seen.extend(reader.read_chunk(bomb))
    assert sum(map(len, seen)) <= 1_000_000


def test_upload_that_inflates_too_far_for_its_size_is_refused() -> None:
    reader = UploadReader(FEED_FORM, content_type="", content_encoding="gzip", max_feed_bytes=1 << 30)
    with pytest.raises(TooLarge, match=r"more than 100 times the size \(setting gate\.max_inflation\); send it without compression"):
        for _ in reader.read_chunk(gzip.compress(b"<a>" + bytes(90_000_000))):
            pass
    reader = UploadReader(FEED_FORM, content_type="", content_encoding="gzip", max_feed_bytes=1 << 30)
    assert sum(map(len, reader.read_chunk(gzip.compress(b"<a>" + bytes(60_000_000))))) == 60_000_003


def test_upload_field_beyond_its_limit_is_refused() -> None:
    with pytest.raises(BadRequest, match="field datasource is longer than 1024 bytes"):
        read(Case("", b"datasource=" + b"a" * 1025, b""), [])


def test_upload_field_given_twice_differently_is_refused() -> None:
    with pytest.raises(BadRequest, match="field feedtype is given twice"):
        read(Case("", b"feedtype=full&feedtype=incremental", b""), [])


def test_upload_two_feeds_in_one_request_are_refused() -> None:
    with pytest.raises(BadRequest, match="field data is given twice"):
        read(Case("", b"data=%3Ca%3E&data=%3Cb%3E", b""), [])


def test_upload_empty_file_beside_text_counts_for_nothing() -> None:
    assert read(Case("", b"data=&datasource=hr&data=%3Cb%3E&feedtype=full", b""), []) == (b"<b>", FIELDS)


@pytest.mark.parametrize(
    ("head", "data", "reason"),
    [
        (b"Content-Transfer-Encoding: base64", b"<gsafeed/>", "not base64"),
        (b"Content-Transfer-Encoding: base64", b"PGE+A", "not base64"),
        (b"Content-Transfer-Encoding: quoted-printable", b"=3Ca/>", "'quoted-printable' of a part is not known"),
    ],
)
def test_upload_part_that_cannot_be_decoded_is_refused(head: bytes, data: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        read(Case("multipart/form-data; boundary=<<", decorated(head, data), b""), [])


def test_upload_endless_line_of_a_head_is_refused() -> None:
    with pytest.raises(BadRequest, match="more than 8192 bytes"):
        read(Case("", b"--<<\nX: " + b"y" * 9_000, b""), [])


def test_upload_many_parts_are_refused() -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
    with pytest.raises(BadRequest, match="64 parts"):
        read(Case("", part * 65 + b"--x--\r\n", b""), [])


def test_upload_many_pairs_are_refused() -> None:
    with pytest.raises(BadRequest, match="more than 64 fields"):
        read(Case("", b"a=b&" * 65, b""), [])


def test_upload_exactly_at_the_limit_is_read() -> None:
    reader = UploadReader(FEED_FORM, content_type="", content_encoding="", max_feed_bytes=5)
    assert b"".join([*reader.read_chunk(b"data=%3Cabc%3E&datasource=hr"), *reader.finish()]) == b"<abc>"


def test_upload_endless_other_field_is_refused() -> None:
    reader = UploadReader(FEED_FORM, content_type="", content_encoding="", max_feed_bytes=5)
    with pytest.raises(TooLarge):
        list(reader.read_chunk(b"other=" + b"a" * 70_000))


def test_upload_unknown_coding_is_refused() -> None:
    with pytest.raises(BadRequest, match="send gzip, deflate or none"):
        UploadReader(FEED_FORM, content_type="", content_encoding="br", max_feed_bytes=5)
