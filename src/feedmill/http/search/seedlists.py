"""Seedlists of the documents of this server, so that crawlers of portals can read them.

GET /seedlist/myserver                    the documents, for administrators: ``Action``, ``SeedlistId`` (a data source), ``Start``,
                                          ``Range``, ``Date``, ``Timestamp``, ``State``, ``Format``
GET /seedlist/content                     the content of a document, or an attachment, for administrators
GET /seedlist/authverify/validateUser     who the signed-in user is
GET /seedlist/authverify/getACLTokens     the tokens of the signed-in user

Rules:

1. Only the last page of a crawl has a ``timestamp``, since some crawlers end where they find one. It is the time at which the crawl began.
2. ``State`` says where a page begins; a crawler sends it as it was received. ``Start`` alone works too, but takes longer.
3. A page has at most ``Range`` entries and ends before ``PAGE_BYTES``, because crawlers refuse larger ones.
4. The audit log says which user has read which entries and contents, since they include secure documents.

Source: HCL Connections, "Crawling data for the first time", "Subsequently crawling data", "Validating a user"; HCL Digital Experience,
"The search seedlist 1.0 format"; docs/reference/seedlists.md.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from feedmill.core.signin.accounts import write_user
from feedmill.core.text.dates import parse_iso
from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify, find_current_user
from feedmill.http.common.searchthreads import find_deadline
from feedmill.http.search.cachepage import POLICY
from feedmill.http.search.rowpage import find_row_path
from feedmill.model.access import AccessClass
from feedmill.model.audit import Detail
from feedmill.model.errors import BadRequest
from feedmill.ports import Clock
from feedmill.services.documentlisting import OVERLAP, DocumentListing, ListedPart
from feedmill.wire.seedlist.describe import (
    PAGE_INFOS,
    describe_document,
    describe_source,
    render_tokens,
    render_user,
    write_token,
)
from feedmill.wire.seedlist.render import join_page, render_entry
from feedmill.wire.seedlist.schema import ATOM_TYPE, SeedlistPage

PATH: Final = "/seedlist/myserver"
CONTENT_PATH: Final = "/seedlist/content"
USER_PATH: Final = "/seedlist/authverify/validateUser"
TOKENS_PATH: Final = "/seedlist/authverify/getACLTokens"

PAGE_BYTES: Final = 3_500_000
"""Portal Search refuses pages of more than 4 MB."""
DEFAULT_RANGE: Final = 100
MAX_RANGE: Final = 1_000
MAX_START: Final = 1_000_000_000
POSITIONS_AT_ONCE: Final = 100
"""How often the position of an incremental listing moves on without a document before its page ends."""
MAX_MILLISECONDS: Final = 253_402_300_799_999
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")
_PASSED_OVER: Final = frozenset({"Source", "Locale", "locale", "Format"})
_DIGITS_OF_A_ZONE: Final = re.compile(r"([+-][0-9]{2})([0-9]{2})$")


RecordRead = Callable[[Request, Mapping[str, Detail]], None]
"""Records what a request has read."""


class ListAction(Enum):
    """What a seedlist lists."""

    DOCUMENTS = "GetDocuments"
    CHILDREN = "GetChildren"
    COUNT = "GetNumberOfDocuments"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """One page as it is requested.

    ``begun_at`` is when the crawl began; ``after`` is where the page begins, None if only ``start`` says.
    """

    action: ListAction
    part: ListedPart
    start: int
    count: int
    begun_at: datetime
    after: int | None = None


class Seedlists:
    """The handlers. ``key`` makes the ACL tokens, ``history`` is how long deletions are known, ``record`` writes to the audit log."""

    def __init__(
        self, listing: DocumentListing, identify: Identify, clock: Clock, *, key: bytes, history: timedelta, record: RecordRead
    ) -> None:
        self._record = record
        self._listing = listing
        self._identify = identify
        self._clock = clock
        self._key = key
        self._history = history

    def show_page(self, request: Request) -> Response:
        """Returns a page of the list. Errors: BadRequest; NotFound for an unknown data source."""
        list_request = read_list_request(dict(request.query_params), self._clock())
        if list_request.after is None:
            self._listing.check_part(list_request.part, self._clock(), self._history)
        details: dict[str, Detail] = {
            "action": list_request.action.value,
            "seedlist": list_request.part.datasource,
            "start": list_request.start,
        }
        if list_request.part.since is not None:
            details["since"] = list_request.part.since.isoformat(timespec="seconds")
        if list_request.action is ListAction.COUNT:
            self._record(request, details)
            return PlainTextResponse(f"{self._listing.count(list_request.part)}\n", headers=PRIVATE_NO_CACHE)
        page, ids = self._list_sources(list_request) if _lists_sources(list_request) else self._list_documents(list_request)
        self._record(request, {**details, "entries": len(ids), "ids": ids})
        return Response(page, media_type=f"{ATOM_TYPE}; charset=utf-8", headers=PRIVATE_NO_CACHE)

    def show_content(self, request: Request) -> Response:
        """Returns the content of a document, or an attachment, as it was received. Errors: BadRequest; NotFound."""
        values = dict(request.query_params)
        attachment = _read_number(values, "attachment", 0, MAX_START)
        found = self._listing.read_content(_read_number(values, "id", 0, 2**62), attachment)
        self._record(request, {"url": found.url, "attachment": attachment} if attachment else {"url": found.url})
        mimetype = found.mimetype if _TYPE.fullmatch(found.mimetype) else "application/octet-stream"
        headers = {
            **PRIVATE_NO_CACHE,
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Content-Disposition": "attachment",
        }
        response = Response(found.data, headers=headers)
        charset = found.charset if found.charset and re.fullmatch(r"[A-Za-z0-9._-]+", found.charset) else ""
        response.headers["Content-Type"] = f"{mimetype}; charset={charset}" if charset else mimetype
        return response

    def show_user(self, request: Request) -> Response:
        """Returns the name of the signed-in user."""
        return Response(render_user(name_user(request)), media_type="text/xml", headers=PRIVATE_NO_CACHE)

    def show_tokens(self, request: Request) -> Response:
        """Returns the tokens of the signed-in user: one for each access class that the user may see. Errors: OutOfTime."""
        deadline = find_deadline(request)
        permitted = self._identify(request).permitted
        if deadline.is_cut:
            raise deadline.give_up()
        tokens = sorted(write_token(number, self._key) for number in permitted if number > AccessClass.CLOSED)
        return Response(render_tokens(tokens), media_type="text/xml", headers=PRIVATE_NO_CACHE)

    def _list_sources(self, list_request: ListRequest) -> tuple[bytes, list[str]]:
        """Returns a page and the ids of its entries."""
        sources = self._listing.list_sources()
        here = sources[list_request.start : list_request.start + list_request.count]
        page = _describe_page(list_request, f"data sources: {len(sources)}")
        entries = [
            render_entry(
                describe_source(source.name, _write_url(ListAction.CHILDREN, source.name), _write_url(ListAction.DOCUMENTS, source.name)),
                page,
            )
            for source in here
        ]
        reached = list_request.start + len(here)
        ended = _end_page(page, list_request, reached, reached if reached < len(sources) else None)
        return join_page(ended, entries), [source.name for source in here]

    def _list_documents(self, list_request: ListRequest) -> tuple[bytes, list[str]]:
        """Returns a page and the ids of its entries."""
        after = self._listing.find_position(list_request.part, list_request.start) if list_request.after is None else list_request.after
        page = _describe_page(list_request, "documents" if list_request.part.since is None else "changed documents")
        entries: list[bytes] = []
        ids: list[str] = []
        size, moved, following = 0, 0, None
        for position, document in self._listing.iter_documents(list_request.part, after):
            if document is None:
                after, moved = position, moved + 1
                if moved >= POSITIONS_AT_ONCE:
                    following = after
                    break
                continue
            entry = render_entry(describe_document(document, self._key, _write_file_url, find_row_path), page)
            if entries and (len(entries) >= list_request.count or size + len(entry) > PAGE_BYTES):
                following = after
                break
            entries.append(entry)
            ids.append(document.url)
            size, after = size + len(entry), position
        return join_page(_end_page(page, list_request, list_request.start + len(entries), following), entries), ids


def name_user(request: Request) -> str:
    """Returns the name of the user, or of the program, that sends a request."""
    current_user = find_current_user(request)
    return ", ".join(write_user(user) for user in current_user.identity.users) or current_user.label


def read_list_request(values: Mapping[str, str], now: datetime) -> ListRequest:
    """Returns what the parameters request. Errors: BadRequest names the parameter that is wrong or unknown."""
    known = {"Action", "SeedlistId", "SeedlistID", "Start", "Range", "Date", "Timestamp", "State", *_PASSED_OVER}
    unknown = [name for name in values if name not in known]
    if unknown:
        raise BadRequest(f"there is no parameter '{unknown[0][:100]}'; the names are in docs/reference/seedlists.md")
    if "atom" not in values.get("Format", "ATOM").lower():
        raise BadRequest("Format: this server writes ATOM only")
    actions = {action.value: action for action in ListAction}
    named = values.get("Action", ListAction.DOCUMENTS.value)
    if named not in actions:
        raise BadRequest(f"Action: one of {', '.join(actions)}")
    since = _read_timestamp(values["Timestamp"]) if values.get("Timestamp") else _read_date(values.get("Date", ""))
    list_request = ListRequest(
        action=actions[named],
        part=ListedPart(datasource=values.get("SeedlistId", values.get("SeedlistID", "")), since=since),
        start=_read_number(values, "Start", 0, MAX_START),
        count=max(_read_number(values, "Range", DEFAULT_RANGE, MAX_RANGE), 1),
        begun_at=now,
    )
    state = values.get("State", "")
    if not state:
        return list_request
    after, begun = _read_state(state)
    return replace(list_request, after=after, begun_at=begun)


def write_timestamp(moment: datetime) -> str:
    """Returns a time as the servers of Connections write it: the milliseconds since 1970 in eight bytes, as base64."""
    return base64.b64encode(int(moment.timestamp() * 1_000).to_bytes(8, "big")).decode()


def _lists_sources(list_request: ListRequest) -> bool:
    return list_request.action is ListAction.CHILDREN and not list_request.part.datasource


def _describe_page(list_request: ListRequest, title: str) -> SeedlistPage:
    return SeedlistPage(
        id=_write_url(list_request.action, list_request.part.datasource, Start=str(list_request.start), Range=str(list_request.count)),
        title=title,
        field_infos=PAGE_INFOS,
    )


def _end_page(page: SeedlistPage, list_request: ListRequest, reached: int, following: int | None) -> SeedlistPage:
    """Returns a page with its links. ``following`` is where the next one begins, None if this is the last."""
    paging = {"Range": str(list_request.count)}
    if list_request.part.since is not None:
        paging["Timestamp"] = write_timestamp(list_request.part.since)
    previous = ""
    if list_request.start:
        previous = _write_url(
            list_request.action, list_request.part.datasource, Start=str(max(list_request.start - list_request.count, 0)), **paging
        )
    if following is None:
        return replace(page, timestamp=write_timestamp(list_request.begun_at - OVERLAP), previous_url=previous)
    # the sources are few, and listed by their number
    state = {} if _lists_sources(list_request) else {"State": _write_state(following, list_request.begun_at)}
    following_url = _write_url(list_request.action, list_request.part.datasource, Start=str(reached), **paging, **state)
    return replace(page, next_url=following_url, previous_url=previous)


def _write_url(action: ListAction, datasource: str, **values: str) -> str:
    """Returns the address of a page, from the root of the server, because crawlers may know it by several names."""
    return f"{PATH}?{urlencode({'SeedlistId': datasource, 'Action': action.value, **values}, quote_via=quote)}"


def _write_file_url(document_id: int, number: int) -> str:
    return f"{CONTENT_PATH}?id={document_id}" + (f"&attachment={number}" if number else "")


def _write_state(after: int, begun_at: datetime) -> str:
    return base64.urlsafe_b64encode(f"{after}|{int(begun_at.timestamp() * 1_000)}".encode()).decode()


def _read_state(text: str) -> tuple[int, datetime]:
    try:
        after, _, begun = base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode().partition("|")
    except (binascii.Error, ValueError) as exc:
        raise BadRequest("State: send it as it was received") from exc
    if not _NUMBER.fullmatch(after) or not _NUMBER.fullmatch(begun) or int(begun) > MAX_MILLISECONDS:
        raise BadRequest("State: send it as it was received")
    return int(after), datetime.fromtimestamp(int(begun) / 1_000, UTC)


def _read_timestamp(text: str) -> datetime:
    try:
        # an unescaped plus arrives as a blank
        milliseconds = int.from_bytes(base64.b64decode(text.replace(" ", "+").encode(), validate=True), "big")
    except (binascii.Error, ValueError) as exc:
        raise BadRequest("Timestamp: send it as it was received, with '+', '/' and '=' percent-encoded") from exc
    if milliseconds > MAX_MILLISECONDS:
        raise BadRequest("Timestamp: send it as it was received, with '+', '/' and '=' percent-encoded")
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)


def _read_date(text: str) -> datetime | None:
    if not text:
        return None
    found = parse_iso(_DIGITS_OF_A_ZONE.sub(r"\1:\2", text.strip().replace(" ", "+")))
    if found is None:
        raise BadRequest("Date: a time such as 2026-01-31T08:00:00+0100, with '+' as %2B")
    return found.astimezone(UTC)


def _read_number(values: Mapping[str, str], name: str, default: int, at_most: int) -> int:
    text = values.get(name, "").strip()
    if not text:
        return default
    if not _NUMBER.fullmatch(text):
        raise BadRequest(f"{name}: must be a number")
    return min(int(text), at_most)
