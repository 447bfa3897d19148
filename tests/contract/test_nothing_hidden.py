"""Two worlds, one of which holds documents that the user may not see, must answer alike: every route, every output, every parameter."""

import inspect
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from feedmill.adapters.clustering import find_clusters
from feedmill.adapters.identity.oidc.provider import OidcOptions, OidcProvider
from feedmill.adapters.identity.saml.metadata import read_metadata
from feedmill.adapters.identity.saml.provider import SamlIdentityProvider, SamlOptions
from feedmill.core.access.principals import read_identity
from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.resource import SEARCH_PORT
from feedmill.http.search import gsaparameters, parameters
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.dataload import Profile
from feedmill.model.document import Attributes, Document
from feedmill.model.facets import Facet
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.model.policyacl import PolicyAcl
from feedmill.model.serving import DEFAULT_FRONTEND, FrontEnd, Serving
from feedmill.runtime import servingroles
from feedmill.services.access.policykeeping import adopt_policies
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.searchservices import SearchServices
from tests.asgi import Answer
from tests.builders.access import ANN, FOR_ANN, acl, permit
from tests.contract.samlharness import our_key
from tests.contract.samlserver import SamlServer
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness
from tests.contract.signinharness import open_signin_harness
from tests.fakes import ManualClock

BOB = read_identity("bob", "Default", ["staff"])
SECRET = "zyxsecret"
HIDDEN = tuple(f"http://secret.example.com/{SECRET}{number}" for number in range(7))
OPEN = tuple(f"http://open.example.com/page{number}" for number in range(6))
WORDS = "merger engine trade gearbox manual"

