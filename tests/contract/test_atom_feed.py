"""``output=atom`` on /search: the same list as the XML, for the same user."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import etree

from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import Acl
from feedmill.model.document import Attributes
from tests.builders.access import ANN, FOR_ANN
from tests.builders.requests import PASSWORD
from tests.contract.searchharness import NOW, SearchHarness, add_pages, ask, open_harness, search_xml
from tests.contract.signinharness import open_signin_harness

NAMES = {"a": "http://www.w3.org/2005/Atom", "o": "http://a9.com/-/spec/opensearch/1.1/"}
ROOT = "http://search.example.com"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def search_atom(harness: SearchHarness, query: str, **site: Any) -> Any:
    asked = query if "output=atom" in query else f"{query}&output=atom"
    answer = ask(search_app(harness.services(), SearchSite(clock=lambda: NOW, **site)), "/search", asked)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/atom+xml; charset=UTF-8"
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["content-security-policy"].endswith("; sandbox")
    return etree.fromstring(answer.body)


def urls(feed: Any) -> list[str]:
    return [str(link.get("href")) for link in feed.iterfind("a:entry/a:link", NAMES)]


def links(feed: Any) -> dict[str, str]:
    return {link.get("rel"): link.get("href") for link in feed.iterfind("a:link", NAMES)}


@pytest.mark.parametrize(
    "query", ["q=needle", "q=needle&sort=date:A:S:d1", "q=needle&filter=0&num=7&start=7", "q=needle&start=999", "q=none"]
)
def test_feed_has_the_list_of_the_xml(harness: SearchHarness, query: str) -> None:
    add_pages(harness, 25)
    xml, feed = search_xml(harness, query), search_atom(harness, query)
    assert urls(feed) == [one.text for one in xml.findall("RES/R/U")]
    assert feed.findtext("o:totalResults", namespaces=NAMES) == xml.findtext("RES/M", "0")
    if urls(feed):
        assert feed.findtext("o:startIndex", namespaces=NAMES) == xml.find("RES").get("SN")


def test_links_lead_through_the_list(harness: SearchHarness) -> None:
    add_pages(harness, 25)
    feed = search_atom(harness, "q=needle&num=10&filter=0")
    assert "previous" not in links(feed)
    assert links(feed)["search"] == f"{ROOT}/opensearch.xml"
    assert links(feed)["alternate"] == f"{ROOT}/?q=needle&match=all"
    found = urls(feed)
    ids = {feed.findtext("a:id", namespaces=NAMES)}
    while "next" in links(feed):
        following = urlsplit(links(feed)["next"])
        assert (following.netloc, following.path) == ("search.example.com", "/search")
        feed = search_atom(harness, following.query)
        assert links(feed)["self"].startswith(f"{ROOT}/search?")
        found += urls(feed)
        ids.add(feed.findtext("a:id", namespaces=NAMES))
    assert len(found) == len(set(found)) == 25
    assert len(ids) == 1
    assert parse_qs(urlsplit(links(feed)["previous"]).query)["start"][-1] == "10"


def test_entries_say_when_their_documents_changed(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle", title="One", attributes=Attributes(last_modified=NOW))])
    [entry] = search_atom(harness, "q=needle").iterfind("a:entry", NAMES)
    assert entry.findtext("a:title", namespaces=NAMES) == "One"
    assert entry.findtext("a:updated", namespaces=NAMES) == "2026-03-01T12:30:00Z"


@pytest.mark.parametrize(("access", "found"), [("", "p"), ("&access=p", "p"), ("&access=s", "s"), ("&access=a", "sp")])
def test_feed_shows_what_the_user_may_see(harness: SearchHarness, access: str, found: str) -> None:
    documents = [harness.make(f"http://a.com/{name}", "needle", title=name) for name in ("public", "secure", "closed")]
    harness.add(documents, acls={"http://a.com/secure": FOR_ANN, "http://a.com/closed": Acl()})
    services = harness.services()
    identify = lambda _request: services.filters.find_filter(ANN)  # noqa: E731
    seen = {"p": ["http://a.com/public"], "s": ["http://a.com/secure"], "sp": ["http://a.com/public", "http://a.com/secure"]}
    feed = search_atom(harness, f"q=needle{access}", identify=identify)
    assert sorted(urls(feed)) == seen[found]
    assert (feed.find("o:totalResults", NAMES) is None) == ("s" in found)
    assert sorted(urls(search_atom(harness, f"q=needle{access}"))) == ([] if found == "s" else seen["p"])


def test_feed_of_secure_results_asks_programs_to_sign_in(tmp_path: Path) -> None:
    signed = open_signin_harness(tmp_path)
    signed.signing.accounts.add("ann", PASSWORD)
    assert ask(signed.app, "/search", "q=needle&access=a&output=atom").status == 401
    assert ask(signed.app, "/search", "q=needle&output=atom").status == 200
    signed.search.store.close()


def test_page_leads_to_its_feed(harness: SearchHarness) -> None:
    add_pages(harness, 3)
    app = search_app(harness.services())
    page = ask(app, "/", "q=needle&site=&sort=date:D:R:d1").text
    address = "/search?q=needle&amp;sort=date%3AD%3AR%3Ad1&amp;match=auto&amp;filter=0&amp;output=atom"
    assert f'<link rel="alternate" type="application/atom+xml" title="Results as a feed" href="{address}">' in page
    assert "atom+xml" not in ask(app, "/").text
    assert len(urls(search_atom(harness, address.partition("?")[2].replace("&amp;", "&")))) == 3


def test_a_stylesheet_and_a_cached_copy_win_over_the_feed(harness: SearchHarness) -> None:
    add_pages(harness, 1)
    app = search_app(harness.services())
    assert ask(app, "/search", "q=needle&output=atom&proxystylesheet=x").headers["content-type"].startswith("text/html")
