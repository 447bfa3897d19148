"""Documents as JSON: ``POST``, ``PUT`` and ``DELETE`` of ``/api/v1/documents``. Each request is one feed.

A body is checked as it arrives and stored durably as it came; then the response is 202 with the receipt. The feeder applies it as every
other feed. A request that fails stores nothing. Source: docs/reference/feed-port.md, "Documents as JSON".
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import structlog
from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from feedmill.core.documents.submission import Submission, read_submission
from feedmill.core.urls.validation import find_url_fault
from feedmill.http.common.answers import TRUSTED, Body, drop
from feedmill.http.common.problems import find_problem, send_problem
from feedmill.http.common.strictparameters import check_encoding
from feedmill.http.feeds.feedreceiving import FeedReceiver
from feedmill.http.feeds.gateconfig import CurrentConfig
from feedmill.http.feeds.pushing import FEED_HEADER, ClientDisconnected, CountFeed, explain_right, open_reader, read_body
from feedmill.http.feeds.pushtoken import find_right
from feedmill.http.feeds.receipts import Json, render_feed
from feedmill.model.errors import BadRequest, FeedmillError
from feedmill.services.feeds.intake import Intake
from feedmill.wire.jsondocuments.body import ArrayBody, LinesBody, ObjectBody
from feedmill.wire.registry import JSON_ARRAY, JSON_LINES
from feedmill.wire.upload.form import BodyReader
from feedmill.wire.upload.reader import Form

_NO_FORM: Final = Form(streams=frozenset({"data"}), values=frozenset())
_LINES_TYPES: Final = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_FEEDTYPES: Final = ("incremental", "full")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What a request asks for. Shape: ``body`` None for a request whose body is ignored, which stores ``data`` instead."""

    submission: Submission
    body: BodyReader | None = None
    data: bytes = b""


class DocumentsEndpoint:
    """The ASGI application that receives documents as JSON."""

    METHODS: ClassVar = ("POST", "PUT", "DELETE")

    def __init__(self, *, config: CurrentConfig, intake: Intake, workers: Executor, count_feed: CountFeed) -> None:
        self._config = config
        self._intake = intake
        self._workers = workers
        self._count_feed = count_feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope["client"][0] if scope.get("client") else ""
        body = Body(receive)
        try:
            request = _read_request(scope)
            feed_id, size_bytes = await self._receive(scope, body, client, request)
            receipt = await asyncio.get_running_loop().run_in_executor(self._workers, self._render, feed_id)
        except FeedmillError as exc:
            log.warning("feed_refused", client=client, token=find_right(scope).label, reason=str(exc))
            await send_problem(body, send, find_problem(exc), str(exc), TRUSTED)
        except ClientDisconnected as exc:
            log.warning("feed_not_taken", client=client, answered="nothing", reason=str(exc))
            await drop(scope, body, send)
        else:
            self._count_feed(request.submission.kind.value, size_bytes)
            headers = {FEED_HEADER.decode("ascii"): str(feed_id), "location": f"/api/v1/feeds/{feed_id}"}
            await JSONResponse(receipt, 202, headers)(scope, receive, send)

    async def _receive(self, scope: Scope, body: Body, client: str, request: _Request) -> tuple[int, int]:
        """Returns the id of the stored feed, and its size. Errors: BadRequest, Denied, TooLarge, DiskFull, Busy, ClientDisconnected."""
        config, right, submission = self._config(), find_right(scope), request.submission
        if not right.allows(submission.datasource):
            raise explain_right(submission.datasource)
        async with FeedReceiver(self._intake, self._workers) as receiver:
            if request.body is None:
                await receiver.add(request.data)
                return await receiver.store_feed(submission, client), len(request.data)
            reader = open_reader(_NO_FORM, Headers(scope=scope), config, request.body)
            await read_body(body, reader, receiver, config.idle_seconds, right)
            return await receiver.store_feed(submission, client), reader.size_bytes

    def _render(self, feed_id: int) -> Json:
        with self._intake.store.reading() as unit:
            return render_feed(unit.feeds.reader.get(feed_id), ())


def _read_request(scope: Scope) -> _Request:
    """Returns what a request asks for, by its method, its parameters and its type of content. Errors: BadRequest."""
    check_encoding(scope["query_string"])
    query = QueryParams(scope["query_string"])
    if scope["method"] == "POST":
        values = _read_parameters(query, ("datasource", "feedtype"))
        is_lines = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower() in _LINES_TYPES
        submission = _make_submission(values, JSON_LINES if is_lines else JSON_ARRAY)
        return _Request(submission=submission, body=LinesBody() if is_lines else ArrayBody())
    values = _read_parameters(query, ("url", "datasource"))
    url = values.get("url", "").strip()
    if fault := find_url_fault(url) or ("the url holds the character U+0000" if "\x00" in url else ""):
        raise BadRequest(f"parameter url: {fault}; give the document's URL, percent-encoded")
    submission = _make_submission(values, JSON_ARRAY)
    if scope["method"] == "PUT":
        return _Request(submission=submission, body=ObjectBody(url))
    return _Request(submission=submission, data=json.dumps([{"url": url, "action": "delete"}]).encode("ascii"))


def _read_parameters(query: QueryParams, known: tuple[str, ...]) -> dict[str, str]:
    for name in dict.fromkeys(name for name, _ in query.multi_items()):
        if name not in known:
            raise BadRequest(f"parameter {name[:80]!a} is unknown; known are {', '.join(known)}")
        if len(query.getlist(name)) > 1:
            raise BadRequest(f"parameter {name} is given twice")
    return dict(query)


def _make_submission(values: Mapping[str, str], feed_format: str) -> Submission:
    feedtype = values.get("feedtype", _FEEDTYPES[0]).lower()
    if feedtype not in _FEEDTYPES:
        raise BadRequest(f"parameter feedtype is {feedtype[:80]!a}; give one of {', '.join(_FEEDTYPES)}")
    return replace(read_submission({"datasource": values.get("datasource", ""), "feedtype": feedtype}), format=feed_format)
