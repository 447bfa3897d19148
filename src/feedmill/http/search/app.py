"""The search port: the page for people, JSON for programs, and the resources that front ends and adaptors request at their start.

GET /                     the search page
GET /search               results in the format of the old appliance; POST too
GET /cache                the cached copy of a document
GET /db/{name}/{keys}     one row of a database source as it is now
GET /texis/search/main.xml  results of one profile in the format of Thunderstone's appliance; POST too
GET /suggest              completions of the typed text; POST too
GET /cluster              the best results in groups by subject; POST too
GET /click                receives click reports; POST too
GET /api/v1/search        results as JSON
GET /api/v1/suggest       suggestions as JSON
GET /api/v1/documents     one document by URL
POST /api/v1/retrieve     passages as JSON, for answering machines
POST /mcp                 the tools of assistants, by the Model Context Protocol
GET /api/v1/openapi.json  the description of these resources as OpenAPI
GET /api/docs             the same as a page; its document is beside it, /api/docs/openapi.json
GET /search-box.js        the search box for pages of other sites
GET /search-box.json      its texts in a language
GET /sw_version.txt       the version that adaptors expect of an appliance
GET /seedlist/myserver    all documents as a seedlist, for administrators; see seedlists
GET /signin, /signout     signing in and out; POST too
GET /healthz, /readyz     whether the process lives, whether it can answer searches
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from feedmill.core.query.plan import QueryPlan
from feedmill.core.query.selections import check_facet_names, check_selections
from feedmill.core.ranking.concepts import Edge
from feedmill.http.common.cachecontrol import PRIVATE_NO_CACHE
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.compression import Compression
from feedmill.http.common.crossorigin import AnonymousOrigins, Preflights
from feedmill.http.common.currentuser import AuthenticationMiddleware, Identify, RoleCheck, find_current_user
from feedmill.http.common.health import Problems, health_routes
from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.origin import OriginCheck
from feedmill.http.common.paging import link_next
from feedmill.http.common.problems import Problem, answer_failure, find_problem, make_answer, problem_of
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.http.common.requirements import (
    ADMINISTER,
    ANYONE,
    ASSISTED,
    SIGNED_IN,
    USER,
    DeclaredRoute,
    Sender,
    Unmatched,
    build_app,
)
from feedmill.http.common.resource import SEARCH_PORT
from feedmill.http.common.searchthreads import SearchBounds, SearchThreads, find_deadline
from feedmill.http.common.securityheaders import PAGE_WITH_SCRIPT, SECURITY_HEADERS, GuardHeaders
from feedmill.http.common.strictparameters import strict, strict_to
from feedmill.http.common.stricttransport import StrictTransport
from feedmill.http.common.unknownpaths import describe_http_error
from feedmill.http.pages.apidocs import docs_routes
from feedmill.http.pages.languages import show_parameter
from feedmill.http.pages.rendering import Pages, find_choice
from feedmill.http.pages.staticfiles import static_mount
from feedmill.http.search.assistants import METHODS as ASSISTANT_METHODS
from feedmill.http.search.assistants import PATH as ASSISTANT_PATH
from feedmill.http.search.assistants import AssistantEndpoint, AssistantTools
from feedmill.http.search.clicks import ClickLog, NoClickLog, click_route
from feedmill.http.search.clusters import ClusterRoute
from feedmill.http.search.facetlinks import read_fields
from feedmill.http.search.forwarding import add_cookies
from feedmill.http.search.frontends import FrontEnds
from feedmill.http.search.gsasearch import ProtocolTools, SearchProtocol
from feedmill.http.search.manualpages import MANUAL_PATH, ManualPages, NoManual, redirect_to_manual
from feedmill.http.search.opensearch import OPENSEARCH_PATH, OpenSearch
from feedmill.http.search.parameters import check_search, read_cursor, read_search, write_cursor
from feedmill.http.search.passages import PATH as RETRIEVE_PATH
from feedmill.http.search.passages import PassagesEndpoint
from feedmill.http.search.profilesearch import PATH as PROFILE_SEARCH
from feedmill.http.search.profilesearch import FindProfile, ProfileSearch
from feedmill.http.search.resultpage import AUTHOR, BACK, LITERAL, UNFINISHED, UNGROUPED, may_correct, show_page
from feedmill.http.search.rowpage import PATH as ROW_PATH
from feedmill.http.search.rowpage import FindRows, RowPages, find_no_rows
from feedmill.http.search.searchbox import SEARCH_BOX_PATH, TEXTS_PATH, SearchBoxScript
from feedmill.http.search.seedlists import CONTENT_PATH, TOKENS_PATH, USER_PATH, Seedlists, name_user
from feedmill.http.search.seedlists import PATH as SEEDLIST_PATH
from feedmill.http.search.similarpage import find_related_url, find_way_back, keep_best, name_document, only_by_likeness
from feedmill.http.search.suggestions import Suggestions
from feedmill.http.signin.check import SignInCheck
from feedmill.http.signin.site import SignInSite
from feedmill.model.access import AccessFilter
from feedmill.model.audit import AuditKind, Details
from feedmill.model.errors import BadRequest, FeedmillError, find_message
from feedmill.model.lightdataclass import light_replace
from feedmill.model.messages import Message, message
from feedmill.model.results import ResultPage
from feedmill.model.search import SearchRequest
from feedmill.model.userrole import UserRole
from feedmill.ports.manual import Manual
from feedmill.services.auditing import Auditing
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.clustering import FindClusters
from feedmill.services.searching.searchservices import SearchServices
from feedmill.services.searching.searchstate import PlannedSearch
from feedmill.telemetry.metrics import QUERY_SECONDS, TYPING_SECONDS
from feedmill.wire.results.json import render_document, render_page

log = structlog.get_logger(__name__)

MAX_PAGE_NUM = 100
TYPING_HEADER = "x-feedmill-typing"
APPLIANCE_VERSION = "7.4.0-0"

_HERE = Path(__file__).parents[1]
# Probes and browsers may add a slash, as in /healthz/, and are redirected: that needs no sign-in where the resource needs none.
_UNMATCHED = Unmatched(otherwise=USER, prefixes=dict.fromkeys(("/healthz", "/readyz", "/sw_version.txt", "/static/"), ANYONE))
_SHOW_DOCUMENTS = ("/cache", "/search", "/db/")
"""Beginnings of paths at which a document, or what is kept of it, is shown: ``/search`` shows front ends the copy of ``q=cache:``."""
_JSON = "application/json"


def no_clusters(_edges: Sequence[Edge]) -> list[list[int]]:
    """Finds no clusters."""
    return []


def _now() -> datetime:
    return datetime.now(UTC)


def find_no_profile(_name: str) -> None:
    """Finds no profile of dataloads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSite:
    """The dependencies of the search port besides the search services.

    By default ``identify`` is ``find_current_user``. ``find_problems`` adds to the problems of the searcher on ``/readyz``.
    ``seedlist_key`` makes the ACL tokens of seedlists; ``history`` is how long deletions are known.
    ``forwarded_cookies`` are the names of the cookies that prove users to other servers. ``auditing`` records what is read of seedlists,
    as passages and by assistants.
    Without ``signin`` only a trusted proxy, named by ``proxy``, names the user.
    """

    identify: Identify | None = None
    version: str = APPLIANCE_VERSION
    find_problems: Problems = list
    allow_origins: tuple[str, ...] = ()
    clock: Callable[[], datetime] = _now
    frontends: FrontEnds = field(default_factory=lambda: FrontEnds(dict))
    copies: CachedCopies | None = None
    proxy: ProxyTrust = field(default_factory=ProxyTrust)
    signin: SignInSite | None = None
    find_clusters: FindClusters = no_clusters
    clicks: ClickLog = field(default_factory=NoClickLog)
    bounds: SearchBounds = field(default_factory=SearchBounds)
    find_profile: FindProfile = find_no_profile
    find_rows: FindRows = find_no_rows
    seedlist_key: bytes = b""
    history: timedelta = timedelta(days=90)
    forwarded_cookies: frozenset[str] = frozenset()
    auditing: Auditing | None = None
    manual: Manual = field(default_factory=NoManual)
    pages: Pages = field(default_factory=Pages)

    def list_own_origins(self) -> tuple[str, ...]:
        """Lists the origins whose pages may send forms: a proxy may use another name of this server than browsers do."""
        return (*self.allow_origins, *self.list_public_origins())

    def list_public_origins(self) -> tuple[str, ...]:
        """Lists the origins of this server that do not follow from a request."""
        return (self.signin.public_url,) if self.signin is not None and self.signin.public_url else ()


