"""Reads a database as a pull source: each row of a query is a document.

A document is the row as a page, a column with bytes, or a URL that a column holds. The server sends rows one by one, and they are applied
in pages of bounded size, so memory does not grow with the table; the drivers bring each row whole. A reading is in the order of the URLs
where the query permits it (``ordering``), and then continues in its middle. Any other begins again after an interruption: rows that were
applied already have the digest that the store holds.
Source: docs/howto/pull-from-a-database.md; googlegsa/database (release 4), ``DatabaseAdaptor``.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
import structlog
from sqlalchemy import exc

from feedmill.adapters.databases.drivers import find_driver, open_engine, opened_rows, translated
from feedmill.adapters.databases.ordering import OrderedQuery, select_from, strip_order
from feedmill.adapters.databases.rowrendering import Row, find_title, is_binary, render_html, render_xml, size_of, text_of
from feedmill.core.urls.validation import find_url_fault
from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.change import AclChange, Content, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes
from feedmill.model.errors import BadRequest, Corrupt, NotFound, UpstreamFailure
from feedmill.model.pulling import RunMode
from feedmill.ports import DeletedItem, FailedItem, ListedItem, PulledItem, PullPage, RepeatedItem, ShownRow, SkippedItem

ROWS_A_PAGE = 500
PAGE_BYTES = 8 * 1_048_576
"""A page ends once its rows have this many bytes."""
ROWS_OF_A_KEY = 100
"""How many rows of a query for a single row are searched for the one whose keys are exactly those that were given."""
CLOCK_MARGIN = timedelta(seconds=2)
"""How far an incremental run looks back before the last one: rows that were being written then may have times before it."""

ACTION, TIMESTAMP = "gsa_action", "gsa_timestamp"
_ACL_COLUMNS = {
    "gsa_permit_users": (Access.PERMIT, Scope.USER),
    "gsa_deny_users": (Access.DENY, Scope.USER),
    "gsa_permit_groups": (Access.PERMIT, Scope.GROUP),
    "gsa_deny_groups": (Access.DENY, Scope.GROUP),
}
_FIRST_TIMES: tuple[object, ...] = (0, datetime.fromtimestamp(0, UTC), "")
"""Times before all others, one of which can be compared with the times of a database: whole numbers, points in time, texts."""
_NOT_COMPARED = frozenset({ACTION, TIMESTAMP})
_SPECIAL = _NOT_COMPARED | _ACL_COLUMNS.keys()

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseQueries:
    """What is read from a database, and how a row becomes a document. Empty texts are absent.

    Shape: ``keys`` are the columns that identify a row; the parameters of ``acl_query`` and ``serve_query`` are called like them.
    """

    crawl_query: str
    keys: tuple[str, ...] = ()
    incremental_query: str = ""
    acl_query: str = ""
    serve_query: str = ""
    url_column: str = ""
    base_url: str = ""
    blob_column: str = ""
    mime_column: str = ""
    stylesheet: bytes = b""

    @property
    def names_urls(self) -> bool:
        """Whether a row names a document for the crawler instead of bringing its content."""
        return bool(self.url_column) and not self.blob_column


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """Where a database is. ``dsn`` is an address of SQLAlchemy; ``user`` and ``password`` replace those in it."""

    dsn: str = field(repr=False)
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """The host in the URLs of rows."""
        return sa.make_url(self.dsn).host or "localhost"


class DatabaseSource:
    """Implements ``ports.PullSource`` and ``ports.RowSource``.

    ``transform`` applies a stylesheet to a row's XML; ``max_characters`` limits a value on its page.
    """

    def __init__(
        self,
        name: str,
        address: DatabaseAddress,
        queries: DatabaseQueries,
        transform: Callable[[bytes, bytes], bytes],
        *,
        max_characters: int = 30_000_000,
    ) -> None:
        self._name = name
        self._queries = queries
        self._transform = transform
        self._max_characters = max_characters
        self._driver = find_driver(address.dsn)
        self._engine = open_engine(address.dsn, address.user, address.password)
        self._host = address.host
        self._acl_query = _KeyedQuery(queries.acl_query, queries.keys)
        # whatever changes how a document looks makes every row differ from what the store holds
        shape = (queries.keys, queries.url_column, queries.base_url, queries.blob_column, queries.mime_column, bool(queries.acl_query))
        self._shape = json.dumps(shape).encode() + queries.stylesheet

    def iter_pages(self, mode: RunMode, *, since: str, checkpoint: str) -> Iterator[PullPage]:
        """Reads the rows of the crawl query or of the incremental query."""
        with translated(self._name), self._engine.connect() as connection, self._engine.connect() as access:
            newest = _Newest(self._read_beginning(connection, mode))
            read_since, checkpoint = (since, checkpoint) if mode is RunMode.FULL else _read_place(checkpoint, since)
            parameters = self._find_parameters(mode, read_since)
            ordered = self._order(connection, mode, parameters)
            if ordered is None:
                checkpoint, statement = "", sa.text(self._get_query(mode))
            else:
                checkpoint = checkpoint if ordered.find_last(checkpoint) is not None else ""
                statement, last = ordered.build(checkpoint)
                parameters |= last
            # the rows that were read before the interruption may have changed since: what changed after the first beginning is read again
            is_continued = bool(checkpoint)
            with opened_rows(connection, statement, parameters) as found:
                self._check_columns(found.names)
                newest.has_column = any(name.casefold() == TIMESTAMP for name in found.names)
                place = _write_place(mode, checkpoint, read_since)
                yield PullPage(checkpoint=place, since=since if is_continued else newest.text or since)
                repeats = _Repeats() if ordered is not None and mode is RunMode.FULL else None
                for rows in _iter_row_pages(found.names, found.rows):
                    if ordered is not None:
                        checkpoint = ordered.write_checkpoint([rows[-1].get(name) for name in ordered.columns]) or checkpoint
                        place = _write_place(mode, checkpoint, read_since)
                    items = self._read_rows(rows, newest, access, repeats)
                    yield PullPage(items=items, checkpoint=place, since=since if is_continued else newest.text or since)
                    # the rows may be large
                    items = ()

    def _get_query(self, mode: RunMode) -> str:
        return self._queries.crawl_query if mode is RunMode.FULL else self._queries.incremental_query

    def _find_parameters(self, mode: RunMode, since: str) -> dict[str, object]:
        is_sqlite, named = self._driver.name == "sqlite", sa.text(self._get_query(mode)).compile().params
        return {name: _since_of(since, is_sqlite=is_sqlite) for name in named if name == "since"}

    def _order(self, connection: sa.Connection, mode: RunMode, parameters: Mapping[str, object]) -> OrderedQuery | None:
        """Returns the query in the order of the URLs of its rows, None if it must be read as it is."""
        columns = (self._queries.url_column,) if self._queries.url_column else self._queries.keys
        query = strip_order(self._get_query(mode), columns)
        if query is None or not columns:
            return None
        try:
            with connection.execute(sa.text(f"{select_from(query)} WHERE 1 = 0"), parameters) as result:
                names = list(result.keys())
            there = {name.casefold() for name in names}
            # of several changes of a row the last one counts
            then = (TIMESTAMP,) if mode is RunMode.INCREMENTAL and TIMESTAMP in there else ()
            is_unordered = mode is RunMode.INCREMENTAL and ACTION in there and not then
            if is_unordered or not {column.casefold() for column in columns} <= there:
                return None
            ordered = OrderedQuery(self._engine.dialect, query, names, columns, then=then)
            # some databases find only now that the columns have no order
            connection.execute(ordered.build_empty(), parameters).close()
        except exc.DBAPIError as error:
            log.info("database_reading_unordered", source=self._name, reason=" ".join(str(error.orig).split())[:500])
            connection.rollback()
            return None
        return ordered

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    # --- a single row, for display ---

    def find_url(self, keys: Sequence[str]) -> str:
        """Returns the URL of the row with these keys."""
        if self._queries.url_column or len(keys) != len(self._queries.keys):
            raise NotFound("there is no such row")
        return self._row_url(keys)

    def read_row(self, keys: Sequence[str]) -> ShownRow | None:
        """Reads a row by the query for single rows."""
        if not self._queries.serve_query:
            return None
        url, given = self.find_url(keys), dict(zip(self._queries.keys, keys, strict=True))
        query = _KeyedQuery(self._queries.serve_query, self._queries.keys)
        parameters = {name: given[key] for name, key in query.keys.items()}
        with translated(self._name), self._engine.connect() as connection, connection.execute(query.text, parameters) as result:
            names = list(result.keys())
            rows = (Row(names, tuple(values)) for values in islice(result, ROWS_OF_A_KEY))
            row = next((row for row in rows if _has_keys(row, given)), None)
        if row is None:
            raise NotFound("this row is no longer in the database")
        if self._queries.blob_column and row.has(self._queries.blob_column):
            data, mimetype = self._read_blob(row)
            return ShownRow(data=data or b"", mimetype=mimetype or "application/octet-stream")
        page, mimetype = self._render(row, url, given)
        return ShownRow(data=page, mimetype=mimetype)

    def _read_beginning(self, connection: sa.Connection, mode: RunMode) -> object:
        """Returns the point in time for the next incremental run if this reading finds none in its rows.

        That is the newest GSA_TIMESTAMP of the incremental query: only its column says by which clock, and in which type, changes have
        their times.
        """
        query = self._queries.incremental_query.strip().rstrip(";")
        if mode is RunMode.FULL and query:
            for first in _FIRST_TIMES:
                parameters = {name: first for name in sa.text(query).compile().params if name == "since"}
                try:
                    with connection.execute(sa.text(f"{select_from(query)} WHERE 1 = 0"), parameters) as result:
                        names = list(result.keys())
                    named = next((name for name in names if name.casefold() == TIMESTAMP), None)
                    if named is None:
                        break
                    column = connection.dialect.identifier_preparer.quote(named)
                    newest = connection.execute(sa.text(f"{select_from(query, f'MAX({column})')}"), parameters).scalar()
                except exc.DBAPIError as error:
                    log.info("database_times_unknown", source=self._name, reason=" ".join(str(error.orig).split())[:500])
                    connection.rollback()
                else:
                    return first if newest is None else newest
        return self._read_clock(connection)

    def _read_clock(self, connection: sa.Connection) -> object:
        """Returns the database's own time, a little earlier: a row that is being written now has a time before this reading."""
        if self._driver.name == "sqlite":
            return connection.execute(sa.text("SELECT datetime('now', '-1 second')")).scalar()
        now = connection.execute(sa.text(self._driver.clock)).scalar()
        return now - CLOCK_MARGIN if isinstance(now, datetime) else now

    def _check_columns(self, names: list[str]) -> None:
        queries, there = self._queries, {name.casefold() for name in names}
        named = (*queries.keys, queries.url_column, queries.blob_column, queries.mime_column)
        missing = [name for name in named if name and name.casefold() not in there]
        if missing:
            raise BadRequest(f"the query has no column {', '.join(missing)}; it has {', '.join(names)}")

    # --- one row ---

    def _read_rows(
        self, rows: Sequence[Row], newest: "_Newest", access: sa.Connection, repeats: "_Repeats | None"
    ) -> tuple[PulledItem, ...]:
        if newest.has_column:
            for row in rows:
                newest.see(row.get(TIMESTAMP))
        items = (self._read_item(row, access) for row in rows)
        return tuple(items if repeats is None else map(repeats.mark, items))

    def _read_item(self, row: Row, access: sa.Connection) -> PulledItem:
        null = [name for name in (*self._queries.keys, self._queries.url_column) if name and row.get(name) is None]
        if null:
            return SkippedItem(reason=f"a row whose column {null[0]} is NULL")
        keys = {name: text_of(row.get(name)) or "" for name in self._queries.keys}
        url = self._url_of(row, keys)
        try:
            if row.has(ACTION) and (text_of(row.get(ACTION)) or "").strip().casefold() == "delete":
                return DeletedItem(url=url)
            if self._queries.url_column and (fault := find_url_fault(url)):
                return FailedItem(url=url, reason=fault)
            acl = self._read_acl(row, access)
        except BadRequest as error:
            return FailedItem(url=url, reason=str(error))
        digest = row_digest(row, self._shape, acl)
        load = partial(self._load, row, url, keys, acl)
        return ListedItem(url=url, digest=digest, load=load, is_crawled=self._queries.names_urls)

    def _url_of(self, row: Row, keys: Mapping[str, str]) -> str:
        if self._queries.url_column:
            return self._queries.base_url + (text_of(row.get(self._queries.url_column)) or "")
        return self._row_url(list(keys.values()))

    def _row_url(self, keys: Sequence[str]) -> str:
        return f"googledb://{self._host}/{self._name}/" + "/".join(quote(key, safe="") for key in keys)

    def _read_acl(self, row: Row, access: sa.Connection) -> Acl | None:
        """Returns the ACL of a row, None if none is configured. Without a row of the ACL query no user may see the document."""
        if self._queries.acl_query:
            result = access.execute(self._acl_query.text, {name: row.get(key) for name, key in self._acl_query.keys.items()})
            names = list(result.keys())
            return _acl_of([Row(names, tuple(values)) for values in result])
        return _acl_of([row]) if any(row.has(name) for name in _ACL_COLUMNS) else None

    def _load(self, row: Row, url: str, keys: Mapping[str, str], acl: Acl | None) -> PutDocument | RequestCrawl:
        queries, place = self._queries, SourcePosition(record=1)
        hidden = _SPECIAL | {queries.blob_column.casefold()}
        metadata = tuple(row.list_texts(without=hidden))
        change = AclChange(element=acl)
        if queries.names_urls:
            return RequestCrawl(place=place, url=url, attributes=Attributes(), metadata=metadata, acl=change)
        title = None
        if queries.blob_column:
            data, mimetype = self._read_blob(row)
            title = text_of(row.get("title")) if row.has("title") else None
        else:
            data, mimetype = self._render(row, url, keys)
        content = None if data is None else Content(stream=io.BytesIO(data), size_bytes=len(data))
        attributes = Attributes(mimetype=mimetype, title=title or None)
        return PutDocument(place=place, url=url, attributes=attributes, metadata=metadata, content=content, acl=change, whole=True)

    def _read_blob(self, row: Row) -> tuple[bytes | None, str | None]:
        value = row.get(self._queries.blob_column)
        mimetype = text_of(row.get(self._queries.mime_column)) if row.has(self._queries.mime_column) else None
        if value is None:
            return None, None
        if is_binary(value):
            return bytes(value), mimetype
        return (text_of(value) or "").encode("utf-8", "replace"), mimetype or "text/plain"

    def _render(self, row: Row, url: str, keys: Mapping[str, str]) -> tuple[bytes, str]:
        """Returns a row as a page, by the stylesheet if there is one."""
        if not self._queries.stylesheet:
            title = find_title(row, self._name, keys)
            return render_html(row, title, max_characters=self._max_characters, without=_SPECIAL), "text/html"
        xml = render_xml(row, url, "text/html", without=_SPECIAL)
        try:
            return self._transform(self._queries.stylesheet, xml), "text/html"
        except Corrupt as error:
            # a stylesheet that fails for one row may succeed for the others
            raise BadRequest(f"the stylesheet failed: {error}") from error


