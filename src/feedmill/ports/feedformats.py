"""The formats of feeds: what the feeder needs of a protocol. ``wire`` implements one format in each folder."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from feedmill.model.change import Change, GroupChange, InvalidRecord
from feedmill.model.dataload import Profile
from feedmill.model.feed import FeedHeader, FeedType, LogEntry

EVERYTHING = sys.maxsize
"""As ``skip``: the parser counts items and returns none."""

ItemT = TypeVar("ItemT")
ChangeT_co = TypeVar("ChangeT_co", covariant=True, bound=Change | GroupChange)


def read_as_utc(moment: datetime) -> datetime:
    """Returns a time without a zone as a time in UTC."""
    return moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """What a format may need to know besides the bytes. Units: bytes; ``max_inflation`` is a ratio.

    ``spool`` opens a temporary file for one large content. ``require_fqdn`` refuses URLs whose host has no domain. ``profile`` is that of
    the feed's data source, None if it has none. ``read_local`` returns the UTC time of a time in the zone of the server.
    """

    feedtype: FeedType
    spool: Callable[[], BinaryIO]
    max_inflated_bytes: int
    max_inflation: int
    require_fqdn: bool = False
    profile: Profile | None = None
    read_local: Callable[[datetime], datetime] = read_as_utc


class FeedParser(Protocol[ItemT]):
    """One reading of one feed, in pieces. Errors of all: BadFeed."""

    @property
    def items(self) -> int:
        """How many items the parser met, skipped ones too. Each item becomes one change."""

    @property
    def records(self) -> int:
        """How many of the items are records."""

    @property
    def header(self) -> FeedHeader:
        """What the feed says about itself, as far as it was read."""

    @property
    def remarks(self) -> list[LogEntry]:
        """Remarks to the sender about the feed as a whole; complete after ``close``."""

    def feed(self, data: bytes) -> list[ItemT]:
        """Parses the next bytes and returns the items that ended in them."""

    def close(self) -> list[ItemT]:
        """Ends the input and returns the remaining items."""

    def discard(self) -> None:
        """Releases unfinished items; called when a reading ends, however it ends."""


class FeedRepairer(Protocol):
    """Corrects known faults of senders in the bytes of a feed, in one pass. Lines and their numbers stay."""

    @property
    def report(self) -> list[LogEntry]:
        """What was corrected; complete after ``close``."""

    def feed(self, data: bytes) -> bytes:
        """Takes the next bytes and returns those that are ready."""

    def close(self) -> bytes:
        """Returns the rest."""


class FeedFormat(Protocol[ItemT, ChangeT_co]):
    """One format with its options: it parses bytes into items and converts items to changes.

    Example::

        parser = format.parse(skip=0)
        changes = [format.convert(item) for item in parser.feed(data) + parser.close()]
    """

    def parse(self, skip: int) -> FeedParser[ItemT]:
        """Returns a parser for one reading. The first ``skip`` items are counted, and not decoded or returned."""

    def convert(self, item: ItemT) -> ChangeT_co:
        """Returns the change that an item requests; an item that breaks the protocol's rules becomes an ``InvalidRecord``."""

    def reject(self, item: ItemT, reason: str) -> InvalidRecord:
        """Returns an item as one in error, and releases what it holds."""

    def make_repairer(self) -> FeedRepairer | None:
        """Returns a repairer for a feed whose parser raised a repairable ``BadFeed``; None if the format has none."""


@dataclass(frozen=True, kw_only=True)  # no slots: Python 3.11 cannot make frozen generic classes with slots by RegisteredFormat[...](...)
class RegisteredFormat(Generic[ChangeT_co]):
    """An entry of the registry: ``open`` applies options, ``recognizes`` decides by the first bytes whether a feed has the format."""

    open: Callable[[FormatOptions], FeedFormat[Any, ChangeT_co]]
    recognizes: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFormats:
    """The registry: the formats of feeds of documents and of feeds of groups, by name. The row of a feed holds the name of its format."""

    documents: Mapping[str, RegisteredFormat[Change]]
    groups: Mapping[str, RegisteredFormat[GroupChange]]
