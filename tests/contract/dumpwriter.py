"""Writes a dump of a small store for every schema that has none yet: ``python -m tests.contract.dumpwriter``.

A dump holds the SQLite schema of its revision and the rows below, without tables and columns that the revision lacks. It is text with one
row a line. A dump that exists is never written again: it stands for the stores of a release with that schema. ``test_migrations`` upgrades
each of them.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from feedmill.adapters.store.access.acls import SqlClasses
from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import make_config
from feedmill.adapters.store.rows import entries_from_json
from feedmill.adapters.store.schema import access_classes, metadata
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.classes import in_one_order
from feedmill.core.access.principals import digest_of, exact_key, key_of, read_subject, subject_of
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.access import AccessKey, Acl, InheritanceType, Principal, Scope

DUMPS = Path(__file__).parent / "dumps"
BEGUN = 1_767_225_600_000_000
"""The time of the first feed, in microseconds: 2026-01-01 00:00 UTC."""
MINUTE = 60_000_000
FIRST_CLASS = 2

PUBLIC, GUARDED, CHILD, PARENT = (f"http://docs.test/{name}" for name in ("public", "guarded", "child", "parent"))
GONE, CLOSED, SAME, NAMED, REMOVED = (f"http://docs.test/{name}" for name in ("gone", "closed", "same", "named", "removed"))

GUARDED_ENTRIES = (
    '[["permit","user","CORP\\\\Ann","Default",false,false],["deny","group","interns","Default",true,false],'
    '["permit","user","  ","Default",true,false],["permit","user","CORP\\\\Ann","Default",false,false],'
    '["permit","group","Straße ｅｎｇ","Default",false,false],["permit","user","a/b@c","ext",true,true]]'
)
SAME_ENTRIES = (
    '[["permit","user","a/b@c","ext",true,true],["permit","group","Straße ｅｎｇ","Default",false,false],'
    '["deny","group","interns","Default",true,false],["permit","user","CORP\\\\Ann","Default",false,false]]'
)
PARENT_ENTRIES = (
    '[["permit","user","\\ud800 lone","Default",false,false],["permit","group","Soft\\u00adHyphen@\\u00dcnits","Default",false,false]]'
)
CHILD_ENTRIES = '[["deny","user","ext/bob","Default",false,false]]'
REMOVED_ENTRIES = "[]"

ACLS: dict[str, tuple[str, str | None, str]] = {
    GUARDED: ("leaf-node", None, GUARDED_ENTRIES),
    SAME: ("leaf-node", None, SAME_ENTRIES),
    PARENT: ("parent-overrides", None, PARENT_ENTRIES),
    CHILD: ("and-both-permit", PARENT, CHILD_ENTRIES),
}
"""The stored ACLs: type, parent and entries by URL. Two of them are equal but for order, duplicates and blank names."""

ENGINEERING = Principal(scope=Scope.GROUP, name="CORP\\Engineering")
ANN = Principal(scope=Scope.USER, name="CORP\\Ann", case_sensitive=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table. ``since`` is the first revision whose program wrote it, where the table is older."""

    table: str
    values: dict[str, Any] = field(default_factory=dict)
    since: str = ""


def _key(entries: str, inheritance_type: str = "leaf-node", parent: str | None = None) -> AccessKey:
    acl = Acl(entries=entries_from_json(entries), inheritance_type=InheritanceType(inheritance_type), inherit_from=parent)
    return AccessKey(acl=in_one_order(acl))


def number_classes() -> dict[str, int]:
    """Returns the access class of each ACL by URL; classes are numbered in the order of the URLs' digests."""
    numbers: dict[AccessKey, int] = {}
    found: dict[str, int] = {}
    for url in sorted(ACLS, key=digest_of_url):
        inheritance_type, parent, entries = ACLS[url]
        found[url] = numbers.setdefault(_key(entries, inheritance_type, parent), FIRST_CLASS + len(numbers))
    return {**found, REMOVED: FIRST_CLASS + len(numbers)}


def _document(number: int, url: str, **given: Any) -> Row:
    plain: dict[str, Any] = {
        "id": number,
        "url_digest": digest_of_url(url),
        "url": url,
        "state": "live",
        "origin": "content",
        "datasource": "src",
        "version": number,
        "feed_id": 1,
        "seen_feed_id": 1,
        "secure": False,
        "locked": False,
        "rank": 96,
        "attributes": "{}",
        "metadata": "[]",
        "content": None,
        "content_bytes": 0,
        "charset": None,
        "text": None,
        "updated_at": BEGUN + number * MINUTE,
        "events": 0,
        "access_class": 0,
        "classed_at": BEGUN,
        "classed_by": 1,
    }
    return Row(table="documents", values=plain | given)


