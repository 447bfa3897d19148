"""The applications of all ports, with every route; what is behind them answers nothing."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from starlette.applications import Starlette

from feedmill.adapters.identity.oidc.provider import OidcOptions, OidcProvider
from feedmill.adapters.identity.saml.metadata import read_metadata
from feedmill.adapters.identity.saml.provider import SamlIdentityProvider, SamlOptions
from feedmill.http.admin.api.access import AccessTools
from feedmill.http.admin.api.policies import policy_routes
from feedmill.http.admin.app import AdminSignIn, admin_app, metrics_route
from feedmill.http.common.manuallink import manual_route
from feedmill.http.feeds.app import dtd_app, gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.feeds.trust import TRUSTED
from feedmill.http.search.stylesheetstore import StylesheetStore
from feedmill.services.crawling.requesting import CrawlRequests
from feedmill.services.diagnosis import Diagnosing
from feedmill.services.feeds.intake import Intake
from feedmill.services.pulling.requesting import PullRequests
from feedmill.settings import load_settings
from feedmill.settings.editing import SettingsEditor
from tests.builders.administration import make_administration
from tests.contract.samlharness import our_key
from tests.contract.samlserver import SamlServer
from tests.contract.signinharness import open_signin_harness
from tests.fakes import ManualClock, SilentNotifier


def admin_port(folder: Path) -> Starlette:
    harness = open_signin_harness(folder)
    store = harness.search.store
    editor = SettingsEditor(store, lambda: load_settings(None, {}), SilentNotifier())
    administration = make_administration(
        settings=editor,
        stylesheets=cast(StylesheetStore, SimpleNamespace(check=None, get=None, put=None)),
        access=cast(AccessTools, SimpleNamespace()),
        policy_routes=policy_routes(store, editor),
        pulling=cast(PullRequests, SimpleNamespace()),
        crawling=cast(CrawlRequests, SimpleNamespace()),
        diagnosing=cast(Diagnosing, SimpleNamespace()),
    )
    return admin_app(administration, "token", AdminSignIn(tools=harness.page_tools, signing=harness.signing))


def search_port(folder: Path) -> Starlette:
    openid = OidcProvider(OidcOptions(name="o", label="", namespace="a", issuer="https://id.example", client_id="x"), ManualClock())
    about = read_metadata(SamlServer(now=ManualClock()).metadata())
    saml = SamlIdentityProvider(SamlOptions(name="s", label="", namespace="b", provider=about, key=our_key()), ManualClock())
    return cast(Starlette, open_signin_harness(folder, openid=(openid,), saml=(saml,)).app)


def feed_port(_folder: Path) -> Starlette:
    intake = cast(Intake, SimpleNamespace(store=None))
    routes = [metrics_route(bytes, TRUSTED), manual_route(lambda: None, TRUSTED)]
    return gate_app(config=GateConfig, intake=intake, dtd="", count_feed=lambda *_: None, find_problems=list, routes=routes)


def dtd_port(_folder: Path) -> Starlette:
    return dtd_app("", list)
