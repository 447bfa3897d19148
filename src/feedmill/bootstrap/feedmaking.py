"""Makes feeds of a folder, or of a file of another program, in the appliance's XML."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from feedmill.adapters.feedparts import FolderFeedParts
from feedmill.adapters.recordfiles import iter_lines, iter_sitemap, open_unpacked
from feedmill.adapters.sourcefolder import DiskSourceFolder
from feedmill.model.feedmaking import RecordFormat
from feedmill.services.feeds import feedmaking
from feedmill.services.feeds.feedmaking import FeedPlan, OnFile, WrittenFeed
from feedmill.services.feeds.recordfeeds import RecordPlan, make_record_feeds
from feedmill.wire.recordsources.jsonlines import iter_objects
from feedmill.wire.recordsources.mbox import iter_messages
from feedmill.wire.recordsources.record import ReadRecord
from feedmill.wire.recordsources.render import render_record
from feedmill.wire.recordsources.sitemap import iter_sitemap_records
from feedmill.wire.recordsources.table import iter_rows
from feedmill_client import feedxml


def make_feeds(plan: FeedPlan, on_file: OnFile = lambda _: None) -> WrittenFeed:
    """Writes the feed files of a folder; a folder without files makes one empty feed. Errors: BadRequest for an impossible plan."""
    return feedmaking.make_feeds(
        plan,
        _open_folder(plan),
        lambda head_of, tail: FolderFeedParts(output=plan.output, max_bytes=plan.max_bytes, head_of=head_of, tail=tail),
        feedxml,
        on_file,
    )


def count_files(plan: FeedPlan) -> int:
    """Returns how many files a plan would feed."""
    return sum(1 for _ in feedmaking.find_files(plan, _open_folder(plan), lambda _path, _reason: None))


def _open_folder(plan: FeedPlan) -> DiskSourceFolder:
    return DiskSourceFolder(folder=plan.folder, follow_links=plan.follow_links)


def make_feeds_of_records(plan: RecordPlan, output: Path, source: RecordFormat, origin: str, base_url: str) -> WrittenFeed:
    """Writes the feed files of a file of another program. Errors: BadRequest with the place of what cannot be read, OSError."""

    def open_parts(head_of: Callable[[int], bytes], tail: bytes) -> FolderFeedParts:
        return FolderFeedParts(output=output, max_bytes=plan.max_bytes, head_of=head_of, tail=tail)

    if source is RecordFormat.SITEMAP:
        return make_record_feeds(
            plan, iter_sitemap_records(origin, iter_sitemap, lambda path: Path(path).is_file()), open_parts, feedxml, render_record
        )
    with open_unpacked(Path(origin)) as stream:
        return make_record_feeds(plan, _READERS[source](stream, base_url), open_parts, feedxml, render_record)


_READERS: dict[RecordFormat, Callable[[BinaryIO, str], Iterator[ReadRecord]]] = {
    RecordFormat.CSV: lambda stream, base_url: iter_rows(iter_lines(stream), base_url),
    RecordFormat.JSONL: iter_objects,
    RecordFormat.MBOX: iter_messages,
}
