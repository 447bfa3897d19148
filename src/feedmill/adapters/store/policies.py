"""Policy ACLs, in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.marks import SqlFacts
from feedmill.adapters.store.schema import digest, policies
from feedmill.adapters.store.statements import upsert
from feedmill.core.policyacls import PolicyBook
from feedmill.model.policyacl import PolicyAcl

_GENERATION = "policies.generation"


@dataclass(slots=True)
class PolicyCache:
    """The book that was read last, shared by all units of one store; put whole, so that threads may share it."""

    held: tuple[int, PolicyBook] = field(default_factory=lambda: (0, PolicyBook()))


class SqlPolicies:
    """Fills ``ports.Policies``."""

    def __init__(self, connection: sa.Connection, cache: PolicyCache) -> None:
        self._connection = connection
        self._cache = cache
        self._is_changed = False

    def generation(self) -> int:
        """Gives how often they were changed."""
        return int(SqlFacts(self._connection).get(_GENERATION) or 0)

    def current(self) -> PolicyBook:
        """Gives those in force."""
        generation, held = self.generation(), self._cache.held
        if held[0] == generation and not self._is_changed:
            return held[1]
        query = sa.select(policies).where(policies.c.place.is_not(None)).order_by(policies.c.place)
        book = PolicyBook([_policy_from_row(row) for row in self._connection.execute(query).mappings()])
        if not self._is_changed:
            # what this transaction has changed itself may still be rolled back
            self._cache.held = (generation, book)
        return book

    def replace(self, wanted: Sequence[PolicyAcl]) -> PolicyBook:
        """Puts policies in force, and no others."""
        self._is_changed = True
        self._connection.execute(sa.update(policies).values(place=None).where(policies.c.place.is_not(None)))
        if wanted:
            values = [_row_of(policy, place) for place, policy in enumerate(wanted)]
            self._connection.execute(upsert(self._connection, policies, ["digest"], keep=["number"]), values)
        SqlFacts(self._connection).put(_GENERATION, str(self.generation() + 1))
        return self.current()


def _row_of(policy: PolicyAcl, place: int) -> dict[str, object]:
    return {
        "digest": digest(policy.pattern),
        "pattern": rows.plain(policy.pattern),
        "name": rows.plain(policy.name),
        "place": place,
        "entries": rows.entries_to_json(policy.entries),
    }


def _policy_from_row(row: sa.RowMapping) -> PolicyAcl:
    entries = rows.entries_from_json(row["entries"])
    return PolicyAcl(pattern=row["pattern"], entries=entries, name=row["name"], number=row["number"])
