"""Stores of every earlier schema, upgraded: each port reads what the earlier release stored.

``dumps`` holds a store of each revision as text; ``dumpwriter`` says how its rows were made. A migration never changes after its release:
its SQL and its byte formats stand in it.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate, schema_differences
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.principals import digest_of, exact_key, key_of, read_subject, subject_of
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.model.access import Access, AccessKey, Acl, Entry, InheritanceType, Scope
from feedmill.model.crawling import CrawlEntry, CrawlSite, CrawlState, FetchRecord
from feedmill.model.document import Attributes, AuthMethod, BlobRef, DocumentState, Origin, Text
from feedmill.model.feed import DataSource, FeedKind, FeedState, LogEntry, LogLevel, Phase
from feedmill.model.policyacl import PolicyAcl
from feedmill.model.semantic import Embedding, QueuedEmbedding
from feedmill.model.serving import StoredSetting
from feedmill.model.signin import TokenScope
from feedmill.model.userrole import UserRole
from feedmill.ports import Lane, LinkWork, Stage, UnitOfWork
from tests.builders.access import acl, deny, make_stored_acl, permit
from tests.contract.dumpwriter import (
    ANN,
    CHILD,
    CLOSED,
    DUMPS,
    ENGINEERING,
    GONE,
    GUARDED,
    NAMED,
    PARENT,
    PUBLIC,
    REMOVED,
    SAME,
    list_revisions,
    upgrade_to,
)

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
MIGRATIONS = Path(str(files("feedmill.adapters.store") / "migrations"))
DUMPED = sorted(path.stem for path in DUMPS.glob("*.sql"))

INTERNS = deny("interns", scope=Scope.GROUP)
STREET = permit("Straße ｅｎｇ", scope=Scope.GROUP, fold=True)
ANNS = Entry(access=Access.PERMIT, principal=ANN)
OTHER = permit("a/b@c", namespace="ext", unqualified=True)
BLANK = permit("  ")
LONE = permit("\ud800 lone", fold=True)
HYPHEN = permit("Soft\u00adHyphen@Ünits", scope=Scope.GROUP, fold=True)
BOB = deny("ext/bob", fold=True)
AUDITORS = permit("auditors", scope=Scope.GROUP)

CLASSES = {GUARDED: 2, SAME: 2, CHILD: 3, PARENT: 4}
"""The access class of each ACL. Migration 0005 numbers them in the order of the digests of their URLs."""


def statements(revision: str, *, is_postgres: bool) -> Iterator[str]:
    """Returns the statements of a dump; for PostgreSQL only those of its rows, in its own notation of bytes."""
    text = (DUMPS / f"{revision}.sql").read_text("utf-8")
    for statement in text.partition("\n")[2].split(";\n"):
        if is_postgres and (statement.startswith("CREATE") or " alembic_version " in statement):
            continue
        if statement:
            yield re.sub(r"X'([0-9a-f]*)'", r"'\\x\1'", statement) if is_postgres else statement


def list_upgrades() -> list[Any]:
    """Lists the revisions that have a dump, with each database; PostgreSQL always upgrades the first and the last one."""
    usual = [("sqlite", revision) for revision in DUMPED] + [("postgres", DUMPED[0]), ("postgres", DUMPED[-1])]
    return usual + [pytest.param(("postgres", revision), marks=pytest.mark.thorough) for revision in DUMPED[1:-1]]


@pytest.fixture(scope="module", params=list_upgrades(), ids="-".join)
def upgrade(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Names a database, and a revision that has a dump."""
    database, revision = request.param
    return database, revision


@pytest.fixture(scope="module")
def revision(upgrade: tuple[str, str]) -> str:
    return upgrade[1]


