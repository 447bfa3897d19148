"""The entry points of the roles that serve ports: gate, web and admin. Each serves until SIGTERM and may be killed at any time."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from starlette.applications import Starlette

from feedmill.bootstrap.access import build_access_changes, build_access_review, build_explaining
from feedmill.bootstrap.audit import open_auditing
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.crawllinks import build_crawl_requests
from feedmill.bootstrap.diagnosis import build_diagnosing
from feedmill.bootstrap.intake import build_intake
from feedmill.bootstrap.pullrequests import build_pull_requests
from feedmill.bootstrap.pullsources import find_rows
from feedmill.bootstrap.queues import build_queue_watch
from feedmill.bootstrap.search import (
    build_brands,
    build_circuit_note,
    build_clicks,
    build_manual,
    build_search_services,
    build_stylesheet_engine,
    find_clusters,
    open_search_places,
)
from feedmill.bootstrap.semantic import build_semantic_note
from feedmill.bootstrap.signin import build_push_check, build_signing
from feedmill.bootstrap.signinproviders import make_openid, make_saml
from feedmill.core.urls.networks import Networks, parse_allowed
from feedmill.http.admin.api.access import AccessTools
from feedmill.http.admin.api.policies import policy_routes
from feedmill.http.admin.app import Administration, AdminSignIn, admin_app, metrics_route
from feedmill.http.admin.status import read_status
from feedmill.http.common.manuallink import FindSearchPlace, SearchPlace, manual_route
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.http.common.searchthreads import SearchBounds
from feedmill.http.feeds.app import dtd_app, gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.feeds.pushtoken import PushTokens
from feedmill.http.feeds.trust import TRUSTED
from feedmill.http.pages.rendering import Pages
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.frontends import FrontEnds
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.http.signin.build import LOGGED, SignInOptions, build_page_tools, build_signin
from feedmill.model.topic import Topic
from feedmill.runtime.admintoken import read_token
from feedmill.runtime.roles import Ports
from feedmill.runtime.runstate import find_server, find_start
from feedmill.runtime.server.listeners import make_listeners
from feedmill.runtime.server.uvicorn_runner import serve
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.overview import read_gauges
from feedmill.services.queues import QueueWatch
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.signin.signing import ensure_key
from feedmill.services.signin.throttle import Throttle
from feedmill.settings import read_snapshot
from feedmill.settings.editing import SettingsEditor
from feedmill.settings.pulling import list_token_servers
from feedmill.settings.secrets import read_secret
from feedmill.telemetry import metrics
from feedmill.wire.gsafeed.dtd import DTD

LONGEST_UPLOAD_SECONDS = 3600.0
LONGEST_RESPONSE_SECONDS = 600.0
"""How long a draining process serves open requests with the previous settings."""


def run_gate(context: AppContext, ports: Ports) -> None:
    """Receives feeds, on the feed port and the DTD port."""
    settings, auditing = context.settings.gate, open_auditing(context.data, context.settings)
    config = GateConfig(
        trusted=Networks.parse(settings.trusted),
        require_token=settings.require_token,
        max_feed_bytes=settings.max_feed_bytes,
        max_inflation=settings.max_inflation,
        server_header=settings.server_header,
        allow_origins=settings.allow_origins,
        profiles={profile.name: parse_allowed(profile.allowed) for profile in context.settings.dataload.profiles},
    )
    app = gate_app(
        config=lambda: config,
        intake=build_intake(context),
        dtd=DTD,
        count_feed=metrics.count_feed,
        find_problems=_problems_of(context),
        routes=[metrics_route(_metrics_of(context), TRUSTED), manual_route(_search_place_of(context), TRUSTED)],
        auditing=auditing,
        tokens=PushTokens(
            find=build_push_check(context, read_token(context.data)).find_push_right,
            auditing=auditing,
            throttle=Throttle(LOGGED, time.monotonic),
        ),
        find_stuck=_watch_of(context).find_for,
    )
    apps = {"gate": app, "gate_tls": app, "dtd": dtd_app(DTD, _problems_of(context))}
    _serve(context, ports, apps, drain_seconds=LONGEST_UPLOAD_SECONDS)


def run_web(context: AppContext, ports: Ports) -> None:
    """Serves searches, on the search port."""
    settings = context.settings
    for note in (build_circuit_note(context), build_semantic_note(context)):
        note.clear(context.place.processes)
    services, signing, token = build_search_services(context), build_signing(context), read_token(context.data)
    frontends = FrontEnds(
        lambda: {name: frontend.stylesheet for name, frontend in services.states.read_config().serving.frontends.items()},
        build_stylesheet_engine(context),
        image_sources=settings.search.image_sources,
        reloads=context.counts("reloads"),
    )
    pages = Pages(build_brands(services.states))
    signin = build_signin(signing, replace(_signin_options_of(context, token), pages=pages))
    site = SearchSite(
        find_problems=_problems_of(context),
        allow_origins=settings.search.allow_origins,
        frontends=frontends,
        copies=CachedCopies(services.documents, context.blobs, services.states),
        find_clusters=find_clusters,
        clicks=build_clicks(context),
        manual=build_manual(),
        pages=pages,
        signin=signin,
        find_profile=settings.dataload.find_profile,
        find_rows=find_rows(settings),
        seedlist_key=ensure_key(context.store),
        history=timedelta(days=settings.history.days),
        auditing=signing.auditing,
        forwarded_cookies=frozenset(name for server in list_token_servers(settings.sources) for name in server.cookies),
        bounds=SearchBounds(
            deadline_seconds=settings.search.deadline_seconds,
            at_once=settings.search.searches_per_client,
            places=open_search_places(context),
            processes=context.place.processes,
        ),
    )
    app = search_app(services, site)
    if ports.is_successor:
        # otherwise signed-in users would wait for it, while the predecessor still serves them without a wait
        services.permissions.load()
        if services.semantic is not None:
            services.semantic.load()
    followers = [services.permissions.refresh_regularly, *([] if services.semantic is None else [services.semantic.follow])]
    with _run_beside(followers):
        _serve(context, ports, {"search": app}, drain_seconds=LONGEST_RESPONSE_SECONDS)


def run_admin(context: AppContext, ports: Ports) -> None:
    """Serves administrators, on the admin port."""
    signing, token = build_signing(context), read_token(context.data)
    tools = replace(build_page_tools(signing, _signin_options_of(context, token)), offers_search=False)
    app = admin_app(_administration_of(context), token, AdminSignIn(tools=tools, signing=signing))
    _serve(context, ports, {"admin": app}, drain_seconds=LONGEST_RESPONSE_SECONDS)


def _serve(context: AppContext, ports: Ports, apps: Mapping[str, Starlette], *, drain_seconds: float) -> None:
    listeners = make_listeners(context.settings, ports.sockets, apps)
    ports.take_over()
    serve(
        listeners,
        drain_seconds=drain_seconds,
        connections=ports.connections,
        drain_reader=ports.drain_reader,
        on_drained=ports.report_drained,
    )


@contextmanager
def _run_beside(followers: Sequence[Callable[[threading.Event], None]]) -> Iterator[None]:
    """Has caches follow the store, each in a thread."""
    is_over = threading.Event()
    threads = [threading.Thread(target=follow, args=(is_over,), name="follower", daemon=True) for follow in followers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(5)


def _signin_options_of(context: AppContext, token: str) -> SignInOptions:
    settings, proxy = context.settings.signin, context.settings.signin.proxy
    trust = ProxyTrust(
        trusted=Networks.parse(proxy.trusted),
        user_header=proxy.user_header,
        groups_header=proxy.groups_header,
        namespace=proxy.namespace,
        secret_header=proxy.secret_header,
        secret=read_secret(proxy.secret, proxy.secret_file),
    )
    return SignInOptions(
        proxy=trust,
        client_proxies=Networks.parse(settings.client_address.trusted),
        client_header=settings.client_address.header,
        key=ensure_key(context.store),
        admin_token=token,
        takes_basic=settings.basic,
        secure_cookies=settings.secure_cookies,
        public_url=settings.public_url,
        openid=make_openid(settings, utc_now),
        saml=make_saml(settings, utc_now, context.store),
    )


def _administration_of(context: AppContext) -> Administration:
    def reindex() -> dict[str, str]:
        folder = request_rebuild(context.store)
        context.notifier.notify(Topic.REBUILD)
        return {"folder": folder}

    def remove_source(name: str, destroy: bool) -> None:
        build_intake(context).remove_and_wait(name, destroy=destroy, client="admin port")

    editor = SettingsEditor(context.store, lambda: read_snapshot(context.data), context.notifier)
    pulling = build_pull_requests(context)
    return Administration(
        read_status=lambda: read_status(context.store, context.data, read_snapshot(context.data), _watch_of(context), pulling),
        reindex=reindex,
        remove_source=remove_source,
        render_metrics=_metrics_of(context),
        find_problems=_problems_of(context),
        settings=editor,
        stylesheets=StylesheetStore(editor, build_stylesheet_engine(context)),
        access=AccessTools(
            explaining=build_explaining(context), changes=build_access_changes(context), review=build_access_review(context)
        ),
        policy_routes=policy_routes(context.store, editor),
        pulling=pulling,
        crawling=build_crawl_requests(context),
        diagnosing=build_diagnosing(context),
        find_search_place=_search_place_of(context),
    )


def _search_place_of(context: AppContext) -> FindSearchPlace:
    def find_place() -> SearchPlace | None:
        server = find_server(context.data)
        if server is None or "search" not in server.addresses:
            return None
        port = int(server.addresses["search"].rpartition(":")[2])
        return SearchPlace(port=port, speaks_tls="search" in server.tls, public_url=context.settings.signin.public_url)

    return find_place


def _metrics_of(context: AppContext) -> Callable[[], bytes]:
    def restarts() -> dict[str, int]:
        server = find_server(context.data)
        return {name: role.restarts for name, role in server.roles.items()} if server else {}

    watch = _watch_of(context)
    return lambda: metrics.render_metrics(lambda: read_gauges(context.store, utc_now()), restarts, watch.read_oldest)


def _problems_of(context: AppContext) -> Callable[[], list[str]]:
    """Lists the queues that do not move; looking for them reads the store, whose errors count as well."""
    return _watch_of(context).find_problems


def _watch_of(context: AppContext) -> QueueWatch:
    return build_queue_watch(context, lambda: find_start(context.data))
