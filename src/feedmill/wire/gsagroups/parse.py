"""Converts the XML of a groups feed to group definitions, in order, one membership in memory at a time.

Rules: the root is ``xmlgroups`` and may be empty. A ``<membership>`` has one ``<principal>``, which is a group with a name; ``<members>``
may be absent or empty. Members without a name are skipped. Any other fault in a membership makes it a record in error.
The ``source`` of a membership is ignored; the posted source counts.
Source: Feeds Protocol Developer's Guide, "Designing an XML Groups Feed".
"""

from feedmill.model.access import Principal, Scope
from feedmill.model.change import GroupChange, InvalidRecord, PutGroup, SourcePosition
from feedmill.model.feed import FeedHeader, LogEntry
from feedmill.wire.tokens import Unreadable, read_principal
from feedmill.wire.xmlstream.reader import Attributes, Element, XmlReader

MAX_MEMBERS = 3_000_000
_PRINCIPAL_ATTRIBUTES = frozenset({"scope", "namespace", "case-sensitivity-type", "principal-type"})


class GroupsParser:
    """One reading of one groups feed. Pass bytes to ``feed``, which returns definitions; call ``close`` at the end.

    ``records`` counts the memberships read so far; the first ``skip`` of them are skipped.
    """

    def __init__(self, *, skip: int = 0) -> None:
        self.records = 0
        self._skip = skip
        self._ready: list[GroupChange] = []
        self._membership: _Membership | None = None
        self._attributes: Attributes = {}
        self._reader = XmlReader("xmlgroups", self._describe())

    def feed(self, data: bytes) -> list[GroupChange]:
        """Reads the next bytes and returns the definitions that ended in them. Errors: BadFeed."""
        self._reader.feed(data)
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> list[GroupChange]:
        """Ends the feed and returns the last definitions. Errors: BadFeed."""
        self._reader.close()
        ready, self._ready = self._ready, []
        return ready

    def discard(self) -> None:
        """Drops the parts of an unfinished membership."""
        self._membership = None

    @property
    def items(self) -> int:
        """Returns how many definitions were read so far."""
        return self.records

    @property
    def header(self) -> FeedHeader:
        """Returns an empty header, because the format has none."""
        return FeedHeader()

    @property
    def remarks(self) -> list[LogEntry]:
        """Returns notes for the sender about the feed as a whole; complete after ``close``."""
        return self._reader.remarks

    def _describe(self) -> Element:
        group = Element(attributes=_PRINCIPAL_ATTRIBUTES, start=self._start_principal, end=self._end_group, text=True)
        member = Element(attributes=_PRINCIPAL_ATTRIBUTES, start=self._start_principal, end=self._end_member, text=True)
        membership = Element(
            attributes=frozenset({"source"}),
            children={"principal": group, "members": Element(children={"principal": member})},
            start=self._start_membership,
            end=self._end_membership,
        )
        return Element(children={"membership": membership})

    def _start_membership(self, _: Attributes) -> None:
        self.records += 1
        if self.records > self._skip:
            self._membership = _Membership(SourcePosition(record=self.records, line=self._reader.line))

    def _end_membership(self, _: str) -> None:
        if self._membership is not None:
            self._ready.append(self._membership.build_change())
            self._membership = None

    def _start_principal(self, attributes: Attributes) -> None:
        self._attributes = attributes

    def _end_group(self, text: str) -> None:
        if self._membership is not None:
            self._membership.set_group(self._attributes, text.strip())

    def _end_member(self, text: str) -> None:
        if self._membership is not None:
            self._membership.add_member(self._attributes, text.strip())


class _Membership:
    """Collects one membership; after a fault only the fault is stored."""

    def __init__(self, place: SourcePosition) -> None:
        self._place = place
        self._group: Principal | None = None
        self._members: list[Principal] = []
        self._fault: str | None = None

    def set_group(self, attributes: Attributes, name: str) -> None:
        """Stores the group that is defined."""
        if self._group is not None:
            self._fail("more than one <principal> outside of <members>")
        elif not name:
            self._fail("the group of a membership has no name")
        else:
            try:
                self._group = read_principal(attributes, name)
            except Unreadable as exc:
                self._fail(str(exc))

    def add_member(self, attributes: Attributes, name: str) -> None:
        """Adds a member; one without a name is skipped."""
        if not name or self._fault is not None:
            return
        try:
            self._members.append(read_principal(attributes, name))
        except Unreadable as exc:
            self._fail(str(exc))
        if len(self._members) > MAX_MEMBERS:
            self._fail(f"a group with more than {MAX_MEMBERS} members")

    def build_change(self) -> GroupChange:
        """Returns the definition, or the reason why there is none."""
        if self._fault is None and self._group is None:
            self._fail("a membership without a <principal>")
        if self._group is not None and self._group.scope is not Scope.GROUP:
            self._fail("the principal of a membership is a user, who has no members; its scope must be GROUP")
        if self._fault is not None or self._group is None:
            group = self._group if self._group is not None and self._group.scope is Scope.GROUP else None
            return InvalidRecord(place=self._place, url=None, reason=self._fault or "", group=group)
        return PutGroup(place=self._place, group=self._group, members=tuple(self._members))

    def _fail(self, reason: str) -> None:
        self._fault = self._fault or reason
        # A group in error may have millions of members, of which none counts any more.
        self._members.clear()