def _documents() -> Iterator[Row]:
    classes = number_classes()
    attributes = f'{{"display_url":"http://shown.test/","mimetype":"text/html","last_modified":{BEGUN},"authmethod":"none","pagerank":90}}'
    text = '{"source":"b1","blob":"b2","title":"Öffentlich","language":"de","metadata":[["robots","noarchive"]],"robots":["noarchive"]}'
    whole = {"attributes": attributes, "metadata": '[["author","Ann"],["Author","O\'Hara"]]', "content": "b1", "content_bytes": 17}
    yield _document(1, PUBLIC, **whole, charset="utf-8", text=text, rank=90, events=2)
    yield _document(2, GUARDED, secure=True, access_class=classes[GUARDED], classed_at=BEGUN + MINUTE)
    yield _document(3, CHILD, secure=True, access_class=classes[CHILD])
    yield _document(4, GONE, state="gone", classed_at=BEGUN + 2 * MINUTE)
    yield _document(5, CLOSED, secure=True, access_class=1, attributes='{"authmethod":"ntlm"}')
    yield _document(6, SAME, secure=True, access_class=classes[SAME], locked=True, attributes='{"lock":true}')
    yield _document(7, NAMED, origin="web", datasource="web", attributes='{"crawl_immediately":true,"crawl_once":true}')
    for slot, kind in enumerate(("fed", "metadata fed")):
        values = {
            "document_id": 1,
            "slot": slot,
            "number": slot,
            "at": BEGUN + slot,
            "kind": kind,
            "feed_id": 1,
            "line": 7,
            "detail": "by hand",
        }
        yield Row(table="events", values=values)
    past = {"number": 1, "document_id": 2, "access_class": 0, "since": BEGUN, "begun_by": 1, "until": BEGUN + MINUTE, "ended_by": 1}
    yield Row(table="past_classes", values=past)
    for task in ((1, 1, "extract", 0, False, False), (2, 2, "index", 1, True, False), (6, 6, "index", 1, False, True)):
        names = ("document_id", "version", "stage", "lane", "revokes_access", "is_refresh")
        values = dict(zip(names, task, strict=True)) | {"feed_id": 1, "datasource": "src", "queued_at": BEGUN}
        yield Row(table="index_tasks", values=values, since="0012" if task[5] else "")
    yield Row(table="replaced_tasks", values={"document_id": 2, "feed_id": 3, "revokes_access": False})
    yield Row(table="link_texts", values={"target_id": 1, "source_id": 7, "text": "the public page"})
    yield Row(table="link_queue", values={"work": 0, "document_id": 3, "queued_at": BEGUN})
    failure = {"step": "extract", "reason": "broken", "at": BEGUN, "program": "0.1", "attempts": 2, "is_found": True}
    yield Row(table="document_failures", values={"document_id": 5, "version": 5, **failure})
    yield Row(table="interruptions", values={"key": "record 7", "count": 1, "at": BEGUN})


def _access() -> Iterator[Row]:
    classes = number_classes()
    for number, url in enumerate(sorted(ACLS, key=digest_of_url), 1):
        inheritance_type, parent, entries = ACLS[url]
        own = {"url_digest": digest_of_url(url), "url": url, "feed_id": 1, "access_class": classes[url]}
        acl = {"datasource": "src", "seen_feed_id": 1, "origin": "element", "inheritance_type": inheritance_type}
        yield Row(table="acls", values={**own, **acl, "inherit_from": parent, "entries": entries})
        yield Row(table="acl_versions", values={**own, "number": number, "at": BEGUN})
    removed = {"url_digest": digest_of_url(REMOVED), "url": REMOVED}
    yield Row(table="acl_versions", values={**removed, "number": 5, "access_class": classes[REMOVED], "at": BEGUN, "feed_id": 1})
    yield Row(table="acl_versions", values={**removed, "number": 6, "access_class": None, "at": BEGUN + MINUTE, "feed_id": 1})
    yield from _classes(classes)
    entries = '[["permit","group","auditors","Default",true,false]]'
    policy = {"number": 3, "digest": digest_of_url("docs.test/plans/"), "pattern": "docs.test/plans/", "name": "plans", "position": 0}
    yield Row(table="policies", values={**policy, "entries": entries})
    listed = '[[3, "docs.test/plans/", "plans", "[[\\"permit\\",\\"group\\",\\"auditors\\",\\"Default\\",true,false]]"]]'
    yield Row(table="policy_versions", values={"number": 1, "at": BEGUN, "policies": listed})


