"""What changed for somebody since a time: documents that he could not see then and can now, and the other way round.

It begins with what changed. Documents that came, went or moved to another class are known by themselves; of all others one is gained or
lost only where its class is, so all classes are decided at once for both times, and only documents of those that differ are looked at.
What is found is decided by the reference evaluator. What another server would have been asked about is left out: its answers are not kept.

A listing goes on by document id, for the same two times, whatever happens meanwhile.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from feedmill.core.principals import Forms, digest_of
from feedmill.model.access import Spell
from feedmill.model.accesschange import AccessChange
from feedmill.model.errors import BadRequest
from feedmill.model.identity import Identity
from feedmill.model.policyacl import EARLY_ORDER, Early
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services.access.classtable import ClassTable
from feedmill.services.access.explaining import check_kept
from feedmill.services.access.pastsight import PastSight
from feedmill.services.access.policytable import PolicyTable

EXAMINED_AT_ONCE = 1_000
EXAMINED_A_PAGE = 50_000
TOLD_AT_ONCE = 10_000
COMPARISONS_KEPT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared: what somebody could see at two times."""

    identity: Identity
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPage:
    """Some changes, by document id. ``next_after`` is what to go on behind, None at the end; a page may be empty and not the last."""

    changes: list[AccessChange]
    next_after: int | None


class AccessChanges:
    """Lists changes from a store. May be used from several threads."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        history: timedelta,
        order: Sequence[Early] = EARLY_ORDER,
        *,
        examined_a_page: int = EXAMINED_A_PAGE,
    ) -> None:
        self._order = order
        self._store = store
        self._clock = clock
        self._history = history
        self._examined_a_page = examined_a_page
        self._lock = threading.Lock()
        self._moved_classes: OrderedDict[Comparison, Sequence[int]] = OrderedDict()

    def compare(self, identity: Identity, since: datetime, until: datetime | None = None) -> Comparison:
        """Fixes what is compared; without a second time it is now. Errors: BadRequest for times of which nothing is kept."""
        now = self._clock()
        with self._store.reading() as unit:
            check_kept(unit, since, now - self._history)
        until = now if until is None else min(until, now)
        if until <= since:
            raise BadRequest("the time until which changes are asked for lies before the one since which they are")
        return Comparison(identity=identity, since=since, until=until)

    def list_page(self, asked: Comparison, *, after: int = 0, limit: int) -> ChangesPage:
        """Lists the next changes. Errors: Denied for who is, or was, in too many groups; Busy."""
        changes: list[AccessChange] = []
        with self._store.reading() as unit:
            sight = PastSight(unit, asked.identity, asked.since, self._order)
            classes = self._find_moved_classes(unit, sight, asked)
            for _ in range(max(1, self._examined_a_page // EXAMINED_AT_ONCE)):
                ids = unit.spells.list_moved(classes, asked.since, after=after, limit=EXAMINED_AT_ONCE)
                spells = unit.spells.list_of(ids)
                sight.load(spells.values())
                seen = [id_ for id_ in ids if id_ in spells and _differs(sight, spells[id_], asked)][: limit - len(changes)]
                changes += _tell(unit, sight, {id_: spells[id_] for id_ in seen}, asked)
                if len(changes) >= limit:
                    return ChangesPage(changes=changes, next_after=changes[-1].document_id)
                if len(ids) < EXAMINED_AT_ONCE:
                    return ChangesPage(changes=changes, next_after=None)
                after = ids[-1]
        return ChangesPage(changes=changes, next_after=after)

    def iter_changes(self, asked: Comparison, *, at_once: int = TOLD_AT_ONCE) -> Iterator[AccessChange]:
        """Gives all changes, a page at a time. Errors: as above."""
        after: int | None = 0
        while after is not None:
            page = self.list_page(asked, after=after, limit=at_once)
            yield from page.changes
            after = page.next_after

    def _find_moved_classes(self, unit: UnitOfWork, sight: PastSight, asked: Comparison) -> Sequence[int]:
        """Finds the classes that he could see at one of the two times alone; what held then stays what it was."""
        with self._lock:
            known = self._moved_classes.get(asked)
        if known is None:
            known = _compare_classes(unit, sight, asked, self._order)
            with self._lock:
                self._moved_classes[asked] = known
                while len(self._moved_classes) > COMPARISONS_KEPT:
                    self._moved_classes.popitem(last=False)
        return known


def _compare_classes(unit: UnitOfWork, sight: PastSight, asked: Comparison, order: Sequence[Early]) -> Sequence[int]:
    table = ClassTable()
    urls = table.add(unit.classes.iter_packed(0))
    both = []
    for at in (asked.since, asked.until):
        held = unit.acls.find_classes_at(urls, at)
        table.set_acls({url: held.get(url) for url in urls})
        keys, policies = list(_keys(sight.forms_at(at))), PolicyTable(order)
        policies.set(list(sight.policies_at(at).values()))
        permitted = policies.combine(table.permitted(keys), table.unsaid(), table.rules, keys if _is_somebody(asked) else ())
        both.append(np.frombuffer(permitted.table, np.uint8))
    return [int(number) for number in np.nonzero(both[0] != both[1])[0]]


def _is_somebody(asked: Comparison) -> bool:
    return bool(asked.identity.users or asked.identity.groups)


def _keys(forms: Forms) -> Iterator[bytes]:
    return map(digest_of, forms.keys)


def _differs(sight: PastSight, spells: Sequence[Spell], asked: Comparison) -> bool:
    return sight.is_visible(spells, asked.since) is not sight.is_visible(spells, asked.until)


def _tell(unit: UnitOfWork, sight: PastSight, spells: Mapping[int, Sequence[Spell]], asked: Comparison) -> list[AccessChange]:
    documents = unit.documents.find_by_id(list(spells))
    changes = []
    for document_id, held in spells.items():
        if (document := documents.get(document_id)) is None:
            continue
        changes.append(
            AccessChange(
                document_id=document_id,
                url=document.url,
                datasource=document.datasource,
                is_gained=sight.is_visible(held, asked.until),
                before=sight.tell(document.url, held, asked.since),
                after=sight.tell(document.url, held, asked.until),
                origin=sight.find_origin(document.url, held, asked.until),
            )
        )
    return changes
