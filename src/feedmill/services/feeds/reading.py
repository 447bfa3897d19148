"""Reads a feed's bytes: once completely, to check that they are well-formed and to count the records, then change by change.

The first reading is strict. If it fails for a fault that the repair pass knows, the text is repaired on the way to a second strict
reading. With a folder for feed files, the repaired copy is stored there, and later readings should open that copy. This module never holds
more than one record and one piece of input in memory.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol, TypeVar

from feedmill.core.urls import MAX_URL_CHARACTERS
from feedmill.model.change import Change, GroupChange, InvalidRecord, SourcePosition
from feedmill.model.feed import FeedKind, LogEntry
from feedmill.ports import FeedFile, FeedFiles
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.wire.gsafeed.adapt import Adapter
from feedmill.wire.gsafeed.parse import EVERYTHING, FeedParser
from feedmill.wire.gsafeed.schema import Header, Item, Record
from feedmill.wire.gsagroups.parse import GroupsParser
from feedmill.wire.inflation import DEFAULT_RATIO
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.repair import Repairer

PARSE_STEP = "parse"
PIECE_BYTES = 65_536
"""How much is read at once. It is small, because a piece may inflate to a thousand times its size before its content is passed on."""

_Item = TypeVar("_Item")
_Change_co = TypeVar("_Change_co", covariant=True)
Opener = Callable[[], BinaryIO]
Spool = Callable[[], BinaryIO]


class Parser(Protocol[_Item]):
    """What the readings need of a protocol's parser. Errors of all: BadFeed."""

    @property
    def items(self) -> int:
        """How many changes were read."""

    @property
    def remarks(self) -> list[LogEntry]:
        """Remarks to the sender about the feed as a whole."""

    records: int

    def feed(self, data: bytes) -> list[_Item]:
        """Parses bytes and returns the items that ended in them."""

    def close(self) -> list[_Item]:
        """Ends the input and returns the remaining items."""

    def discard(self) -> None:
        """Drops unfinished items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The result of a complete reading.

    ``records`` counts records, ``changes`` counts records and separate ACLs; ``log`` is about the feed as a whole. ``repaired`` says that
    the text needed repair, ``repaired_file`` where its repaired copy is stored, if anywhere.
    """

    records: int
    changes: int
    log: tuple[LogEntry, ...] = ()
    repaired: bool = False
    repaired_file: str | None = None
    header: Header = field(default_factory=Header)


class ItemWatch(Protocol):
    """Learns which item is in progress. Units: numbers count the feed's changes from 1. ``refused``: reasons of items not to touch."""

    @property
    def refused(self) -> dict[int, str]:
        """The items that are in error without being read."""

    def begin(self, number: int, step: str, url: str | None = None) -> None:
        """Notes that an item enters a step."""

    def begin_reading(self) -> None:
        """Notes that reading of the feed continues."""


