"""Documents as JSON as two feed formats: an array of objects, and one object a line.

An object becomes a record of the appliance's feed, so that both protocols have the same rules of what a document is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from feedmill.model.change import Change, InvalidRecord, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.feed import FeedHeader, LogEntry
from feedmill.ports.feedformats import EVERYTHING, FormatOptions
from feedmill.wire.gsafeed.adapt import Adapter
from feedmill.wire.jsondocuments.record import find_url, read_record
from feedmill.wire.jsondocuments.split import BOM, MAX_ITEM_BYTES, WHITE_SPACE, ArraySplitter, LineSplitter, Piece, Splitter
from feedmill.wire.tokens import Unreadable


@dataclass(slots=True)
class JsonParser:
    """One reading of one body. The items are the bytes of the objects, which ``convert`` decodes."""

    splitter: Splitter
    skip: int
    header: FeedHeader = field(default_factory=FeedHeader)
    remarks: list[LogEntry] = field(default_factory=list)

    @property
    def items(self) -> int:
        """How many items the parser met."""
        return self.splitter.count

    @property
    def records(self) -> int:
        """How many of the items are records: all."""
        return self.splitter.count

    def feed(self, data: bytes) -> list[Piece]:
        """Parses the next bytes. Errors: BadFeed."""
        return self._drop_skipped(self.splitter.feed(data))

    def close(self) -> list[Piece]:
        """Ends the input. Errors: BadFeed."""
        return self._drop_skipped(self.splitter.close())

    def discard(self) -> None:
        """Does nothing: an unfinished item holds only memory."""

    def _drop_skipped(self, pieces: list[Piece]) -> list[Piece]:
        return [piece for piece in pieces if piece.number > self.skip]


class JsonFormat:
    """Implements ``ports.feedformats.FeedFormat``."""

    def __init__(self, options: FormatOptions, open_splitter: Callable[[int], Splitter]) -> None:
        self._options = options
        self._open_splitter = open_splitter
        self._adapter = Adapter(feedtype=options.feedtype, require_fqdn=options.require_fqdn)

    def parse(self, skip: int) -> JsonParser:
        """Returns a parser for one reading."""
        # A reading that passes on no item keeps nothing of them.
        return JsonParser(self._open_splitter(0 if skip == EVERYTHING else MAX_ITEM_BYTES), skip)

    def convert(self, item: Piece) -> Change:
        """Returns the change that an object requests."""
        try:
            read = read_record(item, self._options.spool, self._options.max_inflated_bytes)
        except Unreadable as exc:
            return self.reject(item, str(exc))
        change = replace(self._adapter.adapt(read.record), place=_position_of(item))
        if read.title is not None and isinstance(change, PutDocument | RequestCrawl):
            return replace(change, attributes=replace(change.attributes, title=read.title))
        return change

    def reject(self, item: Piece, reason: str) -> InvalidRecord:
        """Returns an object as one in error."""
        return InvalidRecord(place=_position_of(item), url=find_url(item), reason=reason)

    def make_repairer(self) -> None:
        """Returns None: a body that is no JSON was refused when it arrived."""


def open_array(options: FormatOptions) -> JsonFormat:
    """Returns the format of an array of objects."""
    return JsonFormat(options, ArraySplitter)


def open_lines(options: FormatOptions) -> JsonFormat:
    """Returns the format of one object a line."""
    return JsonFormat(options, LineSplitter)


def is_array(head: bytes) -> bool:
    """Returns whether a feed that begins with ``head`` is an array."""
    return _strip(head).startswith(b"[")


def is_lines(head: bytes) -> bool:
    """Returns whether a feed that begins with ``head`` is an object a line."""
    return _strip(head).startswith(b"{")


def _strip(head: bytes) -> bytes:
    return head.removeprefix(BOM).lstrip(WHITE_SPACE)


def _position_of(item: Piece) -> SourcePosition:
    return SourcePosition(record=item.number, line=item.line, offset=item.offset)
