"""Builds the services that answer searches, with late binding (authorization by other servers) if it is configured."""

import os
import time
from collections.abc import Callable

from feedmill.adapters.branding import LocalBrandingFiles
from feedmill.adapters.clicklog import FolderClickLog
from feedmill.adapters.clustering import find_clusters
from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.manual import PackagedManual
from feedmill.adapters.sharedcounts import open_places
from feedmill.adapters.xslt.folder import StylesheetFolder
from feedmill.adapters.xslt.transformer import ProcessTransformer
from feedmill.bootstrap.access import early_order_of
from feedmill.bootstrap.context import COUNTS, AppContext, utc_now
from feedmill.bootstrap.pullsources import build_adaptor_authorizer
from feedmill.bootstrap.searchconfig import build_search_config_provider
from feedmill.bootstrap.semantic import build_semantic_ranking
from feedmill.http.pages.branding import Brands
from feedmill.http.search.frontends import StylesheetEngine
from feedmill.model.authorization import AuthorizationRule, LateLimits, Mechanism
from feedmill.model.ranking import Ranking
from feedmill.model.serving import Branding
from feedmill.ports.counts import SearchPlaces
from feedmill.ports.manual import Manual
from feedmill.runtime.roles import STYLESHEETS
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.authorization.authorizer import Authorizer
from feedmill.services.authorization.circuitbreaker import CircuitBreaker
from feedmill.services.authorization.circuitnote import CircuitNote
from feedmill.services.authorization.connectorauthorizer import ConnectorAuthorizer
from feedmill.services.authorization.denyauthorizer import DenyAuthorizer
from feedmill.services.authorization.headauthorizer import HeadAuthorizer
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.authorization.samlauthorizer import SamlAuthorizer
from feedmill.services.authorization.usertokens import UserTokens
from feedmill.services.searching.enginethreads import LEAST_THREADS, EngineThreads
from feedmill.services.searching.searchservices import SearchServices, wire_search_services
from feedmill.services.searching.searchstate import SearchStates
from feedmill.settings.authorization import limits_of, rules_of
from feedmill.settings.pulling import list_token_servers
from feedmill.telemetry import metrics

__all__ = ["build_circuit_note", "build_clicks", "build_search_services", "find_clusters"]


def build_search_services(context: AppContext) -> SearchServices:
    """Builds the services that answer searches."""
    ranking = Ranking(**context.settings.ranking.model_dump())
    limits = limits_of(context.settings.late_binding, context.settings.mechanisms)
    # one for all, because it reports all servers whose circuit is open
    breaker = CircuitBreaker(time.monotonic, limits, build_circuit_note(context))
    generations = context.index()
    return wire_search_services(
        context.store,
        lambda name: generations.open_index(name, ranking),
        context.blobs,
        search_config=build_search_config_provider(context),
        permissions=PermissionCache(context.store, order=early_order_of(context)),
        late=_build_late_binding(context, limits, breaker),
        tokens=_build_user_tokens(context, breaker),
        semantic=build_semantic_ranking(context),
        threads=EngineThreads(max(LEAST_THREADS, (os.cpu_count() or 1) // context.place.processes)),
    )


def build_circuit_note(context: AppContext) -> CircuitNote:
    """Builds the note of the authorization servers whose circuit is open."""
    return CircuitNote(context.store, utc_now, context.place.number)


def open_search_places(context: AppContext) -> SearchPlaces:
    """Opens the places in which clients search, which all processes share."""
    return open_places(context.data / COUNTS / "searches", number=context.place.number, processes=context.place.processes)


def build_manual() -> Manual:
    """Returns the manual of this version."""
    return PackagedManual()


def build_brands(states: SearchStates) -> Brands:
    """Builds the brandings of the front ends, as the search config in force has them."""

    def find_branding(name: str) -> Branding | None:
        frontend = states.read_config().serving.frontends.get(name)
        return frontend.branding if frontend is not None else None

    return Brands(find_branding, LocalBrandingFiles())


def build_clicks(context: AppContext) -> FolderClickLog:
    """Builds the log of clicks on results."""
    return FolderClickLog(context.data / "clicks", context.settings.search.click_days, context.counts("clicks"))


def _build_late_binding(context: AppContext, limits: LateLimits, breaker: CircuitBreaker) -> LateBinding | None:
    """Builds late binding; None if nothing is configured that decides."""
    client, settings = BlockingHttpClient(), context.settings
    rules = rules_of(settings.authorization, settings.mechanisms, settings.sources)
    if not rules and not settings.authorization:
        return None
    make: dict[Mechanism, Callable[[AuthorizationRule], Authorizer]] = {
        Mechanism.SAML: lambda rule: SamlAuthorizer(rule, client, utc_now),
        Mechanism.CONNECTOR: lambda rule: ConnectorAuthorizer(rule, client),
        Mechanism.HEAD: lambda rule: HeadAuthorizer(rule, client, time.monotonic),
        Mechanism.ADAPTOR: lambda rule: build_adaptor_authorizer(context, rule),
        Mechanism.DENY: DenyAuthorizer,
    }
    authorizers = [make[rule.mechanism](rule) for rule in rules]
    return LateBinding(authorizers, time.monotonic, limits, counts=metrics.LateMetrics(), breaker=breaker)


def _build_user_tokens(context: AppContext, breaker: CircuitBreaker) -> UserTokens | None:
    """Builds what finds the ACL tokens of users; None if no source names a server for it."""
    servers = list_token_servers(context.settings.sources)
    return UserTokens(servers, BlockingHttpClient(), time.monotonic, breaker) if servers else None


def build_stylesheet_engine(context: AppContext) -> StylesheetEngine:
    """Builds the engine for stylesheets; it starts processes when they are first needed."""
    transformer = ProcessTransformer(max(1, STYLESHEETS.most // context.place.processes))
    return StylesheetEngine(repository=StylesheetFolder(context.data / "stylesheets"), transformer=transformer)