QUERIES = (
    *(
        "merger",
        "trade merger",
        '"engine trade"',
        "merger OR engine",
        "-gearbox merger",
        "merg*",
        "mergr",
        "trad",
        SECRET,
        f"{SECRET}1",
        "",
    ),
    *(f"info:{HIDDEN[0]}", f"cache:{HIDDEN[0]}", f"cache:abcdefghijkl:{HIDDEN[1]}", f"related:{HIDDEN[0]}", f"link:{HIDDEN[1]}"),
    *(f"related:{OPEN[0]}", f"link:{OPEN[0]}", "site:secret.example.com", "site:example.com", "-site:open.example.com merger"),
    *(f"inurl:{SECRET}", f"allinurl:{SECRET}", f"intitle:{SECRET}", f"allintitle:merger {SECRET}", f"intext:{SECRET}", "filetype:html"),
    *("ext:html", "daterange:2026-01-01..2026-12-31 merger", "10..900000", f"inmeta:kind={SECRET}", "inmeta:kind", "inmeta:hiddenname"),
    *(f"inmeta:kind~{SECRET}", "inmeta:price:1..900000", "inmeta:when:daterange:2020-01-01..", "merger kind"),
)
QUERY_ROUTES = {
    "/": (
        {},
        {"num": "100"},
        {"match": "any"},
        {"start": "3"},
        {"sort": "date:D:S:d1"},
        {"facet": "kind"},
        {"select": f"kind:{SECRET}"},
        {"client": "default_frontend"},
    ),
    "/search": (
        *({"access": access} for access in ("p", "s", "a", "x")),
        {"access": "a", "output": "xml", "getfields": "*", "filter": "0", "num": "100"},
        *({"access": access, "output": "atom", "num": "2", "start": start} for access in ("p", "s", "a") for start in ("0", "2")),
        {"access": "a", "rc": "1", "secure_estimates": "1", "numgm": "5"},
        {"access": "s", "secure_estimates": "1", "start": "1"},
        {"access": "a", "sort": "meta:price:A", "num": "100", "filter": "0"},
        {"access": "a", "sort": "date:D:R:d1", "client": "shop", "dnavs": "inmeta:kind=open"},
        {"access": "a", "requiredfields": f"kind:{SECRET}"},
        {"access": "a", "select": f"kind:{SECRET}"},
        {"access": "a", "partialfields": f"kind:{SECRET}"},
        {"access": "a", "as_sitesearch": "secret.example.com"},
        {"access": "a", "as_q": SECRET, "as_lq": HIDDEN[0], "as_occt": "title"},
        {"access": "a", "proxystylesheet": "default_frontend", "output": "xml_no_dtd"},
        {"access": "a", "lr": "lang_fr", "entqr": "3", "site": "default_collection"},
        {"access": "a", "as_dt": "e", "as_sitesearch": "secret.example.com", "num": "100"},
        {"access": "a", "as_dt": "i", "sitesearch": "secret.example.com"},
        {"access": "a", "as_epq": "trade merger", "as_oq": f"{SECRET} open", "as_eq": f"{SECRET}3"},
        {"access": "a", "as_ft": "e", "as_filetype": "html", "ie": "latin1", "oe": "utf-16"},
        {"access": "a", "as_ft": "i", "as_filetype": "html", "as_occt": "url"},
        {"access": "a", "proxystylesheet": "default_frontend", "proxyreload": "1", "proxycustom": "<HOME/>"},
    ),
    "/suggest": (
        *({"access": access, "format": form} for access in ("p", "a") for form in ("os", "rich")),
        {"access": "s", "max": "100"},
        {"callback": "f", "access": "a"},
        {"token": "trad", "max_matches": "100", "access": "a"},
        {"token": SECRET[:3], "access": "s", "site": "default_collection", "client": "shop"},
    ),
    "/cluster": ({}, {"access": "a"}, {"access": "s"}, {"access": "a", "coutput": "xml"}, {"access": "a", "coutput": "json"}),
    "/api/v1/search": (
        *({"match": match, "num": "1000", "getfields": "*"} for match in ("all", "any", "auto")),
        {"facet": "kind", "explain": "1"},
        {"facet": "hiddenname", "num": "0"},
        *({"facet": f"@{name}"} for name in ("filetype", "date", "source", "language", "site")),
        *({"select": f"kind:{SECRET}", "facet": name} for name in ("kind", "@site")),
        *({"select": text, "facet": "@date"} for text in ("@site:secret.example.com", "@date:2020-01-01..", "kind:a:b", "price:1..900000")),
        {"sort": "meta:price:D", "requiredfields": "kind", "start": "1"},
        {"partialfields": f"kind:{SECRET}", "numgm": "5"},
        {"as_epq": "trade merger", "as_oq": f"{SECRET} open", "as_eq": f"{SECRET}3", "num": "100"},
        {"as_dt": "e", "as_ft": "e", "as_filetype": "html", "sitesearch": "secret.example.com"},
        {"cursor": "", "num": "2"},
        {"limit": "2"},
    ),
    "/api/v1/suggest": ({}, {"num": "50"}, {"limit": "3"}),
}
PROFILE_ROUTES = {
    "/texis/search/main.xml": (
        {"pr": "hr"},
        {"pr": "hr", "rpp": "2", "jump": "1", "order": "dd"},
        {"pr": "hr", "order": "kind", "sq": "secret.example.com", "dropXSL": "1"},
        {"pr": "hr", "category": SECRET, "requireAllCategories": "Y"},
        {"pr": "hr", "tq": SECRET, "mdgt": "2020-01-01"},
        {"pr": "hr", "dq": "3", "cq": "1"},
        {"pr": "hr", "cqall": "1,2"},
        {"pr": "hr", "uq": "http://secret.example.com/*", "mdlt": "2030-01-01"},
        {"pr": "hr", "uq": f"*{SECRET}*", "mtq": "text/*"},
        {"pr": ""},
        {"pr": "other"},
    )
}
URL_ROUTES = {
    "/cache": ({}, {"q": "merger"}),
    "/api/v1/documents": ({},),
    "/click": ({"ct": "c", "cd": "1", "r": "2", "q": "merger", "site": "x"}, {"src_id": "1", "s": "x"}),
}
POSTED_ROUTES: dict[str, tuple[dict[str, Any], ...]] = {"/api/v1/retrieve": ({}, {"num": 50}, {"num": 1, "site": "default_collection"})}
"""Routes whose parameters are members of a JSON object."""
SILENT = {
    *(
        "/api/docs",
        "/api/docs/openapi.json",
        "/search-box.js",
        "/search-box.json",
        "/manual",
        "/manual/{path:path}",
        "/opensearch.xml",
        "/frontends/{name}/logo",
        "/frontends/{name}/style.css",
    ),
    *("/sw_version.txt", "/healthz", "/readyz", "/static", "/api/v1/openapi.json", "/signin", "/signout", "/security-manager/samlauthn"),
    *(f"/signin/oidc/{{name}}{step}" for step in ("", "/back", "/left", "/logout")),
    *(f"/signin/saml/{{name}}{step}" for step in ("", "/acs", "/back", "/metadata", "/slo")),
}
"""Routes that carry nothing of any document."""
MCP = "/mcp"
"""The route of the tools of assistants, which a protocol calls."""
ROWS = "/db/{name}/{keys:path}"
"""The route of rows, which needs a database; ``tests/acceptance/test_pull_sources.py`` has users who may not see a row."""
ADMINISTERED = {"/seedlist/myserver", "/seedlist/content"}
"""Routes for administrators, who may see all documents; ``tests/contract/test_seedlist_serving.py`` has users who are not."""
OWN = {"/seedlist/authverify/validateUser", "/seedlist/authverify/getACLTokens"}
"""Routes that name the user, and the tokens of what the user may see; also in ``tests/contract/test_seedlist_serving.py``."""
OF_NO_DOCUMENT = {
    *("encoding", "method", "to", "code", "state", "iss", "error", "error_description", "RelayState", "SAMLRequest", "SAMLResponse"),
    *("btnG", "entqrm", "entsp", "exclude_apps", "gsaRequestID", "inlang", "tlen", "ud", "ulang", "wc", "wc_mc"),
}
"""Names that no request for documents reads, or that the answer only repeats."""

