"""The pieces of the body readers, each by itself."""

import gzip
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.wire.upload.inflate import OUTPUT_BYTES, choose_decoder
from feedmill.wire.upload.rawxml import scan_header
from feedmill.wire.upload.reader import is_surely_too_large
from feedmill.wire.upload.sniff import find_boundary
from feedmill.wire.upload.urlencoded import decode_percent


@pytest.mark.parametrize(
    ("header", "boundary"),
    [
        ("multipart/form-data; boundary=<<", b"<<"),
        ("multipart/form-data;boundary=----------boundary_of_feed_data$", b"----------boundary_of_feed_data$"),
        ('multipart/form-data; boundary="a b;c\\"d"; charset=utf-8', b'a b;c"d'),
        ("multipart/form-data; BOUNDARY = x ; charset=utf-8", b"x"),
        ("multipart/form-data; boundary=", None),
        ("multipart/form-data", None),
        ("", None),
        ("multipart/form-data; boundary=" + "x" * 257, None),
    ],
)
def test_find_boundary_in_header_returns_its_bytes(header: str, boundary: bytes | None) -> None:
    assert find_boundary(header) == boundary


@given(st.text("%+09afAFxyz=", max_size=40).map(str.encode))
def test_decode_percent_any_text_agrees_with_the_standard_library(text: bytes) -> None:
    assert decode_percent(text) == unquote_to_bytes(text.replace(b"+", b" "))


@given(st.binary(max_size=200), st.integers(1, 50))
def test_inflate_members_and_padding_returns_all_bytes(data: bytes, step: int) -> None:
    sent = gzip.compress(data) + gzip.compress(data) + bytes(20)
    decoder = choose_decoder("gzip")
    out = b"".join(piece for at in range(0, len(sent), step) for piece in decoder.decode_chunk(sent[at : at + step]))
    decoder.finish()
    assert out == data + data


def test_inflate_bomb_yields_bounded_pieces() -> None:
    sizes = [len(piece) for piece in choose_decoder("gzip").decode_chunk(gzip.compress(bytes(3_000_000)))]
    assert sum(sizes) == 3_000_000
    assert max(sizes) <= OUTPUT_BYTES


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        (b"<gsafeed><header><datasource>a</datasource><feedtype>full</feedtype></header>", {"datasource": "a", "feedtype": "full"}),
        (b"<header><feedtype\n>\n full\n</feedtype><datasource><![CDATA[ a ]]></datasource>", {"datasource": "a", "feedtype": "full"}),
        (b"<!-- <datasource>no</datasource> --><datasource>a</datasource><!-- <feedtype>x", {"datasource": "a"}),
        (b"<gsafeed><group><record><datasource>a</datasource>", {}),
        (b"<gsafeed><header><feedType>full</feedType></header>", {}),
    ],
)
def test_scan_header_of_a_feed_returns_the_fields_it_names(head: bytes, fields: dict[str, str]) -> None:
    assert scan_header(head) == fields


@pytest.mark.parametrize(
    "tail", [b"<datasource>" * 5000, b"<datasource" + b" " * 60_000, b"<datasource>" + b" " * 60_000, b"<!--" * 16_000]
)
def test_scan_header_hostile_head_ends_soon(tail: bytes) -> None:
    assert scan_header(b"<gsafeed>" + tail) == {}


@pytest.mark.parametrize(
    ("length", "content_type", "coding", "expected"),
    [
        (1_065_537, "multipart/form-data; boundary=<<", "", True),
        (1_065_536, "multipart/form-data; boundary=<<", "", False),
        (1_065_537, "text/xml", "identity", True),
        (3_000_000, "multipart/form-data", "", False),
        (3_065_537, "application/x-www-form-urlencoded", "", True),
        (9_000_000, "multipart/form-data; boundary=<<", "gzip", False),
    ],
)
def test_is_surely_too_large_judges_by_length_and_form(length: int, content_type: str, coding: str, expected: bool) -> None:
    assert is_surely_too_large(length, content_type, coding, 1_000_000) is expected


@pytest.mark.parametrize("content_type", ["", "application/json", "application/x-ndjson"])
def test_body_that_is_the_feed_itself_is_too_large_beyond_the_limit(content_type: str) -> None:
    assert is_surely_too_large(1_100_000, content_type, "", 1_000_000, is_bare=True)
    assert not is_surely_too_large(1_000_000, content_type, "", 1_000_000, is_bare=True)
    assert not is_surely_too_large(1_100_000, content_type, "gzip", 1_000_000, is_bare=True)
