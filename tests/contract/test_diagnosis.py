"""Why searches find a URL or do not, on a real store."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from feedmill.core.access.principals import read_identity
from feedmill.core.documents.admission import build_rules
from feedmill.core.documents.urlstate import Rules
from feedmill.http.admin.api.diagnosis import diagnosis_routes
from feedmill.model.crawling import CrawlSite, CrawlState, FetchRecord
from feedmill.model.document import Attributes, AuthMethod
from feedmill.model.serving import Collection, Serving
from feedmill.services.access.explaining import Explaining
from feedmill.services.diagnosis import Diagnosing, DiagnosisQuestion, QueryMatch, UrlDiagnosis, diagnose_url
from feedmill.services.inspection import inspect_url
from feedmill.services.keyvalues import CRAWL_PAUSED
from tests.asgi import ask_app
from tests.builders.access import acl, permit
from tests.builders.changes import OPEN, delete, put, put_acl, url
from tests.contract.feedharness import BEGIN, FeedHarness
from tests.contract.searchharness import SearchHarness
from tests.contract.searchharness import open_harness as open_search_harness
from tests.contract.test_crawl_updates import entries, request


def set_fetched(harness: FeedHarness, name: str, state: CrawlState, status: int, reason: str = "") -> None:
    record = FetchRecord(at=BEGIN, state=state, http_status=status, reason=reason)
    with harness.store.writing() as unit:
        entry = replace(entries(harness)[name], state=state, history=(record,), due_at=BEGIN + timedelta(days=1))
        unit.feeds.crawling.queue.save_many([entry])


def test_url_that_nothing_named_is_never_received(harness: FeedHarness) -> None:
    found = diagnose_url(harness.store, OPEN, url("none"))
    assert (found.state, found.searchable) == ("never received", False)
    assert found.causes == ("no feed, link, sitemap or start URL named this URL",)


def test_url_that_a_pattern_refuses_names_the_pattern(harness: FeedHarness) -> None:
    found = diagnose_url(harness.store, build_rules(["/"], ["docs.test/a"], [], []), url("a"))
    assert found.causes == ("the url matches the do-not-follow pattern 'docs.test/a'",)


def test_url_that_waits_for_the_crawler_says_so(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    found = diagnose_url(harness.store, OPEN, url("a"))
    assert (found.state, found.causes) == ("known, not crawled", ("it was named for crawling and has not been crawled",))


@pytest.mark.parametrize(
    ("state", "status", "reason", "said"),
    [
        (
            CrawlState.HTTP_SERVER_ERROR,
            503,
            "",
            "HTTP server error: HTTP status 503; it is fetched again at 2026-03-02 12:00:00 UTC",
        ),
        (CrawlState.DISALLOWED_BY_ROBOTS_TXT, 0, "Disallow: /", "disallowed by robots.txt: Disallow: /"),
    ],
)
def test_url_whose_crawl_failed_names_robots_txt_or_the_status(
    harness: FeedHarness, state: CrawlState, status: int, reason: str, said: str
) -> None:
    harness.push(request("a"), datasource="web")
    set_fetched(harness, "a", state, status, reason)

    assert diagnose_url(harness.store, OPEN, url("a")).causes == (said,)
    assert inspect_url(harness.store, url("a")).status.reason == said


def test_url_that_waits_says_what_holds_the_crawler_back(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    failing = CrawlSite(site="http://docs.test", failures=6, failed_at=BEGIN, retry_at=BEGIN + timedelta(hours=1), reason="it answers 503")
    with harness.store.writing() as unit:
        unit.feeds.crawling.sites.save_many([failing])
        unit.state.key_values.put(CRAWL_PAUSED, "1")
    assert diagnose_url(harness.store, OPEN, url("a")).causes == (
        "it was named for crawling and has not been crawled",
        "the crawler is paused; 'feedmill queue resume' lets it continue",
        "http://docs.test failed 6 times in a row (it answers 503), so it is asked again at 2026-03-01 13:00:00 UTC",
    )
    set_fetched(harness, "a", CrawlState.CRAWLED, 200)
    assert len(diagnose_url(harness.store, OPEN, url("a")).causes) == 1


def test_deleted_url_says_when(harness: FeedHarness) -> None:
    harness.push(put("a"))
    harness.push(delete("a"))
    found = diagnose_url(harness.store, OPEN, url("a"))
    assert found.state == "gone"
    assert found.causes[0].startswith("deleted at 2026-03-01 12:00:05 UTC")


def test_url_with_an_acl_alone_says_so(harness: FeedHarness) -> None:
    harness.push(put_acl("a"))
    assert "it has an acl and no document" in diagnose_url(harness.store, OPEN, url("a")).causes


# --- for a user, and for a query ------------------------------------------------------------------------------------------------


@pytest.fixture
def search(tmp_path: Path) -> SearchHarness:
    return open_search_harness(tmp_path)


def diagnose(search: SearchHarness, url: str, **given: Any) -> UrlDiagnosis:
    explaining = Explaining(search.store, lambda: BEGIN, timedelta(days=30))
    return Diagnosing(search.store, OPEN, explaining, search.services).diagnose(DiagnosisQuestion(url=url, **given))


def test_user_whom_the_acl_permits_or_not_learns_which_entry_says_so(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "text")], acls={"http://a.test/1": acl(permit("ann"))})
    ann = diagnose(search, "http://a.test/1", identity=read_identity("ann", "Default", ()))
    bob = diagnose(search, "http://a.test/1", identity=read_identity("bob", "Default", ()))
    assert (ann.visible, bob.visible) == (True, False)
    assert ann.causes[-1] == 'the user may see it: permitted by user "ann", in the ACL of http://a.test/1'
    assert bob.causes[-1] == "the user may not see it: no entry of the chain names the user"


def test_query_says_the_rank_or_the_missing_words(search: SearchHarness) -> None:
    search.serving = Serving(collections={"press": Collection(name="press", include=("b.test/",))})
    search.add([search.make(f"http://a.test/{number}", "annual report") for number in range(12)])
    search.add([search.make("http://a.test/only", "annual figures of the year", secure=False)])
    found = diagnose(search, "http://a.test/3", query="annual report")
    assert found.match is not None
    assert (found.match.matches, found.match.rank in range(1, 13)) == (True, True)
    missing = diagnose(search, "http://a.test/only", query="annual report")
    assert missing.match == QueryMatch(query="annual report", matches=True)
    assert "the word 'report' is not in it" in missing.causes
    other = diagnose(search, "http://a.test/only", query="intitle:nothing annual")
    assert other.match == QueryMatch(query="intitle:nothing annual", matches=False)
    held = diagnose(search, "http://a.test/3", query="annual", collection="press")
    assert held.causes == ("the collection press does not hold it",)
    assert diagnose(search, "http://a.test/3", collection="press").causes == held.causes


def test_query_about_a_hidden_document_has_a_rank_only_for_who_may_see_it(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "needle")], acls={"http://a.test/1": acl(permit("ann"))})
    ann, bob = (diagnose(search, "http://a.test/1", identity=read_identity(user, "Default", ()), query="needle") for user in ("ann", "bob"))
    assert ann.match == QueryMatch(query="needle", matches=True, rank=1)
    assert bob.match == QueryMatch(query="needle", matches=True)


def test_document_that_is_not_public_has_no_rank_without_a_user(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "needle")], acls={"http://a.test/1": acl(permit("ann"))})
    found = diagnose(search, "http://a.test/1", query="needle")
    assert found.match == QueryMatch(query="needle", matches=True)
    assert found.causes[-1] == "the query finds it for users who may see it; name one to learn its rank"


def test_document_that_nothing_permits_says_that_nobody_finds_it(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "needle", secure=True)])
    search.add([search.make("http://a.test/2", "needle", own=(("google:aclusers", "ann"),))])
    for page in ("http://a.test/1", "http://a.test/2"):
        assert diagnose(search, page).causes == (
            "it is not public, and neither an acl nor a policy says who may see it: no user finds it, unless another server permits it",
        )


@pytest.mark.parametrize(
    ("rules", "attributes", "cause"),
    [
        (replace(OPEN, secure_sources=frozenset({"hr"})), Attributes(), "its data source hr is secure by the settings ([[datasources]])"),
        (OPEN, Attributes(server_secures=True), "its own server said at the last fetch that it is secure"),
        (replace(OPEN, make_public=lambda _: False), Attributes(), "a pattern of the settings ([[crawl.access]]) makes it secure"),
        (OPEN, Attributes(authmethod=AuthMethod.NTLM), "its record has the authmethod ntlm, which makes it secure"),
    ],
)
def test_document_without_an_acl_names_what_makes_it_secure(
    search: SearchHarness, rules: Rules, attributes: Attributes, cause: str
) -> None:
    search.add([search.make("http://a.test/1", "needle", secure=True, attributes=attributes)])
    assert diagnose_url(search.store, rules, "http://a.test/1").causes[-1] == cause


def test_document_that_the_index_lacks_says_so(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "needle")])
    search.add([search.make("http://a.test/2", "needle")], into_index=False)
    assert "the index has no entry of it" in diagnose(search, "http://a.test/2", query="needle").causes


def test_admin_port_answers_why(search: SearchHarness) -> None:
    search.add([search.make("http://a.test/1", "needle")], acls={"http://a.test/1": acl(permit("ann"))})
    explaining = Explaining(search.store, lambda: BEGIN, timedelta(days=30))
    (route,) = diagnosis_routes(Diagnosing(search.store, OPEN, explaining, search.services))
    answer = ask_app(Starlette(routes=[route]), "GET", "/api/v1/why", query="url=http://a.test/1&user=bob&query=needle")
    shown = json.loads(answer.body)
    assert (shown["url"], shown["searchable"], shown["visible"]) == ("http://a.test/1", True, False)
    assert (shown["access"]["decision"], shown["query"]) == ("DENY", {"query": "needle", "matches": True, "rank": None})
