"""Reads earlier memberships from the changes of groups feeds, in SQL. See ``history`` for the meaning of the rows.

For a member and a group the earliest change after a time decides; if there is none, the current state does. If a feed found a group
without members, the group had none before, unless the same feed's change of the member says otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.groups.groups import SqlGroups
from feedmill.adapters.store.schema import group_changes, group_names, group_publications
from feedmill.adapters.store.statements import batches
from feedmill.adapters.store.values import from_micros, to_micros
from feedmill.core.access.principals import digest_of, exact_key
from feedmill.model.identity import PrincipalKey, Subject
from feedmill.model.scope import Scope
from feedmill.ports import PastMembership, Publication

ALL = b""
"""In a change, stands for all members of a group that had none before."""

_Pair = tuple[bytes, int]
_Turns = dict[int, bool]


class PastGroups:
    """Reads current and earlier memberships."""

    def __init__(self, connection: sa.Connection, groups: SqlGroups) -> None:
        self._connection = connection
        self._groups = groups

    def list_memberships(self, keys: Sequence[PrincipalKey], since: datetime) -> list[PastMembership]:
        """Lists the groups that have, or had at some time after ``since``, members with these keys."""
        by_digest = {digest_of(key): key for key in keys}
        changes = self._read_changes(list(by_digest), since)
        subjects = self._read_names({number for _, number in changes})
        now = self._groups.find_parents(keys)
        numbers = self._find_numbers({subject for _, subject in now})
        held: dict[_Pair, None] = {}
        found = []
        for key, subject in now:
            number = numbers.get(subject)
            if number is None:
                found.append(PastMembership(key=key, group=subject, holds=True))
            else:
                held[digest_of(key), number] = None
                subjects[number] = subject
        begun = self._read_beginnings({number for _, number in (*held, *changes)}, since)
        publications = self._read_publications(changes, begun)
        for pair in dict.fromkeys((*held, *changes)):
            turns = dict.fromkeys(begun.get(pair[1], ()), True) | changes.get(pair, {})
            causes = tuple((publications[feed_id], turns[feed_id]) for feed_id in sorted(turns))
            found.append(PastMembership(key=by_digest[pair[0]], group=subjects[pair[1]], holds=pair in held, turns=causes))
        return found

    def _read_changes(self, digests: Sequence[bytes], since: datetime) -> dict[_Pair, _Turns]:
        """Reads, for each member and group, the feeds that changed it after a time, and whether they added it."""
        changes: dict[_Pair, _Turns] = {}
        table = group_changes.c
        for batch in batches(digests):
            query = _changes(since, table.member_digest, table.group_number, table.feed_id, table.gained)
            for member, group, feed_id, gained in self._connection.execute(query.where(table.member_digest.in_(batch))):
                changes.setdefault((bytes(member), group), {})[feed_id] = bool(gained)
        return changes

    def _read_beginnings(self, numbers: Iterable[int], since: datetime) -> dict[int, list[int]]:
        """Reads which feeds after a time found groups without members."""
        table, found = group_changes.c, dict[int, list[int]]()
        for batch in batches(list(numbers)):
            query = _changes(since, table.group_number, table.feed_id).where(table.member_digest == ALL, table.group_number.in_(batch))
            for number, feed_id in self._connection.execute(query):
                found.setdefault(number, []).append(feed_id)
        return found

    def _read_publications(self, changes: Mapping[_Pair, _Turns], begun: Mapping[int, list[int]]) -> dict[int, Publication]:
        feeds = {feed_id for turns in (*changes.values(), *begun.values()) for feed_id in turns}
        found: dict[int, Publication] = {}
        for batch in batches(sorted(feeds)):
            query = sa.select(group_publications).where(group_publications.c.feed_id.in_(batch))
            for row in self._connection.execute(query).mappings():
                found[row["feed_id"]] = _publication_from_row(row)
        return found

    def _read_names(self, numbers: Iterable[int]) -> dict[int, Subject]:
        found: dict[int, Subject] = {}
        for batch in batches(list(numbers)):
            for row in self._connection.execute(sa.select(group_names).where(group_names.c.number.in_(batch))):
                found[row.number] = Subject(scope=Scope.GROUP, name=row.name, domain=row.domain, namespace=row.namespace)
        return found

    def _find_numbers(self, subjects: Iterable[Subject]) -> dict[Subject, int]:
        by_digest = {digest_of(exact_key(subject)): subject for subject in subjects}
        found: dict[Subject, int] = {}
        for batch in batches(list(by_digest)):
            query = sa.select(group_names.c.group_digest, group_names.c.number).where(group_names.c.group_digest.in_(batch))
            found.update((by_digest[bytes(digest)], number) for digest, number in self._connection.execute(query))
        return found


def _publication_from_row(row: sa.RowMapping) -> Publication:
    return Publication(feed_id=row["feed_id"], source=row["source"], at=from_micros(row["at"]))


def _changes(since: datetime, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    query = sa.select(*columns).join(group_publications, group_publications.c.feed_id == group_changes.c.feed_id)
    return query.where(group_publications.c.at > to_micros(since))
