import base64
import gzip
import zlib
from tempfile import SpooledTemporaryFile

import pytest

from feedmill.model.change import InvalidRecord, PutDocument
from feedmill.wire.gsafeed.content import SMALL_BYTES
from tests.golden.feedtext import content_of, feed_of, read_all, read_one, reader, reasons, record_of


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def content(text: str, encoding: str = "") -> bytes:
    return feed_of(record_of(f'<content encoding="{encoding}">{text}</content>' if encoding else f"<content>{text}</content>"))


def test_text_content_is_read_as_it_is_in_utf8() -> None:
    change = read_one(content("\n <![CDATA[<b>gr\u00fc\u00df</b>]]>&amp;&#233; "), PutDocument)
    assert content_of(change) == "\n <b>gr\u00fc\u00df</b>&\u00e9 ".encode()
    assert change.content is not None
    assert change.content.charset == "utf-8"


def test_text_of_markup_inside_content_is_preserved() -> None:
    assert content_of(read_one(content("<p>Hello <b>big</b> world</p>"), PutDocument)) == b"Hello big world"


def test_binary_content_has_no_charset() -> None:
    change = read_one(content("Zm9vIGJhcgo=", "base64binary"), PutDocument)
    assert content_of(change) == b"foo bar\n"
    assert change.content is not None
    assert change.content.charset is None


@pytest.mark.parametrize(
    "text",
    [
        "Zm9vIGJhcgo",
        "\n  Zm9v\r\nIGJh\tcgo=  \n",
        "<![CDATA[Zm9vIGJhcgo=]]>",
        "Zm9v<!-- here -->IGJhcgo",
        "  <![CDATA[\nZm9vIGJhcgo\n]]>  ",
        "Zm9vIGJhcgo==",
    ],
)
def test_base64_in_every_dress_is_decoded(text: str) -> None:
    assert content_of(read_one(content(text, "base64binary"), PutDocument)) == b"foo bar\n"


def test_base64_of_urls_and_other_names_of_the_encoding_are_decoded() -> None:
    data = bytes(range(240, 256)) * 3
    assert content_of(read_one(content(base64.urlsafe_b64encode(data).decode(), " Base64Binary "), PutDocument)) == data
    assert content_of(read_one(content(coded(data), "base64"), PutDocument)) == data
    assert content_of(read_one(content("", "base64binary"), PutDocument)) == b""


@pytest.mark.parametrize("text", ["Zm9v!", "Zm9vI", "Zm9v=IGJ", "\u00e4\u00f6"])
def test_base64_that_is_none_is_an_error(text: str) -> None:
    assert "base64" in read_one(content(text, "base64binary"), InvalidRecord).reason


def test_unknown_encoding_is_an_error_of_the_record() -> None:
    assert read_one(content("x", "rot13"), InvalidRecord).reason == (
        'the content cannot be decoded: its encoding "rot13" is neither base64binary nor base64compressed'
    )


def test_compressed_content_is_inflated() -> None:
    data = b"<html>" + b"x" * 300_000
    assert content_of(read_one(content(f"\n{coded(zlib.compress(data))}\n", "base64compressed"), PutDocument)) == data
    assert content_of(read_one(content(coded(gzip.compress(data)), "BASE64COMPRESSED"), PutDocument)) == data
    assert content_of(read_one(content(coded(zlib.compress(b"")), "base64compressed"), PutDocument)) == b""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"plain", "not zlib"),
        (zlib.compress(b"x" * 99)[:-3], "ends too early"),
        (b"", "ends too early"),
        (zlib.compress(b"x" * 2_000_000), "beyond 1000000 bytes"),
    ],
)
def test_compressed_content_that_cannot_be_inflated_is_an_error(data: bytes, reason: str) -> None:
    assert reason in read_one(content(coded(data), "base64compressed"), InvalidRecord).reason


def test_compressed_content_of_just_the_limit_is_inflated() -> None:
    change = read_one(content(coded(zlib.compress(b"x" * 1_000_000)), "base64compressed"), PutDocument)
    assert len(content_of(change)) == 1_000_000


def compressed(*sizes: int) -> bytes:
    """Returns a feed of contents that are nothing but blanks."""
    contents = [coded(zlib.compress(b" " * size, 9)) for size in sizes]
    return feed_of(*(record_of(f"<content encoding='base64compressed'>{text}</content>") for text in contents))


def test_compressed_content_that_inflates_too_far_for_its_size_is_an_error() -> None:
    _, changes = read_all(reader(compressed(40_000_000, 30_000_000, 1_000_000), max_inflated_bytes=1 << 30))
    assert isinstance(changes[0], InvalidRecord)
    assert changes[0].reason == "the content cannot be decoded: it inflates to more than 100 times the size (setting gate.max_inflation)"
    assert [len(content_of(change)) for change in changes[1:]] == [30_000_000, 1_000_000]


def test_compressed_contents_of_a_feed_that_inflate_too_far_together_are_errors() -> None:
    feed = compressed(*[30_000_000] * 4, 1_000_000)
    _, changes = read_all(reader(feed, max_inflated_bytes=1 << 30))
    assert [len(content_of(changes[place])) for place in (0, 1, 4)] == [30_000_000, 30_000_000, 1_000_000]
    assert isinstance(changes[3], InvalidRecord)
    assert isinstance(changes[2], InvalidRecord)
    assert "the compressed contents of the feed inflate to more than 100 times the size (setting gate.max_inflation)" in changes[2].reason


def test_content_that_cannot_be_decoded_costs_its_record_only() -> None:
    bad = record_of("<content encoding='base64binary'>!</content>")
    _, changes = read_all(reader(feed_of(bad, record_of("<content>x</content>"))))
    assert isinstance(changes[0], InvalidRecord)
    assert changes[0].url == "http://a.example.com/1"
    assert content_of(changes[1]) == b"x"


def test_last_of_several_contents_counts() -> None:
    change = read_one(feed_of(record_of("<content>a</content><content>b</content>")), PutDocument)
    assert content_of(change) == b"b"
    assert "more than one <content>" in reasons(change.notes)


def test_large_content_goes_to_the_spool_and_small_does_not() -> None:
    for encoding, text in (("base64binary", coded(b"x" * (SMALL_BYTES + 1))), ("", "x" * (SMALL_BYTES + 1))):
        large = read_one(content(text, encoding), PutDocument)
        assert large.content is not None
        assert isinstance(large.content.stream, SpooledTemporaryFile)
        assert len(content_of(large)) == SMALL_BYTES + 1
        large.content.stream.close()
    small = read_one(content("x"), PutDocument)
    assert small.content is not None
    assert not isinstance(small.content.stream, SpooledTemporaryFile)


def test_content_of_changes_that_carry_none_is_closed() -> None:
    text = "x" * (SMALL_BYTES + 1)
    _, changes = read_all(reader(feed_of(record_of(f"<content>{text}</content>", action="delete"))))
    assert type(changes[0]).__name__ == "Delete"
