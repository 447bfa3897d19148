"""Databases as pull sources: rows become documents, on SQLite, PostgreSQL and MariaDB alike."""

import io
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from lxml import etree
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql
from sqlalchemy.engine import default

from bench import rows
from feedmill.adapters.databases.drivers import DRIVERS, check_dsn, find_driver, open_engine
from feedmill.adapters.databases.ordering import OrderedQuery
from feedmill.adapters.databases.rowrendering import Row, render_html, render_xml, text_of
from feedmill.adapters.databases.source import DatabaseAddress, DatabaseQueries, DatabaseSource
from feedmill.model.access import Access
from feedmill.model.change import PutDocument, RequestCrawl
from feedmill.model.errors import BadRequest, Corrupt, FeedmillError, NotFound, UpstreamFailure
from feedmill.model.pulling import RunMode
from feedmill.ports import DeletedItem, FailedItem, ListedItem, PulledItem, RepeatedItem, SkippedItem
from tests.contract.databases import NewDatabase

CRAWL = "SELECT id, title, body FROM articles ORDER BY id"


class Database:
    """A database with tables of articles and grants, and what a source reads from it."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.kind = sa.make_url(dsn).get_backend_name()
        # one connection for all statements: each new one of MariaDB's driver reads all certificates of the machine
        self.engine = sa.create_engine(sa.make_url(dsn).set(drivername=find_driver(dsn).name), pool_size=1)
        binary = {"postgresql": "BYTEA", "sqlite": "BLOB", "mariadb": "LONGBLOB"}[self.kind]
        self.execute(f"CREATE TABLE articles (id INTEGER, title TEXT, body TEXT, file {binary}, mime TEXT, changed INTEGER, gone TEXT)")
        self.execute("CREATE TABLE grants (article INTEGER, users TEXT, teams TEXT)")

    def execute(self, statement: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), values)

    def add(self, **values: Any) -> None:
        names = ", ".join(values)
        self.execute(f"INSERT INTO articles ({names}) VALUES ({', '.join(f':{name}' for name in values)})", **values)

    def open(
        self, transform: Callable[[bytes, bytes], bytes] = lambda _stylesheet, xml: xml, *, limit: int = 20, **queries: Any
    ) -> DatabaseSource:
        queries_of_source = DatabaseQueries(**{"crawl_query": CRAWL, "keys": ("id",), **queries})
        return DatabaseSource("staff", DatabaseAddress(dsn=self.dsn), queries_of_source, transform, max_characters=limit)

    def read(self, mode: RunMode = RunMode.FULL, since: str = "", **queries: Any) -> tuple[list[PulledItem], str]:
        """Returns all items, and the point in time for the next run."""
        source = self.open(**queries)
        pages = list(source.iter_pages(mode, since=since, checkpoint=""))
        source.close()
        return [item for page in pages for item in page.items], pages[-1].since


@contextmanager
def opened_database(dsn: str) -> Iterator[Database]:
    opened = Database(dsn)
    yield opened
    opened.engine.dispose()


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    is_file = request.param == "sqlite"
    with opened_database(
        f"sqlite:///{tmp_path}/my data.db" if is_file else request.getfixturevalue(f"{request.param}_database")()
    ) as opened:
        yield opened


@pytest.fixture
def in_mariadb(mariadb_database: NewDatabase) -> Iterator[Database]:
    with opened_database(mariadb_database()) as opened:
        yield opened


@pytest.fixture
def in_postgres(postgres_database: NewDatabase) -> Iterator[Database]:
    with opened_database(postgres_database()) as opened:
        yield opened


def load(item: PulledItem) -> PutDocument:
    assert isinstance(item, ListedItem)
    change = item.load()
    assert isinstance(change, PutDocument)
    return change


def content_of(item: PulledItem) -> bytes:
    content = load(item).content
    assert content is not None
    assert isinstance(content.stream, io.BytesIO)
    return content.stream.getvalue()


def test_rows_become_pages_under_their_keys(database: Database) -> None:
    database.add(id=1, title="One & <all>", body=None)
    database.add(id=2, title="Two", body="x" * 50)
    (first, second), _ = database.read()
    change = load(first)
    assert change.url.endswith("/staff/1")
    assert change.url.startswith("googledb://")
    assert change.metadata == (("id", "1"), ("title", "One & <all>"))
    assert (change.attributes.mimetype, change.whole, change.acl.element) == ("text/html", True, None)
    page = content_of(first).decode()
    assert "<title>One &amp; &lt;all&gt;</title>" in page
    assert "<th>body" not in page
    assert f"<td>{'x' * 20}</td>" in content_of(second).decode()


def test_keys_are_percent_encoded_and_found_in_any_letter_case(database: Database) -> None:
    database.add(id=1, title="a/b ü?", body="")
    (item,), _ = database.read(keys=("TITLE", "Id"))
    assert isinstance(item, ListedItem)
    assert item.url.endswith("/staff/a%2Fb%20%C3%BC%3F/1")


def test_text_of_sqlite_that_is_no_utf_8_costs_only_its_bytes(tmp_path: Path) -> None:
    with opened_database(f"sqlite:///{tmp_path}/odd.db") as database:
        database.execute("INSERT INTO articles (id, title) VALUES (1, CAST(x'41ff42' AS TEXT)), (2, 't')")
        (first, second), _ = database.read(crawl_query="SELECT id, title FROM articles")
    assert load(first).metadata == (("id", "1"), ("title", "A\ufffdB"))
    assert load(second).metadata == (("id", "2"), ("title", "t"))


def test_times_beyond_those_of_python_are_texts(in_postgres: Database) -> None:
    in_postgres.add(id=1)
    times = "'infinity'::timestamp AS a, '-infinity'::date AS b, '0044-03-15 BC'::timestamptz::date AS c, '2026-01-02'::date AS d"
    (item,), _ = in_postgres.read(crawl_query=f"SELECT id, {times} FROM articles")
    assert load(item).metadata == (("id", "1"), ("a", "infinity"), ("b", "-infinity"), ("c", "0044-03-15 BC"), ("d", "2026-01-02"))


def test_rows_with_a_key_that_is_null_are_skipped(database: Database) -> None:
    database.add(id=None, title="x")
    (item,), _ = database.read()
    assert isinstance(item, SkippedItem)


def test_digest_changes_with_any_value_and_with_the_settings(database: Database) -> None:
    database.add(id=1, title="a", body="b")
    database.add(id=1, title="ab", body="")
    database.add(id=1, title="a", body=None)
    items, _ = database.read(crawl_query=f"{CRAWL}, title")
    again, _ = database.read(crawl_query=f"{CRAWL}, title")
    shaped, _ = database.read(crawl_query=f"{CRAWL}, title", blob_column="body")
    digests = [item.digest for item in (*items, *shaped) if isinstance(item, ListedItem)]
    assert len(set(digests)) == len(digests) == 6
    assert [item.digest for item in again if isinstance(item, ListedItem)] == digests[:3]


def test_blob_column_is_the_content(database: Database) -> None:
    database.add(id=1, file=b"%PDF-\x00\xff", mime="application/pdf", title="t")
    database.add(id=2, file=None, mime="application/pdf", title="t")
    (first, second), _ = database.read(
        crawl_query="SELECT id, title, file, mime FROM articles ORDER BY id", blob_column="file", mime_column="mime"
    )
    assert (content_of(first), load(first).attributes.mimetype) == (b"%PDF-\x00\xff", "application/pdf")
    assert [name for name, _ in load(first).metadata or ()] == ["id", "title", "mime"]
    assert load(second).content is None
    assert load(second).attributes.title == "t"


def test_url_column_requests_the_crawl_of_its_url(database: Database) -> None:
    database.add(id=1, title="a.html", body="x")
    database.add(id=2, title=None, body="x")
    (first, second), _ = database.read(keys=(), url_column="title", base_url="http://docs.example.com/")
    assert isinstance(first, ListedItem)
    change = first.load()
    assert isinstance(change, RequestCrawl)
    assert (change.url, dict(change.metadata or ())["body"]) == ("http://docs.example.com/a.html", "x")
    assert isinstance(second, SkippedItem)


def test_url_column_without_a_url_is_an_error_of_its_row(database: Database) -> None:
    database.add(id=1, title="http://docs.example.com/a", body="x")
    database.add(id=2, title="a.html", body="x")
    (first, second), _ = database.read(keys=(), url_column="title")
    assert isinstance(first, ListedItem)
    assert first.url == "http://docs.example.com/a"
    assert second == FailedItem(url="a.html", reason="the url needs a scheme and a host, such as http://host.example.com/")


def test_stylesheet_makes_the_page(database: Database) -> None:
    database.add(id=1, title="a", body=None)
    seen = []

    def transform(stylesheet: bytes, xml: bytes) -> bytes:
        seen.append((stylesheet, etree.fromstring(xml)))
        return b"<p>page</p>"

    source = database.open(transform, stylesheet=b"<xsl/>")
    *_, page = source.iter_pages(RunMode.FULL, since="", checkpoint="")
    assert content_of(page.items[0]) == b"<p>page</p>"
    ((stylesheet, xml),) = seen
    assert stylesheet == b"<xsl/>"
    assert [(column.tag, column.text, column.get("ISNULL")) for column in xml.iterfind("table/table_rec/*")][:3] == [
        ("id", "1", None),
        ("title", "a", None),
        ("body", None, "true"),
    ]


def test_stylesheet_that_fails_costs_the_row(database: Database) -> None:
    database.add(id=1, title="a")

    def fail(_stylesheet: bytes, _xml: bytes) -> bytes:
        raise Corrupt("no such function")

    source = database.open(fail, stylesheet=b"<xsl/>")
    *_, page = source.iter_pages(RunMode.FULL, since="", checkpoint="")
    assert isinstance(page.items[0], ListedItem)
    with pytest.raises(BadRequest, match="no such function"):
        page.items[0].load()


# --- access ---------------------------------------------------------------------------------------------------------------------


def test_acl_query_says_who_may_see_a_row_and_no_row_permits_no_user(database: Database) -> None:
    database.add(id=1, title="a")
    database.add(id=2, title="b")
    database.execute("INSERT INTO grants VALUES (1, ' ann , bob,', 'staff'), (1, 'eve', NULL)")
    query = "SELECT users AS gsa_permit_users, teams AS Gsa_Deny_Groups FROM grants WHERE article = :ID ORDER BY users"
    (first, second), _ = database.read(acl_query=query)
    acl = load(first).acl.element
    assert acl is not None
    assert [(entry.access, entry.principal.name) for entry in acl.entries] == [
        (Access.PERMIT, "ann"),
        (Access.PERMIT, "bob"),
        (Access.DENY, "staff"),
        (Access.PERMIT, "eve"),
    ]
    without_entries = load(second).acl.element
    assert without_entries is not None
    assert without_entries.entries == ()
    database.execute("UPDATE grants SET users = 'ann'")
    (changed, same), _ = database.read(acl_query=query)
    assert isinstance(changed, ListedItem)
    assert isinstance(first, ListedItem)
    assert changed.digest != first.digest
    assert isinstance(same, ListedItem)
    assert isinstance(second, ListedItem)
    assert same.digest == second.digest


def test_acl_columns_of_the_crawl_query_count_and_are_no_metadata(database: Database) -> None:
    database.add(id=1, title="ann")
    (item,), _ = database.read(crawl_query="SELECT id, title AS GSA_PERMIT_USERS FROM articles")
    acl = load(item).acl.element
    assert acl is not None
    assert [entry.principal.name for entry in acl.entries] == ["ann"]
    assert load(item).metadata == (("id", "1"),)
    assert b"ann" not in content_of(item)


# --- incremental runs -----------------------------------------------------------------------------------------------------------

CHANGED = "SELECT id, title, changed AS GSA_TIMESTAMP, gone AS gsa_action FROM articles WHERE changed > :since ORDER BY id"


def test_incremental_query_continues_at_the_newest_timestamp(database: Database) -> None:
    database.add(id=1, title="a", changed=5)
    database.add(id=2, title="b", changed=9)
    _, since = database.read(crawl_query="SELECT id, changed AS GSA_TIMESTAMP FROM articles")
    database.add(id=3, title="c", changed=12)
    database.add(id=4, title="d", changed=11, gone=" Delete ")
    items, newer = database.read(RunMode.INCREMENTAL, since, incremental_query=CHANGED)
    assert [type(item) for item in items] == [ListedItem, DeletedItem]
    assert load(items[0]).metadata == (("id", "3"), ("title", "c"))
    items, newest = database.read(RunMode.INCREMENTAL, newer, incremental_query=CHANGED)
    assert (items, newest) == ([], newer)


@pytest.mark.parametrize(("kind", "early", "late"), [("INTEGER", 5, 9), ("TEXT", "2001-01-01", "2001-01-02")])
def test_incremental_query_begins_at_its_own_newest_timestamp(database: Database, kind: str, early: object, late: object) -> None:
    database.execute(f"ALTER TABLE articles ADD COLUMN at {kind}")
    changed = "SELECT id, at AS GSA_TIMESTAMP FROM articles WHERE at > :since ORDER BY at;"
    _, none = database.read(incremental_query=changed)
    database.add(id=1, at=early)
    items, _ = database.read(RunMode.INCREMENTAL, none, incremental_query=changed)
    assert [item.url.rpartition("/")[2] for item in items if isinstance(item, ListedItem)] == ["1"]
    _, since = database.read(incremental_query=changed)
    database.add(id=2, at=late)
    items, _ = database.read(RunMode.INCREMENTAL, since, incremental_query=changed)
    assert [item.url.rpartition("/")[2] for item in items if isinstance(item, ListedItem)] == ["2"]


def test_incremental_query_begins_at_the_newest_time_of_the_rows_own_clock(database: Database) -> None:
    database.execute("ALTER TABLE articles ADD COLUMN at TIMESTAMP NULL")
    changed = 'SELECT id, at AS "Gsa_Timestamp" FROM articles WHERE at > :since'.replace('"', "" if database.kind == "mariadb" else '"')
    database.execute("INSERT INTO articles (id, at) VALUES (1, '2001-01-01 00:00:00')")
    _, since = database.read(incremental_query=changed)
    database.execute("INSERT INTO articles (id, at) VALUES (2, '2001-01-01 00:00:01')")
    items, _ = database.read(RunMode.INCREMENTAL, since, incremental_query=changed)
    assert [item.url.rpartition("/")[2] for item in items if isinstance(item, ListedItem)] == ["2"]


def test_incremental_query_without_timestamp_continues_at_the_clock_of_the_database(database: Database) -> None:
    database.execute("ALTER TABLE articles ADD COLUMN at TIMESTAMP DEFAULT '2001-01-01 00:00:00'")
    database.add(id=1, title="old")
    _, since = database.read()
    database.add(id=2, title="new")
    database.execute("UPDATE articles SET at = CURRENT_TIMESTAMP WHERE id = 2")
    items, _ = database.read(RunMode.INCREMENTAL, since, incremental_query="SELECT id, title FROM articles WHERE at > :since")
    assert [item.url.rpartition("/")[2] for item in items if isinstance(item, ListedItem)] == ["2"]


# --- single rows ----------------------------------------------------------------------------------------------------------------


def test_row_is_read_by_its_keys(database: Database) -> None:
    database.add(id=1, title="a/b", body="now", file=b"%PDF-", mime="application/pdf")
    source = database.open(keys=("id", "title"), serve_query="SELECT id, title, body FROM articles WHERE id = :ID AND title = :title")
    row = source.read_row(["1", "a/b"])
    assert row is not None
    assert (row.mimetype, b"<td>now</td>" in row.data) == ("text/html", True)
    assert source.find_url(["1", "a/b"]).endswith("/staff/1/a%2Fb")
    for keys in (["2", "a/b"], ["1"], ["1' OR '1'='1", "a/b"]):
        with pytest.raises(FeedmillError):
            source.read_row(keys)
    assert database.open().read_row(["1"]) is None
    file = database.open(blob_column="file", mime_column="mime", serve_query="SELECT file, mime FROM articles WHERE id = :id").read_row(
        ["1"]
    )
    assert file is not None
    assert (file.data, file.mimetype) == (b"%PDF-", "application/pdf")


def test_row_whose_keys_only_resemble_is_not_shown(in_mariadb: Database) -> None:
    in_mariadb.add(id=1, title="ABC", body="of others")
    in_mariadb.add(id=2, title="abc", body="own")
    source = in_mariadb.open(keys=("title",), serve_query="SELECT title, body FROM articles WHERE title = :title ORDER BY id")
    row = source.read_row(["abc"])
    assert row is not None
    assert b"<td>own</td>" in row.data
    with pytest.raises(NotFound):
        source.read_row(["Abc"])


def test_values_of_mariadb_become_texts(in_mariadb: Database) -> None:
    types = "id INT UNSIGNED, price DECIMAL(9,2), day DATE, at DATETIME, took TIME, none DATE, kind ENUM('a','ü'), data JSON, bits BIT(8)"
    in_mariadb.execute(f"CREATE TABLE typed ({types})")
    row = "(4294967295, 1.50, '2026-03-01', '2026-03-01 12:00:00', '-01:02:03', '0000-00-00', 'ü', '[1]', b'101')"
    in_mariadb.execute(f"INSERT IGNORE INTO typed VALUES {row}".replace(":", "\\:"))
    ((item,), _) = in_mariadb.read(crawl_query="SELECT * FROM typed")
    found = dict(load(item).metadata or ())
    assert found.pop("took").startswith("-")
    assert found.pop("none", "0000-00-00") == "0000-00-00"
    assert found == {"id": "4294967295", "price": "1.50", "day": "2026-03-01", "at": "2026-03-01T12:00:00", "kind": "ü", "data": "[1]"}


# --- failures -------------------------------------------------------------------------------------------------------------------


def test_nothing_can_be_changed_by_a_query(database: Database) -> None:
    with pytest.raises(FeedmillError):
        database.read(crawl_query="DELETE FROM articles RETURNING id")
    with pytest.raises(UpstreamFailure):
        database.read(crawl_query="INSERT INTO articles (id) VALUES (9) RETURNING id")


@pytest.mark.parametrize(
    ("queries", "text"),
    [
        ({"crawl_query": "SELECT id FROM nowhere"}, "nowhere"),
        ({"keys": ("number",)}, "has no column number; it has id, title, body"),
        ({"crawl_query": "SELECT id FROM articles WHERE id = :id"}, "failed|required"),
    ],
)
def test_query_that_fails_names_its_reason(database: Database, queries: dict[str, Any], text: str) -> None:
    with pytest.raises(FeedmillError, match=text):
        database.read(**queries)


def test_database_that_is_not_there_names_no_password(tmp_path: Path) -> None:
    for dsn in (f"sqlite:///{tmp_path}/none.db", "postgresql://ann:secret@127.0.0.1:9/x"):
        source = DatabaseSource("staff", DatabaseAddress(dsn=dsn), DatabaseQueries(crawl_query="SELECT 1 AS id"), lambda _s, xml: xml)
        with pytest.raises(UpstreamFailure) as raised:
            list(source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint=""))
        assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_many_rows_come_in_pages(database: Database) -> None:
    numbers = "WITH RECURSIVE few (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM few WHERE n < 40)"
    database.execute(f"INSERT INTO articles (id, title) {numbers} SELECT a.n * 30 + b.n, 't' FROM few a JOIN few b ON b.n <= 30")
    source = database.open()
    assert [len(page.items) for page in source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint="")] == [0, 500, 500, 200]
    source.close()


ORDERED = "SELECT id, title FROM articles"


@pytest.mark.parametrize("crawl_query", [ORDERED, f"{ORDERED} ORDER BY articles.id ASC, title;", f"{ORDERED} -- all"])
def test_reading_that_was_interrupted_goes_on_at_its_page(database: Database, monkeypatch: pytest.MonkeyPatch, crawl_query: str) -> None:
    monkeypatch.setattr("feedmill.adapters.databases.source.ROWS_A_PAGE", 4)
    for number in (3, 1, 2):
        for title in ("b", "A", "c"):
            database.add(id=number, title=title)
    database.add(id=4, title=None)
    source = database.open(crawl_query=crawl_query, keys=("ID", "title"))
    whole = list(source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint=""))
    names = [item.url for page in whole for item in page.items if isinstance(item, ListedItem)]
    assert len(set(names)) == len(names) == 9
    # what is written meanwhile is found by the next incremental run
    database.add(id=9, title="late")
    for last in (1, 2):
        rest = list(source.iter_pages(RunMode.FULL, since=whole[last].since, checkpoint=whole[last].checkpoint))
        listed = [item.url for page in rest for item in page.items if isinstance(item, ListedItem)]
        assert listed == [*names[last * 4 - 1 :], "googledb://" + names[0].split("/")[2] + "/staff/9/late"]
        assert {page.since for page in rest} == {whole[last].since}
        assert rest[0].checkpoint == whole[last].checkpoint
    source.close()


def test_reading_goes_on_in_the_order_of_the_url_column(database: Database) -> None:
    for number, path in ((1, "b"), (2, "a"), (3, "b"), (4, "c")):
        database.add(id=number, title=path)
    source = database.open(crawl_query=ORDERED, url_column="title", base_url="http://x/")
    first, page = source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint="")
    assert [(type(item), getattr(item, "url", "")) for item in page.items] == [
        (ListedItem, "http://x/a"),
        (ListedItem, "http://x/b"),
        (RepeatedItem, "http://x/b"),
        (ListedItem, "http://x/c"),
    ]
    _, rest = source.iter_pages(RunMode.FULL, since=page.since, checkpoint=page.checkpoint)
    assert [getattr(item, "url", "") for item in rest.items] == ["http://x/c"]
    assert first.checkpoint == ""
    source.close()


@pytest.mark.parametrize(
    ("crawl_query", "keys"),
    [
        (f"{ORDERED} ORDER BY title", ("id",)),
        (f"{ORDERED} LIMIT 5", ("id",)),
        ("SELECT a.id, b.id, a.title FROM articles a JOIN articles b ON a.id = b.id", ("id",)),
        ("WITH all_of AS (SELECT id FROM articles) SELECT id FROM all_of", ("id",)),
        ("SELECT id, 0.5e0 + id AS half FROM articles", ("half",)),
    ],
)
def test_reading_without_an_order_begins_again(database: Database, crawl_query: str, keys: tuple[str, ...]) -> None:
    for number in (2, 1):
        database.add(id=number, title="t")
    source = database.open(crawl_query=crawl_query, keys=keys)
    _, page = source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint="")
    assert len(page.items) == 2
    _, again = source.iter_pages(RunMode.FULL, since="", checkpoint=page.checkpoint)
    assert len(again.items) == 2 or page.checkpoint
    source.close()


def test_checkpoint_of_another_query_begins_again(database: Database) -> None:
    database.add(id=1, title="t")
    database.add(id=2, title="t")
    source, other = database.open(crawl_query=ORDERED), database.open(crawl_query=f"{ORDERED} WHERE id < 9")
    *_, page = source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint="")
    first, rest = other.iter_pages(RunMode.FULL, since="", checkpoint=page.checkpoint)
    assert (first.checkpoint, len(rest.items)) == ("", 2)
    source.close()
    other.close()


@pytest.mark.parametrize("value", [5, "it's", Decimal("1.50"), date(2026, 3, 1), UUID(int=7), b"\x00\xff"])
def test_checkpoint_keeps_the_type_of_a_key(value: object) -> None:
    ordered = OrderedQuery(default.DefaultDialect(), ORDERED, ["id"], ["ID"])
    last = ordered.find_last(ordered.write_checkpoint([value]))
    assert (last, type((last or [None])[0])) == ([value], type(value))


@pytest.mark.parametrize("scheme", DRIVERS)
def test_ordered_query_is_written_for_every_database(scheme: str) -> None:
    dialect = {"mssql": mssql, "oracle": oracle, "mysql": mysql, "mariadb": mysql, "postgresql": postgresql}.get(scheme, default)
    compiler = dialect.DefaultDialect() if dialect is default else dialect.dialect()
    ordered = OrderedQuery(compiler, 'SELECT a, "Order" FROM t', ["a", "Order"], ["A", "order"])
    text, parameters = ordered.build(ordered.write_checkpoint([1, "x"]))
    order = {"mssql": "[Order]", "mysql": "`Order`", "mariadb": "`Order`"}.get(scheme, '"Order"')
    condition = f"(a > :feedmill_0) OR (a = :feedmill_0 AND {order} >= :feedmill_1)"
    assert text.text == f'SELECT * FROM (SELECT a, "Order" FROM t\n) feedmill_rows WHERE {condition} ORDER BY a, {order}'
    assert str(text.compile(dialect=compiler)).count("feedmill_rows") == 1
    assert parameters == {"feedmill_0": 1, "feedmill_1": "x"}


def test_large_rows_come_in_small_pages(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.databases.source.PAGE_BYTES", 10_000)
    for number in range(40):
        database.add(id=number, title="t", file=b"\x00" * 3_000, body="x" * 4_000)
    files = {"crawl_query": "SELECT id, file FROM articles", "blob_column": "file"}
    shapes: list[tuple[dict[str, Any], list[int]]] = [({}, [0, *[3] * 13, 1]), (files, [0, *[4] * 10])]
    for queries, sizes in shapes:
        source = database.open(**queries)
        assert [len(page.items) for page in source.iter_pages(RunMode.FULL, since=SOME_TIME, checkpoint="")] == sizes
        source.close()


SINCE_CHANGED = "SELECT id, title, changed AS GSA_TIMESTAMP FROM articles WHERE changed > :since"
SOME_TIME = '["plain", 0]'


def test_incremental_reading_that_was_interrupted_goes_on_at_its_page(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.databases.source.ROWS_A_PAGE", 2)
    for number in (3, 1, 5, 2, 4):
        database.add(id=number, title="t", changed=number)
    source = database.open(incremental_query=SINCE_CHANGED)
    *_, whole = source.iter_pages(RunMode.INCREMENTAL, since=SOME_TIME, checkpoint="")
    pages = source.iter_pages(RunMode.INCREMENTAL, since=SOME_TIME, checkpoint="")
    reached = [next(pages) for _ in range(2)][-1]
    assert isinstance(pages, Generator)
    pages.close()
    rest = list(source.iter_pages(RunMode.INCREMENTAL, since=reached.since, checkpoint=reached.checkpoint))
    assert [item.url.rpartition("/")[2] for page in rest for item in page.items if isinstance(item, ListedItem)] == ["2", "3", "4", "5"]
    assert {page.since for page in rest} == {reached.since} != {whole.since}
    source.close()


def test_incremental_reading_begins_again_at_its_own_time_after_its_query_has_changed(database: Database) -> None:
    for number in (1, 2):
        database.add(id=number, title="t", changed=number)
    source, other = database.open(incremental_query=SINCE_CHANGED), database.open(incremental_query=f"{SINCE_CHANGED} AND id < 9")
    *_, page = source.iter_pages(RunMode.INCREMENTAL, since=SOME_TIME, checkpoint="")
    assert page.since
    *_, again = other.iter_pages(RunMode.INCREMENTAL, since=page.since, checkpoint=page.checkpoint)
    assert len(again.items) == 2
    source.close()
    other.close()


def test_changes_of_one_row_come_in_the_order_of_their_times(database: Database) -> None:
    for day, title in ((2, "delete"), (1, "add")):
        database.add(id=1, title=title, changed=day)
    source = database.open(incremental_query=SINCE_CHANGED.replace("title,", "title, title AS GSA_ACTION,"))
    *_, page = source.iter_pages(RunMode.INCREMENTAL, since=SOME_TIME, checkpoint="")
    assert [type(item) for item in page.items] == [ListedItem, DeletedItem]
    source.close()


def test_file_beyond_the_limit_is_for_the_extraction_to_cut(database: Database) -> None:
    database.add(id=1, title="t", file=b"x" * 30)
    items, _ = database.read(crawl_query="SELECT id, title, file FROM articles", blob_column="file")
    assert content_of(items[0]) == b"x" * 30


def test_reading_goes_on_after_the_database_ended_its_connection(in_postgres: Database) -> None:
    # more than the buffers of a connection hold
    in_postgres.execute("INSERT INTO articles (id, body) SELECT n, repeat('x', 20000) FROM generate_series(1, 2000) AS n")
    source = in_postgres.open()
    pages = source.iter_pages(RunMode.FULL, since="", checkpoint="")
    reached = [next(pages) for _ in range(2)][-1]
    in_postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with pytest.raises(UpstreamFailure, match="the database of staff failed: "):
        list(pages)
    rest = list(source.iter_pages(RunMode.FULL, since=reached.since, checkpoint=reached.checkpoint))
    listed = [item.url.rpartition("/")[2] for page in (reached, *rest) for item in page.items if isinstance(item, ListedItem)]
    assert set(listed) == {str(number) for number in range(1, 2001)}
    assert len(listed) == 2001
    source.close()


def test_reading_that_ends_early_leaves_the_other_rows(in_mariadb: Database) -> None:
    # a driver that reads all rows before it closes its cursor would wait for the slow ones
    slow = "SELECT seq AS id, REPEAT('x', 1000) AS body, SLEEP(IF(seq > 1000, 60, 0)) AS waited FROM seq_1_to_2000"
    source = in_mariadb.open(crawl_query=slow)
    pages = source.iter_pages(RunMode.FULL, since="", checkpoint="")
    assert [len(next(pages).items) for _ in range(2)] == [0, 500]
    assert isinstance(pages, Generator)
    pages.close()
    source.close()


def test_rows_of_the_benchmark_are_all_applied(postgres_database: NewDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows.measure(postgres_database(), tmp_path, 600)
    assert capsys.readouterr().out.count("rows a second") == 3


# --- addresses ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dsn", ["nothing", "access://x/y", "mysql:x", "sqlite://", "postgresql://x:y:z/a"])
def test_address_that_cannot_be_opened_is_refused(dsn: str) -> None:
    with pytest.raises(BadRequest):
        check_dsn(dsn)


@pytest.mark.parametrize("scheme", [scheme for scheme, driver in DRIVERS.items() if driver.extra not in ("", "postgres")])
def test_address_without_its_driver_names_the_extra(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.adapters.databases.drivers.find_spec", lambda _name: None)
    with pytest.raises(BadRequest, match=rf"feedmill\[{DRIVERS[scheme].extra}\]"):
        check_dsn(f"{scheme}://host/x")


def test_user_and_password_replace_those_of_the_address() -> None:
    engine = open_engine("postgresql://x@host/db", "ann", "p:@/")
    assert (engine.url.username, engine.url.password) == ("ann", "p:@/")


# --- values ---------------------------------------------------------------------------------------------------------------------


def test_values_as_texts_and_as_xml() -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    values = {"a b": True, "n": 5, "d": Decimal("1.50"), "t": datetime(2026, 3, 1, 12, tzinfo=UTC), "day": date(2026, 3, 1)}
    values |= {"b": b"\x00\xff", "bad": "x\x00\x1by", "list": [1, "ü"], "9": None}
    row = Row(list(values), list(values.values()))
    assert [text_of(value) for value in values.values()] == [
        *("true", "5", "1.50", "2026-03-01T12:00:00+00:00", "2026-03-01", "AP8=", "x\x00\x1by", '[1, "ü"]', None)
    ]
    xml = etree.fromstring(render_xml(row, "googledb://x/y/1", "text/html"))
    found = {column.tag: (column.get("SQLType"), column.text) for column in xml.iterfind("table/table_rec/*")}
    assert found["a_b"] == ("BOOLEAN", "true")
    assert found["bad"] == ("VARCHAR", "x\ufffd\ufffdy")
    assert found["b"] == ("BLOB", "AP8=")
    assert "_9" in found
    assert found["_url"] == ("VARCHAR", "googledb://x/y/1")
    assert "\x1b" not in render_html(row, "t", max_characters=99).decode()
    assert "AP8=" not in dict(row.list_texts()).values()
