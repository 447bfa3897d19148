"""``/search``: the search protocol of the old appliance. It responds with XML, through a front end's stylesheet with HTML, or with Atom.

``q=cache:[CID:]URL`` returns the cached copy instead of results, in the same formats except Atom.
Source: Search Protocol Reference; docs/reference/search-protocol.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from feedmill.core.query.plan import QueryPlan
from feedmill.http.common.bodies import read_body
from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.currentuser import Identify
from feedmill.http.common.searchthreads import SearchThreads, find_deadline
from feedmill.http.pages.rendering import Pages, find_choice, mark_language
from feedmill.http.search.atomfeed import make_feed
from feedmill.http.search.cachepage import POLICY, CopyQuery, read_cache_query, render_copy_page
from feedmill.http.search.copypage import show_copy
from feedmill.http.search.frontends import FrontEnds
from feedmill.http.search.gsaparameters import UNCOLLAPSED, GsaRequest, echo_parameters, page_url, read_gsa_request, split_pairs
from feedmill.http.search.resultpage import UNFINISHED
from feedmill.http.signin.site import SignInSite
from feedmill.model.access import AccessFilter
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.messages import message
from feedmill.model.query import And, Node, Or, Site
from feedmill.model.results import ResultPage
from feedmill.model.search import SearchRequest
from feedmill.services.deadline import Deadline
from feedmill.services.searching.cachedcopy import CachedCopies, CachedCopy
from feedmill.services.searching.resultlist import list_results
from feedmill.services.searching.searcher import Searcher
from feedmill.services.searching.searchstate import PlannedSearch
from feedmill.telemetry.metrics import QUERY_SECONDS
from feedmill.wire.results.charsets import UTF_8, find_charset
from feedmill.wire.results.gsaxml import ResponseParts, render_copy, render_results

MAX_FORM_BYTES = 10_240
MAX_CUSTOM_BYTES = 8_192

_COPY_HEADERS = {**PRIVATE_NO_CACHE, "Content-Security-Policy": POLICY, "X-Robots-Tag": "noindex"}

Show = Callable[[ResultPage, QueryPlan, Request], Response]
"""Shows results on the built-in page, to the sender of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolTools:
    """What the protocol works with."""

    identify: Identify
    clock: Callable[[], datetime]
    frontends: FrontEnds
    copies: CachedCopies | None
    pages: Pages
    signin: SignInSite | None = None


class SearchProtocol:
    """The routes ``/search`` and ``/cache``."""

    def __init__(self, searcher: Searcher, tools: ProtocolTools, show: Show, threads: SearchThreads) -> None:
        self._threads = threads
        self._searcher = searcher
        self._identify = tools.identify
        self._clock = tools.clock
        self._frontends = tools.frontends
        self._copies = tools.copies
        self._pages = tools.pages
        self._signin = tools.signin
        self._show = show

    def show_copy(self, request: Request) -> Response:
        """Shows the cached copy of ``url=``, with the words of ``q=`` marked. Errors: BadRequest, NotFound."""
        url = request.query_params.get("url", "")
        if not url:
            raise BadRequest(message("%(parameter)s= is missing", parameter="url"))
        # as in the list that led here
        is_unfinished = request.query_params.get(UNFINISHED[0]) == UNFINISHED[1]
        query = CopyQuery(urls=(url,), words=request.query_params.get("q", ""), is_unfinished=is_unfinished)
        copy = self._find_copy(query, request, has_blocks=True)
        shown = show_copy(copy, request.query_params.multi_items())
        return self._pages.respond(request, "copy.html", 200, _COPY_HEADERS, copy=shown)

    def _find_copy(self, query: CopyQuery, request: Request, *, has_blocks: bool = False) -> CachedCopy:
        if self._copies is None:
            raise NotFound(message("no cached copies are stored"))
        access, deadline = self._identify(request), find_deadline(request)
        marked = SearchRequest(query=query.words, is_unfinished=query.is_unfinished)
        return self._copies.get(query.urls, marked, access, query.copied, deadline, has_blocks=has_blocks)

    def _answer_copy(self, request: Request, gsa: GsaRequest, query: CopyQuery) -> Response:
        if "proxystylesheet" in gsa.values:
            return _copy_page(request, self._find_copy(query, request))
        reply = ResponseParts(query=gsa.values.get("q", ""), parameters=echo_parameters(gsa, ""), now=self._clock())
        try:
            copy = self._find_copy(query, request)
            status, body = 200, render_copy(reply, copy.url, "text/html", render_copy_page(copy))
        except NotFound:
            status, body = 404, render_results(reply)
        return Response(body, status_code=status, media_type="text/xml; charset=UTF-8", headers=PRIVATE_NO_CACHE)

    async def answer(self, request: Request) -> Response:
        """Runs a search that was sent in the URL or as a form. Errors: TooLarge for a form beyond ``MAX_FORM_BYTES``."""
        return await self._threads.run(request, self._respond_search, request, await read_query(request))

    def _respond_search(self, request: Request, query: bytes) -> Response:
        gsa = read_gsa_request(split_pairs(query))
        cached = read_cache_query(gsa.values.get("q", ""))
        if cached is not None:
            return self._answer_copy(request, gsa, cached)
        frontend = gsa.values.get("proxystylesheet")
        is_feed = frontend is None and gsa.values.get("output", "").strip().lower() == "atom"
        is_page = frontend is not None and self._frontends.has_stylesheet(frontend)
        if gsa.access != "p" and self._signin is not None:
            demanded = self._signin.demand(request, page_url(gsa, gsa.request.start), is_page=frontend is not None)
            if demanded is not None:
                return demanded
        access = restrict(self._identify(request), gsa.access)
        if frontend is not None and not is_page:
            search = self._searcher.prepare(
                replace(gsa.request, has_built_in_facets=True, counts_unselected=True), access, find_deadline(request)
            )
            return self._show(self._searcher.find_page(search), search.plan, request)
        if is_feed:
            return make_feed(request, gsa, self._list_page(gsa, access, find_deadline(request)), self._clock())
        client = request.client.host if request.client is not None else ""
        # the parameter has no effect without a stylesheet that reads it
        custom = check_custom(gsa.values.get("proxycustom", "")) if is_page else b""
        found = None if custom else self._list_page(gsa, access, find_deadline(request))
        reply = self._make_reply(gsa, client, found)
        if frontend is not None:
            # the stylesheet itself names the encoding of its page
            xml = render_results(replace(reply, charset=UTF_8, has_doctype=False))
            page = self._frontends.render(frontend, xml, reload=gsa.values.get("proxyreload") == "1", custom=custom)
            # a page of any site may load a script with the cookies of its user
            media_type = "text/plain" if page.is_script and gsa.access != "p" else page.media_type
            return Response(
                page.body, media_type=media_type, headers={**PRIVATE_NO_CACHE, "Content-Security-Policy": self._frontends.policy}
            )
        return Response(render_results(reply), media_type=f"text/xml; charset={reply.charset.name}", headers=PRIVATE_NO_CACHE)

    def _make_reply(self, gsa: GsaRequest, client: str, page: ResultPage | None) -> ResponseParts:
        reply = ResponseParts(
            query=gsa.values.get("q", ""),
            parameters=echo_parameters(gsa, client, start=page.start if page is not None and page.results else None),
            page=page,
            shows_total=gsa.shows_total,
            now=self._clock(),
            charset=find_charset(gsa.values.get("oe", "")),
            has_doctype=gsa.values.get("output", "") == "xml",
        )
        return reply if page is None else _add_pages(reply, gsa, page)

    def _list_page(self, gsa: GsaRequest, access: AccessFilter, deadline: Deadline) -> ResultPage:
        found = self._list_planned(self._searcher.prepare(gsa.request, access, deadline), gsa)
        if not found.total and gsa.request.languages and not deadline.is_cut:
            # the protocol returns results of all languages if there are none in the requested ones
            anywhere = replace(gsa.request, languages="")
            found = self._list_planned(self._searcher.prepare(anywhere, access, deadline), gsa)
        QUERY_SECONDS.observe(found.seconds)
        return found

    def _list_planned(self, search: PlannedSearch, gsa: GsaRequest) -> ResultPage:
        return list_results(self._searcher, search, UNCOLLAPSED if has_site_parameter(search.plan) else gsa.collapsing)