def _classes(classes: dict[str, int]) -> Iterator[Row]:
    """Yields the rows of access classes as the store itself writes them."""
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        metadata.create_all(connection)
        store = SqlClasses(connection)
        for url in sorted(ACLS, key=digest_of_url):
            inheritance_type, parent, entries = ACLS[url]
            assert list(store.number_many([_key(entries, inheritance_type, parent)]).values()) == [classes[url]]
        assert list(store.number_many([_key(REMOVED_ENTRIES)]).values()) == [classes[REMOVED]]
        for row in connection.execute(sa.select(access_classes).order_by(access_classes.c.number)).mappings():
            yield Row(table="access_classes", values=dict(row))
    engine.dispose()


def _feeds() -> Iterator[Row]:
    plain = {"client": "192.0.2.1", "size_bytes": 100, "received_at": BEGUN}
    done = {"state": "completed", "phase": "done", "finished_at": BEGUN + MINUTE, "searchable_at": BEGUN + 2 * MINUTE}
    first = {
        "id": 1,
        "datasource": "src",
        "kind": "full",
        "file": "f1",
        "repaired_file": "f1.repaired",
        "queue": "src",
        "format": "gsafeed",
    }
    counts = {"records": 8, "applied": 8, "included": 7, "errors": 1, "acls": 1, "logged": 1, "late_logged": 0}
    yield Row(table="feeds", values={**plain, **first, **done, **counts})
    groups = {"id": 2, "datasource": "people", "kind": "groups-full", "file": "f2", "queue": "/xmlgroups", "format": "gsagroups"}
    yield Row(table="feeds", values={**plain, **groups, **done, "records": 1}, since="0002")
    waiting = {"id": 3, "datasource": "src", "kind": "incremental", "file": "f3", "state": "received", "phase": "scan", "queue": "src"}
    yield Row(table="feeds", values={**plain, **waiting, "failure": "disk full", "format": "gsafeed"})
    command = {"id": 4, "datasource": "old", "kind": "delete", "file": "", "queue": "old", "format": ""}
    yield Row(table="feeds", values={**plain, **command, **done})
    logged = {"feed_id": 1, "number": 0, "level": "error", "record": 8, "line": 90, "url": GONE, "reason": "no such action"}
    yield Row(table="feed_log", values=logged)
    yield Row(table="datasources", values={"name": "src", "kind": "content"})
    yield Row(table="datasources", values={"name": "web", "kind": "web"})


def _groups() -> Iterator[Row]:
    group = subject_of(ENGINEERING)
    names = {"namespace": group.namespace, "domain": group.domain, "name": group.name}
    found = {"group_digest": digest_of(exact_key(group)), **names, "feed_id": 2}
    yield Row(table="group_sources", values={"name": "people", "memberships": 1})
    snapshot = {"feed_id": 2, "source": "people", "is_full": True, "state": "visible", "memberships": 1, "replaced_memberships": 0}
    yield Row(table="group_snapshots", values=snapshot)
    yield Row(table="group_definitions", values={"id": 1, **found, "memberships": 1})
    yield Row(table="group_members", values={"definition_id": 1, "member_digest": digest_of(key_of(ANN))})
    yield Row(table="group_publications", values={"feed_id": 2, "source": "people", "at": BEGUN + MINUTE})
    yield Row(table="group_names", values={"number": 1, **found})
    yield Row(table="group_changes", values={"member_digest": b"", "group_number": 1, "feed_id": 2, "gained": True})


def _values() -> Iterator[Row]:
    classes = number_classes()
    for name, value, since in (
        ("index.folder", "7-1", ""),
        ("groups.generation", "2", "0002"),
        ("settings.generation", "1", "0003"),
        ("access.newest_class", str(classes[REMOVED]), "0005"),
        ("policies.generation", "1", "0007"),
    ):
        yield Row(table="key_values", values={"name": name, "value": value}, since=since)
    setting = {"section": "collections", "name": "press", "value": '{"include":["docs.test/press/"]}', "version": 1}
    yield Row(table="stored_settings", values=setting)
    queue = {"name": "index", "begun_at": None, "moved_at": BEGUN, "reached": 0, "document": None, "reason": "disk full"}
    yield Row(table="queues", values=queue)


