"""Policy ACLs, in SQL."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa

from feedmill.adapters.store import rows
from feedmill.adapters.store.documents.indextasks import SqlKeyValueStore
from feedmill.adapters.store.schema import policies, policy_versions
from feedmill.adapters.store.statements import upsert
from feedmill.adapters.store.values import from_micros, plain, to_micros
from feedmill.core.access.policyacls import PolicySet
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.policyacl import PolicyAcl, PolicyVersion

_GENERATION = "policies.generation"


@dataclass(slots=True)
class PolicyCache:
    """The policies that were read last, shared by all units of one store. Threads may share it, because it is replaced as a whole."""

    held: tuple[int, PolicySet] = field(default_factory=lambda: (0, PolicySet()))


class SqlPolicies:
    """Implements ``ports.Policies``."""

    def __init__(self, connection: sa.Connection, cache: PolicyCache) -> None:
        self._connection = connection
        self._cache = cache
        self._is_changed = False

    def generation(self) -> int:
        """Returns how often the policies were changed."""
        return int(SqlKeyValueStore(self._connection).get(_GENERATION) or 0)

    def current(self) -> PolicySet:
        """Returns the policies in force."""
        generation, held = self.generation(), self._cache.held
        if held[0] == generation and not self._is_changed:
            return held[1]
        query = sa.select(policies).where(policies.c.position.is_not(None)).order_by(policies.c.position)
        policy_set = PolicySet([_policy_from_row(row) for row in self._connection.execute(query).mappings()])
        if not self._is_changed:
            # policies that this transaction has changed itself may still be rolled back
            self._cache.held = (generation, policy_set)
        return policy_set

    def replace(self, wanted: Sequence[PolicyAcl], *, at: datetime | None = None) -> PolicySet:
        """Replaces all policies in force, and stores since when."""
        self._is_changed = True
        self._connection.execute(sa.update(policies).values(position=None).where(policies.c.position.is_not(None)))
        if wanted:
            values = [_row_of(policy, position) for position, policy in enumerate(wanted)]
            self._connection.execute(upsert(self._connection, policies, ["digest"], keep=["number"]), values)
        SqlKeyValueStore(self._connection).put(_GENERATION, str(self.generation() + 1))
        policy_set = self.current()
        self._keep_version(policy_set, at or datetime.now(UTC))
        return policy_set

    def _keep_version(self, policy_set: PolicySet, at: datetime) -> None:
        table = policy_versions.c
        text = json.dumps([_policy_to_list(policy) for policy in policy_set.policies])
        last = self._connection.execute(sa.select(table.at, table.policies).order_by(table.number.desc()).limit(1)).first()
        if text != (last.policies if last is not None else "[]"):
            moment = max(to_micros(at), last.at if last is not None else 0)
            self._connection.execute(sa.insert(policy_versions).values(at=moment, policies=text))

    def list_since(self, since: datetime) -> list[PolicyVersion]:
        """Lists the policies that were in force at a time, and later ones."""
        table, micros = policy_versions.c, to_micros(since)
        held = sa.select(sa.func.max(table.number)).where(table.at <= micros)
        query = sa.select(policy_versions).where(sa.or_(table.at > micros, table.number == held.scalar_subquery()))
        return [_version_from_row(row) for row in self._connection.execute(query.order_by(table.number)).mappings()]

    def forget_versions(self, before: datetime) -> None:
        """Removes policies that were no longer in force at a time."""
        table = policy_versions.c
        held = sa.select(sa.func.max(table.number)).where(table.at <= to_micros(before)).scalar_subquery()
        self._connection.execute(sa.delete(policy_versions).where(table.number < held))


def _policy_to_list(policy: PolicyAcl) -> list[object]:
    return [policy.number, policy.pattern, policy.name, rows.entries_to_json(policy.entries)]


def _version_from_row(row: sa.RowMapping) -> PolicyVersion:
    stored = json.loads(row["policies"])
    policy_set = tuple(
        PolicyAcl(pattern=pattern, entries=rows.entries_from_json(entries), name=name, number=number)
        for number, pattern, name, entries in stored
    )
    return PolicyVersion(since=from_micros(row["at"]), policies=policy_set)


def _row_of(policy: PolicyAcl, position: int) -> dict[str, object]:
    return {
        "digest": digest_of_url(policy.pattern),
        "pattern": plain(policy.pattern),
        "name": plain(policy.name),
        "position": position,
        "entries": rows.entries_to_json(policy.entries),
    }


def _policy_from_row(row: sa.RowMapping) -> PolicyAcl:
    entries = rows.entries_from_json(row["entries"])
    return PolicyAcl(pattern=row["pattern"], entries=entries, name=row["name"], number=row["number"])
