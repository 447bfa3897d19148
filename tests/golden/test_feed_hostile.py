"""Feeds that want to hurt: each is refused, or costs its record alone, in bounded memory and time."""

import base64
import io
import resource
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator

import pytest

from feedmill.model.change import InvalidRecord, PutDocument
from feedmill.model.errors import BadFeed
from feedmill.wire.xmlstream.reader import MAX_DEPTH, MAX_TOKEN_BYTES
from tests.feedreaders import gsafeed_reader, gsagroups_reader
from tests.golden.feedtext import feed_of, read_one, reader, record_of


class Pieces(io.RawIOBase):
    """A stream made as it is read, so that a huge feed stands nowhere."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces: Iterator[bytes] = iter(pieces)

    def readable(self) -> bool:
        return True

    def read(self, _size: int = -1) -> bytes:
        return next(self._pieces, b"")


def refused(feed: bytes) -> BadFeed:
    with pytest.raises(BadFeed) as caught:
        reader(feed).scan()
    return caught.value


def test_billion_laughs_is_refused() -> None:
    entities = "<!ENTITY a '1'>" + "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert "entity" in refused(f"<!DOCTYPE gsafeed [{entities}]><gsafeed><group>&i;</group></gsafeed>".encode()).reason


def test_undefined_entity_outside_of_html_stays_text() -> None:
    change = read_one(b"<!DOCTYPE gsafeed SYSTEM 'file:///etc/x.dtd'>" + feed_of(record_of("<content>&xxe;</content>")), PutDocument)
    assert change.content is not None
    assert change.content.stream.read() == b"&xxe;"


def test_deep_nesting_is_refused() -> None:
    error = refused(b"<gsafeed>\n<group>" + b"<a>" * 100_000)
    assert (error.reason, error.line) == (f"elements are nested deeper than {MAX_DEPTH}", 2)


@pytest.mark.parametrize("opening", [b"<record url='", b"<!--", b"<?pi ", b"<", b"</", b"<record "])
def test_token_without_end_is_refused(opening: bytes) -> None:
    pieces = [b"<gsafeed><group>\n" + opening, *[b"x" * 65_536] * 200]
    stream = gsafeed_reader(lambda: Pieces(pieces))  # type: ignore[arg-type,return-value]
    with pytest.raises(BadFeed, match=f"longer than {MAX_TOKEN_BYTES} bytes") as caught:
        stream.scan()
    assert caught.value.line == 2


def test_attribute_below_the_token_limit_costs_its_record() -> None:
    assert "8000" in read_one(feed_of(record_of(url="http://a.example.com/" + "x" * 3_000_000)), InvalidRecord).reason
    assert (
        "characters of metadata" in read_one(feed_of(record_of(f"<meta name='a' content='{'x' * 3_000_000}'/>" * 2)), InvalidRecord).reason
    )


def test_many_attributes_are_refused() -> None:
    attributes = " ".join(f"a{n}='1'" for n in range(2_000))
    assert "1000 attributes" in refused(feed_of(f"<record {attributes}/>")).reason


def test_many_names_are_refused() -> None:
    assert "different names" in refused(feed_of("".join(f"<a{n}/>" for n in range(20_000)))).reason


def test_long_name_is_refused() -> None:
    assert "name is longer" in refused(feed_of(f"<{'a' * 5_000}/>")).reason
    assert "root element" in refused(b"<" + b"a" * 5_000 + b"/>").reason


@pytest.mark.parametrize("feed", [b"", b" ", b"\x00", b"text", b"%PDF-1.4", b"\x1f\x8b\x08", b"\xff\xfe", b"{}", b"<", b"<html></html>"])
def test_what_is_no_feed_is_refused(feed: bytes) -> None:
    refused(feed)
    with pytest.raises(BadFeed):
        gsagroups_reader(feed).scan()


def test_zlib_bomb_costs_its_record_in_bounded_memory() -> None:
    bomb = base64.b64encode(zlib.compress(b"\x00" * 100_000_000, 9)).decode()
    feed = feed_of(record_of(f"<content encoding='base64compressed'>{bomb}</content>"))
    tracemalloc.start()
    change = read_one(feed, InvalidRecord)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "inflates beyond 1000000 bytes" in change.reason
    assert peak_bytes < 10_000_000


def test_huge_record_streams_flat() -> None:
    piece = base64.b64encode(b"\xab" * 49_152)
    count = 600  # 39 MB of base64 in one element

    def pieces() -> Iterator[bytes]:
        yield b"<gsafeed><group><record url='http://a.example.com/1'><content encoding='base64binary'>"
        yield from (piece for _ in range(count))
        yield b"</content></record></group></gsafeed>"

    stream = gsafeed_reader(lambda: Pieces(pieces()))  # type: ignore[arg-type,return-value]
    assert stream.scan().records == 1
    tracemalloc.start()
    (change,) = stream.changes()
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(change, PutDocument)
    assert change.content is not None
    with change.content.stream:
        assert change.content.size_bytes == 49_152 * count
    assert peak_bytes < 5_000_000


def test_huge_text_of_principal_is_cut_while_it_comes() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"<gsafeed><group><acl url='http://a.example.com/'><principal scope='user' access='permit'>"
        yield from (b"x" * 65_536 for _ in range(300))
        yield b"</principal></acl></group></gsafeed>"

    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stream = gsafeed_reader(lambda: Pieces(pieces()))  # type: ignore[arg-type,return-value]
    (change,) = stream.changes()
    assert isinstance(change, InvalidRecord)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 20_000


def test_space_behind_the_root_may_be_long_and_other_things_may_not() -> None:
    feed = feed_of(record_of())
    assert reader(feed + b"\n" * 10_000_000).scan().records == 1
    assert "after the end" in refused(feed + b"<more/>").reason