def _crawling() -> Iterator[Row]:
    site = {"id": 1, "site": "http://docs.test", "site_digest": digest_of_url("http://docs.test"), "urgency": 1, "due_at": BEGUN}
    polite = {
        "free_at": BEGUN,
        "retry_at": 0,
        "failures": 1,
        "failed_at": BEGUN,
        "reason": "timed out",
        "lease_owner": "",
        "robots_at": BEGUN,
    }
    yield Row(table="crawl_sites", values={**site, **polite, "lease_expires_at": None, "robots_state": 1, "robots": b"Allow: /"})
    plain = {"url_digest": digest_of_url(NAMED), "url_start": NAMED, "url_rest": "", "site_id": 1, "urgency": 1, "priority": -90}
    lease = {"due_at": BEGUN, "lease_owner": "", "lease_expires_at": None, "is_renewed": False}
    fetched = {
        "state": 32,
        "added_at": BEGUN,
        "interval_seconds": 60,
        "etag": '"x"',
        "modified": "",
        "checksum": b"sum",
        "changed_at": BEGUN,
    }
    times = {
        "crawled_at": BEGUN + MINUTE,
        "failures": 1,
        "failed_at": BEGUN + 2 * MINUTE,
        "history": f'[[{BEGUN},32,500,17,0.25,"it failed"]]',
    }
    named = {"pagerank": 90, "depth": 2, "is_once": True, "referrer": PUBLIC}
    yield Row(table="crawl_entries", values={**plain, **lease, **named, **fetched, **times})


def _signin() -> Iterator[Row]:
    user = read_subject(Scope.USER, "CORP\\Ann")
    names = {"namespace": "Default", "account_key": "corp\\ann", "name": "Ann", "domain": "CORP"}
    account = {"role": "viewer", "password_hash": "$argon2id$x", "epoch": 3, "created_at": BEGUN, "changed_at": BEGUN + 1}
    yield Row(table="accounts", values=names | account)
    credentials = '[{"provider":"local","namespace":"Default","user":["Ann","CORP"],"groups":[],"role":"viewer","epoch":3}]'
    times = {"created_at": BEGUN, "seen_at": BEGUN + 1, "expires_at": BEGUN + MINUTE}
    yield Row(table="sessions", values={"digest": b"session digest", "credentials": credentials, **times})
    yield Row(table="session_digests", values={"digest": digest_of_user(user), "session_digest": b"session digest"})
    token = {"id": 4, "digest": b"token digest", "label": "nightly push", "scopes": "push search", **names}
    yield Row(table="api_tokens", values={**token, "created_at": BEGUN, "expires_at": None, "used_at": BEGUN + 1, "datasources": "src"})
    yield Row(table="one_time_values", values={"digest": b"code digest", "value": "once", "expires_at": BEGUN + MINUTE})
    embedding = {"document_id": 1, "version": 1, "model": "bge-small", "digest": b"text digest", "dimensions": 2, "vectors": b"\0<\0\0"}
    yield Row(table="embeddings", values=embedding)
    yield Row(table="embedding_changes", values={"number": 1, "document_id": 1})
    yield Row(table="embedding_queue", values={"document_id": 2, "queued_at": BEGUN, "due_at": BEGUN + MINUTE, "attempts": 1})


def list_rows() -> list[Row]:
    """Returns the rows of a store with the newest schema."""
    return [*_feeds(), *_documents(), *_access(), *_groups(), *_values(), *_crawling(), *_signin()]


# --- writing --------------------------------------------------------------------------------------------------------------------


def upgrade_to(store: SqlStore, revision: str) -> None:
    """Upgrades the schema of a store to a revision."""
    config = make_config()
    config.attributes["engine"] = store.writer
    command.upgrade(config, revision)


def list_revisions() -> list[str]:
    """Returns all revisions, oldest first."""
    return sorted(revision.revision for revision in ScriptDirectory.from_config(make_config()).walk_revisions())


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    raise TypeError(value)


def _dump(store: SqlStore, revision: str) -> str:
    with store.writer.begin() as connection:
        condition = "type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        made = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE {condition} ORDER BY type DESC, name").scalars()
        schema = ["\n".join(map(str.rstrip, f"{text.strip()};".splitlines())) for text in made]
        found = sa.inspect(connection)
        columns = {table: {column["name"] for column in found.get_columns(table)} for table in found.get_table_names()}
    lines = [f"INSERT INTO alembic_version (version_num) VALUES ('{revision}');"]
    for row in list_rows():
        if row.since <= revision and row.table in columns:
            values = {name: value for name, value in row.values.items() if name in columns[row.table]}
            lines.append(f"INSERT INTO {row.table} ({', '.join(values)}) VALUES ({', '.join(map(_literal, values.values()))});")
    return "\n".join((f"-- A store of revision {revision}: its schema on SQLite, then its rows.", *schema, *lines, ""))


def write_dump(revision: str) -> str:
    """Returns the dump of a store with the schema of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "store.sqlite")
        upgrade_to(store, revision)
        text = _dump(store, revision)
        store.close()
    return text


def main() -> int:
    """Writes the missing dumps."""
    for revision in list_revisions():
        path = DUMPS / f"{revision}.sql"
        if not path.exists():
            path.write_text(write_dump(revision), encoding="utf-8")
            print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