def search_app(services: SearchServices, site: SearchSite | None = None, *, routes: Iterable[DeclaredRoute] = ()) -> Starlette:
    """Returns the application of the search port; ``routes`` are added to its own."""
    site = site or SearchSite()

    def identify_by_current_user(request: Request) -> AccessFilter:
        current_user = find_current_user(request)
        login = add_cookies(current_user.login, request.scope, site.forwarded_cookies)
        return services.filters.find_filter(current_user.identity, login, find_deadline(request))

    identify = site.identify or identify_by_current_user
    endpoints = _Endpoints(services, site, identify)
    tools = ProtocolTools(
        identify=identify,
        clock=site.clock,
        frontends=site.frontends,
        copies=site.copies,
        pages=site.pages,
        signin=site.signin,
    )
    suggestions = Suggestions(services, identify)
    clients = site.signin.authenticator.clients if site.signin is not None else Clients()
    threads = SearchThreads(site.bounds, clients)
    in_thread = threads.endpoint
    protocol = SearchProtocol(services.searcher, tools, endpoints.show_results, threads)
    clusters = ClusterRoute(services.searcher, identify, site.find_clusters)
    profiles = ProfileSearch(services.searcher, identify, site.find_profile, threads)
    rows = RowPages(services.documents, identify, site.find_rows)
    manual, search_box = ManualPages(site.manual), SearchBoxScript()

    def record(request: Request, kind: AuditKind, details: Details) -> None:
        if site.auditing is not None:
            address = clients.find_client(request.scope).address
            site.auditing.log_event(kind, actor=name_user(request), address=address, details=details)

    def record_read(request: Request, details: Details) -> None:
        record(request, AuditKind.SEEDLIST_READ, details)

    seedlists = Seedlists(services.listing, identify, site.clock, key=site.seedlist_key, history=site.history, record=record_read)
    passages = PassagesEndpoint(services.retrieval, identify, threads, record)
    assistants = AssistantEndpoint(AssistantTools(services.retrieval, identify, threads, record))
    own = [
        DeclaredRoute("/", in_thread(endpoints.show), methods=["GET"], requires=USER),
        DeclaredRoute("/search", protocol.answer, methods=["GET", "POST"], requires=USER),
        DeclaredRoute("/cache", in_thread(protocol.show_copy), methods=["GET"], requires=USER),
        DeclaredRoute(ROW_PATH, in_thread(rows.show_row), methods=["GET"], requires=USER),
        DeclaredRoute(PROFILE_SEARCH, profiles.answer, methods=["GET", "POST"], requires=USER),
        DeclaredRoute("/suggest", in_thread(suggestions.answer), methods=["GET", "POST"], requires=USER),
        DeclaredRoute(
            "/cluster",
            in_thread(clusters.answer),
            methods=["GET", "POST"],
            requires=USER,
        ),
        DeclaredRoute("/click", click_route(site.clicks, site.clock, clients), methods=["GET", "POST"], requires=USER),
        DeclaredRoute(SEEDLIST_PATH, in_thread(seedlists.show_page), methods=["GET"], requires=ADMINISTER),
        DeclaredRoute(CONTENT_PATH, in_thread(seedlists.show_content), methods=["GET"], requires=ADMINISTER),
        DeclaredRoute(USER_PATH, in_thread(seedlists.show_user), methods=["GET"], requires=SIGNED_IN),
        DeclaredRoute(TOKENS_PATH, in_thread(seedlists.show_tokens), methods=["GET"], requires=SIGNED_IN),
        DeclaredRoute("/api/v1/search", strict("search", in_thread(endpoints.search)), methods=["GET"], requires=USER),
        DeclaredRoute("/api/v1/suggest", strict("suggest", in_thread(suggestions.answer_api)), methods=["GET"], requires=USER),
        DeclaredRoute("/api/v1/documents", strict("findDocument", in_thread(endpoints.find_document)), methods=["GET"], requires=USER),
        DeclaredRoute(ASSISTANT_PATH, assistants, methods=ASSISTANT_METHODS, requires=ASSISTED),
        DeclaredRoute(RETRIEVE_PATH, strict("retrieve", passages.answer), methods=["POST"], requires=USER),
        DeclaredRoute("/api/v1/openapi.json", strict_to((), endpoints.describe), methods=["GET"], requires=USER),
        *docs_routes(SEARCH_PORT, USER),
        DeclaredRoute("/sw_version.txt", endpoints.show_version, methods=["GET"], requires=ANYONE),
        DeclaredRoute(OPENSEARCH_PATH, OpenSearch(site.pages).show, methods=["GET"], requires=ANYONE),
        DeclaredRoute(SEARCH_BOX_PATH, search_box.show, methods=["GET"], requires=ANYONE),
        DeclaredRoute(TEXTS_PATH, search_box.show_texts, methods=["GET"], requires=ANYONE),
        DeclaredRoute("/manual", redirect_to_manual, methods=["GET"], requires=ANYONE),
        DeclaredRoute(MANUAL_PATH, manual.show, methods=["GET"], requires=ANYONE),
        *site.pages.brands.routes(),
        *health_routes(endpoints.find_problems, list if services.semantic is None else services.semantic.list_warnings),
        static_mount(),
    ]
    return build_app(
        [*own, *(site.signin.routes if site.signin else ()), *routes],
        senders=frozenset({Sender.ANYONE, Sender.USER, Sender.ROLE}),
        unmatched=_UNMATCHED,
        middleware=[
            Middleware(StrictTransport, public_url=site.signin.public_url if site.signin else ""),
            Middleware(GuardHeaders),
            Middleware(Compression),
            Middleware(OriginCheck, allowed=site.list_own_origins()),
            Middleware(Preflights, allowed=site.allow_origins),
            Middleware(SignInCheck, authenticator=site.signin.authenticator)
            if site.signin
            else Middleware(AuthenticationMiddleware, proxy=site.proxy),
            Middleware(AnonymousOrigins, allowed=site.allow_origins, own=site.list_public_origins()),
            Middleware(RoleCheck, challenge=site.signin.authenticator.challenge if site.signin else ""),
        ],
        exception_handlers={
            FeedmillError: endpoints.answer_error,
            HTTPException: endpoints.answer_http_error,
            Exception: endpoints.answer_failure,
        },
    )


