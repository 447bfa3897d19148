"""The JSON resources of the feed port: feeds, documents and data sources. Every read of the store runs in a worker thread."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from typing import BinaryIO, Final, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.paging import cut_page, link_next, read_cursor, read_limit, write_cursor
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.common.resource import FEED_PORT
from feedmill.http.common.strictparameters import read_id, strict, strict_to
from feedmill.http.feeds.pushing import FEED_HEADER
from feedmill.http.feeds.pushtoken import find_right
from feedmill.http.feeds.receipts import Json, render_document, render_feed, render_source
from feedmill.http.feeds.trust import PUSH
from feedmill.http.pages.apidocs import docs_routes
from feedmill.model.audit import AuditKind
from feedmill.model.errors import BadRequest, Busy, Denied, NotFound
from feedmill.model.feed import Feed, FeedState
from feedmill.model.queue import StuckQueue
from feedmill.ports import UnitOfWork
from feedmill.services.auditing import Auditing
from feedmill.services.feeds.intake import Intake
from feedmill.services.inspection import inspect_url, unknown_document
from feedmill.services.signin.pushcheck import PushRight
from feedmill.wire.registry import JSON_ARRAY, JSON_LINES

LOG_ENTRIES: Final = 1000
"""The number of a feed's log entries in its receipt."""

LISTED_LOG_ENTRIES: Final = 100
LISTED_FEEDS: Final = 20
"""The number of feeds of a page if the request does not say."""

_READ_BYTES: Final = 262_144
_REMOVAL_SECONDS: Final = 600.0
_POLL_SECONDS: Final = (0.02, 0.5)
_SUFFIXES: Final = {JSON_ARRAY: "json", JSON_LINES: "jsonl"}

T = TypeVar("T")


FindStuck = Callable[[Feed], StuckQueue | None]
"""Returns the stuck queue that delays a feed, None if there is none. May block. Errors: Busy, Corrupt."""


def finds_none(_feed: Feed) -> StuckQueue | None:
    """Returns None; the default if no component watches the queues."""
    return None


