"""The crawl queue on the admin port.

GET    /api/v1/crawl              how many URLs are due, and the URLs of each site by group
GET    /api/v1/crawl/queue        entries by URL; prefix=, group=, after=, limit=
GET    /api/v1/crawl/entry?url=   one URL with its last ten fetches and the pages that link to it
DELETE /api/v1/crawl/queue        removes url= (a URL or a pattern) with the documents that were crawled; after= for one part of them
POST   /api/v1/crawl/recrawl      asks for url= (a URL or a pattern) again; after= for one part of them
POST   /api/v1/crawl/pause        stops fetching
POST   /api/v1/crawl/resume       continues it
"""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from feedmill.http.admin.protection import VIEW_OR_MANAGE
from feedmill.http.common.paging import link_next, read_cursor, read_limit, write_cursor
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlSite, FetchRecord
from feedmill.model.errors import BadRequest
from feedmill.services.crawling.requesting import CrawlRequests, DonePart, QueueOverview, UrlLife
from feedmill.wire.jsonvalues import render_time

Json = dict[str, Any]

LISTED = 100


def render_overview(overview: QueueOverview) -> Json:
    """Returns the state of the queue as JSON."""
    groups = {group.value: sum(counts.get(group, 0) for counts in overview.sites.values()) for group in CrawlGroup}
    return {
        "paused": overview.is_paused,
        "due": overview.due,
        "oldest_due_at": render_time(overview.oldest_due_at),
        "groups": groups,
        "sites": [{"site": site} | {group.value: counts.get(group, 0) for group in CrawlGroup} for site, counts in overview.sites.items()],
        "failing_sites": [_render_site(site) for site in overview.failing],
    }


def render_crawl_entry(entry: CrawlEntry) -> Json:
    """Returns an entry as JSON."""
    return {
        "url": entry.url,
        "site": entry.site,
        "group": entry.state.group.value,
        "group_code": entry.state.group.name.lower(),
        "state": entry.state.words,
        "state_code": entry.state.name.lower(),
        "code": int(entry.state),
        "urgency": entry.urgency.name.lower(),
        "due_at": render_time(entry.due_at),
        "fetching": bool(entry.lease_owner),
        "added_at": render_time(entry.added_at),
        "crawled_at": render_time(entry.crawled_at),
        "changed_at": render_time(entry.changed_at),
        "interval_seconds": entry.interval_seconds,
        "failures": entry.failures,
        "failed_at": render_time(entry.failed_at),
        "crawl_once": entry.is_once,
        "pagerank": entry.pagerank,
        "depth": entry.depth,
        "referrer": entry.referrer or None,
        "duplicate_of": entry.duplicate_of or None,
        "history": [_render_record(record) for record in entry.history],
    }


def render_life(life: UrlLife) -> Json:
    """Returns the life of a URL as JSON."""
    return render_crawl_entry(life.entry) | {"referrers": list(life.referrers), "duplicates": list(life.duplicates)}


def _render_record(record: FetchRecord) -> Json:
    return {
        "at": render_time(record.at),
        "state": record.state.words,
        "state_code": record.state.name.lower(),
        "code": int(record.state),
        "http_status": record.http_status or None,
        "bytes": record.size_bytes,
        "seconds": round(record.seconds, 3),
        "reason": record.reason or None,
    }


def _render_site(site: CrawlSite) -> Json:
    return {
        "site": site.site,
        "failures": site.failures,
        "failed_at": render_time(site.failed_at),
        "retry_at": render_time(site.retry_at),
        "reason": site.reason or None,
    }


def _render_part(done: str, part: DonePart) -> Json:
    return {done: part.count, "compared": part.compared, "after": part.after or None}


def read_group(text: str) -> CrawlGroup | None:
    """Returns a group of states by its name, None for none. Errors: BadRequest."""
    if not text:
        return None
    try:
        name = text.lower()
        return CrawlGroup("retrieval error" if name in ("error", "retrieval_error") else name)
    except ValueError as exc:
        raise BadRequest(f"parameter group is {text[:80]!a}; there are waiting, crawled, error and excluded") from exc


def crawling_routes(requests: CrawlRequests) -> list[DeclaredRoute]:
    async def show_overview(_request: Request) -> Response:
        return JSONResponse(render_overview(await run_in_threadpool(requests.read_overview)))

    async def list_entries(request: Request) -> Response:
        given = request.query_params
        limit, group = read_limit(request, LISTED), read_group(given.get("group", ""))
        prefix, after = given.get("prefix", ""), read_cursor(request, str) or given.get("after", "")
        found = await run_in_threadpool(requests.list_entries, prefix=prefix, group=group, after=after, limit=limit + 1)
        cursor = write_cursor(found[limit - 1].url) if len(found) > limit else None
        return JSONResponse([render_crawl_entry(entry) for entry in found[:limit]], headers=link_next(request, cursor))

    async def show_entry(request: Request) -> Response:
        return JSONResponse(render_life(await run_in_threadpool(requests.get_life, _read_url(request))))

    async def remove(request: Request) -> Response:
        url, after = _read_url(request), request.query_params.get("after")
        if after is None:
            return JSONResponse({"removed": await run_in_threadpool(requests.remove, url)})
        return JSONResponse(_render_part("removed", await run_in_threadpool(requests.remove_part, url, after)))

    async def recrawl(request: Request) -> Response:
        url, after = _read_url(request), request.query_params.get("after")
        if after is None:
            return JSONResponse({"requested": await run_in_threadpool(requests.recrawl, url)}, status_code=202)
        return JSONResponse(_render_part("requested", await run_in_threadpool(requests.recrawl_part, url, after)), status_code=202)

    async def pause(_request: Request) -> Response:
        await run_in_threadpool(requests.pause, is_paused=True)
        return Response(status_code=204)

    async def resume(_request: Request) -> Response:
        await run_in_threadpool(requests.pause, is_paused=False)
        return Response(status_code=204)

    return [
        DeclaredRoute("/api/v1/crawl", show_overview, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/queue", list_entries, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/queue", remove, methods=["DELETE"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/entry", show_entry, methods=["GET"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/recrawl", recrawl, methods=["POST"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/pause", pause, methods=["POST"], requires=VIEW_OR_MANAGE),
        DeclaredRoute("/api/v1/crawl/resume", resume, methods=["POST"], requires=VIEW_OR_MANAGE),
    ]


def _read_url(request: Request) -> str:
    url = request.query_params.get("url", "")
    if not url:
        raise BadRequest("the parameter url is missing")
    return url