_TIMES = re.compile(rb"<TM>[\d.]+</TM>|[\d.]+(?: seconds| s\b)|\"seconds\": ?[\d.]+")


def make_documents(harness: SearchHarness, urls: tuple[str, ...], secret: str) -> list[Document]:
    return [
        harness.make(
            url,
            f"{WORDS} {secret} {number}00000 text",
            title=f"Trade merger {secret or 'open'} {number}",
            metadata=(("kind", secret or "open"), ("price", str(number + 7)), *((("hiddenname", secret),) if secret else ())),
            attributes=Attributes(last_modified=NOW),
            language="fr" if secret else "en",
        )
        for number, url in enumerate(urls)
    ]


def make_world(folder: Path, *, has_hidden: bool) -> SearchHarness:
    """Makes a harness of public documents and, on request, of some that only ann may see, each guarded in another way."""
    folder.mkdir()
    harness = open_harness(folder)
    facets = (Facet(name="kind", label="Kind"), Facet(name="hiddenname", label="Hidden"))
    harness.serving = Serving(frontends={DEFAULT_FRONTEND: FrontEnd(name=DEFAULT_FRONTEND, facets=facets)})
    harness.add(make_documents(harness, OPEN, ""))
    change_policies(harness, after=False)
    if has_hidden:
        folder_url = "http://secret.example.com/folder"
        group = Principal(scope=Scope.GROUP, name="staff")
        acls = {
            HIDDEN[0]: FOR_ANN,
            HIDDEN[1]: acl(*FOR_ANN.entries, Entry(access=Access.DENY, principal=group)),
            HIDDEN[2]: Acl(inherit_from=folder_url),
            folder_url: replace(FOR_ANN, inheritance_type=InheritanceType.PARENT_OVERRIDES),
        }
        documents = make_documents(harness, HIDDEN, SECRET)
        harness.add([*documents[:3], *(replace(document, secure=True) for document in documents[3:6])], acls=acls)
        # fed as public: no policy makes it secure, but a page that guards itself is hidden
        harness.add([replace(harness.make(HIDDEN[6], f"{WORDS} {SECRET}", own=(("google:aclusers", "x"),)))])
    change_policies(harness, after=True)
    return harness


def change_policies(harness: SearchHarness, *, after: bool) -> None:
    """Guards two of the hidden documents by policies alone; of one the policy changes after it was indexed, and no sweep has been since."""
    staff = permit("staff", scope=Scope.GROUP)
    policies = [
        PolicyAcl(pattern=f"^{HIDDEN[4]}$", entries=FOR_ANN.entries),
        PolicyAcl(pattern="secret.example.com/zyxsecret5", entries=(staff,)),
        PolicyAcl(pattern="contains:zyxsecret6", entries=(staff,)),
    ]
    if after:
        policies.append(PolicyAcl(pattern=f"^{HIDDEN[5]}$", entries=FOR_ANN.entries))
    with harness.store.writing() as unit:
        adopt_policies(unit, policies)


