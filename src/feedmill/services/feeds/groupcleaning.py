"""Removes obsolete rows from the groups database, a bounded transaction at a time.

Obsolete are definitions of replaced, cleaned or abandoned snapshots, and definitions that a newer snapshot's definition covers. They are
listed outside of any write transaction: an obsolete definition never becomes current again.
"""

from collections.abc import Iterator, Sequence

from feedmill.ports import ObsoleteGroup, Store

DEFINITIONS_PER_SLICE = 1_000
MEMBERS_AT_ONCE = 20_000


def clean_groups(store: Store, *, members_at_once: int = MEMBERS_AT_ONCE) -> Iterator[None]:
    """Goes once through the groups database, in pieces."""
    reached = 0
    while True:
        with store.reading() as unit:
            dead = unit.groups.garbage.list_dead(after=reached, limit=DEFINITIONS_PER_SLICE)
        if not dead:
            break
        for batch in _batches(dead, members_at_once):
            yield from _remove(store, batch, members_at_once)
        reached = dead[-1].id
    with store.writing() as unit:
        unit.groups.garbage.remove_empty_snapshots()
    yield


def _remove(store: Store, batch: Sequence[ObsoleteGroup], members_at_once: int) -> Iterator[None]:
    """Removes definitions. One that is too large for a transaction is alone in its batch, and its members are removed first."""
    left = batch[0].memberships if len(batch) == 1 else 0
    while left > members_at_once:
        with store.writing() as unit:
            trimmed = unit.groups.garbage.trim_dead(batch[0].id, members_at_once)
        left = left - trimmed if trimmed else 0
        yield
    with store.writing() as unit:
        unit.groups.garbage.remove_dead([dead.id for dead in batch])
    yield


def _batches(dead: Sequence[ObsoleteGroup], members_at_once: int) -> Iterator[list[ObsoleteGroup]]:
    batch: list[ObsoleteGroup] = []
    members = 0
    for each in dead:
        if batch and members + each.memberships > members_at_once:
            yield batch
            batch, members = [], 0
        batch.append(each)
        members += each.memberships
    if batch:
        yield batch
