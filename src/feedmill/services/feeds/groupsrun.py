"""Processes one groups feed in the feeder: scan, build, publish.

The feed's definitions are written to an unpublished group snapshot, in bounded transactions with a checkpoint each. A feeder that is killed
resumes after the last transaction. At the end one transaction publishes the snapshot and ends the feed, so that every reader sees the
groups either before or after the feed. If a feed fails, upkeep removes its snapshot.

A membership in error costs only that membership: an incremental feed leaves its group as it was, and so does a full feed if the group could
be read. A feed that holds only errors changes nothing.
Source: docs/reference/groups-feeds.md; googlegsa/library, ``DocIdSender``; googlegsa/secmgr, ``GroupMembersMap``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from feedmill.core.documents.receipts import entry_at, final_state
from feedmill.model.change import GroupChange, InvalidRecord, PutGroup
from feedmill.model.errors import BadFeed, NotFound
from feedmill.model.feed import Feed, FeedState, FeedType, LogEntry, LogLevel, Phase, SourceCommand
from feedmill.model.queue import QueueName
from feedmill.ports import ComparisonCursor, UnitOfWork
from feedmill.services.feeds.feedrun import SCAN_STEP, FeedDependencies
from feedmill.services.feeds.progress import ended, failed, logged, scanned, unread
from feedmill.services.feeds.reading import PARSE_STEP
from feedmill.services.feeds.recordwatch import RecordWatch
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point

MAX_MEMBERSHIPS = 3_000_000
"""The limit for the members of all groups together, as on the appliance. Source: Feeds Protocol Developer's Guide."""

GROUPS_STEP = "groups"

