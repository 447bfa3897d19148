"""What each route of each port requires: a new route must be added to the table here, with its requirement."""

from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route

from feedmill.http.common.requirements import (
    ANYONE,
    STRICTEST,
    USER,
    DeclaredMount,
    DeclaredRoute,
    Requirement,
    Sender,
    Unmatched,
    build_app,
    find_requirement,
    requirements_of,
)
from feedmill.http.feeds.trust import TRUSTED
from feedmill.model.userrole import UserRole
from tests.asgi import ask_app
from tests.contract.allports import admin_port, dtd_port, feed_port, search_port

ADMIN_PORT = """
GET,HEAD      /healthz                                      anyone
GET,HEAD      /readyz                                       anyone
GET,HEAD      /manual/{path:path}                           anyone
GET,HEAD      /metrics                                      viewer / administrator
GET,HEAD      /api/v1/status                                viewer / administrator
POST          /api/v1/reindex                               viewer / manager
DELETE        /api/v1/datasources/{name}                    viewer / manager
GET,HEAD      /api/v1/settings/frontends/{name}/stylesheet  viewer / manager
PUT           /api/v1/settings/frontends/{name}/stylesheet  viewer / manager
GET,HEAD      /api/v1/settings/policy_acls                  viewer / administrator
GET,HEAD      /api/v1/settings/policy_acls/{name}           viewer / administrator
PUT           /api/v1/settings/policy_acls/{name}           viewer / administrator
DELETE        /api/v1/settings/policy_acls/{name}           viewer / administrator
POST          /api/v1/settings/policy_acls/{name}/import    viewer / administrator
GET,HEAD      /api/v1/settings/{section}                    viewer / manager
GET,HEAD      /api/v1/settings/{section}/{name}             viewer / manager
PUT           /api/v1/settings/{section}/{name}             viewer / manager
DELETE        /api/v1/settings/{section}/{name}             viewer / manager
POST          /api/v1/settings/{section}/{name}/import      viewer / manager
GET,HEAD      /api/v1/policy-acls                           viewer / administrator
GET,HEAD      /api/v1/policy-acls/export                    viewer / administrator
POST          /api/v1/policy-acls/import                    viewer / administrator
GET,HEAD      /api/v1/sources                               viewer / manager
GET,HEAD      /api/v1/sources/{name}/runs                   viewer / manager
POST          /api/v1/sources/{name}/runs                   viewer / manager
GET,HEAD      /api/v1/runs/{id}                             viewer / manager
POST          /api/v1/sources/{name}/pause                  viewer / manager
POST          /api/v1/sources/{name}/resume                 viewer / manager
GET,HEAD      /api/v1/crawl                                 viewer / manager
GET,HEAD      /api/v1/crawl/queue                           viewer / manager
DELETE        /api/v1/crawl/queue                           viewer / manager
GET,HEAD      /api/v1/crawl/entry                           viewer / manager
POST          /api/v1/crawl/recrawl                         viewer / manager
POST          /api/v1/crawl/pause                           viewer / manager
POST          /api/v1/crawl/resume                          viewer / manager
GET,HEAD      /api/v1/why                                   viewer, decision
GET,HEAD      /api/v1/access/explain                        viewer, decision
POST          /api/v1/access/explain                        viewer, decision
GET,HEAD      /api/v1/access/who                            viewer, decision
GET,HEAD      /api/v1/access/changes                        viewer, decision
GET,HEAD      /api/v1/access/list/{finding}                 viewer, decision
GET,HEAD      /api/v1/users                                 administrator
POST          /api/v1/users                                 administrator
PATCH         /api/v1/users                                 administrator
DELETE        /api/v1/users                                 administrator
POST          /api/v1/sessions/end                          viewer / administrator
GET,HEAD      /api/v1/tokens                                administrator
POST          /api/v1/tokens                                administrator
DELETE        /api/v1/tokens/{id}                           administrator
GET,HEAD      /api/v1/audit/verify                          administrator
GET,HEAD      /api/v1/audit/export                          administrator
GET,HEAD      /api/v1/openapi.json                          viewer / administrator
GET,HEAD      /api/docs                                     anyone
GET,HEAD      /api/docs/openapi.json                        anyone
GET,HEAD      /                                             a user, signed in or not
GET,HEAD      /signin                                       a user, signed in or not
POST          /signin                                       a user, signed in or not
GET,HEAD      /signout                                      a user, signed in or not
POST          /signout                                      a user, signed in or not
*             /static                                       anyone
-             /manual...                                    anyone
-             /static/...                                   anyone
-             /api/v1/access/...                            viewer, decision
-             /api/v1/why...                                viewer, decision
-             /api/v1/settings/policy_acls...               viewer / administrator
-             /api/v1/datasources...                        viewer / manager
-             /api/v1/sources...                            viewer / manager
-             /api/v1/crawl...                              viewer / manager
-             /api/v1/settings...                           viewer / manager
-             /api/v1/reindex...                            viewer / manager
-             /api/v1/users...                              administrator
-             /api/v1/tokens...                             administrator
-             /api/v1/audit...                              administrator
-             ...                                           viewer / administrator
"""
SEARCH_PORT = """
GET,HEAD      /                                             a user, signed in or not
GET,HEAD,POST /search                                       a user, signed in or not
GET,HEAD      /cache                                        a user, signed in or not
GET,HEAD      /db/{name}/{keys:path}                        a user, signed in or not
GET,HEAD,POST /texis/search/main.xml                        a user, signed in or not
GET,HEAD,POST /suggest                                      a user, signed in or not
GET,HEAD,POST /cluster                                      a user, signed in or not
GET,HEAD,POST /click                                        a user, signed in or not
GET,HEAD      /seedlist/myserver                            administrator
GET,HEAD      /seedlist/content                             administrator
GET,HEAD      /seedlist/authverify/validateUser             searcher
GET,HEAD      /seedlist/authverify/getACLTokens             searcher
GET,HEAD      /api/v1/search                                a user, signed in or not
GET,HEAD      /api/v1/suggest                               a user, signed in or not
GET,HEAD      /api/v1/documents                             a user, signed in or not
DELETE,GET,HEAD,POST /mcp                                          a user, signed in or not, no foreign reads
POST          /api/v1/retrieve                              a user, signed in or not
GET,HEAD      /api/v1/openapi.json                          a user, signed in or not
GET,HEAD      /api/docs                                     a user, signed in or not
GET,HEAD      /api/docs/openapi.json                        a user, signed in or not
GET,HEAD      /sw_version.txt                               anyone
GET,HEAD      /opensearch.xml                               anyone
GET,HEAD      /search-box.js                                anyone
GET,HEAD      /search-box.json                              anyone
GET,HEAD      /manual                                       anyone
GET,HEAD      /manual/{path:path}                           anyone
GET,HEAD      /frontends/{name}/logo                        anyone
GET,HEAD      /frontends/{name}/style.css                   anyone
GET,HEAD      /healthz                                      anyone
GET,HEAD      /readyz                                       anyone
*             /static                                       anyone
GET,HEAD      /signin                                       a user, signed in or not
POST          /signin                                       a user, signed in or not
GET,HEAD      /security-manager/samlauthn                   a user, signed in or not
POST          /security-manager/samlauthn                   a user, signed in or not
GET,HEAD      /signout                                      a user, signed in or not
POST          /signout                                      a user, signed in or not
GET,HEAD      /signin/oidc/{name}                           a user, signed in or not
GET,HEAD      /signin/oidc/{name}/back                      a user, signed in or not
GET,HEAD      /signin/oidc/{name}/left                      a user, signed in or not
POST          /signin/oidc/{name}/logout                    a user, signed in or not
GET,HEAD      /signin/saml/{name}                           a user, signed in or not
POST          /signin/saml/{name}/acs                       a user, signed in or not, foreign forms
GET,HEAD      /signin/saml/{name}/back                      a user, signed in or not
GET,HEAD      /signin/saml/{name}/metadata                  a user, signed in or not
GET,HEAD      /signin/saml/{name}/slo                       a user, signed in or not, foreign forms
POST          /signin/saml/{name}/slo                       a user, signed in or not, foreign forms
-             /healthz...                                   anyone
-             /readyz...                                    anyone
-             /sw_version.txt...                            anyone
-             /static/...                                   anyone
-             ...                                           a user, signed in or not
"""
FEED_PORT = """
POST          /xmlfeed                                      trusted address, push token, any host, status 200 for other addresses
POST          /xmlfeed/                                     trusted address, push token, any host, status 200 for other addresses
POST          /xmlgroups                                    trusted address, push token, any host, status 200 for other addresses
POST          /xmlgroups/                                   trusted address, push token, any host, status 200 for other addresses
POST          /recvdata.xml                                 address of a dataload profile, push token, status 200 for other addresses
POST          /{script:path}/recvdata.xml                   address of a dataload profile, push token, status 200 for other addresses
DELETE,POST,PUT /api/v1/documents                             trusted address, push token
GET,HEAD      /getbacklogcount                              trusted address, any host
GET,HEAD      /push                                         trusted address, push token
GET,HEAD      /                                             trusted address
GET,HEAD      /gsafeed.dtd                                  trusted address, any host
GET,HEAD      /getdtd                                       trusted address, any host
GET,HEAD      /api/v1/feeds                                 trusted address, push token
GET,HEAD      /api/v1/feeds/{feed_id}                       trusted address, push token
GET,HEAD      /api/v1/feeds/{feed_id}/content               trusted address, push token
POST          /api/v1/feeds/{feed_id}/resend                trusted address, push token
GET,HEAD      /api/v1/documents                             trusted address, push token
GET,HEAD      /api/v1/datasources                           trusted address, push token
GET,HEAD      /api/v1/openapi.json                          trusted address, push token
GET,HEAD      /api/docs                                     trusted address, push token
GET,HEAD      /api/docs/openapi.json                        trusted address, push token
DELETE        /api/v1/datasources/{name}                    trusted address, push token
GET,HEAD      /healthz                                      anyone
GET,HEAD      /readyz                                       anyone
GET,HEAD      /metrics                                      trusted address
GET,HEAD      /manual/{path:path}                           trusted address
-             /api/...                                      trusted address, push token for all data sources
-             /api/v1/feeds/...                             trusted address, push token
-             /api/v1/documents/...                         trusted address, push token
-             /api/v1/datasources/...                       trusted address, push token
-             /api/v1/openapi.json/...                      trusted address, push token
-             ...                                           trusted address, push token
"""
DTD_PORT = """
GET,HEAD      /gsafeed.dtd                                  anyone, any host
GET,HEAD      /getdtd                                       anyone, any host
GET,HEAD      /healthz                                      anyone
GET,HEAD      /readyz                                       anyone
-             ...                                           anyone
"""