class FeedResources:
    """The handlers under ``/api/v1``."""

    def __init__(self, intake: Intake, workers: Executor, auditing: Auditing | None = None, find_stuck: FindStuck = finds_none) -> None:
        self._find_stuck = find_stuck
        self._intake = intake
        self._auditing = auditing
        self._store = intake.store
        self._workers = workers

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute("/api/v1/feeds", strict("listFeeds", self.list_feeds), requires=PUSH),
            DeclaredRoute("/api/v1/feeds/{feed_id}", strict("showFeed", self.show_feed), requires=PUSH),
            DeclaredRoute("/api/v1/feeds/{feed_id}/content", strict("readFeed", self.send_content), requires=PUSH),
            DeclaredRoute("/api/v1/feeds/{feed_id}/resend", strict("resendFeed", self.resend_feed), methods=["POST"], requires=PUSH),
            DeclaredRoute("/api/v1/documents", strict("inspectDocument", self.show_document), requires=PUSH),
            DeclaredRoute("/api/v1/datasources", strict("listDatasources", self.list_sources), requires=PUSH),
            DeclaredRoute("/api/v1/openapi.json", strict_to((), self.describe), requires=PUSH),
            *docs_routes(FEED_PORT, PUSH),
            DeclaredRoute("/api/v1/datasources/{name}", strict("deleteDatasource", self.remove_source), methods=["DELETE"], requires=PUSH),
        ]

    async def list_feeds(self, request: Request) -> Response:
        """Lists receipts, newest first, of one data source or of all."""
        datasource = request.query_params.get("datasource") or None
        limit, before = read_limit(request, LISTED_FEEDS), read_cursor(request, int)
        right = find_right(request.scope)
        if datasource is not None:
            _check_name(right, datasource)
        listed = await self._run_in_workers(lambda: self._render_feeds(datasource, limit + 1, right, before))
        cursor = write_cursor(int(listed[limit - 1]["id"])) if len(listed) > limit else None
        return JSONResponse(listed[:limit], headers=link_next(request, cursor))

    async def show_feed(self, request: Request) -> Response:
        feed_id = read_id(request.path_params["feed_id"], "feed")
        right = find_right(request.scope)
        return JSONResponse(await self._run_in_workers(lambda: self._render_feed(feed_id, right)))

    async def send_content(self, request: Request) -> Response:
        """Sends a feed's bytes as they were received. They are a download, because a feed may hold script that a browser would run."""
        feed_id = read_id(request.path_params["feed_id"], "feed")
        right = find_right(request.scope)
        stream, feed = await self._run_in_workers(lambda: self._open_content(feed_id, right))
        suffix = _SUFFIXES.get(feed.format, "xml")
        headers = {
            "content-length": str(feed.size_bytes),
            "content-disposition": f'attachment; filename="feed-{feed_id}.{suffix}"',
            "x-content-type-options": "nosniff",
        }
        return StreamingResponse(iter_file(stream, feed.size_bytes), media_type="application/octet-stream", headers=headers)

    async def resend_feed(self, request: Request) -> Response:
        """Accepts the bytes of an earlier feed again, as a new feed."""
        feed_id = read_id(request.path_params["feed_id"], "feed")
        client = request.client.host if request.client else ""
        right = find_right(request.scope)
        receipt = await self._run_in_workers(lambda: self._resend(feed_id, client, right))
        headers = {FEED_HEADER.decode("ascii"): receipt["id"], "location": f"/api/v1/feeds/{receipt['id']}"}
        return JSONResponse(receipt, 202, headers)

    async def show_document(self, request: Request) -> Response:
        url = request.query_params.get("url")
        if not url:
            raise BadRequest("parameter url is missing; give the document's URL, percent-encoded")
        inspection = await self._run_in_workers(lambda: inspect_url(self._store, url))
        if not find_right(request.scope).allows(inspection.document.datasource):
            # The error for a missing document, so that a token learns nothing about the sources of others.
            raise unknown_document(url)
        return JSONResponse(render_document(inspection))

    async def describe(self, _request: Request) -> Response:
        """Returns the OpenAPI document of these resources."""
        return JSONResponse(build_openapi(FEED_PORT))

    async def list_sources(self, request: Request) -> Response:
        """Lists the data sources that the request's token permits."""
        right = find_right(request.scope)
        page = cut_page(request, await self._run_in_workers(lambda: self._render_sources(right)), lambda source: source["name"])
        return JSONResponse(page.items, headers=page.headers)

    async def remove_source(self, request: Request) -> Response:
        """Deletes a data source's documents, and waits until searches no longer find them."""
        name, destroy = request.path_params["name"], _read_flag(request.query_params.get("destroy"))
        client = request.client.host if request.client else ""
        _check_name(find_right(request.scope), name)
        await self._run_in_workers(lambda: self._describe_removal(request, client))
        feed_id = await self._run_in_workers(lambda: self._intake.request_removal(name, destroy=destroy, client=client))
        state = await self._wait_until_removed(feed_id)
        if state is FeedState.FAILED_IN_ERROR:
            raise Busy(f"deleting data source {name} failed, see feed {feed_id}; try again")
        return JSONResponse({"name": name, "feed": str(feed_id), "state": "destroyed" if destroy else "deleted"})

    def _describe_removal(self, request: Request, client: str) -> None:
        """Writes a client's request to the audit log, before it is carried out."""
        if self._auditing is not None:
            actor = find_right(request.scope).label
            details = {"method": request.method, "path": request.url.path, "query": request.url.query, "port": "feed"}
            self._auditing.log_event(AuditKind.ADMINISTERED, actor=actor, address=client, details=details)

    async def count_backlog(self, _request: Request) -> Response:
        """Returns the number of feeds that wait, and nothing else."""
        return Response(str(await self._run_in_workers(self._count_waiting)), media_type="text/plain")

    async def _wait_until_removed(self, feed_id: int) -> FeedState:
        pause, longest = _POLL_SECONDS
        waited = 0.0
        while waited < _REMOVAL_SECONDS:
            try:
                feed = await self._run_in_workers(lambda: self._intake.find_removed(feed_id))
            except NotFound:
                return FeedState.COMPLETED
            if feed is not None:
                return feed.state
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, longest)
        raise Busy(f"the deletion waits in its data source's queue as feed {feed_id}; it goes on, ask for that feed")

    async def _run_in_workers(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, act)

    def _render_feeds(self, datasource: str | None, limit: int, right: PushRight, before: int | None) -> list[Json]:
        wanted = sorted(right.datasources) if datasource is None and right.is_limited else [datasource]
        with self._store.reading() as unit:
            found = [feed for name in wanted for feed in unit.feeds.reader.list_newest(name, limit, before)]
            # The newest feeds of all sources are among the newest of each.
            feeds = sorted(found, key=lambda feed: feed.id, reverse=True)[:limit]
            logs = [unit.feeds.log.list_log(each.id, LISTED_LOG_ENTRIES) if each.logged or each.late_logged else [] for each in feeds]
        return [render_feed(feed, log, self._find_stuck_for(feed, right)) for feed, log in zip(feeds, logs, strict=True)]

    def _render_feed(self, feed_id: int, right: PushRight) -> Json:
        with self._store.reading() as unit:
            feed, log = _get_feed(unit, feed_id, right), unit.feeds.log.list_log(feed_id, LOG_ENTRIES)
        return render_feed(feed, log, self._find_stuck_for(feed, right))

    def _resend(self, feed_id: int, client: str, right: PushRight) -> Json:
        with self._store.reading() as unit:
            feed = _get_feed(unit, feed_id, right)
        return self._render_feed(self._intake.resend(feed, client=client), right)

    def _find_stuck_for(self, feed: Feed, right: PushRight) -> StuckQueue | None:
        """Returns the stuck queue of a feed. A token for some sources alone does not see the item at the queue's head."""
        stuck = self._find_stuck(feed)
        if stuck is None or not right.is_limited:
            return stuck
        return replace(stuck, document=None, reason="an administrator can see why")

    def _open_content(self, feed_id: int, right: PushRight) -> tuple[BinaryIO, Feed]:
        with self._store.reading() as unit:
            feed = _get_feed(unit, feed_id, right)
        if not feed.file:
            raise NotFound(f"feed {feed_id} came without content")
        return self._intake.files.open(feed.file), feed

    def _render_sources(self, right: PushRight) -> list[Json]:
        with self._store.reading() as unit:
            sources = sorted(unit.feeds.sources.list(), key=lambda source: source.name)
        return [render_source(source) for source in sources if right.allows(source.name)]

    def _count_waiting(self) -> int:
        with self._store.reading() as unit:
            return unit.feeds.reader.count_waiting()


def _get_feed(unit: UnitOfWork, feed_id: int, right: PushRight) -> Feed:
    """Returns a feed. Errors: NotFound, also if the request's token does not permit the feed: the response is that of an unknown feed."""
    feed = unit.feeds.reader.get(feed_id)
    if not right.allows(feed.datasource):
        raise NotFound(f"there is no feed {feed_id}")
    return feed


def _check_name(right: PushRight, datasource: str) -> None:
    if not right.allows(datasource):
        raise Denied(f"the token is not for the data source {datasource[:80]!a}")


def iter_file(stream: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    """Yields the first bytes of a file in pieces, and closes it."""
    with stream:
        while size_bytes > 0 and (piece := stream.read(min(size_bytes, _READ_BYTES))):
            size_bytes -= len(piece)
            yield piece


def _read_flag(text: str | None) -> bool:
    if text not in (None, "", "0", "1", "false", "true"):
        raise BadRequest(f"parameter destroy is {text[:80]!a}; give true or false")
    return text in ("1", "true")