def _iter_row_pages(names: Sequence[str], rows: Iterator[Sequence[object]]) -> Iterator[list[Row]]:
    """Yields the rows in pages of bounded size. A page is emptied before the next row is read."""
    page: list[Row] = []
    page_bytes = 0
    for values in rows:
        page.append(Row(names, tuple(values)))
        page_bytes += size_of(page[-1].values)
        del values
        if len(page) >= ROWS_A_PAGE or page_bytes >= PAGE_BYTES:
            yield page
            page.clear()
            page_bytes = 0
    if page:
        yield page


def _read_place(checkpoint: str, since: str) -> tuple[str, str]:
    """Returns since when an incremental reading that was interrupted has read changes, and the row that it had reached."""
    if not checkpoint:
        return since, ""
    began, reached = json.loads(checkpoint)
    return began, reached


def _write_place(mode: RunMode, checkpoint: str, since: str) -> str:
    """Returns where a reading continues. An incremental one must know its beginning, which the run replaces by that of the next run."""
    return json.dumps([since, checkpoint]) if checkpoint and mode is RunMode.INCREMENTAL else checkpoint


class _Repeats:
    """Finds documents that rows in the order of their URLs name a second time."""

    def __init__(self) -> None:
        self._last: str | None = None

    def mark(self, item: PulledItem) -> PulledItem:
        """Returns an item, or the repetition if it names the document of the item before."""
        if isinstance(item, ListedItem):
            if item.url == self._last:
                return RepeatedItem(url=item.url)
            self._last = item.url
        return item