def table_of(app: Starlette) -> str:
    return "".join(f"{methods:<13} {path:<45} {requirement}\n" for methods, path, requirement in requirements_of(app).iter_rows())


@pytest.mark.parametrize(
    ("build", "table"),
    [(admin_port, ADMIN_PORT), (search_port, SEARCH_PORT), (feed_port, FEED_PORT), (dtd_port, DTD_PORT)],
    ids=["admin", "search", "feed", "dtd"],
)
def test_every_route_requires_what_the_table_says(tmp_path: Path, build: Any, table: str) -> None:
    assert table_of(build(tmp_path)) == table.lstrip("\n")


def show(_request: object) -> PlainTextResponse:
    return PlainTextResponse("inside")


def build(*routes: BaseRoute) -> Starlette:
    return build_app(routes, senders=frozenset({Sender.ANYONE, Sender.USER}), unmatched=Unmatched(otherwise=USER), middleware=[])


@pytest.mark.parametrize(
    "route",
    [Route("/", show), Mount("/", PlainTextResponse("inside")), DeclaredRoute("/", show, requires=TRUSTED)],
    ids=["route", "mount", "of another port"],
)
def test_app_with_a_route_without_a_requirement_that_it_checks_is_not_built(route: BaseRoute) -> None:
    with pytest.raises(TypeError):
        build(DeclaredRoute("/a", show, requires=ANYONE), route)
    with pytest.raises(TypeError):
        build_app([], senders=frozenset({Sender.USER}), unmatched=Unmatched(otherwise=ANYONE), middleware=[])