def _copy_page(request: Request, copy: CachedCopy) -> Response:
    choice = find_choice(request)
    body = render_copy_page(copy, choice.language).encode("utf-8", "replace")
    return mark_language(Response(body, media_type="text/html; charset=UTF-8", headers=_COPY_HEADERS), choice)


def _add_pages(reply: ResponseParts, gsa: GsaRequest, found: ResultPage) -> ResponseParts:
    num = gsa.request.num
    return replace(
        reply,
        previous=page_url(gsa, max(found.start - num, 0)) if found.start > 0 else "",
        following=page_url(gsa, found.start + num) if found.has_more else "",
    )


def restrict(access_filter: AccessFilter, access: str) -> AccessFilter:
    """Returns the part of an access filter that ``access=`` selects: p the public classes, s the secure ones, a all."""
    if access == "a":
        return access_filter
    if access == "s":
        return access_filter.only_secure()
    return access_filter.only_public()


def has_site_parameter(plan: QueryPlan) -> bool:
    """Whether a search is restricted to one site or directory; its results are not collapsed."""
    advanced = plan.request.advanced
    is_within = bool(advanced.within.strip()) or (bool(advanced.site.strip()) and not advanced.excludes_site)
    return is_within or _holds_site(plan.typed)


def _holds_site(node: Node) -> bool:
    if isinstance(node, And | Or):
        return any(_holds_site(part) for part in node.parts)
    return isinstance(node, Site)


async def read_query(request: Request) -> bytes:
    """Returns the parameters of a search, of the URL and then of the form. Errors: TooLarge for a form beyond ``MAX_FORM_BYTES``."""
    query = bytes(request.scope["query_string"])
    if request.method != "POST":
        return query
    refusal = f"a posted search has more than {MAX_FORM_BYTES} bytes; send fewer or shorter parameters"
    return b"&".join(part for part in (query, await read_body(request, MAX_FORM_BYTES, refusal)) if part)


def check_custom(text: str) -> bytes:
    """Returns the bytes of ``proxycustom=`` for the stylesheet, empty for a blank text. Errors: BadRequest.

    The process that applies the stylesheet parses them, never the server. Source: Search Protocol Reference, "Custom XML".
    """
    data = text.encode("utf-8", "replace") if text.strip() else b""
    if len(data) > MAX_CUSTOM_BYTES:
        raise BadRequest(f"proxycustom= has more than {MAX_CUSTOM_BYTES} bytes")
    return data