def _has_keys(row: Row, keys: Mapping[str, str]) -> bool:
    """Returns whether a row has exactly these keys, as far as it has their columns.

    A database may find more: MySQL takes ``1x`` for 1, and many collations ignore letter case.
    """
    return all(text_of(row.get(name)) == key for name, key in keys.items() if row.has(name))


class _KeyedQuery:
    """A query whose parameters are named like key columns, in any letter case. Shape: ``keys`` maps each parameter to its key."""

    def __init__(self, query: str, keys: Sequence[str]) -> None:
        self.text = sa.text(query)
        self.keys = {name: key for name in self.text.compile().params for key in keys if key.casefold() == name.casefold()}


def row_digest(row: Row, shape: bytes, acl: Acl | None) -> bytes:
    """Returns the digest of a row with its ACL. A column that only says when the row has changed does not count."""
    entries = None if acl is None else [(each.access.value, each.principal.scope.value, each.principal.name) for each in acl.entries]
    return row.digest(shape + json.dumps(entries).encode(), without=_NOT_COMPARED)


def _acl_of(rows: list[Row]) -> Acl:
    entries = []
    for row, (name, (access, scope)) in ((row, item) for row in rows for item in _ACL_COLUMNS.items()):
        listed = (text_of(row.get(name)) or "") if row.has(name) else ""
        names = (part.strip() for part in listed.split(","))
        entries += [Entry(access=access, principal=Principal(scope=scope, name=part)) for part in names if part]
    return Acl(entries=tuple(dict.fromkeys(entries)))


