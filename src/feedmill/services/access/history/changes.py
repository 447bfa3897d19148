"""Lists what changed for a user since a time: documents that they could not see then and can see now, and the reverse.

The search begins with what changed. The store records which documents were added, removed or moved to another class. Any other document is
gained or lost only if its class is, so all classes are decided at once for both times, and only documents of the classes that differ are
examined. The reference evaluator decides about each of them. Documents that only another server could decide about are left out, because
its answers are not stored.

A listing continues by document id, for the same two times, whatever changes meanwhile.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from cachetools import LRUCache

from feedmill.core.access.principals import PrincipalKeys, digest_of
from feedmill.model.access import ClassPeriod
from feedmill.model.accesschange import AccessChange
from feedmill.model.errors import BadRequest
from feedmill.model.identity import Identity
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services.access.classtable import ClassTable
from feedmill.services.access.explaining import check_recorded
from feedmill.services.access.history.history import AccessHistory, HistoryCache, recollect
from feedmill.services.access.policytable import PolicyTable

LEAST_EXAMINED, MOST_EXAMINED = 200, 5_000
"""Bounds of how many documents are examined at once: about as many as a page may list."""
EXAMINED_A_PAGE = 50_000
CHANGES_AT_ONCE = 10_000
MAX_CACHED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The parameters of a comparison: what one user could see at two times."""

    identity: Identity
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPage:
    """A page of changes, ordered by document id.

    ``next_after`` is the document id after which the next page begins, None at the end. A page may be empty without being the last.
    """

    changes: list[AccessChange]
    next_after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The state that all pages of a comparison share. Shape: ``classes`` are those that were visible at exactly one of the two times."""

    past: HistoryCache
    classes: Sequence[int]


class AccessChanges:
    """Lists the changes of a user's access from a store. May be used from several threads."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        history: timedelta,
        order: Sequence[EarlyMechanism] = EARLY_ORDER,
        *,
        examined_a_page: int = EXAMINED_A_PAGE,
    ) -> None:
        self._order = order
        self._store = store
        self._clock = clock
        self._history = history
        self._examined_a_page = examined_a_page
        self._lock = threading.Lock()
        self._begun: LRUCache[Comparison, _Begun] = LRUCache(MAX_CACHED)

    def compare(self, identity: Identity, since: datetime, until: datetime | None = None) -> Comparison:
        """Returns a comparison with fixed times; ``until`` defaults to now. Errors: BadRequest for times for which no history is stored."""
        now = self._clock()
        with self._store.reading() as unit:
            check_recorded(unit, since, now - self._history)
        until = now if until is None else min(until, now)
        if until <= since:
            raise BadRequest("the end of the requested time lies before its beginning")
        return Comparison(identity=identity, since=since, until=until)

    def list_page(self, comparison: Comparison, *, after: int = 0, limit: int) -> ChangesPage:
        """Lists the next changes. Errors: Denied for a user who is, or was, in too many groups; Busy."""
        changes: list[AccessChange] = []
        with self._store.reading() as unit:
            begun = self._begin_comparison(unit, comparison)
            sight = AccessHistory(unit, begun.past, self._order)
            # More than a page, since many of them have not changed for this user.
            at_once = min(max(2 * limit, LEAST_EXAMINED), MOST_EXAMINED)
            for _ in range(max(1, self._examined_a_page // at_once)):
                moved = unit.access.class_periods.list_moved(begun.classes, comparison.since, after=after, limit=at_once)
                held = _read_held(unit, sight, moved)
                seen = [id_ for id_, each in held.items() if sight.has_changed(each, comparison.until)][: limit - len(changes)]
                documents = unit.documents.reader.find_by_id(seen)
                changes += [sight.describe_change(documents[id_], held[id_], comparison.until) for id_ in seen if id_ in documents]
                if len(changes) >= limit:
                    return ChangesPage(changes=changes, next_after=changes[-1].document_id)
                if len(moved) < at_once:
                    return ChangesPage(changes=changes, next_after=None)
                after = max(moved)
        return ChangesPage(changes=changes, next_after=after)

    def iter_changes(self, comparison: Comparison, *, at_once: int = CHANGES_AT_ONCE) -> Iterator[AccessChange]:
        """Yields all changes and reads them a page at a time. Errors: as above."""
        after: int | None = 0
        while after is not None:
            page = self.list_page(comparison, after=after, limit=at_once)
            yield from page.changes
            after = page.next_after

    def _begin_comparison(self, unit: UnitOfWork, comparison: Comparison) -> _Begun:
        """Computes what all pages share, or returns it from the cache. What held at the two times in the past does not change."""
        with self._lock:
            known = self._begun.get(comparison)
        if known is None:
            past = recollect(unit, comparison.identity, comparison.since)
            known = _Begun(past=past, classes=_compare_classes(unit, AccessHistory(unit, past, self._order), comparison, self._order))
            with self._lock:
                self._begun[comparison] = known
        return known


def _compare_classes(unit: UnitOfWork, sight: AccessHistory, comparison: Comparison, order: Sequence[EarlyMechanism]) -> Sequence[int]:
    table = ClassTable()
    # One table for both times: a class never changes, only the classes of the ACLs above it do.
    urls = table.add_classes(unit.access.classes.iter_packed(0))
    both = []
    for at in (comparison.since, comparison.until):
        held = unit.access.acl_versions.find_classes_at(urls, at)
        table.set_acls({url: held.get(url) for url in urls})
        keys, policies = list(_keys(sight.principal_keys_at(at))), PolicyTable(order)
        policies.set(list(sight.policies_at(at).values()))
        permitted = policies.combine(
            table.permitted(keys), table.unsaid(), table.policy_numbers, keys if _has_principals(comparison) else ()
        )
        both.append(np.frombuffer(permitted.table, np.uint8))
    return [int(number) for number in np.nonzero(both[0] != both[1])[0]]


def _has_principals(comparison: Comparison) -> bool:
    return bool(comparison.identity.users or comparison.identity.groups)


def _keys(principal_keys: PrincipalKeys) -> Iterator[bytes]:
    return map(digest_of, principal_keys.keys)


def _read_held(unit: UnitOfWork, sight: AccessHistory, moved: Mapping[int, int | None]) -> dict[int, int | Sequence[ClassPeriod]]:
    """Reads the class of each document, or its class periods if it had several, and loads those classes into the cache."""
    class_periods = unit.access.class_periods.list_of([id_ for id_, number in moved.items() if number is None])
    numbers = {number for number in moved.values() if number is not None}
    sight.load(
        numbers.union(
            class_period.access_class for each in class_periods.values() for class_period in each if class_period.access_class is not None
        )
    )
    return {
        id_: class_periods[id_] if number is None else number for id_, number in moved.items() if number is not None or id_ in class_periods
    }