def make_site(services: SearchServices, harness: SearchHarness, who: Identity) -> SearchSite:
    return SearchSite(
        identify=lambda _request: services.filters.find_filter(who),
        copies=CachedCopies(services.documents, harness.blobs, services.states),
        clock=lambda: NOW,
        find_clusters=find_clusters,
        find_profile=lambda name: Profile(name=name) if name == "hr" else None,
    )


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SearchHarness, SearchHarness]]:
    root = tmp_path_factory.mktemp("worlds")
    made = make_world(root / "with", has_hidden=True), make_world(root / "without", has_hidden=False)
    yield made
    for harness in made:
        harness.store.close()


def requests() -> Iterator[tuple[str, str]]:
    for path, variants in QUERY_ROUTES.items():
        for query, given in product(QUERIES, variants):
            # a phrase beside it shows documents that do not hold "trad", where stems of the whole index's languages would be marked
            if query == "trad" and "as_epq" in given:
                continue
            yield path, urlencode({"q": query, **given})
    for path, variants in PROFILE_ROUTES.items():
        for query, given in product(QUERIES, variants):
            yield path, urlencode({"query": query, **given})
    for path, variants in URL_ROUTES.items():
        for url, given in product((*HIDDEN, "http://secret.example.com/folder"), variants):
            yield path, urlencode({"url": url, **given})


@pytest.mark.parametrize("who", [ANONYMOUS_IDENTITY, BOB], ids=["signed out", "bob"])
def test_posted_objects_answer_as_in_a_world_without_what_is_hidden(worlds: tuple[SearchHarness, SearchHarness], who: Identity) -> None:
    found = [harness.services() for harness in worlds]
    apps = [search_app(services, make_site(services, harness, who)) for services, harness in zip(found, worlds, strict=True)]
    for path, variants in POSTED_ROUTES.items():
        for query, given in product(QUERIES, variants):
            posted = json.dumps({"query": query, **given})
            with_hidden, without = (without_times(ask(app, path, "", "POST", posted)) for app in apps)
            assert with_hidden == without, (path, posted)


@pytest.mark.parametrize("who", [ANONYMOUS_IDENTITY, BOB], ids=["signed out", "bob"])
def test_tools_of_assistants_answer_as_in_a_world_without_what_is_hidden(
    worlds: tuple[SearchHarness, SearchHarness], who: Identity
) -> None:
    found = [harness.services() for harness in worlds]
    apps = [search_app(services, make_site(services, harness, who)) for services, harness in zip(found, worlds, strict=True)]
    calls = [("search", "query", query) for query in QUERIES] + [("fetch", "id", url) for url in (*HIDDEN, *OPEN)]
    for tool, argument, value in calls:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {argument: value}}}
        headers = {"content-type": "application/json", "accept": "application/json"}
        with_hidden, without = (without_times(ask(app, MCP, "", "POST", json.dumps(message), **headers)) for app in apps)
        assert with_hidden == without, (tool, value)


def follow_cursors(app: ASGIApp, query: str) -> list[tuple[str, ...]]:
    """Returns the pages of everything that matches, as a program reads them."""
    pages: list[tuple[str, ...]] = []
    cursor = ""
    while True:
        found = ask(app, "/api/v1/search", urlencode({"q": query, "num": "2", "cursor": cursor})).json
        pages.append(tuple(result["url"] for result in found["results"]))
        cursor = found["next_cursor"] or ""
        if not cursor:
            return pages


