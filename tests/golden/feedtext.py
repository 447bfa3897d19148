"""Feeds for the tests of the feed protocol, and a reading of them in memory."""

import io
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from feedmill.model.change import Change, GroupChange, Note
from feedmill.model.feed import FeedKind
from feedmill.services.feeds.reading import FeedReader, ScanReport
from tests.feedreaders import GIVEN, gsafeed_reader, gsagroups_reader

_Wanted = TypeVar("_Wanted")


def feed_of(*inside: str, header: str = "") -> bytes:
    """Returns a feed with one group around what is given."""
    return f"<gsafeed>{header}<group>{''.join(inside)}</group></gsafeed>".encode()


def record_of(inside: str = "", url: str = "http://a.example.com/1", **attributes: str) -> str:
    """Returns a record; underscores in attribute names stand for hyphens."""
    written = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<record url="{url}"{written}>{inside}</record>'


def reader(
    data: bytes,
    kind: FeedKind = FeedKind.INCREMENTAL,
    *,
    require_fqdn: bool = False,
    max_inflated_bytes: int = 1_000_000,
    piece_bytes: int = 65_536,
) -> FeedReader[Change]:
    assert kind.feedtype is not None
    options = replace(GIVEN, feedtype=kind.feedtype, require_fqdn=require_fqdn, max_inflated_bytes=max_inflated_bytes)
    return gsafeed_reader(lambda: io.BytesIO(data), options, piece_bytes=piece_bytes)


def read_all(reader: FeedReader[Change]) -> tuple[ScanReport, list[Change]]:
    """Reads a feed as the feeder does: whole, then change by change."""
    report = reader.scan()
    return report, list(reader.changes(repaired=report.repaired))


def read_groups(data: bytes) -> list[GroupChange]:
    reader = gsagroups_reader(data)
    report = reader.scan()
    return list(reader.changes(repaired=report.repaired))


def only(changes: Iterable[object], kind: type[_Wanted]) -> _Wanted:
    """Returns the only change, which must be of a kind."""
    (change,) = changes
    assert isinstance(change, kind), change
    return change


def read_one(data: bytes, wanted: type[_Wanted], kind: FeedKind = FeedKind.INCREMENTAL) -> _Wanted:
    """Returns the only change of a feed."""
    return only(read_all(reader(data, kind))[1], wanted)


def content_of(change: object) -> bytes:
    content = getattr(change, "content", None)
    assert content is not None
    with content.stream as stream:
        data: bytes = stream.read()
    assert len(data) == content.size_bytes
    return data


def reasons(notes: Iterable[Note]) -> str:
    return "; ".join(f"{note.level.value}: {note.reason}" for note in notes)
