"""Rows of the groups database that nothing refers to any more, in SQL."""

from collections.abc import Sequence

import sqlalchemy as sa

from feedmill.adapters.store.groups.groups import BUILDING, DEAD, VISIBLE, covered, covers, remove_definitions
from feedmill.adapters.store.schema import group_definitions, group_members, group_snapshots
from feedmill.adapters.store.statements import batches
from feedmill.ports import ObsoleteGroup


class SqlGroupGarbage:
    """Implements ``ports.GroupGarbage``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def list_dead(self, *, after: int, limit: int) -> list[ObsoleteGroup]:
        """Lists definitions that are no longer visible."""
        table = group_definitions
        hides_nothing = sa.and_(table.c.memberships == 0, ~covers())
        is_dead = sa.or_(group_snapshots.c.state == DEAD, sa.and_(group_snapshots.c.state == VISIBLE, sa.or_(hides_nothing, covered())))
        query = sa.select(table.c.id, table.c.memberships).join(group_snapshots, group_snapshots.c.feed_id == table.c.feed_id)
        query = query.where(table.c.id > after, is_dead).order_by(table.c.id).limit(limit)
        return [ObsoleteGroup(id=id_, memberships=count) for id_, count in self._connection.execute(query)]

    def trim_dead(self, definition_id: int, limit: int) -> int:
        """Removes some members of a dead definition."""
        some = sa.select(group_members.c.member_digest).where(group_members.c.definition_id == definition_id).limit(limit)
        digests = list(self._connection.execute(some).scalars())
        for batch in batches(digests):
            chosen = (group_members.c.definition_id == definition_id, group_members.c.member_digest.in_(batch))
            self._connection.execute(sa.delete(group_members).where(*chosen))
        return len(digests)

    def remove_dead(self, definition_ids: Sequence[int]) -> None:
        """Removes dead definitions with their members."""
        remove_definitions(self._connection, definition_ids)

    def remove_empty_snapshots(self) -> None:
        """Removes group snapshots without definitions, except one that is being built."""
        has_any = sa.exists().where(group_definitions.c.feed_id == group_snapshots.c.feed_id)
        self._connection.execute(sa.delete(group_snapshots).where(group_snapshots.c.state != BUILDING, ~has_any))