AT_CAPACITY = "error: group db at capacity."
"""The appliance's own words, which clients may look for."""
_FULL = LogEntry(level=LogLevel.ERROR, reason=AT_CAPACITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsLimits:
    """Limits of one transaction, and of the members of all groups together."""

    memberships: int = 20_000
    definitions: int = 2_000
    max_memberships: int = MAX_MEMBERSHIPS


class GroupsRun:
    """One groups feed in progress; call ``step`` until its feed has left the feeder."""

    def __init__(self, feed: Feed, tools: FeedDependencies, limits: GroupsLimits | None = None) -> None:
        self.feed = feed
        self._tools = tools
        self._limits = limits or GroupsLimits()
        self._changes: Iterator[GroupChange] | None = None
        self._compared: ComparisonCursor | None = ComparisonCursor()
        self._watch = RecordWatch(feed.id, tools.caution)

    def step(self) -> None:
        """Does the next bounded piece of work. Errors: Busy while a membership has to wait that ended the process."""
        self._watch.work(is_reading=self.feed.phase.is_reading, work=self._work, give_up=self._give_up)
        if self.feed.phase.is_past_feeder:
            self._watch.clear()

    def _work(self) -> None:
        match self.feed.phase:
            case Phase.SCAN:
                self._scan()
            case Phase.APPLY:
                self._build_slice()
            # The comparison comes before the publication, piece by piece; None is its end. A failed feed needs none.
            case Phase.SWEEP if self._is_failed or self._compared is None:
                self._publish()
            case Phase.SWEEP:
                self._compare()

    def _give_up(self, reason: str) -> None:
        """Ends a feed that ended the process without a membership that can be blamed."""
        self._fail(LogEntry(level=LogLevel.ERROR, reason=reason))

    def _scan(self) -> None:
        """Reads the whole feed once; a feed that is not well-formed to its end changes nothing."""
        if self.feed.kind.command is SourceCommand.CLEANUP:
            self._save(replace(self.feed, state=FeedState.IN_PROGRESS, phase=Phase.SWEEP))
            return
        try:
            self._watch.begin_reading()
            report = self._tools.groups_reader(self.feed).scan()
        except (BadFeed, NotFound) as error:
            self._fail(unread(error))
        except Exception as error:
            if not belongs_to_item(error):
                raise
            self._fail(LogEntry(level=LogLevel.ERROR, reason=describe(SCAN_STEP, error)))
        else:
            self._save(*scanned(self.feed, report))

    def _build_slice(self) -> None:
        """Puts the next slice into the snapshot. A failed step drops the read position; the next one reads from the checkpoint."""
        changes, self._changes = self._changes, None
        limit = self._watch.find_limit(self.feed.applied, self._limits.definitions)
        try:
            if changes is None:
                changes = self._tools.groups_reader(self.feed).changes(self.feed.applied, watch=self._watch)
            taken = _read_slice(changes, replace(self._limits, definitions=limit))
        except (BadFeed, NotFound) as error:
            self._fail(unread(error))
            return
        except Exception as error:
            if not belongs_to_item(error):
                raise
            self._fail(LogEntry(level=LogLevel.ERROR, reason=describe(PARSE_STEP, error)))
            return
        if not taken:
            self._save(replace(self.feed, phase=Phase.SWEEP))
        elif self._put_isolated(taken) > self._limits.max_memberships:
            self._fail(_FULL)
        else:
            self._changes = changes

    def _put_isolated(self, taken: Sequence[GroupChange]) -> int:
        """Puts a slice, after a failure its halves, until the membership that fails alone is in error. Returns the member count."""
        try:
            return self._put_slice(taken)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            if len(taken) == 1:
                return self._put_slice([_faulty_of(taken[0], describe(GROUPS_STEP, error))])
        # First the front half with its checkpoint. If the process ends between both, only the back half is left.
        middle = len(taken) // 2
        self._put_isolated(taken[:middle])
        return self._put_isolated(taken[middle:])

    def _put_slice(self, taken: Sequence[GroupChange]) -> int:
        """Puts a slice into the snapshot, the checkpoint with the last part of it. Returns the snapshot's member count.

        A group too large for one transaction is the last of its slice; its further members follow in separate transactions. After a crash
        between them the slice is put again, which replaces what the snapshot has of its groups.
        """
        limit = self._limits.memberships
        *before, last = taken
        pieces = (
            []
            if isinstance(last, InvalidRecord)
            else [last.members[start : start + limit] for start in range(limit, len(last.members), limit)]
        )
        first = last if isinstance(last, InvalidRecord) else replace(last, members=last.members[:limit])
        with self._tools.store.writing() as unit:
            total = self._put_first(unit, [*before, first])
            feed = self.feed if pieces else self._store_checkpoint(unit, taken)
        for number, piece in enumerate(pieces, start=1):
            assert isinstance(last, PutGroup)
            with self._tools.store.writing() as unit:
                total = unit.groups.snapshot_builder.extend(feed.id, last.group, piece)
                unit.processing.queues.note_progress(QueueName.GROUPS)
                feed = feed if number < len(pieces) else self._store_checkpoint(unit, taken)
        self.feed = feed
        return total

    def _put_first(self, unit: UnitOfWork, taken: Sequence[GroupChange]) -> int:
        feed, snapshots, is_full = self.feed, unit.groups.snapshot_builder, self.feed.kind.feedtype is FeedType.FULL
        snapshots.begin_snapshot(feed.id, feed.datasource, is_full=is_full)
        for number, change in enumerate(taken, feed.applied + 1):
            if isinstance(change, PutGroup):
                self._watch.begin(number, GROUPS_STEP)
                fault_point(GROUPS_STEP, change.group.name)
        self._watch.begin_many(feed.applied + 1, len(taken), GROUPS_STEP)
        defined = [change for change in taken if isinstance(change, PutGroup)]
        total = snapshots.define_many(feed.id, defined)
        if is_full:
            snapshots.copy_definitions(
                feed.id, [change.group for change in taken if isinstance(change, InvalidRecord) and change.group is not None]
            )
        return total

    def _store_checkpoint(self, unit: UnitOfWork, taken: Sequence[GroupChange]) -> Feed:
        """Stores the checkpoint with the result of a slice."""
        errors = sum(isinstance(change, InvalidRecord) for change in taken)
        feed = replace(
            self.feed,
            applied=self.feed.applied + len(taken),
            included=self.feed.included + len(taken) - errors,
            errors=self.feed.errors + errors,
        )
        feed, log = logged(feed, [entry for change in taken for entry in _entries(change)])
        unit.feeds.queue.save(feed, log)
        return feed

    @property
    def _is_failed(self) -> bool:
        return final_state(included=self.feed.included, errors=self.feed.errors, acls=0) is FeedState.FAILED_IN_ERROR

    def _compare(self) -> None:
        """Stores a piece of what publishing will change. After a crash this restarts, and each piece is still stored once."""
        feed, at_once = self.feed, self._limits.memberships
        with self._tools.store.writing() as unit:
            unit.groups.snapshot_builder.begin_snapshot(feed.id, feed.datasource, is_full=feed.kind.feedtype is not FeedType.INCREMENTAL)
            self._compared = unit.groups.history.compare(feed.id, self._compared or ComparisonCursor(), at_once)
            unit.processing.queues.note_progress(QueueName.GROUPS)

    def _publish(self) -> None:
        """Publishes the snapshot and ends the feed in one transaction, or abandons the snapshot. A cleanup publishes an empty snapshot."""
        feed, now = self.feed, self._tools.clock()
        log: tuple[LogEntry, ...] = ()
        feed = ended(replace(feed, finished_at=now), is_obeyed=True, searchable_at=now)
        with self._tools.store.writing() as unit:
            unit.groups.snapshot_builder.begin_snapshot(feed.id, feed.datasource, is_full=feed.kind.feedtype is not FeedType.INCREMENTAL)
            is_full = unit.groups.snapshot_builder.expected_memberships(feed.id) > self._limits.max_memberships
            if feed.state is FeedState.FAILED_IN_ERROR or is_full:
                unit.groups.snapshot_builder.drop(feed.id)
            else:
                unit.groups.snapshot_builder.publish(feed.id)
                # In one transaction with the snapshot, so that the history and the memberships cannot differ.
                unit.groups.history.publish(feed.id, feed.datasource, at=now)
            if is_full:
                feed, log = failed(feed, _FULL, now)
            unit.feeds.queue.save(feed, log)
            unit.processing.queues.note_progress(QueueName.GROUPS)
        self.feed = feed

    def _fail(self, entry: LogEntry) -> None:
        feed, log = failed(self.feed, entry, self._tools.clock())
        with self._tools.store.writing() as unit:
            unit.groups.snapshot_builder.drop(feed.id)
            unit.feeds.queue.save(feed, log)
            unit.processing.queues.note_progress(QueueName.GROUPS)
        self.feed = feed

    def _save(self, feed: Feed, log: tuple[LogEntry, ...] = ()) -> None:
        with self._tools.store.writing() as unit:
            unit.feeds.queue.save(feed, log)
        self.feed = feed


def _read_slice(changes: Iterator[GroupChange], limits: GroupsLimits) -> list[GroupChange]:
    """Reads the next slice; an empty slice means the end."""
    taken: list[GroupChange] = []
    memberships = 0
    for change in changes:
        taken.append(change)
        memberships += len(change.members) if isinstance(change, PutGroup) else 0
        if len(taken) >= limits.definitions or memberships >= limits.memberships:
            break
    return taken


def _entries(change: GroupChange) -> Iterator[LogEntry]:
    """Yields the log entries about a membership."""
    if isinstance(change, InvalidRecord):
        yield entry_at(change.place, LogLevel.ERROR, change.reason)
    for note in change.notes:
        yield entry_at(change.place, note.level, note.reason)


def _faulty_of(change: GroupChange, reason: str) -> InvalidRecord:
    """Returns a membership as one in error; its group stays as it was."""
    return InvalidRecord(place=change.place, url=None, reason=reason, group=change.group)
