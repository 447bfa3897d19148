"""``POST /api/v1/retrieve``: passages for answering machines.

Source: docs/reference/search-api.md, "POST /api/v1/retrieve".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from feedmill.core.query.sites import is_site_list
from feedmill.http.common.bodies import decode_object, is_whole, read_body
from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify, find_current_user
from feedmill.http.common.searchthreads import SearchThreads, find_deadline
from feedmill.model.audit import AuditKind, Details
from feedmill.model.errors import BadRequest
from feedmill.model.userrole import UserRole
from feedmill.services.searching.retrieval import Retrieval
from feedmill.wire.results.passages import render_passages

PATH: Final = "/api/v1/retrieve"
MAX_BODY_BYTES: Final = 65_536
MAX_QUERY_CHARACTERS: Final = 10_000
DEFAULT_NUM: Final = 10
MAX_NUM: Final = 50
_KNOWN: Final = ("query", "num", "site")

Record = Callable[[Request, AuditKind, Details], None]
"""Writes to the audit log what a request has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRequest:
    """What a request asks for. Shape: ``site`` names collections, "" for all documents."""

    query: str
    num: int = DEFAULT_NUM
    site: str = ""


class PassagesEndpoint:
    """Answers requests for passages. Searches run in threads; each writes to the audit log which documents it quoted."""

    def __init__(self, retrieval: Retrieval, identify: Identify, threads: SearchThreads, record: Record) -> None:
        self._retrieval = retrieval
        self._identify = identify
        self._threads = threads
        self._record = record

    async def answer(self, request: Request) -> Response:
        """Returns passages. Errors: BadRequest, TooLarge, HTTPException 503 for a client with too many searches."""
        wanted = read_passage_request(await read_body(request, MAX_BODY_BYTES))
        return await self._threads.run(request, self._retrieve, request, wanted)

    def _retrieve(self, request: Request, wanted: PassageRequest) -> Response:
        found = self._retrieval.retrieve(wanted.query, wanted.num, wanted.site, self._identify(request), find_deadline(request))
        urls = list(dict.fromkeys(passage.url for passage in found.passages))
        self._record(request, AuditKind.PASSAGES_RETRIEVED, {"passages": len(found.passages), "urls": urls})
        body = render_passages(found, shows_scores=find_current_user(request).role is UserRole.ADMINISTRATOR)
        return Response(body, media_type="application/json", headers=PRIVATE_NO_CACHE)


def read_passage_request(raw: bytes) -> PassageRequest:
    """Reads the body of a request. Errors: BadRequest, which names the wrong member and says what it may be."""
    body = decode_object(raw, _read_object)
    for name in body:
        if name not in _KNOWN:
            raise BadRequest(f"member {name[:80]!a} is unknown; the members are: {', '.join(_KNOWN)}")
    if not (query := _read_text(body, "query")).strip():
        raise BadRequest("member query is missing or empty; it is what the passages shall answer")
    num = body.get("num", DEFAULT_NUM)
    if not isinstance(num, int) or isinstance(num, bool) or not 1 <= num <= MAX_NUM:
        raise BadRequest(f"member num is {str(num)[:80]!a}; give a whole number from 1 to {MAX_NUM}")
    site = _read_text(body, "site")
    if site.strip() and not is_site_list(site.strip()):
        raise BadRequest(f"member site is {site[:80]!a}; give names of collections, joined by | or .")
    return PassageRequest(query=query, num=num, site=site)


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        raise BadRequest(f"member {_find_repeated(pairs)[:80]!a} is given twice; give it once")
    return body


def _find_repeated(pairs: list[tuple[str, Any]]) -> str:
    names = [name for name, _ in pairs]
    return next(name for place, name in enumerate(names) if name in names[:place])


def _read_text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise BadRequest(f"member {name} is no text")
    if len(value) > MAX_QUERY_CHARACTERS:
        raise BadRequest(f"member {name} is longer than {MAX_QUERY_CHARACTERS} characters")
    if not is_whole(value):
        raise BadRequest(f"member {name} holds half of a character (a lone surrogate)")
    return value
