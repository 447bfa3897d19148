"""A server of seedlists, in pages, with a timestamp for later crawls.

A crawl begins with a request without ``State``, and later crawls get what changed since the crawl of their ``Timestamp``. Entries of the
script say from which crawl on they exist, and from which on they are deleted, so a test of a crawler needs no clock.
Source: HCL Connections, "Crawling data for the first time" and "Subsequently crawling data"; "Seedlist response".
"""

import base64
import threading
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote, urlencode

from feedmill.conformance.counterparts.script import SeedlistScript, SeedlistScriptEntry
from feedmill.conformance.counterparts.server import Answer, Request
from feedmill.wire.seedlist.render import iter_page
from feedmill.wire.seedlist.schema import Action, AtomText, Author, Content, Field, Link, SeedlistEntry, SeedlistPage

PATH: Final = "/seedlist/myserver"
CONTENT_PREFIX: Final = "/seedlist/document/contents/"
_KNOWN: Final = frozenset(
    {"SeedlistId", "SeedlistID", "Source", "Action", "Start", "Range", "Date", "Timestamp", "State", "Format", "Locale", "locale"}
)
_EPOCH: Final = 1_700_000_000_000
_PLAIN: Final = (("Content-Type", "text/plain"),)


class SeedlistServer:
    """Implements ``Counterpart``."""

    server_header = "IBM_HTTP_Server"

    def __init__(self, script: SeedlistScript) -> None:
        self._script = script
        self._crawls = 0
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer:
        """Returns a page, or the content of an entry."""
        if request.method not in ("GET", "HEAD"):
            return Answer(status=405)
        if self._script.user and request.headers.get("authorization") != self._expected_authorization():
            return Answer(status=401, headers=(("WWW-Authenticate", 'Basic realm="seedlist"'),))
        if request.path.startswith(CONTENT_PREFIX):
            return self._answer_content(request.path.removeprefix(CONTENT_PREFIX))
        if request.path != PATH:
            return Answer(status=404, headers=_PLAIN, body=b"not found")
        try:
            return self._answer_page(request)
        except ValueError as exc:
            return Answer(status=404, headers=_PLAIN, body=str(exc).encode())

    def _expected_authorization(self) -> str:
        pair = f"{self._script.user}:{self._script.password}"
        return "Basic " + base64.b64encode(pair.encode()).decode()

    def _answer_content(self, number: str) -> Answer:
        entries = self._script.entries
        if not number.isascii() or not number.isdigit() or int(number) >= len(entries) or entries[int(number)].content is None:
            return Answer(status=404, headers=_PLAIN, body=b"not found")
        entry = entries[int(number)]
        return Answer(headers=(("Content-Type", entry.mimetype),), body=(entry.content or "").encode())

    def _answer_page(self, request: Request) -> Answer:
        query = request.query
        unknown = sorted(set(query) - _KNOWN)
        if unknown:
            raise ValueError(f"the parameter {unknown[0]} is unknown")
        if query.get("Action", "GetDocuments") != "GetDocuments":
            raise ValueError(f"the action {query['Action']} is unknown")
        size = _read_number(query.get("Range", str(self._script.range)), "Range") or self._script.range
        if "State" in query:
            crawl, since, start = _read_state(query["State"])
        else:
            crawl = self._begin_crawl()
            since, start = (
                _read_timestamp(query["Timestamp"]) if query.get("Timestamp") else 0,
                _read_number(query.get("Start", "0"), "Start"),
            )
        listed = self._list_entries(crawl, since)
        page = listed[start : start + size]
        is_last = start + size >= len(listed)
        following = "" if is_last else f"{PATH}?{urlencode({'Range': size, 'State': _write_state(crawl, since, start + size)})}"
        timestamp = _write_timestamp(crawl) if is_last or self._script.timestamp_on_every_page else ""
        head = SeedlistPage(id="urn:feedmill:conformance", title="Seedlist", timestamp=timestamp, next_url=following)
        body = b"".join(iter_page(head, (self._make_entry(number, action) for number, action in page)))
        return Answer(
            headers=(("Content-Type", "application/atom+xml; charset=UTF-8"),), body=body, note={"crawl": crawl, "entries": len(page)}
        )

    def _begin_crawl(self) -> int:
        with self._lock:
            self._crawls += 1
            return self._crawls

    def _list_entries(self, crawl: int, since: int) -> Sequence[tuple[int, Action]]:
        """Returns the entries of a crawl. ``since`` is the crawl after which changes count, 0 for a full crawl."""
        return list(self._iter_entries(crawl, since))

    def _iter_entries(self, crawl: int, since: int) -> Iterator[tuple[int, Action]]:
        for number, entry in enumerate(self._script.entries):
            is_deleted = bool(entry.until) and entry.until <= crawl
            if is_deleted:
                # a full crawl never says what is gone
                if since and entry.since <= since < entry.until:
                    yield number, Action.DELETE
            elif since < entry.since <= crawl:
                yield number, Action.INSERT if not since else Action.UPDATE

    def _make_entry(self, number: int, action: Action) -> SeedlistEntry:
        entry = self._script.entries[number]
        if action is Action.DELETE:
            return SeedlistEntry(line=0, id=entry.id, action=action)
        return SeedlistEntry(
            line=0,
            id=entry.id,
            action=action,
            title=AtomText(text=entry.title),
            summary=AtomText(text=entry.summary),
            content=Content(url=f"{CONTENT_PREFIX}{number}", media_type=entry.mimetype) if entry.content is not None else None,
            via=(Link(url=entry.display_url or f"/view/{quote(entry.id, safe='')}", media_type="text/html", title=entry.title),),
            authors=tuple(Author(name=name) for name in entry.authors),
            updated_at=entry.updated,
            fields=tuple(_iter_fields(entry)),
            acls=None if entry.acls is None else tuple(entry.acls),
        )


def _iter_fields(entry: SeedlistScriptEntry) -> Iterator[Field]:
    for name, values in entry.fields.items():
        for value in [values] if isinstance(values, str) else values:
            yield Field(id=name, text=value)


def _read_number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{name} is no number")
    return int(text)


def _write_timestamp(crawl: int) -> str:
    # as the real ones look: milliseconds since 1970, eight bytes in base64
    return base64.b64encode((_EPOCH + crawl).to_bytes(8, "big")).decode()


def _read_timestamp(text: str) -> int:
    try:
        crawl = int.from_bytes(base64.b64decode(text, validate=True), "big") - _EPOCH
    except ValueError as exc:
        raise ValueError("the Timestamp is none of this server") from exc
    if not 0 < crawl < _EPOCH:
        raise ValueError("the Timestamp is none of this server")
    return crawl


def _write_state(crawl: int, since: int, start: int) -> str:
    return base64.b64encode(f"{crawl}|{since}|{start}".encode()).decode()


def _read_state(text: str) -> tuple[int, int, int]:
    try:
        crawl, since, start = (int(part) for part in base64.b64decode(text, validate=True).decode("ascii").split("|"))
    except ValueError as exc:
        raise ValueError("the State is none of this server") from exc
    return crawl, since, max(start, 0)
