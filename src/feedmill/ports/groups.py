"""The groups database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from feedmill.model.access import Principal
from feedmill.model.change import PutGroup
from feedmill.model.identity import PrincipalKey, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObsoleteGroup:
    """A definition of a group that a later one, or its source's end, has overtaken."""

    id: int
    memberships: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDefinition:
    """A group as a layer defines it. Shape: ``key`` is the digest of the group's exact key."""

    id: int
    key: bytes
    group: Subject
    memberships: int


class Groups(Protocol):
    """The groups database, for who looks: who is a member of which group, by group source.

    Of a group's definitions in one source the newest counts, those in several sources are united.
    """

    def find_parents(self, keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        """Finds the groups that have members of these keys: each key with each such group, once, in any order."""

    def generation(self) -> int:
        """Returns a number that grows whenever groups change for those who look; 0 before there were any."""

    def list_visible(self) -> dict[int, str]:
        """Lists the layers that are seen, by feed, with their sources."""

    def list_building(self) -> list[int]:
        """Lists the feeds whose layers are being built."""

    def measure_snapshot(self, feed_id: int) -> tuple[int, int]:
        """Counts a layer's definitions and their members."""

    def is_redefined(self, feed_id: int) -> bool:
        """Whether a definition of a layer, or of a later one, was replaced or taken away while it was built."""

    def iter_definitions(self, feed_id: int, *, after: int = 0) -> Iterator[GroupDefinition]:
        """Returns the definitions of a layer by id, those behind one, also those that a newer layer covers."""

    def iter_members(self, feed_id: int, *, after: int = 0, until: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Returns the members of a layer's definitions behind one and up to another, by definition.

        Shape: the definition's id and the digests of members' keys, one behind the other; one of very many comes in several pieces.
        """

    def count_memberships(self) -> int:
        """Counts the members of all groups that are seen, a member once in each group and source."""


class GroupSnapshots(Protocol):
    """The groups database, for who changes it: a groups feed builds a layer that nobody sees, and publishes or drops it as a whole.

    Groups feeds are worked on one after the other, so one layer at a time is built.
    """

    def build(self, feed_id: int, source: str, *, whole: bool) -> None:
        """Begins a feed's layer, where it is not begun yet. ``whole``: once published it is all that the source has."""

    def define_many(self, feed_id: int, definitions: Sequence[PutGroup]) -> int:
        """Puts definitions into a layer, each in place of an earlier one of its group, and counts the layer's members so far."""

    def extend(self, feed_id: int, group: Principal, members: Sequence[Principal]) -> int:
        """Adds further members to a group that the layer defines, and counts as above."""

    def keep_many(self, feed_id: int, groups: Sequence[Principal]) -> None:
        """Takes over into a whole layer the definitions that its source has now of groups that the layer does not define."""

    def expected_memberships(self, feed_id: int) -> int:
        """Counts what ``Groups.count_memberships`` would give once the layer is published."""

    def publish(self, feed_id: int) -> None:
        """Shows a layer; a whole one in place of all that its source had."""

    def drop(self, feed_id: int) -> None:
        """Returns up a layer, if there is one."""


class GroupGarbage(Protocol):
    """What of the groups database nobody sees any more, for who removes it."""

    def list_dead(self, *, after: int, limit: int) -> list[ObsoleteGroup]:
        """Lists definitions that nobody sees any more, by id from ``after`` on."""

    def trim_dead(self, definition_id: int, limit: int) -> int:
        """Removes up to ``limit`` members of a dead definition and counts them."""

    def remove_dead(self, definition_ids: Sequence[int]) -> None:
        """Removes dead definitions with their members."""

    def remove_empty_snapshots(self) -> None:
        """Forgets layers without definitions, but for one that is being built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonCursor:
    """How far the comparison of a layer with what is seen is. Opaque to all but who gave it."""

    gains_only: bool = True
    definition: int = 0
    member: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeCursor:
    """How far the forgetting of old changes is. Opaque to all but who gave it."""

    member: bytes = b""
    group: int = -1
    feed_id: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """When a groups feed's layer was published."""

    feed_id: int
    source: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMembership:
    """Who is in a group, or was since a time.

    Shape: ``turns`` are the publications after that time by which it began (True) or ended, oldest first.
    """

    key: PrincipalKey
    group: Subject
    holds: bool
    turns: tuple[tuple[Publication, bool], ...] = ()

    def held_at(self, at: datetime) -> bool:
        """Whether it held at a time. Shape: none before the one since which the turns are known."""
        after = next((began for publication, began in self.turns if publication.at > at), None)
        return self.holds if after is None else not after


class GroupHistory(Protocol):
    """What groups feeds changed in who is in which group, so that the groups of a time can be told from those of now.

    Sources are united: a membership that one source takes away and another has is no change. ``compare`` is called for a layer until it
    gives None, then ``publish`` in the transaction that publishes the layer; what was compared for a layer that is given up is forgotten.
    """

    def compare(self, feed_id: int, after: ComparisonCursor, limit: int) -> ComparisonCursor | None:
        """Keeps what publishing a layer will change, about as many members at once as the limit says. None at the end."""

    def publish(self, feed_id: int, source: str, *, at: datetime) -> None:
        """Keeps when a layer was published; never before an earlier one, whatever the clock says."""

    def find_parents_at(self, keys: Sequence[PrincipalKey], at: datetime) -> list[tuple[PrincipalKey, Subject]]:
        """Finds as ``Groups.find_parents``, as groups were at a time."""

    def list_memberships(self, keys: Sequence[PrincipalKey], since: datetime) -> list[PastMembership]:
        """Lists the groups that have, or have had since a time, members of these keys, each pair once."""

    def forget(self, before: datetime, after: PurgeCursor, limit: int) -> PurgeCursor | None:
        """Forgets changes older than a time, going through some of them at once. None at the end."""
