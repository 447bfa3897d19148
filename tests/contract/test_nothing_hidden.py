"""Two worlds, one of which holds documents that the asker may not see, must answer alike: every route, every output, every parameter."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest
from searchhouse import ANN, FOR_ANN, NOW, Answer, SearchHouse, ask, open_house

from feedmill.adapters.clustering import find_clusters
from feedmill.core.principals import read_identity
from feedmill.http.search import SearchSite, search_app
from feedmill.model.access import Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.document import Attributes, Document
from feedmill.model.facets import Facet
from feedmill.model.identity import NOBODY, Identity
from feedmill.model.policyacl import PolicyAcl
from feedmill.services.access.policykeeping import adopt_policies
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.searcher import Searcher

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
    "/": ({}, {"num": "100"}, {"match": "any"}, {"start": "3"}, {"sort": "date:D:S:d1"}, {"facet": "kind"}, {"client": "default_frontend"}),
    "/search": (
        *({"access": access} for access in ("p", "s", "a", "x")),
        {"access": "a", "output": "xml", "getfields": "*", "filter": "0", "num": "100"},
        {"access": "a", "rc": "1", "secure_estimates": "1", "numgm": "5"},
        {"access": "s", "secure_estimates": "1", "start": "1"},
        {"access": "a", "sort": "meta:price:A", "num": "100", "filter": "0"},
        {"access": "a", "sort": "date:D:R:d1", "client": "shop", "dnavs": "inmeta:kind=open"},
        {"access": "a", "requiredfields": f"kind:{SECRET}"},
        {"access": "a", "partialfields": f"kind:{SECRET}"},
        {"access": "a", "as_sitesearch": "secret.example.com"},
        {"access": "a", "as_q": SECRET, "as_lq": HIDDEN[0], "as_occt": "title"},
        {"access": "a", "proxystylesheet": "default_frontend", "output": "xml_no_dtd"},
        {"access": "a", "lr": "lang_fr", "entqr": "3", "site": "default_collection"},
    ),
    "/suggest": (
        *({"access": access, "format": form} for access in ("p", "a") for form in ("os", "rich")),
        {"access": "s", "max": "100"},
        {"callback": "f", "access": "a"},
    ),
    "/cluster": ({}, {"access": "a"}, {"access": "s"}, {"access": "a", "coutput": "xml"}, {"access": "a", "coutput": "json"}),
    "/api/v1/search": (
        *({"match": match, "num": "1000", "getfields": "*"} for match in ("all", "any", "auto")),
        {"facet": "kind", "explain": "1"},
        {"facet": "hiddenname", "num": "0"},
        {"sort": "meta:price:D", "requiredfields": "kind", "start": "1"},
        {"partialfields": f"kind:{SECRET}", "numgm": "5"},
    ),
    "/api/v1/suggest": ({}, {"num": "100"}),
}
URL_ROUTES = {"/cache": ({}, {"q": "merger"}), "/api/v1/documents": ({},)}
SILENT = {"/click", "/sw_version.txt", "/healthz", "/readyz", "/static", "/api/v1/openapi.json"}
"""Routes that carry nothing of any document."""

_TIMES = re.compile(rb"<TM>[\d.]+</TM>|[\d.]+(?: seconds| s\b)|\"seconds\": ?[\d.]+")


def make_documents(house: SearchHouse, urls: tuple[str, ...], secret: str) -> list[Document]:
    return [
        house.make(
            url,
            f"{WORDS} {secret} {number}00000 text",
            title=f"Trade merger {secret or 'open'} {number}",
            metadata=(("kind", secret or "open"), ("price", str(number + 7)), *((("hiddenname", secret),) if secret else ())),
            attributes=Attributes(last_modified=NOW),
            language="fr" if secret else "en",
        )
        for number, url in enumerate(urls)
    ]


def make_world(folder: Path, *, has_hidden: bool) -> SearchHouse:
    """Makes a house of public documents and, if asked, of some that nobody but ann may see, each guarded in another way."""
    folder.mkdir()
    house = open_house(folder)
    house.add(make_documents(house, OPEN, ""))
    change_policies(house, after=False)
    if has_hidden:
        folder_url = "http://secret.example.com/folder"
        group = Principal(scope=Scope.GROUP, name="staff")
        acls = {
            HIDDEN[0]: FOR_ANN,
            HIDDEN[1]: Acl(entries=(*FOR_ANN.entries, Entry(access=Access.DENY, principal=group))),
            HIDDEN[2]: Acl(inherit_from=folder_url),
            folder_url: replace(FOR_ANN, inheritance_type=InheritanceType.PARENT_OVERRIDES),
        }
        documents = make_documents(house, HIDDEN, SECRET)
        house.add([*documents[:3], *(replace(document, secure=True) for document in documents[3:6])], acls=acls)
        # fed as public: no policy makes it secure, but a page that guards itself is nobody's
        house.add([replace(house.make(HIDDEN[6], f"{WORDS} {SECRET}", own=(("google:aclusers", "x"),)))])
    change_policies(house, after=True)
    return house


def change_policies(house: SearchHouse, *, after: bool) -> None:
    """Guards two of the hidden documents by policies alone; of one the policy changes after it was indexed, and no sweep has been since."""
    staff = Entry(access=Access.PERMIT, principal=Principal(scope=Scope.GROUP, name="staff"))
    policies = [
        PolicyAcl(pattern=f"^{HIDDEN[4]}$", entries=FOR_ANN.entries),
        PolicyAcl(pattern="secret.example.com/zyxsecret5", entries=(staff,)),
        PolicyAcl(pattern="contains:zyxsecret6", entries=(staff,)),
    ]
    if after:
        policies.append(PolicyAcl(pattern=f"^{HIDDEN[5]}$", entries=FOR_ANN.entries))
    with house.store.writing() as unit:
        adopt_policies(unit, policies)


def make_site(searcher: Searcher, house: SearchHouse, who: Identity) -> SearchSite:
    return SearchSite(
        identify=lambda _request: searcher.classes_of(who),
        copies=CachedCopies(searcher, house.blobs),
        clock=lambda: NOW,
        find_clusters=find_clusters,
        find_facets=lambda _client: (Facet(name="kind", label="Kind"), Facet(name="hiddenname", label="Hidden")),
    )


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SearchHouse, SearchHouse]]:
    root = tmp_path_factory.mktemp("worlds")
    made = make_world(root / "with", has_hidden=True), make_world(root / "without", has_hidden=False)
    yield made
    for house in made:
        house.store.close()


def requests() -> Iterator[tuple[str, str]]:
    for path, variants in QUERY_ROUTES.items():
        for query, parameters in product(QUERIES, variants):
            yield path, urlencode({"q": query, **parameters})
    for path, variants in URL_ROUTES.items():
        for url, parameters in product((*HIDDEN, "http://secret.example.com/folder"), variants):
            yield path, urlencode({"url": url, **parameters})


def without_times(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return answer.status, _TIMES.sub(b"", answer.body), headers


@pytest.mark.parametrize(("who", "share"), [(NOBODY, 0.2), (BOB, 0.5)], ids=["signed out", "bob"])
def test_answers_are_those_of_a_world_without_what_is_hidden(worlds: tuple[SearchHouse, SearchHouse], who: Identity, share: float) -> None:
    searchers = [house.searcher() for house in worlds]
    apps = [search_app(searcher, make_site(searcher, house, who)) for searcher, house in zip(searchers, worlds, strict=True)]
    differing = []
    chance = random.Random(share)
    for path, query in (request for request in requests() if chance.random() < share):
        with_hidden, without = (without_times(ask(app, path, query)) for app in apps)
        if with_hidden != without:
            differing.append((path, query, with_hidden[1][:400], without[1][:400]))
    assert differing == []


def test_who_may_see_it_finds_what_is_hidden_from_others(worlds: tuple[SearchHouse, SearchHouse]) -> None:
    house = worlds[0]
    searcher = house.searcher()
    app = search_app(searcher, make_site(searcher, house, ANN))
    found = ask(app, "/api/v1/search", urlencode({"q": SECRET, "getfields": "*"})).json
    assert sorted(result["url"] for result in found["results"]) == sorted([*HIDDEN[:3], HIDDEN[4]])
    assert SECRET in ask(app, "/search", urlencode({"q": "merger", "access": "s"})).text
    assert ask(app, "/cache", urlencode({"url": HIDDEN[0]})).status == 200


def test_every_route_is_looked_at(worlds: tuple[SearchHouse, SearchHouse]) -> None:
    known = set(QUERY_ROUTES) | set(URL_ROUTES) | SILENT
    assert {route.path for route in search_app(worlds[0].searcher()).routes} <= known  # type: ignore[attr-defined]
