"""Reads a feed's bytes: once completely, to check that they are well-formed and to count the records, then change by change.

The first reading is strict. If it fails for a fault that the format can repair, the bytes are repaired on the way to a second strict
reading. With a folder for feed files, the repaired copy is stored there, and later readings should open that copy. This module never holds
more than one record and one piece of input in memory. It knows no format: the registry maps the name in a feed's row to one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from feedmill.model.change import Change, GroupChange, InvalidRecord, PutGroup
from feedmill.model.errors import BadFeed
from feedmill.model.feed import FeedHeader, LogEntry
from feedmill.ports import FeedFile, FeedFiles
from feedmill.ports.feedformats import EVERYTHING, FeedFormat, FeedFormats, FeedParser, FeedRepairer, RegisteredFormat
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point

PARSE_STEP = "parse"
PIECE_BYTES = 65_536
"""How much is read at once. It is small, because a piece may inflate to a thousand times its size before its content is passed on."""

_Item = TypeVar("_Item")
ChangeT = TypeVar("ChangeT", bound=Change | GroupChange)
ChangeT_co = TypeVar("ChangeT_co", covariant=True)
Opener = Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The result of a complete reading.

    ``records`` counts records, ``changes`` counts records and separate ACLs; ``log`` is about the feed as a whole. ``repaired`` says that
    the bytes needed repair, ``repaired_file`` where their repaired copy is stored, if anywhere.
    """

    records: int
    changes: int
    log: tuple[LogEntry, ...] = ()
    repaired: bool = False
    repaired_file: str | None = None
    header: FeedHeader = field(default_factory=FeedHeader)


class ItemWatch(Protocol):
    """Learns which item is in progress. Units: numbers count the feed's changes from 1. ``refused``: reasons of items not to touch."""

    @property
    def refused(self) -> dict[int, str]:
        """The items that are in error without being read."""

    def begin(self, number: int, step: str, url: str | None = None) -> None:
        """Notes that an item enters a step."""

    def begin_reading(self) -> None:
        """Notes that reading of the feed continues."""


class Reader(Protocol[ChangeT_co]):
    """Reads one feed as often as needed. Errors of all: BadFeed, NotFound, DiskFull."""

    def scan(self) -> ScanReport:
        """Reads all of it and stores no item."""

    def changes(self, skip: int, *, watch: "ItemWatch | None" = None) -> Iterator[ChangeT_co]:
        """Returns the changes in order, except the first ``skip``; changes that the watch refuses are in error."""


@dataclass(frozen=True, kw_only=True)  # no slots: see ports.RegisteredFormat
class FeedReader(Generic[ChangeT]):
    """Reads one feed as often as needed; ``opener`` opens its bytes again each time.

    Without ``files``, a feed that needs repair is repaired during every reading.
    """

    opener: Opener
    format: FeedFormat[Any, ChangeT]
    files: FeedFiles | None = None
    piece_bytes: int = PIECE_BYTES

    def scan(self) -> ScanReport:
        """Reads all of it and stores no item. Errors: BadFeed, NotFound, DiskFull."""
        parser = self.format.parse(EVERYTHING)
        try:
            for _ in self._read_items(parser, None):
                pass
        except BadFeed as error:
            repairer = self.format.make_repairer() if error.repairable else None
            if repairer is None:
                raise
            return self._scan_repaired(repairer)
        return ScanReport(records=parser.records, changes=parser.items, log=tuple(parser.remarks), header=parser.header)

    def changes(self, skip: int = 0, *, repaired: bool = False, watch: ItemWatch | None = None) -> Iterator[ChangeT | InvalidRecord]:
        """Returns the changes in order, except the first ``skip``. ``repaired``: repairs while reading. Errors: BadFeed, NotFound."""
        items = self._read_items(self.format.parse(skip), self.format.make_repairer() if repaired else None)
        for number, item in _watched(items, skip, watch):
            yield self._convert(item, None if watch is None else watch.refused.get(number))

    def _convert(self, item: Any, refusal: str | None) -> ChangeT | InvalidRecord:
        """Returns the change of an item; an item that is refused, or that cannot be converted, is in error."""
        if refusal is None:
            try:
                change = self.format.convert(item)
                fault_point(PARSE_STEP, _name_of(change))
                return change
            except Exception as error:
                if not belongs_to_item(error):
                    raise
                refusal = describe(PARSE_STEP, error)
        return self.format.reject(item, refusal)

    def _read_items(self, parser: FeedParser[_Item], repairer: FeedRepairer | None) -> Iterator[_Item]:
        try:
            with self.opener() as stream:
                while piece := stream.read(self.piece_bytes):
                    yield from parser.feed(piece if repairer is None else repairer.feed(piece))
            if repairer is not None:
                yield from parser.feed(repairer.close())
            yield from parser.close()
        finally:
            # Also when the caller abandons the iterator in the middle: temporary files of an unfinished item are closed.
            parser.discard()

    def _scan_repaired(self, repairer: FeedRepairer) -> ScanReport:
        """Repairs the bytes, stores the repaired copy if it can, and reads it strictly, all in one pass."""
        parser = self.format.parse(EVERYTHING)
        file = self.files.create() if self.files is not None else None
        try:
            with self.opener() as stream:
                while piece := stream.read(self.piece_bytes):
                    _pass_on(repairer.feed(piece), file, parser)
            _pass_on(repairer.close(), file, parser)
            parser.close()
            if file is not None:
                file.commit()
        except BaseException:
            if file is not None:
                # The error that ended the reading counts, not one of the clean-up.
                with suppress(Exception):
                    file.discard()
            raise
        log = (*repairer.report, *parser.remarks)
        name = file.name if file is not None else None
        return ScanReport(records=parser.records, changes=parser.items, log=log, repaired=True, repaired_file=name, header=parser.header)


def find_format(formats: Mapping[str, RegisteredFormat[ChangeT]], name: str) -> RegisteredFormat[ChangeT]:
    """Returns the format of a name. Errors: BadFeed, for a row that another version of the program wrote."""
    try:
        return formats[name]
    except KeyError as exc:
        raise BadFeed(f"the server does not know the feed format {name!a}") from exc


def detect_format(formats: FeedFormats, head: bytes) -> str:
    """Returns the name of the format that recognizes the first bytes of a feed, else that of the first format of documents."""
    for registered in (formats.documents, formats.groups):
        for name, each in registered.items():
            if each.recognizes(head):
                return name
    return next(iter(formats.documents))


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


def _name_of(change: Change | GroupChange) -> str:
    return change.group.name if isinstance(change, PutGroup) else change.url or ""


def _pass_on(data: bytes, file: FeedFile | None, parser: FeedParser[Any]) -> None:
    if file is not None:
        file.write(data)
    parser.feed(data)
