"""``POST .../recvdata.xml``: receives a dataload, and replies once its items are applied.

1. The peer's address was checked before (``trust``). The body is read as any feed's, its ``profile`` names the data source.
2. The profile must allow the address of the peer, and every address in ``X-Forwarded-For``: each of them had the request in its hands.
3. The dataload is stored durably, as a feed. The feeder applies it like every other feed.
4. The reply says for each item what the log of the feed says. After an item of type UI it waits until searches find all earlier items.
   The waits end early if the client disconnects or the server stops.

A failed request has status 200 too: clients read the ``Status`` in the reply. Source: docs/reference/dataload.md.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from feedmill.core.documents.lifecycle import NOTHING_TO_DELETE, NOTHING_TO_UPDATE
from feedmill.core.documents.receipts import read_deleted
from feedmill.core.documents.submission import Submission
from feedmill.http.common.answers import TRUSTED, Body, drop, send_early
from feedmill.http.feeds.feedreceiving import FeedReceiver
from feedmill.http.feeds.gateconfig import CurrentConfig, GateConfig
from feedmill.http.feeds.pushing import FEED_HEADER, ClientDisconnected, CountFeed, explain_right, open_reader, read_body
from feedmill.http.feeds.pushtoken import find_right
from feedmill.http.feeds.replywaits import ReplyWaits, StorePolling
from feedmill.http.feeds.resources import iter_file
from feedmill.http.feeds.trust import XML
from feedmill.model.errors import BadRequest, Denied, DiskFull, FeedmillError, TooLarge
from feedmill.model.feed import Feed, FeedKind, FeedState, LogEntry, LogLevel
from feedmill.ports.store import UnitOfWork
from feedmill.services.feeds.intake import Intake
from feedmill.services.feeds.progress import LOG_ENTRIES
from feedmill.wire.dataload.parse import read_types
from feedmill.wire.dataload.render import ItemResult, Status, render_refusal, render_reply
from feedmill.wire.dataload.schema import ItemType, find_type
from feedmill.wire.registry import DATALOAD
from feedmill.wire.upload.reader import DATALOAD_FORM

APPLIED_SECONDS: Final = 3_600.0
"""How long a reply waits for the items to be applied."""

_SEND_BYTES: Final = 65_536
_NOT_FOUND: Final = "Not found"
_EARLIER_FEEDS: Final = 100

log = structlog.get_logger(__name__)


class Refused(Exception):
    """The request is refused as a whole."""

    def __init__(self, status: Status, info: str = "", *, http_status: int = 200) -> None:
        super().__init__(f"{status.value}: {info}")
        self.status = status
        self.info = info
        self.http_status = http_status


class DataloadEndpoint:
    """The ASGI application that receives a dataload."""

    def __init__(self, *, config: CurrentConfig, intake: Intake, workers: Executor, count_feed: CountFeed) -> None:
        self._config = config
        self._intake = intake
        self._workers = workers
        self._count_feed = count_feed
        self._polling = StorePolling(intake.store, workers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = Body(receive)
        client = scope["client"][0] if scope.get("client") else ""
        try:
            feed_id, size_bytes = await self._receive(scope, body, client)
        except Refused as exc:
            log.warning("feed_refused", client=client, reason=str(exc))
            reply = render_refusal(exc.status, exc.info).decode("utf-8")
            await send_early(body, send, exc.http_status, reply, TRUSTED, content_type=XML)
        except ClientDisconnected as exc:
            log.warning("feed_not_taken", client=client, answered="nothing", reason=str(exc))
            await drop(scope, body, send)
        except FeedmillError as exc:
            log.error("feed_not_taken", client=client, answered="nothing", reason=str(exc))
            await drop(scope, body, send)
        else:
            self._count_feed(FeedKind.INCREMENTAL.value, size_bytes)
            await self._reply(feed_id, scope, body, send)

    async def _receive(self, scope: Scope, body: Body, client: str) -> tuple[int, int]:
        """Returns the id of the stored feed, and its size. Errors: Refused, ClientDisconnected, Busy."""
        config, headers, right = self._config(), Headers(scope=scope), find_right(scope)
        try:
            async with FeedReceiver(self._intake, self._workers) as receiver:
                reader = open_reader(DATALOAD_FORM, headers, config)
                await read_body(body, reader, receiver, config.idle_seconds, right)
                profile = _check_profile(reader.values.get("profile", "").strip(), config, [client, *_list_forwarded(headers)])
                if not right.allows(profile):
                    raise explain_right(profile)
                if reader.size_bytes == 0:
                    raise Refused(Status.NO_DATA, "field data is missing or empty")
                submission = Submission(datasource=profile, kind=FeedKind.INCREMENTAL, format=DATALOAD)
                return await receiver.store_feed(submission, client), reader.size_bytes
        except BaseException as exc:
            raise _refusal_of(exc) from exc

    async def _reply(self, feed_id: int, scope: Scope, body: Body, send: Send) -> None:
        with ReplyWaits(self._polling, scope, body) as waits:
            await waits.wait(lambda unit: unit.feeds.reader.get(feed_id).phase.is_past_feeder, APPLIED_SECONDS)
            if waits.is_disconnected():
                return
            feed, results = await self._run(self._open_results, feed_id)
            pieces = (
                _join(render_reply(results)) if isinstance(results, ItemResults) else iter([render_refusal(results.status, results.info)])
            )
            headers = [(b"content-type", XML), (FEED_HEADER, str(feed_id).encode("ascii"))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            has_waited = False
            while piece := await self._run(next, pieces, b""):
                if isinstance(results, ItemResults) and results.has_refresh and not has_waited:
                    await waits.wait(partial(_is_searchable, feed), self._config().searchable_seconds)
                    has_waited = True
                if waits.is_disconnected():
                    return
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _open_results(self, feed_id: int) -> "tuple[Feed, ItemResults | Refused]":
        """Returns a feed, and what became of its items or why none was read."""
        with self._intake.store.reading() as unit:
            feed = unit.feeds.reader.get(feed_id)
            entries = unit.feeds.log.list_log(feed.id, LOG_ENTRIES)
        if feed.state is FeedState.FAILED_IN_ERROR and not feed.errors:
            reasons = [f"line {entry.line}: {entry.reason}" if entry.line else entry.reason for entry in entries]
            return feed, Refused(Status.NO_DATA, "; ".join(reasons))
        return feed, ItemResults(feed, entries, read_types(iter_file(self._intake.files.open(feed.file), feed.size_bytes)))

    async def _run(self, act: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, act, *arguments)


class ItemResults:
    """What became of the items of an applied feed, in their order. ``has_refresh``: an item so far is of type UI."""

    def __init__(self, feed: Feed, entries: Sequence[LogEntry], types: Iterator[str]) -> None:
        self.has_refresh = False
        self._feed = feed
        self._types = types
        self._entries: dict[int, list[LogEntry]] = {}
        for entry in entries:
            self._entries.setdefault(entry.record, []).append(entry)
        logged_errors = sum(entry.level is LogLevel.ERROR for entry in entries)
        # the log of a large feed is cut: which of the later items are in error is not known
        self._last_known = max(self._entries, default=0) if feed.errors > logged_errors else sys.maxsize

    def __iter__(self) -> Iterator[ItemResult]:
        for number, text in enumerate(self._types, 1):
            self.has_refresh = self.has_refresh or find_type(text) is ItemType.REFRESH
            yield self._describe(number, text)

    def _describe(self, number: int, text: str) -> ItemResult:
        entries = self._entries.get(number, ())
        if number > self._feed.applied:
            return ItemResult(status=Status.FAIL, type=text, info=f"not applied yet, see feed {self._feed.id}")
        if number > self._last_known:
            return ItemResult(status=Status.FAIL, type=text, info=f"the log of feed {self._feed.id} is too long to say what became of it")
        is_failed = any(entry.level is LogLevel.ERROR for entry in entries)
        failed = Status.FAIL if find_type(text) is not None else Status.UNKNOWN_TYPE
        deleted = next((count for entry in entries if (count := read_deleted(entry.reason)) is not None), None)
        reasons = [entry.reason for entry in entries if read_deleted(entry.reason) is None]
        info = "; ".join(_NOT_FOUND if reason in (NOTHING_TO_DELETE, NOTHING_TO_UPDATE) else reason for reason in reasons)
        return ItemResult(status=failed if is_failed else Status.OK, type=text, deleted=deleted, info=info)


def _check_profile(name: str, config: GateConfig, addresses: Sequence[str]) -> str:
    """Returns the name of a profile that allows all addresses. Errors: Refused."""
    allowed = config.profiles.get(name)
    if allowed is None:
        raise Refused(Status.NO_PROFILE, f"there is no profile {name[:80]!a}" if name else "field profile is missing")
    if not all(allowed.covers(address) for address in addresses):
        raise Refused(Status.NOT_ALLOWED)
    return name


def _list_forwarded(headers: Headers) -> list[str]:
    """Lists the addresses that proxies wrote into the request, as they are written."""
    return [address.strip() for line in headers.getlist("x-forwarded-for") for address in line.split(",")]


def _refusal_of(error: BaseException) -> BaseException:
    """Returns the refusal that an error means to the client; another error as it is."""
    match error:
        case Denied():
            return Refused(Status.NOT_ALLOWED, str(error))
        case TooLarge():
            return Refused(Status.FAIL, str(error), http_status=413)
        case BadRequest():
            return Refused(Status.NO_DATA, str(error))
        case DiskFull():
            return Refused(Status.FAIL, "the disk of the server is full")
        case _:
            return error


def _is_searchable(feed: Feed, unit: UnitOfWork) -> bool:
    """Returns whether searches find what this feed and the ones before it brought."""
    newest = unit.feeds.reader.list_newest(feed.datasource, _EARLIER_FEEDS)
    return all(each.searchable_at is not None for each in newest if each.id <= feed.id)


def _join(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the pieces joined, because most are short."""
    joined = bytearray()
    for piece in pieces:
        joined += piece
        if len(joined) >= _SEND_BYTES:
            yield bytes(joined)
            joined.clear()
    if joined:
        yield bytes(joined)
