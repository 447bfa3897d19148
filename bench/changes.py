"""How long it takes to list what changed for a user, against deciding every document at both times.

Documents lie in folders; each tenth has an ACL of its own, and so a class. A user in 1,000 groups is put into one more, then the ACL of a
folder with a quarter of all documents below it changes, then nothing. The reference decides all documents one after the other.
"""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.classes import class_of, in_one_order
from feedmill.core.access.evaluator import decide_for
from feedmill.core.access.principals import read_identity
from feedmill.model.access import AccessKey, Acl, InheritanceType, Scope
from feedmill.ports import ComparisonCursor
from feedmill.services.access.explaining import resolve_many
from feedmill.services.access.history.changes import AccessChanges
from feedmill.services.access.resulttrimming import read_chains_at
from tests.builders.access import make_stored_acl, permit, user_principal
from tests.builders.documents import make_document
from tests.builders.groups import define_group

DOCUMENTS = 200_000
GROUPS_OF_THE_USER = 1_000
AT_ONCE = 5_000
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
WHO = read_identity("ann", "Default", ())


def main(documents: int = DOCUMENTS) -> None:
    """Prints the time of a first page and of everything, for each change."""
    with TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "store.sqlite")
        migrate(store)
        fill(store, documents)
        put_groups(store, 1, BEGIN + HOUR)
        put_groups(store, 2, BEGIN + 3 * HOUR, more=["late"])
        put_acls(store, {"http://b/big": acl("late", "nobody")}, BEGIN + 5 * HOUR)
        spans = {"one more group": (2, 4), "a folder's acl": (4, 6), "nothing": (6, 8), "all of it": (2, 8)}
        for name, (first, last) in spans.items():
            measure(store, name, BEGIN + first * HOUR, BEGIN + last * HOUR)
        began = time.monotonic()
        seen = sum(1 for at in (4, 6) for _ in iter_visible(store, BEGIN + at * HOUR))
        print(f"  the reference, all {documents:,} documents at two times: {time.monotonic() - began:.1f} s, {seen:,} permitted")
        store.close()


def measure(store: SqlStore, name: str, since: datetime, until: datetime) -> None:
    """Prints how long it takes to list what changed between two times."""
    service = AccessChanges(store, lambda: BEGIN + 9 * HOUR, timedelta(days=90))
    comparison = service.compare(WHO, since, until)
    began = time.monotonic()
    service.list_page(comparison, limit=100)
    first_seconds = time.monotonic() - began
    began = time.monotonic()
    count = sum(1 for _ in service.iter_changes(comparison))
    print(f"  {name}: first 100 after {first_seconds:.2f} s; all {count:,} in {time.monotonic() - began:.1f} s")


def acl(*groups: str, parent: str | None = None) -> Acl:
    """Returns an ACL that permits groups."""
    entries = tuple(permit(group, scope=Scope.GROUP) for group in groups)
    return Acl(entries=entries, inheritance_type=InheritanceType.CHILD_OVERRIDES, inherit_from=parent)


def fill(store: SqlStore, documents: int) -> None:
    """Puts folders and documents into the store."""
    folders = {f"http://b/{number}": acl(f"group{number}") for number in range(1_000)} | {"http://b/big": acl("nobody")}
    put_acls(store, folders, BEGIN)
    for start in range(0, documents, AT_ONCE):
        made: dict[str, Acl] = {}
        for number in range(start, min(start + AT_ONCE, documents)):
            parent = "http://b/big" if number % 4 == 0 else f"http://b/{number % 1_000}"
            own = ("late",) if number % 1_000 == 1 else (f"own{number}",) if number % 10 == 0 else ()
            made[f"http://b/page/{number}"] = acl(*own, parent=parent)
        put_acls(store, made, BEGIN)
        with store.writing() as unit:
            keys = {url: AccessKey(acl=in_one_order(each)) for url, each in made.items()}
            numbers = unit.access.classes.number_many(list(keys.values()))
            guarded = {"datasource": "b", "secure": True, "updated_at": BEGIN}
            unit.documents.writer.save_many(
                [make_document(url, access_class=numbers[key], **guarded) for url, key in keys.items()], at=BEGIN
            )


def put_acls(store: SqlStore, acls: dict[str, Acl], at: datetime) -> None:
    """Puts ACLs into the store as of a time."""
    stored = [make_stored_acl(url, acl=each, datasource="b") for url, each in acls.items()]
    with store.writing() as unit:
        unit.access.acls.save_many(stored, at=at)


def put_groups(store: SqlStore, feed_id: int, at: datetime, more: list[str] | None = None) -> None:
    """Publishes the groups of the user as of a time."""
    names = [f"other{number}" for number in range(GROUPS_OF_THE_USER)] + (more or [])
    ann = user_principal("ann")
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(feed_id, "ldap", is_full=True)
        unit.groups.snapshot_builder.define_many(feed_id, [define_group(name, ann) for name in names])
        reached: ComparisonCursor | None = ComparisonCursor()
        while reached is not None:
            reached = unit.groups.history.compare(feed_id, reached, AT_ONCE)
        unit.groups.snapshot_builder.publish(feed_id)
        unit.groups.history.publish(feed_id, "ldap", at=at)


def iter_visible(store: SqlStore, at: datetime) -> Iterator[str]:
    """Decides every document at a time, and returns those that are permitted."""
    with store.reading() as unit:
        forms, after = resolve_many(unit, [WHO], at=at)[WHO], 0
        while documents := unit.documents.scan.list_live(after=after, limit=AT_ONCE):
            acls = read_chains_at(unit, [document.url for document in documents], at)
            for document in documents:
                if class_of(document) and decide_for(document.url, forms, acls.get).verdict.value == "PERMIT":
                    yield document.url
            after = documents[-1].id or 0


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