VIEW = Requirement(sender=Sender.USER, read_role=UserRole.VIEWER)
MANAGE = Requirement(sender=Sender.USER, write_role=UserRole.MANAGER)
UNMATCHED = Unmatched(otherwise=USER, prefixes={"/a": ANYONE, "/a/b": VIEW})


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/one", VIEW),
        ("HEAD", "/one", VIEW),
        ("PUT", "/one", MANAGE),
        ("OPTIONS", "/one", VIEW),
        ("GET", "/one/", USER),
        ("GET", "/one\n", VIEW),
        ("POST", "/under", USER),
        ("POST", "/under/x", MANAGE),
        ("GET", "/a", ANYONE),
        ("GET", "/ab", ANYONE),
        ("GET", "/a/bc", VIEW),
    ],
)
def test_requirement_is_found_as_the_router_finds_the_route(method: str, path: str, found: Requirement) -> None:
    routes = [
        DeclaredRoute("/one", show, methods=["GET"], requires=VIEW),
        DeclaredRoute("/one", show, methods=["PUT"], requires=MANAGE),
        DeclaredMount("/under", PlainTextResponse("inside"), requires=MANAGE),
    ]
    seen = []

    class Check:
        def __init__(self, app: Any) -> None:
            self._app = app

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            seen.append(find_requirement(scope))
            await self._app(scope, receive, send)

    senders = frozenset({Sender.ANYONE, Sender.USER})
    ask_app(build_app(routes, senders=senders, unmatched=UNMATCHED, middleware=[Middleware(Check)]), method, path)
    assert seen == [found]


def test_a_request_without_a_requirement_is_refused_most_strictly() -> None:
    assert find_requirement({"type": "http"}) is STRICTEST
    assert STRICTEST.role_for("GET") is STRICTEST.role_for("POST") is UserRole.ADMINISTRATOR
    assert not STRICTEST.allows_foreign_forms
    assert not STRICTEST.allows_any_host