class _Endpoints:
    """The handlers of the search port. Those that search run in threads, because the searcher is synchronous."""

    def __init__(self, services: SearchServices, site: SearchSite, identify: Identify) -> None:
        self.site = site
        self._identify = identify
        self._searcher = services.searcher
        self._documents = services.documents
        self._states = services.states
        self._pages = site.pages

    def show(self, request: Request) -> Response:
        """Returns the search page, for a query without results that of its better spelling.

        Redirects to sign-in if the request wants secure results and the user could sign in.
        """
        if self.site.signin is not None and request.query_params.get("access") in ("a", "s"):
            demanded = self.site.signin.demand(request, f"/?{request.url.query}", is_page=True)
            if demanded is not None:
                return demanded
        is_unfinished = UNFINISHED in _list_chosen(request)
        parameters = replace(
            read_search(request.query_params, max_num=MAX_PAGE_NUM),
            selected=(*request.query_params.getlist("select"), *read_fields(request.query_params.multi_items())),
            facet_names=tuple(request.query_params.getlist("facet")),
            has_frontend_facets=True,
            has_built_in_facets=True,
            counts_unselected=True,
            getfields=(AUTHOR,),
            corrects=not is_unfinished and not _is_typing(request),
            is_unfinished=is_unfinished,
            groups_alike=UNGROUPED not in _list_chosen(request),
        )
        search = self._prepare(parameters, request)
        url = find_related_url(search.plan)
        if url is not None:
            return self._show_similar(url, only_by_likeness(parameters), request)
        page, typed = self._searcher.find_page(search), ""
        if is_unfinished and not page.total and not page.deadline_warnings and not _is_typing(request):
            # no word begins with the last one: it is misspelt, or everything that was typed is a word
            parameters = replace(parameters, corrects=True, is_unfinished=False)
            search = self._prepare(parameters, request)
            page = self._searcher.find_page(search)
        if page.spelling and may_correct(page, search.plan.request) and LITERAL not in _list_chosen(request):
            other = self._prepare(replace(parameters, query=page.spelling), request)
            corrected = self._searcher.find_page(other)
            seconds = page.seconds + corrected.seconds
            if corrected.total:
                search, page, typed = other, corrected, page.query
            page = replace(page, seconds=seconds)
        # both are one search of the user
        (QUERY_SECONDS if parameters.corrects else TYPING_SECONDS).observe(page.seconds)
        return self.show_results(page, search.plan, request, typed=typed)

    def _show_similar(self, url: str, parameters: SearchRequest, request: Request) -> Response:
        search = self._prepare(parameters, request)
        plan, page = self._run(search)
        document = self._documents.find_typed(url, search.access, search.deadline)
        name = name_document(document) if document is not None else ""
        back = find_way_back(request.query_params.get(BACK, ""))
        return self.show_results(keep_best(page), plan, request, similar_to=name, likened=url, back=back)

    def show_results(
        self,
        page: ResultPage,
        plan: QueryPlan,
        request: Request,
        *,
        typed: str = "",
        similar_to: str = "",
        likened: str = "",
        back: str = "",
    ) -> Response:
        """Shows results on the search page.

        Shape: ``typed`` is the query of the user if these are the results of another spelling. ``similar_to`` names the document that the
        results are similar to, "" for other results, and ``likened`` is its URL; ``back`` are the parameters of the list that led to it.
        """
        account = self.site.signin.find_account(request) if self.site.signin is not None else None
        if _is_typing(request):
            # what is half typed is no fault yet: a quote without its partner, a word that no document holds
            page = replace(page, is_loosened=False, warnings=tuple(one for one in page.warnings if one not in plan.warnings))
        elif plan.request.is_unfinished:
            page = replace(page, is_loosened=False)
        chosen = tuple(one for one in _list_chosen(request) if one != UNFINISHED or plan.request.is_unfinished)
        repeated = show_parameter(find_choice(request))
        shown = show_page(page, plan, repeated, typed=typed, chosen=chosen, back=back, likened=likened)
        headers = {**PRIVATE_NO_CACHE, "Content-Security-Policy": PAGE_WITH_SCRIPT}
        # a request that is sent while somebody types shows its results alone
        notices = self.site.signin.notices if self.site.signin is not None and not _is_typing(request) else None
        notice = notices.find(request) if notices is not None else None
        values = {"page": shown, "account": account, "similar_to": similar_to, "notice": notice}
        response = self._pages.respond(request, "search.html", 200, headers, **values)
        if notices is not None:
            notices.forget(request, response)
        return response

    def search(self, request: Request) -> Response:
        """Returns the results of a search as JSON."""
        check_search(request.query_params)
        parameters = read_search(request.query_params)
        if limit := request.query_params.get("limit", ""):
            if request.query_params.get("num"):
                raise BadRequest("parameters num and limit mean the same; give one of them")
            parameters = replace(parameters, num=int(limit))
        is_administrator = find_current_user(request).role is UserRole.ADMINISTRATOR
        text, facet_names = request.query_params.get("cursor", ""), tuple(request.query_params.getlist("facet"))
        selected = tuple(text for text in request.query_params.getlist("select") if text)
        check_facet_names(facet_names)
        check_selections(selected)
        parameters = light_replace(
            parameters,
            selected=selected,
            is_strict=True,
            facet_names=facet_names,
            explains=request.query_params.get("explain", "") == "1" and is_administrator,
            marks_titles=False,
        )
        if text:
            parameters = replace(parameters, cursor=read_cursor(text, parameters))
        _, page = self._search(parameters, request)
        next_cursor = write_cursor(page.next_cursor, parameters)
        body = render_page(page, next_cursor, shows_scores=is_administrator)
        return Response(body, media_type=_JSON, headers={**PRIVATE_NO_CACHE, **link_next(request, next_cursor)})

    def find_document(self, request: Request) -> Response:
        """Returns what the user may know of one document."""
        url = request.query_params.get("url", "")
        if not url:
            raise BadRequest("url= is missing")
        found = self._documents.get_document(url, self._identify(request), find_deadline(request))
        return Response(render_document(found.document, is_searchable=found.is_searchable), media_type=_JSON, headers=PRIVATE_NO_CACHE)

    async def describe(self, _request: Request) -> Response:
        """Returns the JSON resources of this port as OpenAPI."""
        return JSONResponse(build_openapi(SEARCH_PORT))

    async def show_version(self, _request: Request) -> Response:
        """Returns the appliance version that clients expect."""
        return PlainTextResponse(self.site.version)

    def find_problems(self) -> list[str]:
        """Lists the problems that stop the port from working."""
        return self._states.find_problems() + self.site.find_problems()

    def answer_error(self, request: Request, exc: Exception) -> Response:
        """Returns the response to an error of the services."""
        problem = find_problem(exc)
        if problem.status < 500:
            return self._respond_problem(request, problem, find_message(exc))
        # an internal error is for the log, not for the client
        log.error("request_failed", path=request.url.path, status=problem.status, reason=str(exc))
        text = message("the search cannot be answered now; try again later")
        return self._respond_problem(request, problem, text)

    def answer_http_error(self, request: Request, exc: Exception) -> Response:
        """Returns the response to an unknown path or method."""
        if not isinstance(exc, HTTPException):
            return self._respond_problem(request, Problem.INTERNAL, "internal error")
        text = exc.detail if isinstance(exc.detail, Message) else describe_http_error(request, exc)
        response = self._respond_problem(request, problem_of(exc.status_code), text)
        response.headers.update(exc.headers or {})
        return response

    async def answer_failure(self, request: Request, exc: Exception) -> Response:
        """Returns the response to an unexpected error, which the server logs. It passes no middleware, so it has its own headers."""
        if request.url.path.startswith("/api/"):
            return await answer_failure(request, exc)
        text = message("the search cannot be answered now; try again later")
        return self._pages.respond_error(request, Problem.INTERNAL, text, {**PRIVATE_NO_CACHE, **SECURITY_HEADERS})

    def _respond_problem(self, request: Request, problem: Problem, text: str) -> Response:
        if request.url.path.startswith("/api/"):
            return make_answer(problem, text, PRIVATE_NO_CACHE)
        says_more = text != problem.title.lower()
        # A document that the user may not see is answered as one that does not exist: signing in may help with both.
        may_be_hidden = problem is Problem.NOT_FOUND and request.method == "GET" and request.url.path.startswith(_SHOW_DOCUMENTS)
        account = self.site.signin.find_account(request) if may_be_hidden and self.site.signin is not None else None
        return self._pages.respond_error(request, problem, text if says_more else "", PRIVATE_NO_CACHE, account=account)

    def _search(self, parameters: SearchRequest, request: Request) -> tuple[QueryPlan, ResultPage]:
        return self._run(self._prepare(parameters, request))

    def _prepare(self, parameters: SearchRequest, request: Request) -> PlannedSearch:
        return self._searcher.prepare(parameters, self._identify(request), find_deadline(request))

    def _run(self, search: PlannedSearch) -> tuple[QueryPlan, ResultPage]:
        page = self._searcher.find_page(search)
        QUERY_SECONDS.observe(page.seconds)
        return search.plan, page


def _is_typing(request: Request) -> bool:
    """Whether the page sends a request while somebody types: its last word may be half a word, so it is no query yet."""
    return request.headers.get(TYPING_HEADER, "") == "1"


def _list_chosen(request: Request) -> tuple[tuple[str, str], ...]:
    """Lists what the user chose for a list: the results of what they typed, not of another spelling; each result by itself."""
    return tuple((name, value) for name, value in (LITERAL, UNFINISHED, UNGROUPED) if request.query_params.get(name, "") == value)
