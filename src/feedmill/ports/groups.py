"""The ports of the groups database: membership lookups, group snapshots, their clean-up and their history."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feedmill.model.access import Principal
from feedmill.model.change import PutGroup
from feedmill.model.identity import PrincipalKey, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObsoleteGroup:
    """A group definition that a later definition replaced, or that ended with its source."""

    id: int
    memberships: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDefinition:
    """A group as a group snapshot defines it. Shape: ``key`` is the digest of the group's exact key."""

    id: int
    key: bytes
    group: Subject
    memberships: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedDefinition:
    """A group as one source defines it now, by the feed that defined it last. Shape: ``memberships`` is the number of its members."""

    source: str
    feed_id: int
    memberships: int


class Memberships(Protocol):
    """Reads which principals are members of which group.

    If one source defines a group several times, the newest definition counts. The definitions of several sources are united.

    Example::

        with store.reading() as unit:
            groups = [group for _, group in unit.groups.memberships.find_parents([key])]
    """

    def find_parents(self, keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that have members with these keys. Returns each pair of key and group once, in any order."""

    def find_definitions(self, group: Subject) -> list[SourcedDefinition]:
        """Returns the definitions of a group that count, by source. A source that has emptied the group has none."""

    def count_memberships(self) -> int:
        """Counts the members of all visible groups. A member counts once for each group and source."""

    def count_by_source(self) -> dict[str, tuple[int, int]]:
        """Counts the groups that have members, and their members, by source: those definitions that count."""


class GroupSnapshots(Protocol):
    """Reads the group snapshots of the groups feeds, as they were sent."""

    def generation(self) -> int:
        """Returns a number that grows whenever a change of groups becomes visible; 0 before the first groups."""

    def list_visible(self) -> dict[int, str]:
        """Lists the published group snapshots: the source of each, by feed."""

    def list_building(self) -> list[int]:
        """Lists the feeds whose group snapshots are being built."""

    def measure_snapshot(self, feed_id: int) -> tuple[int, int]:
        """Counts the definitions of a group snapshot and their members."""

    def is_redefined(self, feed_id: int) -> bool:
        """Whether a definition of this group snapshot, or of a later one, was replaced or removed while the snapshot was built."""

    def iter_definitions(self, feed_id: int, *, after: int = 0) -> Iterator[GroupDefinition]:
        """Returns the definitions of a group snapshot with ids above ``after``, by id, including those that a newer snapshot replaces."""

    def iter_members(self, feed_id: int, *, after: int = 0, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Returns the members of a group snapshot's definitions with ids above ``after`` and up to ``until``, by definition.

        Shape: pairs of the definition's id and the concatenated digests of members' keys. A very large group comes in several pieces.
        """


class GroupSnapshotBuilder(Protocol):
    """Changes the groups database: a groups feed builds an invisible group snapshot, then publishes or drops all of it.

    Groups feeds are processed one after the other, so only one group snapshot is built at a time.
    """

    def begin_snapshot(self, feed_id: int, source: str, *, is_full: bool) -> None:
        """Begins a feed's group snapshot, if not begun yet. ``is_full``: once published, it replaces all that the source had."""

    def define_many(self, feed_id: int, definitions: Sequence[PutGroup]) -> int:
        """Stores definitions in a group snapshot, replacing earlier ones of their groups. Returns the snapshot's members so far."""

    def extend(self, feed_id: int, group: Principal, members: Sequence[Principal]) -> int:
        """Adds members to a group that the group snapshot already defines. Returns the snapshot's members so far."""

    def copy_definitions(self, feed_id: int, groups: Sequence[Principal]) -> None:
        """Copies the source's current definitions of these groups into a full group snapshot, except groups that the snapshot defines."""

    def expected_memberships(self, feed_id: int) -> int:
        """Returns the number that ``Memberships.count_memberships`` will return once the group snapshot is published."""

    def publish(self, feed_id: int) -> None:
        """Makes a group snapshot visible. A full snapshot replaces everything that its source had."""

    def drop(self, feed_id: int) -> None:
        """Discards a group snapshot, if there is one."""


class GroupGarbage(Protocol):
    """Removes the rows of the groups database that nothing refers to any more."""

    def list_dead(self, *, after: int, limit: int) -> list[ObsoleteGroup]:
        """Lists definitions that are no longer visible, by id, with ids above ``after``."""

    def trim_dead(self, definition_id: int, limit: int) -> int:
        """Removes up to ``limit`` members of a dead definition and returns how many it removed."""

    def remove_dead(self, definition_ids: Sequence[int]) -> None:
        """Removes dead definitions with their members."""

    def remove_empty_snapshots(self) -> None:
        """Removes group snapshots without definitions, except one that is being built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonCursor:
    """The position of a comparison between a group snapshot and the visible groups. Only the adapter that returned it can read it."""

    gains_only: bool = True
    definition: int = 0
    member: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeCursor:
    """The position of a removal of old changes. Only the adapter that returned it can read it."""

    member: bytes = b""
    group: int = -1
    feed_id: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """When the group snapshot of a groups feed was published."""

    feed_id: int
    source: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMembership:
    """A principal that is in a group, or was in it at some time after a given time.

    Shape: ``turns`` are the later publications at which the membership began (True) or ended, oldest first.
    """

    key: PrincipalKey
    group: Subject
    holds: bool
    turns: tuple[tuple[Publication, bool], ...] = ()

    def held_at(self, at: datetime) -> bool:
        """Whether the membership was in force at a time. Shape: the time is not before the one from which ``turns`` are known."""
        after = next((began for publication, began in self.turns if publication.at > at), None)
        return self.holds if after is None else not after


class GroupHistory(Protocol):
    """Records how groups feeds change memberships, so that the memberships of an earlier time can be found.

    Sources are united: if one source removes a membership that another source has, that is no change. The caller calls ``compare`` for
    a group snapshot until it returns None, then ``publish`` in the transaction that publishes the snapshot.
    If a snapshot is dropped, the results of its comparison are removed.
    """

    def compare(self, feed_id: int, after: ComparisonCursor, limit: int) -> ComparisonCursor | None:
        """Records what publishing a group snapshot will change, about ``limit`` members per call. Returns None at the end."""

    def publish(self, feed_id: int, source: str, *, at: datetime) -> None:
        """Records when a group snapshot was published. The recorded time is never before an earlier one, even if the clock is."""

    def find_parents_at(self, keys: Sequence[PrincipalKey], at: datetime) -> list[tuple[PrincipalKey, Subject]]:
        """Finds groups as ``Memberships.find_parents`` does, with the memberships of a time."""

    def list_memberships(self, keys: Sequence[PrincipalKey], since: datetime) -> list[PastMembership]:
        """Lists the groups that have, or had at some time after ``since``, members with these keys. Returns each pair once."""

    def forget(self, before: datetime, after: PurgeCursor, limit: int) -> PurgeCursor | None:
        """Removes some of the changes that are older than a time. Returns where to continue, or None at the end."""
