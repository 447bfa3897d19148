"""Reads one request body as it arrives, in any of the formats.

The feed's own bytes are passed on as they arrive; the short fields are stored and can be read at the end. Memory holds only
the short fields, each bounded, and the first bytes while the format is not yet clear. Limits count the feed after inflating; a body
as a whole may be a little more than three times that, which is the cost of percent-encoding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from feedmill.model.errors import BadRequest, TooLarge
from feedmill.wire.inflation import DEFAULT_RATIO, InflationLimitExceeded, inflation_of_body
from feedmill.wire.upload.form import BodyReader, FieldStart, FormEvent
from feedmill.wire.upload.inflate import choose_decoder
from feedmill.wire.upload.multipart import MultipartReader
from feedmill.wire.upload.rawxml import RawXmlReader
from feedmill.wire.upload.sniff import BodyFormat, Multipart, RawXml, UrlEncoded, find_boundary, sniff
from feedmill.wire.upload.urlencoded import UrlEncodedReader

MAX_VALUE_BYTES: Final = 1024
"""The maximum length of a short field."""

OVERHEAD_BYTES: Final = 65_536
"""The allowance for a body in addition to the feed: delimiters, part headers, short fields."""

LIMIT_SETTING: Final = "gate.max_feed_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The fields of a request: those that hold the feed, and the short ones; others are ignored."""

    streams: frozenset[str]
    values: frozenset[str]


FEED_FORM: Final = Form(streams=frozenset({"data"}), values=frozenset({"datasource", "feedtype"}))
"""The form of ``/xmlfeed``."""

GROUPS_FORM: Final = Form(
    streams=frozenset({"data", "groupsfilename"}), values=frozenset({"groupsource", "feedtype", "cleanup", "replace"})
)
"""The form of ``/xmlgroups``."""

DATALOAD_FORM: Final = Form(streams=frozenset({"data"}), values=frozenset({"profile"}))
"""The form of ``recvdata.xml``."""


class UploadReader:
    """Reads one body. ``values`` holds the short fields and ``size_bytes`` counts the feed's bytes so far."""

    def __init__(
        self,
        form: Form,
        *,
        content_type: str,
        content_encoding: str,
        max_feed_bytes: int,
        max_inflation: int = DEFAULT_RATIO,
        body: BodyReader | None = None,
    ) -> None:
        """``body`` reads the body if its format is known; without it the first bytes decide."""
        self._form = form
        self._boundary = find_boundary(content_type)
        self._decoder = choose_decoder(content_encoding)
        self._max_feed_bytes = max_feed_bytes
        self._inflation = inflation_of_body(max_inflation)
        self._head = b""
        self._body = body
        self._body_bytes = 0
        self._field: str | None = None
        self._value: bytearray | None = None
        self._is_skipped = True
        self._is_second = False
        self.values: dict[str, str] = {}
        self.size_bytes = 0

    def read_chunk(self, chunk: bytes) -> Iterator[bytes]:
        """Reads the next bytes of the body and yields those of the feed. Errors: BadRequest, TooLarge."""
        self._inflation.count_read(len(chunk))
        for plain in self._decoder.decode_chunk(chunk):
            self._body_bytes += len(plain)
            self._count_inflated(len(plain))
            # In a form each byte may be written as three (``%XX``).
            if self._body_bytes > 3 * self._max_feed_bytes + OVERHEAD_BYTES:
                raise TooLarge(explain_limit(self._max_feed_bytes))
            if self._body is not None:
                yield from self._take_events(self._body.read_events(plain))
                continue
            self._head += plain
            yield from self._open(is_whole=False)

    def finish(self) -> Iterator[bytes]:
        """Ends the body and yields the rest of the feed. Errors: BadRequest, TooLarge."""
        self._decoder.finish()
        if self._body is None:
            yield from self._open(is_whole=True)
        if self._body is not None:
            yield from self._take_events(self._body.finish())
        self._end_field()

    def _count_inflated(self, plain_bytes: int) -> None:
        try:
            self._inflation.count_inflated(plain_bytes)
        except InflationLimitExceeded as exc:
            raise TooLarge(f"{exc}; send it without compression") from exc

    def _open(self, *, is_whole: bool) -> Iterator[bytes]:
        body_format = sniff(self._head, self._boundary, is_whole=is_whole)
        if body_format is None:
            return
        self._body = _open_reader(body_format)
        skip = body_format.skip if isinstance(body_format, Multipart) else 0
        head, self._head = self._head[skip:], b""
        if head:
            yield from self._take_events(self._body.read_events(head))

    def _take_events(self, events: Iterator[FormEvent]) -> Iterator[bytes]:
        for event in events:
            if isinstance(event, FieldStart):
                self._end_field()
                self._start_field(event.name.strip())
            elif self._value is not None:
                self._value += event
                if len(self._value) > MAX_VALUE_BYTES:
                    raise BadRequest(f"field {self._field} is longer than {MAX_VALUE_BYTES} bytes")
            elif not self._is_skipped:
                yield self._count(event)

    def _start_field(self, name: str) -> None:
        self._field = name
        self._is_skipped = name not in self._form.streams and name not in self._form.values
        self._is_second = self.size_bytes > 0
        self._value = bytearray() if name in self._form.values else None

    def _end_field(self) -> None:
        name, value = self._field, self._value
        self._field, self._value, self._is_skipped = None, None, True
        if name is None or value is None:
            return
        text = _decode(bytes(value))
        # The same value again does no harm.
        if self.values.setdefault(name, text) != text:
            raise BadRequest(f"field {name} is given twice with different values")

    def _count(self, piece: bytes) -> bytes:
        if self._is_second:
            raise BadRequest(f"field {self._field} is given twice; send one feed a request")
        self.size_bytes += len(piece)
        if self.size_bytes > self._max_feed_bytes:
            raise TooLarge(explain_limit(self._max_feed_bytes))
        return piece


def explain_limit(max_feed_bytes: int) -> str:
    """Returns the message that a feed is too large, with the remedy."""
    return f"the feed is larger than {max_feed_bytes} bytes, which is what the setting {LIMIT_SETTING} allows; send it in several feeds"


def is_surely_too_large(
    content_length: int, content_type: str, content_encoding: str, max_feed_bytes: int, *, is_bare: bool = False
) -> bool:
    """Returns whether a body of this length cannot hold a feed within the limit, before a byte of it is read.

    ``is_bare``: the body is the feed itself, whatever its type.
    """
    if content_encoding.strip().lower() not in ("", "identity"):
        return False
    is_form = not is_bare and find_boundary(content_type) is None and "xml" not in content_type.lower()
    return content_length > max_feed_bytes * (3 if is_form else 1) + OVERHEAD_BYTES


def _open_reader(body_format: BodyFormat) -> BodyReader:
    match body_format:
        case Multipart():
            try:
                return MultipartReader(body_format.boundary, has_bare_lines=body_format.has_bare_lines)
            except ValueError as exc:
                raise BadRequest("the body begins like multipart/form-data but its first line is no delimiter") from exc
        case UrlEncoded():
            return UrlEncodedReader()
        case RawXml():
            return RawXmlReader()
        case _:
            assert_never(body_format)


def _decode(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