@pytest.fixture(scope="module")
def upgraded(request: pytest.FixtureRequest, upgrade: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    """Opens the store of a revision after its upgrade to the newest schema. No test may change it."""
    database, revision = upgrade
    is_postgres = database == "postgres"
    if is_postgres:
        store = open_postgres(request.getfixturevalue("postgres_database")())
        upgrade_to(store, revision)
    else:
        store = open_sqlite(tmp_path_factory.mktemp("dump") / "store.sqlite")
    with store.writer.begin() as connection:
        for statement in statements(revision, is_postgres=is_postgres):
            connection.exec_driver_sql(statement)
    migrate(store)
    yield store
    store.close()


class RolledBack(Exception):
    pass


def find_numbers(store: SqlStore, acls: list[Acl]) -> list[int]:
    """Returns the class of each ACL, with new numbers for unknown ones, and leaves the store as it is."""
    numbers: list[int] = []
    with suppress(RolledBack), store.writing() as unit:
        numbers.extend(unit.access.classes.number_many([AccessKey(acl=acl) for acl in acls]).values())
        raise RolledBack
    return numbers


def read_documents(unit: UnitOfWork) -> dict[str, Any]:
    found = unit.documents.reader.find_many([PUBLIC, GUARDED, CHILD, PARENT, GONE, CLOSED, SAME, NAMED])
    return {
        "ids": {url: document.id for url, document in found.items()},
        "damaged": {url for url, document in found.items() if document.damage},
        "states": {url for url, document in found.items() if document.state is DocumentState.GONE},
        "secure": {url for url, document in found.items() if document.secure},
        "classes": {url: unit.documents.reader.find_class(url) for url in found},
        "public": (found[PUBLIC].metadata, found[PUBLIC].attributes, found[PUBLIC].text, found[PUBLIC].content, found[PUBLIC].charset),
        "authmethod": found[CLOSED].attributes.authmethod,
        "locked": found[SAME].attributes.lock,
        "named": (found[NAMED].origin, found[NAMED].datasource, found[NAMED].attributes.crawl_once, found[NAMED].updated_at),
        "events": [(event.kind.value, event.at, event.feed_id, event.line, event.detail) for event in unit.documents.reader.list_events(1)],
    }


def test_upgrade_with_documents_reads_all_of_them(upgraded: SqlStore) -> None:
    attributes = Attributes(
        display_url="http://shown.test/", mimetype="text/html", last_modified=BEGUN, authmethod=AuthMethod.NONE, pagerank=90
    )
    noarchive = {"metadata": (("robots", "noarchive"),), "robots": frozenset({"noarchive"})}
    text = Text(source=BlobRef("b1"), blob=BlobRef("b2"), title="Öffentlich", language="de", **noarchive)  # type: ignore[arg-type]
    with upgraded.reading() as unit:
        assert read_documents(unit) == {
            "ids": {PUBLIC: 1, GUARDED: 2, CHILD: 3, GONE: 4, CLOSED: 5, SAME: 6, NAMED: 7},
            "damaged": set(),
            "states": {GONE},
            "secure": {GUARDED, CHILD, CLOSED, SAME},
            "classes": {PUBLIC: 0, GUARDED: 2, CHILD: 3, GONE: None, CLOSED: 1, SAME: 2, NAMED: 0},
            "public": ((("author", "Ann"), ("Author", "O'Hara")), attributes, text, "b1", "utf-8"),
            "authmethod": AuthMethod.NTLM,
            "locked": True,
            "named": (Origin.WEB, "web", True, BEGUN + 7 * MINUTE),
            "events": [
                ("fed", BEGUN, 1, 7, "by hand"),
                ("metadata fed", BEGUN + timedelta(microseconds=1), 1, 7, "by hand"),
            ],
        }


def test_upgrade_with_acls_reads_them_and_their_classes(upgraded: SqlStore) -> None:
    both = (ANNS, INTERNS, BLANK, ANNS, STREET, OTHER)
    child = acl(BOB, rule=InheritanceType.AND_BOTH_PERMIT, parent=PARENT)
    parent = acl(LONE, HYPHEN, rule=InheritanceType.PARENT_OVERRIDES)
    with upgraded.reading() as unit:
        assert unit.access.acls.find_many(list(CLASSES)) == {
            GUARDED: make_stored_acl(GUARDED, acl=Acl(entries=both)),
            SAME: make_stored_acl(SAME, acl=acl(OTHER, STREET, INTERNS, ANNS)),
            CHILD: make_stored_acl(CHILD, acl=child),
            PARENT: make_stored_acl(PARENT, acl=parent),
        }
        assert unit.access.acls.find_classes(list(CLASSES)) == CLASSES
        assert unit.access.classes.get_many([2, 3, 4]) == {
            2: AccessKey(acl=acl(INTERNS, STREET, ANNS, OTHER)),
            3: AccessKey(acl=child),
            4: AccessKey(acl=acl(HYPHEN, LONE, rule=InheritanceType.PARENT_OVERRIDES)),
        }


def test_upgrade_with_acls_stores_the_keys_by_which_users_are_found(upgraded: SqlStore, revision: str) -> None:
    keys = {
        2: digest_of(key_of(INTERNS.principal))
        + b"\1"
        + b"".join(digest_of(key_of(each.principal)) + b"\0" for each in (STREET, ANNS, OTHER)),
        3: digest_of(key_of(BOB.principal)) + b"\1",
        4: b"".join(digest_of(key_of(each.principal)) + b"\0" for each in (HYPHEN, LONE)),
    }
    with upgraded.reading() as unit:
        (packed,) = unit.access.classes.iter_packed(after=1)
    found = dict(zip(packed.numbers, map(bytes, packed.keys), strict=True))
    assert found == (keys if revision < "0005" else keys | {5: b""})
    assert set(packed.policy_numbers) == {0}


def test_upgrade_with_acls_finds_their_classes_again(upgraded: SqlStore, revision: str) -> None:
    known = acl(BOB, rule=InheritanceType.AND_BOTH_PERMIT, parent=PARENT)
    acls = [known, acl(INTERNS, STREET, ANNS, OTHER), acl(AUDITORS)]
    assert find_numbers(upgraded, acls) == [3, 2, 5 if revision < "0005" else 6]


def test_upgrade_with_acls_reads_their_versions(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        versions = unit.access.acl_versions.list_versions(after=0, limit=100)
    now = {version.url: version.access_class for version in versions}
    assert {version.feed_id for version in versions} == {1}
    if revision < "0005":
        assert now == CLASSES
        assert min(version.at for version in versions) > BEGUN
    else:
        assert now == CLASSES | {REMOVED: None}
        assert [(version.at, version.access_class) for version in versions if version.url == REMOVED] == [
            (BEGUN, 5),
            (BEGUN + MINUTE, None),
        ]


def test_upgrade_with_index_requests_a_rebuild_where_entries_have_no_class(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        assert unit.state.key_values.get("index.folder") == "7-1"
        assert unit.state.key_values.get("index.rebuild") == ("7-2" if revision < "0005" else None)


def test_upgrade_with_earlier_classes_reads_them(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        periods = unit.access.class_periods.list_of([2])[2]
        since = unit.state.key_values.get("history.since")
    found = [(period.access_class, period.since, period.feed_id) for period in periods]
    assert found == ([(2, LONG_AGO, 0)] if revision < "0009" else [(0, BEGUN, 1), (2, BEGUN + MINUTE, 1)])
    assert (since is not None and datetime.fromisoformat(since) > BEGUN) is (revision < "0009")


def test_upgrade_with_feeds_reads_them(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        found = {feed.id: feed for feed in unit.feeds.reader.list_newest(None, 10)}
        log = unit.feeds.log.list_log(1, 10)
        sources = unit.feeds.sources.list()
        queued = unit.feeds.reader.count_waiting()
    first, last = found[1], found[3]
    assert (first.kind, first.state, first.phase, first.file, first.repaired_file) == (
        *(FeedKind.FULL, FeedState.COMPLETED, Phase.DONE),
        *("f1", "f1.repaired"),
    )
    assert (first.records, first.applied, first.included, first.errors, first.acls, first.logged) == (8, 8, 7, 1, 1, 1)
    assert (first.received_at, first.finished_at, first.searchable_at) == (BEGUN, BEGUN + MINUTE, BEGUN + 2 * MINUTE)
    assert (last.kind, last.state, last.phase, last.finished_at) == (FeedKind.INCREMENTAL, FeedState.RECEIVED, Phase.SCAN, None)
    assert log == [LogEntry(level=LogLevel.ERROR, record=8, line=90, url=GONE, reason="no such action")]
    assert sources == [
        DataSource(name="src", kind="content", documents=5, feeds=2),
        DataSource(name="web", kind="web", documents=1, feeds=0),
    ]
    assert queued == 1
    formats = {1: "gsafeed", 3: "gsafeed", 4: ""} | ({2: "gsagroups"} if revision >= "0002" else {})
    assert {number: feed.format for number, feed in found.items()} == formats


def test_upgrade_with_groups_reads_them_and_their_history(upgraded: SqlStore, revision: str) -> None:
    group, member = subject_of(ENGINEERING), key_of(ANN)
    is_there = revision >= "0002"
    with upgraded.reading() as unit:
        assert unit.groups.memberships.find_parents([member]) == ([(member, group)] if is_there else [])
        assert (unit.groups.snapshots.generation(), unit.groups.snapshots.list_visible()) == ((2, {2: "people"}) if is_there else (0, {}))
        definitions = list(unit.groups.snapshots.iter_definitions(2))
        history = unit.groups.history.list_memberships([member], BEGUN)
    assert [(each.key, each.group, each.memberships) for each in definitions] == (
        [(digest_of(exact_key(group)), group, 1)] if is_there else []
    )
    turns = [(publication.feed_id, publication.at, gained) for each in history for publication, gained in each.turns]
    assert turns == ([(2, BEGUN + MINUTE, True)] if revision >= "0008" else [])
    assert [each.holds for each in history] == ([True] if is_there else [])


def test_upgrade_with_index_tasks_reads_them(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        tasks = {task.document_id: task for stage in Stage for task in unit.processing.index_tasks.list(stage, 10)}
        open_feeds = unit.processing.index_tasks.list_open_feeds([1, 2, 3])
        links = unit.processing.link_queue.list_queued(LinkWork.READ, 10)
        waiting = {queue.name.value: queue for queue in unit.processing.queues.list()}
    assert {number: (task.stage, task.lane, task.revokes_access, task.is_refresh) for number, task in tasks.items()} == {
        1: (Stage.EXTRACT, Lane.QUICK, False, False),
        2: (Stage.INDEX, Lane.BULK, True, False),
        **({6: (Stage.INDEX, Lane.BULK, False, True)} if revision >= "0012" else {}),
    }
    assert open_feeds == ({1, 3}, {1})
    assert links == ([1, 2, 3, 5, 6, 7] if revision < "0011" else [3])
    oldest = waiting["index"].oldest_at
    assert oldest is not None
    assert (oldest > BEGUN) is (revision < "0015")
    assert waiting["index"].reason == (None if revision < "0015" else "disk full")


def test_upgrade_with_links_and_failures_reads_them(upgraded: SqlStore, revision: str) -> None:
    with upgraded.reading() as unit:
        assert unit.processing.link_texts.find_by_target([1]) == ({1: {7: "the public page"}} if revision >= "0011" else {})
        failures = [(each.step, each.reason, each.attempts, each.is_found) for each in unit.processing.failures.find_many([5]).values()]
        assert failures == ([("extract", "broken", 2, True)] if revision >= "0013" else [])
        assert unit.processing.interruptions.list_counts() == ({"record 7": 1} if revision >= "0013" else {})


def test_upgrade_with_policies_reads_them(upgraded: SqlStore, revision: str) -> None:
    policy = PolicyAcl(pattern="docs.test/plans/", entries=(AUDITORS,), name="plans", number=3)
    with upgraded.reading() as unit:
        assert list(unit.access.policies.current().policies) == ([policy] if revision >= "0007" else [])
        versions = [(each.since, each.policies) for each in unit.access.policies.list_since(BEGUN)]
    assert versions == ([(BEGUN, (policy,))] if revision >= "0010" else [])


def test_upgrade_with_embeddings_reads_them(upgraded: SqlStore, revision: str) -> None:
    embedding = Embedding(document_id=1, version=1, model="bge-small", digest=b"text digest", dimensions=2, vectors=b"\0<\0\0")
    queued = QueuedEmbedding(document_id=2, queued_at=BEGUN, attempts=1)
    with upgraded.reading() as unit:
        assert unit.documents.embeddings.find_many([1]) == ({1: embedding} if revision >= "0022" else {})
        changes = unit.documents.embeddings.list_changed("bge-small", after=0, limit=9)
        assert [change.document_id for change in changes] == ([1] if revision >= "0022" else [])
        assert unit.processing.embedding_queue.list_due(BEGUN + MINUTE, 9) == ([queued] if revision >= "0022" else [])


def test_upgrade_with_a_crawl_queue_reads_it(upgraded: SqlStore, revision: str) -> None:
    failed = FetchRecord(at=BEGUN, state=CrawlState.HTTP_SERVER_ERROR, http_status=500, size_bytes=17, seconds=0.25, reason="it failed")
    entry = CrawlEntry(
        url=NAMED,
        site="http://docs.test",
        pagerank=90,
        depth=2,
        is_once=True,
        referrer=PUBLIC,
        state=CrawlState.HTTP_SERVER_ERROR,
        added_at=BEGUN,
        due_at=BEGUN,
        interval_seconds=60,
        etag='"x"',
        checksum=b"sum",
        changed_at=BEGUN,
        crawled_at=BEGUN + MINUTE,
        failures=1,
        failed_at=BEGUN + 2 * MINUTE,
        history=(failed,),
    )
    site = CrawlSite(
        site="http://docs.test",
        free_at=BEGUN,
        failures=1,
        failed_at=BEGUN,
        reason="timed out",
        robots=b"Allow: /",
        robots_state=CrawlState.CRAWLED,
        robots_at=BEGUN,
    )
    with upgraded.reading() as unit:
        assert unit.feeds.crawling.reports.list_entries() == ([entry] if revision >= "0019" else [])
        assert list(unit.feeds.crawling.sites.find_many([site.site]).values()) == ([site] if revision >= "0019" else [])


def test_upgrade_with_settings_and_sign_ins_reads_them(upgraded: SqlStore, revision: str) -> None:
    user = read_subject(Scope.USER, "CORP\\Ann")
    setting = StoredSetting(section="collections", name="press", value='{"include":["docs.test/press/"]}', version=1)
    with upgraded.reading() as unit:
        assert unit.state.stored_settings.list() == ([setting] if revision >= "0003" else [])
        accounts, tokens = unit.signin.accounts.list_all(), unit.signin.api_tokens.list_all()
        session = unit.signin.sessions.find(b"session digest")
        by_name = unit.signin.sessions.list_by_name_digest(digest_of_user(user))
    assert [(each.user, each.role, each.epoch) for each in accounts] == ([(user, UserRole.VIEWER, 3)] if revision >= "0004" else [])
    assert (session is not None and session.credentials[0].user == user) is (revision >= "0004")
    assert by_name == ([b"session digest"] if revision >= "0006" else [])
    allowed = frozenset({"src"}) if revision >= "0014" else frozenset()
    scopes = frozenset({TokenScope.PUSH, TokenScope.SEARCH})
    found = [(each.id, each.label, each.user, each.scopes, each.datasources) for each in tokens]
    assert found == ([(4, "nightly push", user, scopes, allowed)] if revision >= "0004" else [])


def test_upgrade_with_rows_sums_up_to_the_schema(upgraded: SqlStore) -> None:
    assert schema_differences(upgraded) == []
    with upgraded.writer.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM alembic_version")).scalar() == 1


# --- frozen migrations ----------------------------------------------------------------------------------------------------------


def test_dumps_are_there_for_every_earlier_revision() -> None:
    assert set(list_revisions()[:-1]) <= set(DUMPED) <= set(list_revisions())


def imported(path: Path) -> set[str]:
    """Returns the modules that a file imports; one that it imports by its relation to itself begins with a dot."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def test_migrations_import_nothing_of_the_program() -> None:
    paths = sorted(MIGRATIONS.rglob("*.py"))
    assert len(paths) > len(list_revisions())
    assert {path.name for path in paths for name in imported(path) if name.split(".")[0] in ("feedmill", "")} == set()
