"""``output=atom`` on ``/search``: a result list as a feed, whose addresses are those under which the request came."""

from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from feedmill import __version__
from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.search import opensearch
from feedmill.http.search.gsaparameters import GsaRequest, page_url
from feedmill.http.search.resultpage import find_address, write_page_address
from feedmill.model.results import ResultPage
from feedmill.wire.results.atom import MEDIA_TYPE, AtomLink, AtomParts, render_feed


def make_feed(request: Request, gsa: GsaRequest, page: ResultPage, now: datetime) -> Response:
    """Returns a page of results as a feed."""
    root = str(request.base_url).rstrip("/")
    num = gsa.request.num
    starts = {"self": gsa.request.start, "first": 0}
    if page.start > 0:
        starts["previous"] = max(page.start - num, 0)
    if page.has_more:
        starts["next"] = page.start + num
    links = [
        *(AtomLink(relation=relation, media_type=MEDIA_TYPE, href=root + page_url(gsa, start)) for relation, start in starts.items()),
        AtomLink(relation="alternate", media_type="text/html", href=root + write_page_address(page.query, gsa.request)),
        AtomLink(relation="search", media_type=opensearch.MEDIA_TYPE, href=root + opensearch.OPENSEARCH_PATH),
    ]
    parts = AtomParts(
        id=root + page_url(gsa, 0),
        page=page,
        addresses=[_make_absolute(find_address(result), root) for result in page.results],
        links=links,
        num=num,
        shows_total=gsa.shows_total,
        version=__version__,
        now=now,
    )
    return Response(render_feed(parts), media_type=f"{MEDIA_TYPE}; charset=UTF-8", headers=PRIVATE_NO_CACHE)


def _make_absolute(address: str | None, root: str) -> str | None:
    return root + address if address is not None and address.startswith("/") else address