class Reader(Protocol[_Change_co]):
    """Reads one feed as often as needed. Errors of all: BadFeed, NotFound, DiskFull."""

    def scan(self) -> ScanReport:
        """Reads all of it and stores no item."""

    def changes(self, skip: int, *, watch: "ItemWatch | None" = None) -> Iterator[_Change_co]:
        """Returns the changes in order, except the first ``skip``; changes that the watch refuses are in error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedReader:
    """Reads one feed of documents as often as needed; ``opener`` opens its bytes again each time.

    ``spool`` opens a file for one large content. Without ``files``, a feed that needs repair is repaired during every reading.
    """

    opener: Opener
    kind: FeedKind
    spool: Spool
    files: FeedFiles | None = None
    require_fqdn: bool = False
    max_inflated_bytes: int = 1_073_741_824
    max_inflation: int = DEFAULT_RATIO
    piece_bytes: int = PIECE_BYTES

    def scan(self) -> ScanReport:
        """Reads all of it and stores no item. Errors: BadFeed, NotFound, DiskFull."""
        parsers: list[FeedParser] = []

        def make_parser() -> FeedParser:
            parsers.append(self._parser(EVERYTHING))
            return parsers[-1]

        report = _scan(self.opener, make_parser, self.files, self.piece_bytes)
        return replace(report, header=parsers[-1].header)

    def changes(self, skip: int = 0, *, repaired: bool = False, watch: ItemWatch | None = None) -> Iterator[Change]:
        """Returns the changes in order, except the first ``skip``. ``repaired``: repairs while reading. Errors: BadFeed, NotFound."""
        adapter = Adapter(kind=self.kind, require_fqdn=self.require_fqdn)
        items = _read(self.opener, self._parser(skip), Repairer() if repaired else None, self.piece_bytes)
        for number, item in _watched(items, skip, watch):
            yield _adapt(adapter, item, None if watch is None else watch.refused.get(number))

    def _parser(self, skip: int) -> FeedParser:
        return FeedParser(spool=self.spool, max_inflated_bytes=self.max_inflated_bytes, max_inflation=self.max_inflation, skip=skip)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsReader:
    """Reads one groups feed as often as needed; see ``FeedReader``."""

    opener: Opener
    files: FeedFiles | None = None
    piece_bytes: int = PIECE_BYTES

    def scan(self) -> ScanReport:
        """Reads all of it and stores no item. Errors: BadFeed, NotFound, DiskFull."""
        return _scan(self.opener, lambda: GroupsParser(skip=EVERYTHING), self.files, self.piece_bytes)

    def changes(self, skip: int = 0, *, repaired: bool = False, watch: ItemWatch | None = None) -> Iterator[GroupChange]:
        """Returns the definitions in order, except the first ``skip``. ``repaired``: repairs while reading. Errors: BadFeed, NotFound."""
        items = _read(self.opener, GroupsParser(skip=skip), Repairer() if repaired else None, self.piece_bytes)
        for number, item in _watched(items, skip, watch):
            reason = None if watch is None else watch.refused.get(number)
            yield item if reason is None else InvalidRecord(place=item.place, url=None, reason=reason, group=item.group)


def _watched(items: Iterator[_Item], skip: int, watch: ItemWatch | None) -> Iterator[tuple[int, _Item]]:
    """Yields items with their numbers. Notifies the watch of each item, and of the reading between items."""
    if watch is None:
        yield from enumerate(items, skip + 1)
        return
    watch.begin_reading()
    for number, item in enumerate(items, skip + 1):
        watch.begin(number, PARSE_STEP)
        yield number, item
        watch.begin_reading()


def _adapt(adapter: Adapter, item: Item, refusal: str | None) -> Change:
    """Returns the change of an item; an item that is refused, or that cannot be adapted, is in error."""
    attributes, place = (
        (item.attributes, SourcePosition(record=item.number, line=item.line))
        if isinstance(item, Record)
        else (item.acl.attributes, SourcePosition(record=0, line=item.acl.line))
    )
    url = attributes.get("url", "").strip()
    if refusal is None:
        try:
            fault_point(PARSE_STEP, url)
            return adapter.adapt(item)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            refusal = describe(PARSE_STEP, error)
    if isinstance(item, Record) and item.content is not None:
        item.content.stream.close()
    return InvalidRecord(place=place, url=url if 0 < len(url) <= MAX_URL_CHARACTERS else None, reason=refusal)


def _read(opener: Opener, parser: Parser[_Item], repairer: Repairer | None, piece_bytes: int) -> Iterator[_Item]:
    try:
        with opener() as stream:
            while piece := stream.read(piece_bytes):
                yield from parser.feed(piece if repairer is None else repairer.feed(piece))
        if repairer is not None:
            yield from parser.feed(repairer.close())
        yield from parser.close()
    finally:
        parser.discard()


def _scan(opener: Opener, make_parser: Callable[[], Parser[_Item]], files: FeedFiles | None, piece_bytes: int) -> ScanReport:
    parser = make_parser()
    try:
        for _ in _read(opener, parser, None, piece_bytes):
            pass
    except NotWellFormed as error:
        if not error.repairable:
            raise
        return _scan_repaired(opener, make_parser(), files, piece_bytes)
    return ScanReport(records=parser.records, changes=parser.items, log=tuple(parser.remarks))


def _scan_repaired(opener: Opener, parser: Parser[_Item], files: FeedFiles | None, piece_bytes: int) -> ScanReport:
    """Repairs the text, stores the repaired copy if it can, and reads it strictly, all in one pass."""
    repairer = Repairer()
    file = files.create() if files is not None else None
    try:
        with opener() as stream:
            while piece := stream.read(piece_bytes):
                _pass_on(repairer.feed(piece), file, parser)
        _pass_on(repairer.close(), file, parser)
        parser.close()
        if file is not None:
            file.commit()
    except BaseException:
        if file is not None:
            with suppress(Exception):
                file.discard()
        raise
    log = (*repairer.report, *parser.remarks)
    name = file.name if file is not None else None
    return ScanReport(records=parser.records, changes=parser.items, log=log, repaired=True, repaired_file=name)


def _pass_on(data: bytes, file: FeedFile | None, parser: Parser[_Item]) -> None:
    if file is not None:
        file.write(data)
    parser.feed(data)
