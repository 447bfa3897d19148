"""Makes feeds from documents that are read one by one out of a file of another program.

Only the first part of a full feed is full, as with folders. A feed of URLs without content is of the type ``metadata-and-url``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from feedmill.model.feed import FeedKind
from feedmill.ports.feedmaking import FeedWriter, OpenFeedParts
from feedmill.services.feeds.feedmaking import WrittenFeed, WrittenFile
from feedmill.wire.recordsources.record import ReadRecord, SkippedRecord, SourceRecord

MAX_REPORTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlan:
    """What to make. Units: ``max_bytes`` of one feed file. ``origin`` is the file or the URL that is read, for reports.

    Shape: ``acl`` is the ACL of documents without one of their own as XML, "" for none.
    """

    origin: str
    datasource: str
    kind: FeedKind
    max_bytes: int
    acl: str = ""


def make_record_feeds(
    plan: RecordPlan, records: Iterable[ReadRecord], open_parts: OpenFeedParts, writer: FeedWriter, render: Callable[[SourceRecord], str]
) -> WrittenFeed:
    """Writes the feed files of documents; none make one empty feed. Errors: BadRequest for a file that cannot be read."""
    left_out, skipped = list[tuple[str, str]](), 0

    def head_of(number: int) -> bytes:
        return writer.begin_feed(plan.datasource, _kind_of(plan.kind, number).value).encode()

    with open_parts(head_of, writer.END_FEED.encode()) as parts:
        for record in records:
            reason = _describe_skipped(record)
            if isinstance(record, SourceRecord):
                data = render(record if record.acl else replace(record, acl=plan.acl)).encode("utf-8", "replace")
                if len(data) < plan.max_bytes:
                    parts.begin_record(len(data)).write(data)
                    continue
                reason = f"{record.url}: too large for a feed of at most {plan.max_bytes} bytes"
            skipped += 1
            if skipped <= MAX_REPORTED:
                left_out.append((plan.origin, reason))
        written = parts.finish()
    if skipped > MAX_REPORTED:
        left_out.append((plan.origin, f"and {skipped - MAX_REPORTED} more"))
    files = [
        WrittenFile(path=part.path, kind=_kind_of(plan.kind, number), records=part.records, size_bytes=part.size_bytes)
        for number, part in enumerate(written, start=1)
    ]
    return WrittenFeed(files=tuple(files), left_out=tuple(left_out))


def _kind_of(kind: FeedKind, number: int) -> FeedKind:
    return FeedKind.INCREMENTAL if kind is FeedKind.FULL and number > 1 else kind


def _describe_skipped(record: ReadRecord) -> str:
    return f"{record.place}: {record.reason}" if isinstance(record, SkippedRecord) else ""