# --- the point in time up to which changes were read ------------------------------------------------------------------------------


class _Newest:
    """The point in time for the next incremental run: the newest value of the column GSA_TIMESTAMP, else that from which this run began.

    If the column is NULL in every row, the earlier point stays.
    """

    def __init__(self, began: object) -> None:
        self._began = _write_since(began)
        self._value: Any = None
        self.has_column = False

    @property
    def text(self) -> str:
        """The point in time as it is stored, "" if it is not known."""
        if not self.has_column:
            return self._began
        return "" if self._value is None else _write_since(self._value)

    def see(self, value: object) -> None:
        """Notes the value of one row. Errors: UpstreamFailure for values that cannot be compared."""
        try:
            if value is not None and (self._value is None or value > self._value):
                self._value = value
        except TypeError as error:
            raise UpstreamFailure("the values of GSA_TIMESTAMP cannot be compared with one another") from error


def _write_since(value: object) -> str:
    """Returns a point in time with its type, which the database compares with its own."""
    match value:
        case datetime():
            return json.dumps(["datetime", value.isoformat()])
        case date():
            return json.dumps(["date", value.isoformat()])
        case Decimal():
            return json.dumps(["decimal", str(value)])
        case int() | float() | str():
            return json.dumps(["plain", value])
    return json.dumps(["plain", str(value)])


def _since_of(text: str, *, is_sqlite: bool) -> object:
    """Returns a stored point in time as a parameter."""
    if not text:
        # SQLite takes every number for less than every text
        return 0 if is_sqlite else datetime.fromtimestamp(0, UTC)
    kind, value = json.loads(text)
    read: Mapping[str, Callable[[str], object]] = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "decimal": Decimal}
    return read[kind](value) if kind in read else value
