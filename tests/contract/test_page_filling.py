"""Pages of which another server decides some results: they are shown to permitted users, and counted for no user."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.bootstrap.context import utc_now
from feedmill.core.ranking.vectors import pack_vectors
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import Access, AccessFilter, Scope
from feedmill.model.authorization import AuthorizationRule, LateLimits, Mechanism
from feedmill.model.errors import NotFound
from feedmill.model.identity import Identity, Subject
from feedmill.model.policyacl import PolicyAcl
from feedmill.model.results import Collapsing
from feedmill.model.search import Match, SearchRequest, Sort
from feedmill.model.semantic import Embedding
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.authorization.samlauthorizer import SamlAuthorizer
from feedmill.services.deadline import Deadline
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.resultlist import list_results
from feedmill.services.searching.searchservices import SearchServices, wire_search_services
from feedmill.services.searching.semanticranking import SemanticRanking
from tests.asgi import Answer
from tests.builders.access import ANN, FOR_ANN, acl, permit
from tests.conceptembedder import ConceptEmbedder
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.decisionpoint import DecisionPoint
from tests.unit.test_fingerprints import make_text


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    opened = open_harness(tmp_path)
    yield opened
    opened.store.close()


def services_of(harness: SearchHarness, point: DecisionPoint, **limits: Any) -> SearchServices:
    rule = AuthorizationRule(
        label="pdp",
        mechanism=Mechanism.SAML,
        patterns=("/",),
        endpoint=f"http://127.0.0.1:{point.port}/",
        issuer="urn:search",
        seconds=60.0,
    )
    late = LateBinding([SamlAuthorizer(rule, BlockingHttpClient(), utc_now)], time.monotonic, LateLimits(**({"seconds": 60.0} | limits)))
    return wire_search_services(
        harness.store,
        lambda _: harness.index,
        harness.blobs,
        search_config=SearchConfigProvider(lambda _: harness.serving),
        late=late,
        semantic=harness.semantic,
    )


def a_user(name: str) -> Identity:
    return Identity(users=(Subject(scope=Scope.USER, name=name),))


def fill(harness: SearchHarness, *, early: int = 3, late: int = 30) -> tuple[list[str], list[str]]:
    """Adds public documents and documents that nothing decides, in turns; returns their URLs."""
    shown = [f"http://a.example/early/{number:02}" for number in range(early)]
    hidden = [f"http://a.example/late/{number:02}" for number in range(late)]
    metadata = (("kind", "guarded"),)
    harness.add(
        [harness.make(url, "needle open", title=f"needle {url[-2:]}", metadata=(("kind", "open"),)) for url in shown]
        + [harness.make(url, f"needle secret {url[-2:]}", title=f"hidden {url[-2:]}", metadata=metadata, secure=True) for url in hidden]
    )
    return shown, hidden


def urls_of(services: SearchServices, access: AccessFilter, **given: Any) -> list[str]:
    return [one.url for one in services.searcher.search(SearchRequest(query="needle", match=Match.ALL, **given), access).results]


def test_selected_page_is_filled_and_its_facets_count_nothing_that_another_server_permits(
    harness: SearchHarness, point: DecisionPoint
) -> None:
    shown, hidden = fill(harness)
    point.permit("ann", *hidden[:4])
    services = services_of(harness, point)
    access = services.filters.find_filter(a_user("ann"))
    for selected, expected, total in (("kind:guarded", hidden[:4], 0), ("@site:a.example", [*shown, *hidden[:4]], 3)):
        request = SearchRequest(query="needle", num=20, match=Match.ALL, facet_names=("kind", "@site"), selected=(selected,))
        page = services.searcher.search(request, access)
        assert ([result.url for result in page.results], page.total) == (expected, total)
        assert [[(value.value, value.count) for value in counts.values] for counts in page.facets] == [
            [("open", 3)],
            [("a.example", 3)] if total else [],
        ]


def test_page_is_filled_with_what_another_server_permits_and_counts_none_of_it(harness: SearchHarness, point: DecisionPoint) -> None:
    shown, hidden = fill(harness)
    point.permit("ann", *hidden[:4])
    services = services_of(harness, point)
    request = SearchRequest(query="needle", num=20, match=Match.ALL, facet_names=("kind",))
    page = services.searcher.search(request, services.filters.find_filter(ANN))
    assert {one.url for one in page.results} == {*shown, *hidden[:4]}
    assert {one.url for one in page.results if one.is_late} == set(hidden[:4])
    assert (page.total, page.is_exact, page.length) == (3, True, 7)
    assert [(value.value, value.count) for value in page.facets[0].values] == [("open", 3)]
    anonymous = services.searcher.search(request, services.filters.find_filter(Identity()))
    assert ({one.url for one in anonymous.results}, anonymous.total, anonymous.length) == (set(shown), 3, 3)


def test_passages_and_texts_are_those_that_another_server_permits(harness: SearchHarness, point: DecisionPoint) -> None:
    shown, hidden = fill(harness, late=8)
    point.permit("ann", *hidden[:4])
    retrieval = (services := services_of(harness, point)).retrieval

    def find_urls(who: Identity) -> set[str]:
        return {one.url for one in retrieval.retrieve("needle", 50, "", services.filters.find_filter(who), Deadline()).passages}

    def has_text(who: Identity, url: str) -> bool:
        try:
            return bool(retrieval.fetch(url, services.filters.find_filter(who), Deadline()).text)
        except NotFound:
            return False

    assert find_urls(ANN) == {*shown, *hidden[:4]}
    assert find_urls(Identity()) == find_urls(a_user("bob")) == set(shown)
    assert [has_text(ANN, url) for url in hidden] == [True] * 4 + [False] * 4
    assert not has_text(Identity(), hidden[0])
    assert not has_text(a_user("bob"), hidden[0])


def test_documents_found_by_meaning_are_never_those_that_another_server_decides_about(harness: SearchHarness, point: DecisionPoint) -> None:
    near = harness.make("http://a.example/near", "an automobile")
    late = [harness.make(f"http://a.example/late/{number}", text, secure=True) for number, text in enumerate(("an automobile", "a car"))]
    keys = harness.add([near, *late])
    embedder, vectors = ConceptEmbedder(), ExactVectorSearch()
    with harness.store.writing() as unit:
        unit.documents.embeddings.save_many(
            [
                Embedding(
                    document_id=key,
                    version=1,
                    model=embedder.model,
                    digest=b"",
                    dimensions=256,
                    vectors=pack_vectors(embedder.embed_query("automobile", 1.0)),
                )
                for key in keys
            ]
        )
    point.permit("ann", *(document.url for document in late))
    harness.semantic = SemanticRanking(harness.store, embedder, vectors)
    services = services_of(harness, point)
    page = services.searcher.search(SearchRequest(query="car", num=20), services.filters.find_filter(a_user("ann")), Deadline(600.0))
    # the other server permits both: one is found by its word, the other would be found by its meaning alone
    assert {one.url for one in page.results} == {near.url, late[1].url}
    assert (page.total, page.length) == (1, 2)


def test_document_whose_acl_decides_is_in_no_request(harness: SearchHarness, point: DecisionPoint) -> None:
    url = "http://a.example/acl"
    harness.add([harness.make(url, "needle", title="x")], acls={url: FOR_ANN})
    bob = a_user("bob")
    services = services_of(harness, point)
    point.permit("bob", url)
    assert urls_of(services, services.filters.find_filter(ANN)) == [url]
    assert urls_of(services, services.filters.find_filter(bob)) == []
    assert point.requests == []


def test_pages_neither_repeat_nor_leave_out_and_ask_little_more_than_they_need(harness: SearchHarness, point: DecisionPoint) -> None:
    shown, hidden = fill(harness, early=7, late=60)
    permitted = hidden[::2]
    point.decisions = {("ann", url): "Deny" for url in hidden}
    point.permit("ann", *permitted)
    services = services_of(harness, point)
    seen: list[str] = []
    for start in range(0, 40, 5):
        page = urls_of(services, services.filters.find_filter(ANN), start=start, num=5)
        assert start > 0 or len(point.queried) <= 20
        seen += page
    assert sorted(seen) == sorted([*shown, *permitted])
    assert seen == urls_of(services, services.filters.find_filter(ANN), num=100)
    assert point.queried == hidden


@pytest.mark.parametrize(
    ("limits", "delay_seconds", "permitted"), [({"candidates": 25}, 0.0, 25), ({"seconds": 0.3}, 60.0, 0)], ids=["number", "time"]
)
def test_what_acls_permit_is_listed_also_behind_the_bound(
    harness: SearchHarness, point: DecisionPoint, limits: dict[str, Any], delay_seconds: float, permitted: int
) -> None:
    shown, hidden = fill(harness, early=12, late=80)
    point.permit("ann", *hidden)
    point.delay_seconds = delay_seconds
    services = services_of(harness, point, **limits)
    begun = time.monotonic()
    found = urls_of(services, services.filters.find_filter(ANN), num=200)
    assert time.monotonic() - begun < 50
    assert set(shown) <= set(found)
    assert len(set(found)) == len(found)
    # a search that begins with documents of everybody's reaches fewer of the others before its bound
    assert len(found) - 12 <= permitted
    assert bool(permitted) is (len(found) > 12)


def test_thinned_list_pages_over_late_documents(harness: SearchHarness, point: DecisionPoint) -> None:
    _, hidden = fill(harness, early=2, late=30)
    point.permit("ann", *hidden[:20])
    services = services_of(harness, point)
    request = SearchRequest(query="needle", num=8, match=Match.ALL)
    searcher, access = services.searcher, services.filters.find_filter(ANN)
    first = list_results(searcher, searcher.prepare(request, access), Collapsing(directories=False))
    assert (len(first.results), first.has_more, first.total) == (8, True, 2)
    beyond = SearchRequest(query="needle", start=500, num=8, match=Match.ALL)
    for collapsing in (Collapsing(directories=False), Collapsing(snippets=False, directories=False)):
        last = list_results(searcher, searcher.prepare(beyond, access), collapsing)
        assert (last.start, len(last.results), last.has_more, last.total) == (16, 6, False, 2)


@pytest.mark.parametrize("path", ["/cache", "/api/v1/documents"])
def test_document_is_given_out_only_after_a_permit(harness: SearchHarness, point: DecisionPoint, path: str) -> None:
    _, hidden = fill(harness)
    point.permit("ann", hidden[0])
    app = app_of(harness, point)
    assert ask(app, path, [("url", hidden[0])], user="ann").status == 200
    refused = ask(app, path, [("url", hidden[1])], user="ann")
    unknown = ask(app, path, [("url", hidden[1] + "9")], user="ann")
    assert (refused.status, refused.text.replace(hidden[1], "")) == (404, unknown.text.replace(hidden[1] + "9", ""))
    for name in ("", "bob"):
        assert ask(app, path, [("url", hidden[0])], user=name).status == 404
    point.misbehave = lambda handler: handler.connection.close()
    assert ask(app, path, [("url", hidden[2])], user="ann").status == 404


def app_of(harness: SearchHarness, point: DecisionPoint) -> Any:
    services = services_of(harness, point)

    def identify(request: Request) -> AccessFilter:
        name = request.headers.get("user", "")
        return services.filters.find_filter(a_user(name) if name else Identity())

    return search_app(services, SearchSite(identify=identify, copies=CachedCopies(services.documents, harness.blobs, services.states)))


def search_xml(app: Any, query: str, access: str, user: str = "ann") -> Answer:
    return ask(app, "/search", [("q", query), ("access", access), ("output", "xml"), ("num", "100"), ("filter", "0")], user=user)


def test_search_protocol_shows_what_is_permitted(harness: SearchHarness, point: DecisionPoint) -> None:
    shown, hidden = fill(harness)
    point.permit("ann", hidden[0])
    app = app_of(harness, point)
    everything = search_xml(app, "needle", "a").text
    assert all(f"<U>{url}</U>" in everything for url in (*shown, hidden[0]))
    assert hidden[1] not in everything
    assert "<M>" not in everything
    secure = search_xml(app, "needle", "s").text
    assert f"<U>{hidden[0]}</U>" in secure
    assert not any(url in secure for url in shown)
    public = search_xml(app, "needle", "p").text
    assert "<M>3</M>" in public
    assert "/late/" not in public
    assert "/late/" not in search_xml(app, "needle", "a", user="bob").text
    assert f"<U>{hidden[0]}</U>" in search_xml(app, f"info:{hidden[0]}", "a").text
    assert "<U>" not in search_xml(app, f"info:{hidden[1]}", "a").text
    assert search_xml(app, f"cache:{hidden[0]}", "a").status == 200
    assert search_xml(app, f"cache:{hidden[1]}", "a").status == 404


def test_suggestions_clusters_and_corrections_know_nothing_of_late_documents(harness: SearchHarness, point: DecisionPoint) -> None:
    _, hidden = fill(harness)
    point.permit("ann", *hidden)
    app = app_of(harness, point)
    assert ask(app, "/suggest", [("q", "hidd")], user="ann").json == ["hidd", []]
    assert ask(app, "/api/v1/suggest", [("q", "hidd")], user="ann").json["suggestions"] == []
    clusters = ask(app, "/cluster", [("q", "needle"), ("access", "a"), ("coutput", "json")], user="ann").text
    assert "/early/" in clusters
    assert "/late/" not in clusters
    assert ask(app, "/api/v1/search", [("q", "hiddem")], user="ann").json["spelling"] is None
    assert point.requests == [] or all("/late/" not in url for url in point.queried)


def test_page_for_people_shows_late_results_without_counting_them(harness: SearchHarness, point: DecisionPoint) -> None:
    _, hidden = fill(harness, early=0)
    point.permit("ann", *hidden[:12])
    app = app_of(harness, point)
    page = ask(app, "/", [("q", "needle")], user="ann").text
    assert "Results 1–10" in page
    assert 'rel="next"' in page
    assert "Nothing was found" not in page
    assert "Results 11–12" in ask(app, "/", [("q", "needle"), ("start", "10")], user="ann").text
    assert "Nothing was found" in ask(app, "/", [("q", "needle")], user="bob").text


def test_results_that_are_nearly_the_same_are_grouped_after_the_decisions(harness: SearchHarness, point: DecisionPoint) -> None:
    texts = [f"needle. {make_text(seed)}" for seed in range(3)]
    late = [f"http://a.example/late/{number:02}" for number in range(30)]
    harness.add([harness.make(url, texts[place // 2 % 3], title=f"needle {url[-2:]}", secure=True) for place, url in enumerate(late)])
    harness.add([harness.make("http://a.example/open", texts[0], title="needle")])
    permitted = [url for place, url in enumerate(late) if place % 2]
    point.permit("ann", *permitted)
    app = app_of(harness, point)
    page = ask(app, "/", [("q", "needle")], user="ann").text
    assert page.count("<article") == 3
    assert [int(count) for count in re.findall(r"(\d+) similar results?<span", page)] == [5, 4, 4]
    assert {url for url in (*late, "http://a.example/open") if f'href="{url}"' in page} == {*permitted, "http://a.example/open"}
    for user in ("bob", ""):
        hidden = ask(app, "/", [("q", "needle")], user=user).text
        assert (hidden.count("<article"), hidden.count("similar result"), hidden.count("/late/")) == (1, 0, 0)


@pytest.mark.parametrize("sort", [None, Sort()])
def test_pages_of_a_grouped_list_that_another_server_decides_agree(harness: SearchHarness, point: DecisionPoint, sort: Sort | None) -> None:
    texts = [f"needle. {make_text(seed)}" for seed in range(9)]
    late = [f"http://a.example/late/{number:02}" for number in range(60)]
    harness.add([harness.make(url, texts[place // 3 % 9], title=f"needle {url[-2:]}", secure=True) for place, url in enumerate(late)])
    point.decisions = {("ann", url): "Deny" for url in late}
    permitted = [url for place, url in enumerate(late) if place % 3]
    point.permit("ann", *permitted)
    services = services_of(harness, point)
    seen: list[str] = []
    for start in range(0, 40, 4):
        request = SearchRequest(query="needle", match=Match.ALL, start=start, num=4, sort=sort, groups_alike=True)
        page = services.searcher.search(request, services.filters.find_filter(ANN), Deadline())
        assert page.before == len(seen)
        assert page.total == 0
        seen += [url for result in page.results for url in (result.url, *(document.url for document in result.alike))]
        assert len(point.queried) <= 3 * (start + 5) + 20
    assert sorted(seen) == permitted


def test_list_by_cursor_is_of_what_acls_permit(harness: SearchHarness, point: DecisionPoint) -> None:
    shown, hidden = fill(harness)
    point.permit("ann", *hidden)
    answer = ask(app_of(harness, point), "/api/v1/search", [("q", "needle"), ("cursor", "*")], user="ann").json
    assert sorted(one["url"] for one in answer["results"]) == shown
    assert point.requests == []


def test_document_that_gets_an_acl_during_the_request_is_decided_by_it(harness: SearchHarness, point: DecisionPoint) -> None:
    _, hidden = fill(harness, late=2)
    point.permit("bob", *hidden)
    bob = a_user("bob")

    def guard(body: bytes) -> bytes:
        harness.add([harness.make(hidden[0], "needle", title="x")], acls={hidden[0]: FOR_ANN}, into_index=False)
        return body

    point.spoil = guard
    services = services_of(harness, point)
    found = urls_of(services, services.filters.find_filter(bob))
    assert hidden[0] not in found
    assert hidden[1] in found


def test_what_acl_or_policy_permits_is_shown_where_it_must_be_confirmed_and_is_and_counts_nowhere(
    harness: SearchHarness, point: DecisionPoint
) -> None:
    names = ("open", "acl", "denied", "policy", "none", "unconfirmed", "refused")
    urls = {name: f"http://a.example/{name}" for name in names}
    with harness.store.writing() as unit:
        refusing = PolicyAcl(pattern="a.example/refused", entries=(replace(FOR_ANN.entries[0], access=Access.DENY),))
        unit.access.policies.replace([PolicyAcl(pattern="a.example/policy", entries=FOR_ANN.entries), refusing])
    secure = {name: name not in ("open",) for name in names}
    for_bob = acl(permit("bob"))
    harness.add(
        [harness.make(urls[name], "needle", title=name, secure=secure[name]) for name in names],
        acls={urls["acl"]: FOR_ANN, urls["unconfirmed"]: FOR_ANN, urls["refused"]: FOR_ANN, urls["denied"]: for_bob},
    )
    point.permit("ann", *(urls[name] for name in ("acl", "denied", "refused", "policy", "none")))
    services = services_of(harness, point, confirms=True)
    access = services.filters.find_filter(ANN)
    page = services.searcher.search(SearchRequest(query="needle", num=20, match=Match.ALL), access)
    assert {one.url for one in page.results} == {urls[name] for name in ("open", "acl", "policy", "none")}
    assert page.total == 1
    assert not {urls["denied"], urls["refused"]} & set(point.queried)
    assert services.documents.get_document(urls["acl"], access).document.url == urls["acl"]
    for hidden in ("unconfirmed", "denied", "refused"):
        with pytest.raises(NotFound):
            services.documents.get_document(urls[hidden], access)
    assert urls_of(services, services.filters.find_filter(Identity())) == [urls["open"]]
    group = Identity(groups=(Subject(scope=Scope.GROUP, name="x"),))
    assert services.filters.find_filter(group).only_secure().permitted == frozenset()


def test_page_asks_no_more_than_it_needs_whatever_is_hidden(harness: SearchHarness, point: DecisionPoint) -> None:
    counts = []
    for late in (40, 400):
        shown, hidden = fill(harness, early=0, late=late)
        point.decisions = {("ann", url): "Deny" for url in hidden}
        before = len(point.queried)
        services = services_of(harness, point)
        assert urls_of(services, services.filters.find_filter(ANN), num=10) == shown
        counts.append(len(point.queried) - before)
    assert counts == [33, 33]


@pytest.mark.parametrize("verdict", ["Deny", "Indeterminate"])
def test_waiting_reveals_nothing_of_one_url(harness: SearchHarness, point: DecisionPoint, verdict: str) -> None:
    _, hidden = fill(harness)
    point.decisions = {("ann", url): verdict for url in hidden}
    point.delay_seconds = 0.3
    app = app_of(harness, point)

    def wait_of(path: str, name: str, url: str) -> float:
        begun = time.monotonic()
        more = [] if path.startswith("/api/") else [("access", "a")]
        ask(app, path, [(name, url), *more], user="ann")
        return time.monotonic() - begun

    ask(app, "/api/v1/documents", [("url", hidden[0])], user="ann")
    for place, (path, name, before) in enumerate(
        [("/api/v1/documents", "url", ""), ("/cache", "url", ""), ("/search", "q", "info:"), ("/search", "q", "cache:")], 1
    ):
        count = len(point.queried)
        assert wait_of(path, name, before + hidden[place]) >= 0.3
        assert len(point.queried) > count
        count = len(point.queried)
        assert wait_of(path, name, f"{before}http://a.example/none/{place}") >= 0.3
        assert len(point.queried) == count
