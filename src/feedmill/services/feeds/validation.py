"""Validates a feed without accepting it: the result that a server with an empty store that accepts every URL would report.

Kind and data source default to those in the feed's header, because there is no post that could name them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from feedmill.core.documents.receipts import entry_at, final_state
from feedmill.core.documents.submission import WEB, decide_kind
from feedmill.model.change import Change, GroupChange, InvalidRecord, PutDocument, UpdateDocument
from feedmill.model.errors import BadFeed, BadRequest
from feedmill.model.feed import FeedHeader, FeedKind, FeedState, LogEntry, LogLevel
from feedmill.ports.feedformats import FeedFormats, FormatOptions
from feedmill.services.feeds.reading import FeedReader, Opener, ScanReport, detect_format

MAX_LOG_ENTRIES = 10_000
_HEAD_BYTES = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How a feed would end. ``kind`` is None for a groups feed; a log beyond ``MAX_LOG_ENTRIES`` is cut, the counts stay true."""

    state: FeedState
    kind: FeedKind | None
    datasource: str | None
    records: int = 0
    included: int = 0
    errors: int = 0
    log: tuple[LogEntry, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether every record would be accepted."""
        return self.state is FeedState.COMPLETED


def validate(
    opener: Opener,
    formats: FeedFormats,
    options: FormatOptions,
    *,
    kind: FeedKind | None = None,
    datasource: str | None = None,
) -> Validation:
    """Reads a feed of documents or of groups and returns how it would end. Errors: NotFound from the opener; a bad feed is a result.

    ``kind`` wins over the feed type in the options.
    """
    try:
        with opener() as stream:
            name = detect_format(formats, stream.read(_HEAD_BYTES))
        if name in formats.groups:
            groups = FeedReader(opener=opener, format=formats.groups[name].open(options))
            report = groups.scan()
            return _validate_changes(report, groups.changes(repaired=report.repaired), None, None, ())
        registered = formats.documents[name]
        report = FeedReader(opener=opener, format=registered.open(options)).scan()
        source = datasource or report.header.datasource
        decided, doubts = (kind, ()) if kind is not None else _decide_kind(report.header, source)
        options = replace(options, feedtype=decided.feedtype or options.feedtype)
        reader = FeedReader(opener=opener, format=registered.open(options))
        return _validate_changes(report, reader.changes(repaired=report.repaired), decided, source, doubts)
    except BadFeed as error:
        entry = LogEntry(level=LogLevel.ERROR, reason=error.placed_reason, line=error.line)
        return Validation(state=FeedState.FAILED_IN_ERROR, kind=kind, datasource=datasource, log=(entry,))


def _decide_kind(header: FeedHeader, source: str | None) -> tuple[FeedKind, tuple[LogEntry, ...]]:
    try:
        return decide_kind(source or "", header.feedtype), ()
    except BadRequest:
        if source == WEB:
            return FeedKind.METADATA_AND_URL, ()
    reason = "the header names no feedtype that is known; judged as an incremental feed, the field posted beside the feed decides"
    return FeedKind.INCREMENTAL, (LogEntry(level=LogLevel.WARNING, reason=reason),)


def _validate_changes(
    report: ScanReport,
    changes: Iterator[Change] | Iterator[GroupChange],
    kind: FeedKind | None,
    datasource: str | None,
    doubts: tuple[LogEntry, ...],
) -> Validation:
    counts: Counter[str] = Counter()
    log = [*report.log, *doubts]
    for change in changes:
        counts[_count(change)] += 1
        log.extend(_report(change)[: MAX_LOG_ENTRIES - len(log)])
        if isinstance(change, PutDocument | UpdateDocument) and change.content is not None:
            change.content.stream.close()
    return Validation(
        state=final_state(included=counts["included"], errors=counts["error"], acls=counts["acl"]),
        kind=kind,
        datasource=datasource,
        records=report.records,
        included=counts["included"],
        errors=counts["error"],
        log=tuple(log),
    )


def _count(change: Change | GroupChange) -> str:
    if isinstance(change, InvalidRecord):
        return "error"
    return "included" if change.place.record else "acl"


def _report(change: Change | GroupChange) -> list[LogEntry]:
    url = getattr(change, "url", None)
    entries = [entry_at(change.place, note.level, note.reason, url=url) for note in change.notes]
    if isinstance(change, InvalidRecord):
        entries.append(entry_at(change.place, LogLevel.ERROR, change.reason, url=url))
    return entries