def without_times(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return answer.status, _TIMES.sub(b"", answer.body), headers


@pytest.mark.parametrize(("who", "share"), [(ANONYMOUS_IDENTITY, 0.2), (BOB, 0.5)], ids=["signed out", "bob"])
def test_answers_are_those_of_a_world_without_what_is_hidden(
    worlds: tuple[SearchHarness, SearchHarness], who: Identity, share: float
) -> None:
    found = [harness.services() for harness in worlds]
    apps = [search_app(services, make_site(services, harness, who)) for services, harness in zip(found, worlds, strict=True)]
    differing = []
    chance = random.Random(share)
    for path, query in (request for request in requests() if chance.random() < share):
        with_hidden, without = (without_times(ask(app, path, query)) for app in apps)
        if with_hidden != without:
            differing.append((path, query, with_hidden[1][:400], without[1][:400]))
    assert differing == []


def test_who_may_see_it_finds_what_is_hidden_from_others(worlds: tuple[SearchHarness, SearchHarness]) -> None:
    harness = worlds[0]
    services = harness.services()
    app = search_app(services, make_site(services, harness, ANN))
    found = ask(app, "/api/v1/search", urlencode({"q": SECRET, "getfields": "*"})).json
    assert sorted(result["url"] for result in found["results"]) == sorted([*HIDDEN[:3], HIDDEN[4]])
    assert SECRET in ask(app, "/search", urlencode({"q": "merger", "access": "s"})).text
    assert ask(app, "/cache", urlencode({"url": HIDDEN[0]})).status == 200


@pytest.mark.parametrize("who", [ANONYMOUS_IDENTITY, BOB], ids=["signed out", "bob"])
def test_posted_and_headed_requests_and_cursors_answer_alike(worlds: tuple[SearchHarness, SearchHarness], who: Identity) -> None:
    found = [harness.services() for harness in worlds]
    apps = [search_app(services, make_site(services, harness, who)) for services, harness in zip(found, worlds, strict=True)]
    routes = [route for route in apps[0].routes if isinstance(route, Route) and route.path in {*QUERY_ROUTES, *URL_ROUTES}]
    for route, method in ((each, method) for each in routes for method in sorted(each.methods or ()) if method != "GET"):
        for query in ("merger", SECRET, f"cache:{HIDDEN[0]}", f"info:{HIDDEN[1]}"):
            sent = urlencode({"q": query, "url": HIDDEN[0], "access": "a"})
            for body in ("", sent):
                answers = [
                    without_times(
                        ask(app, route.path, "" if body else sent, method, body, **{"content-type": "application/x-www-form-urlencoded"})
                    )
                    for app in apps
                ]
                assert answers[0] == answers[1], (route.path, method, query)
    for query in ("merger", "site:example.com", SECRET):
        assert follow_cursors(apps[0], query) == follow_cursors(apps[1], query)


def test_every_route_is_looked_at(tmp_path: Path) -> None:
    """Goes by the application as the server builds it, with all ways to sign in."""
    openid = OidcProvider(OidcOptions(name="o", label="", namespace="a", issuer="https://id.example", client_id="x"), ManualClock())
    about = read_metadata(SamlServer(now=ManualClock()).metadata())
    saml = SamlIdentityProvider(SamlOptions(name="s", label="", namespace="b", provider=about, key=our_key()), ManualClock())
    app = open_signin_harness(tmp_path, openid=(openid,), saml=(saml,)).app
    assert isinstance(app, Starlette)
    known = set(QUERY_ROUTES) | set(POSTED_ROUTES) | set(PROFILE_ROUTES) | set(URL_ROUTES) | SILENT | {ROWS, MCP} | ADMINISTERED | OWN
    assert {route.path for route in app.routes if isinstance(route, Route | Mount)} == known
    assert len(app.routes) == sum(isinstance(route, Route | Mount) for route in app.routes)
    source = inspect.getsource(servingroles)
    assert source.count("search_app(") == 1
    assert "search_app(services, site)" in source


def test_every_parameter_is_looked_at() -> None:
    """Goes by what the code of the search port reads of a request, and by the OpenAPI document."""
    folder = Path(inspect.getsourcefile(parameters) or "").parent
    others = {
        "admin",
        "seedlists",
        "accessroutes",
        "gate",
        "feedresources",
        "policyroutes",
        "settingsroutes",
        "stylesheetroutes",
        "status",
        "pushing",
    }
    texts = [path.read_text() for path in folder.glob("*.py") if path.stem not in others]
    read = {name for text in texts for name in re.findall(r"\b(?:values|query_params|form)\.get(?:list)?\(\"(\w+)\"", text)}
    described = build_openapi(SEARCH_PORT)["paths"].values()
    documented = {parameter["name"] for methods in described for operation in methods.values() for parameter in operation["parameters"]}
    variants_of = (*QUERY_ROUTES.values(), *PROFILE_ROUTES.values(), *URL_ROUTES.values())
    tried = {name for variants in variants_of for given in variants for name in given} | {"q", "query", "url"}
    assert len(read) > 20
    assert (read | documented | gsaparameters._KNOWN | set(parameters._FIELDS)) - tried - OF_NO_DOCUMENT == set()
