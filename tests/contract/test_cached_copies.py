from base64 import b64decode
from pathlib import Path

import pytest
from lxml import etree
from starlette.applications import Starlette

from feedmill.core.urls.digests import copy_id
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.cachepage import read_cache_query
from feedmill.model.document import Attributes
from feedmill.services.searching.cachedcopy import CachedCopies, find_words
from tests.contract.searchharness import SearchHarness, ask, open_harness

URL = "http://a.com/1?x=y"


def open_app(harness: SearchHarness) -> Starlette:
    services = harness.services()
    return search_app(services, SearchSite(copies=CachedCopies(services.documents, harness.blobs)))


def test_cache_shows_the_text_marked_and_in_a_sandbox(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "the <script>alert(1)</script> Nädel", title="<b>T")])
    answer = ask(open_app(harness), "/cache", [("url", URL), ("q", "nadel")])
    assert answer.status == 200
    assert "<mark>Nädel</mark>" in answer.text
    assert "<script>" not in answer.text
    assert '<h1 dir="auto">&lt;b&gt;T</h1>' in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    harness.store.close()


def test_cache_of_what_may_not_be_seen_answers_as_unknown(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/shut", "x", secure=True), harness.make("http://a.com/no", "x", robots=("noarchive",))])
    app = open_app(harness)
    answers = [ask(app, "/cache", [("url", url)]) for url in ("http://a.com/shut", "http://a.com/no", "http://a.com/unknown")]
    assert {(answer.status, answer.body) for answer in answers} == {(404, answers[0].body)}
    assert ask(app, "/search", [("q", "cache:http://a.com/shut")]).status == 404
    assert ask(app, "/cache").status == 400
    harness.store.close()


@pytest.mark.parametrize(
    "query",
    [
        f"cache:{URL}",
        f"cache:{copy_id(URL)}:{URL} needle",
        f"CACHE:{copy_id(URL)}:a.com/1%3Fx%3Dy",
        "cache:a.com/1?x=y",
        "cache:http%3A//a.com/1?x=y",
    ],
)
def test_search_cache_query_in_every_form_finds_the_copy(tmp_path: Path, query: str) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "a needle")])
    app = open_app(harness)
    assert "needle" in ask(app, "/search", [("q", query)]).text
    root = etree.fromstring(ask(app, "/search", [("q", query), ("output", "xml_no_dtd")]).body)
    assert root.findtext("CACHE/CACHE_URL") == URL
    assert "needle" in b64decode(root.findtext("CACHE/CACHE_HTML/BLOB") or "").decode()
    harness.store.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [("smb://files/a b.doc", None), ("http://a.com/inner", "http://shown.com/x?y=1&z=2"), ("http://a.com/ü?x=a%20b", None)],
)
def test_search_cache_link_of_a_front_end_finds_the_copy(tmp_path: Path, url: str, shown: str | None) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(url, "a needle", attributes=Attributes(display_url=shown))])
    app = open_app(harness)
    found = etree.fromstring(ask(app, "/search", [("q", "needle")]).body)
    copy_name, escaped = found.findall("RES/R/HAS/C")[0].get("CID"), found.findtext("RES/R/UE")
    link = f"q=cache:{copy_name}:{escaped}+needle"
    copy = ask(app, "/search", link)
    assert (copy.status, "<mark>needle</mark>" in copy.text) == (200, True)
    harness.store.close()


def test_search_cache_name_of_what_may_not_be_seen_answers_as_unknown(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/shut", "x", secure=True)])
    app = open_app(harness)
    answers = [ask(app, "/search", [("q", f"cache:{copy_id(url)}:http://b.com/")]) for url in ("http://a.com/shut", "http://a.com/none")]
    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].body == answers[1].body
    harness.store.close()


def test_read_cache_query_other_query_is_none() -> None:
    assert read_cache_query("a cache:http://b") is None


def test_find_words_marks_whole_words_once() -> None:
    assert find_words("Red redder RED ärger", 'red OR red "arger"') == [(0, 3), (11, 14), (15, 20)]
    assert find_words("anything", "site:a.com -red") == []


def test_click_is_taken(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    assert ask(open_app(harness), "/click", "q=a&ct=c&url=http://a").status == 204
    harness.store.close()
