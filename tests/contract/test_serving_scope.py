"""Collections and removed URLs, through every way to ask."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from feedmill.http.search.app import search_app
from feedmill.model.serving import Collection, FrontEnd, Serving
from tests.contract.searchharness import SearchHarness, ask, open_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.serving = Serving(
        collections={
            "press": Collection(name="press", include=("a.com/press/",), exclude=("contains:draft", "-a.com/press/draft-law")),
            "hr": Collection(name="hr", include=("hr.com/", "a.com/press/hr/")),
        },
        frontends={
            "intranet": FrontEnd(name="intranet", remove_urls=("hr.com/secret/", "-hr.com/secret/open")),
            "default_frontend": FrontEnd(name="default_frontend", remove_urls=("gone.com/",)),
        },
    )
    yield made
    made.store.close()


PAGES = (
    "http://a.com/press/1",
    "http://a.com/press/draft",
    "http://a.com/press/draft-law",
    "http://a.com/press/hr/2",
    "http://hr.com/3",
    "http://hr.com/secret/4",
    "http://hr.com/secret/open",
    "http://gone.com/5",
)


def fill(harness: SearchHarness) -> None:
    harness.add([harness.make(url, f"needle number {place}", title=f"T{place}") for place, url in enumerate(PAGES)])


def answers(harness: SearchHarness, **parameters: str) -> tuple[int, list[str]]:
    """Searches as JSON and as XML, which must agree; returns total and URLs."""
    pairs = [("q", "needle"), ("num", "100"), *parameters.items()]
    app = search_app(harness.services())
    answer = ask(app, "/api/v1/search", pairs).json
    xml: Any = etree.fromstring(ask(app, "/search", [*pairs, ("filter", "0")]).body)
    urls = sorted(result["url"] for result in answer["results"])
    assert sorted(one.text for one in xml.findall("RES/R/U")) == urls
    assert int(xml.findtext("RES/M") or 0) == answer["total"] == len(urls)
    return answer["total"], urls


@pytest.mark.parametrize(
    ("site", "places"),
    [
        ("press", [0, 2, 3]),
        ("hr", [3, 4, 5, 6]),
        ("press|hr", [0, 2, 3, 4, 5, 6]),
        ("press.hr", [3]),
        ("default_collection", [0, 1, 2, 3, 4, 5, 6]),
        ("press.default_collection", [0, 2, 3]),
        ("nobody", []),
        ("nobody|hr", [3, 4, 5, 6]),
        ("nobody.hr", []),
    ],
)
def test_collection_holds_what_its_patterns_mean(harness: SearchHarness, site: str, places: list[int]) -> None:
    fill(harness)
    assert answers(harness, site=site)[1] == sorted(PAGES[place] for place in places)


def test_text_that_is_no_list_of_collections_finds_nothing_or_is_refused(harness: SearchHarness) -> None:
    fill(harness)
    app = search_app(harness.services())
    assert ask(app, "/api/v1/search", [("q", "needle"), ("site", "press hr")]).status == 400
    assert b"<R N=" not in ask(app, "/search", [("q", "needle"), ("site", "press hr"), ("filter", "0")]).body


def test_front_end_removes_urls_from_hits_and_totals_and_no_other_does(harness: SearchHarness) -> None:
    fill(harness)
    assert answers(harness, client="intranet") == (7, sorted(set(PAGES) - {"http://hr.com/secret/4"}))
    assert answers(harness) == answers(harness, client="default_frontend") == (7, sorted(set(PAGES) - {"http://gone.com/5"}))


def test_unknown_front_end_is_the_default_one_on_search_and_refused_by_the_api(harness: SearchHarness) -> None:
    fill(harness)
    app = search_app(harness.services())
    named, unnamed = (
        ask(app, "/search", [("q", "needle"), ("num", "100"), ("filter", "0"), *client]).body for client in ([("client", "unheard-of")], [])
    )
    found = [sorted(one.text or "" for one in etree.fromstring(body).findall("RES/R/U")) for body in (named, unnamed)]
    assert found == [sorted(set(PAGES) - {"http://gone.com/5"})] * 2
    assert ask(app, "/api/v1/search", [("q", "needle"), ("client", "unheard-of")]).status == 400


def test_front_end_given_as_proxystylesheet_counts_where_no_client_is_named(harness: SearchHarness) -> None:
    fill(harness)
    body = ask(search_app(harness.services()), "/search", "q=needle&proxystylesheet=default_frontend&num=100").text
    assert "gone.com" not in body


def test_removed_url_that_the_index_does_not_know_yet_is_removed_all_the_same(harness: SearchHarness) -> None:
    serving, harness.serving = harness.serving, Serving()
    fill(harness)
    harness.serving = serving
    assert answers(harness) == (7, sorted(set(PAGES) - {"http://gone.com/5"}))
    harness.serving = Serving()
    assert answers(harness)[0] == 8


def test_info_and_link_do_not_regard_the_collection(harness: SearchHarness) -> None:
    fill(harness)
    app = search_app(harness.services())
    assert ask(app, "/api/v1/search", [("q", "info:http://hr.com/3"), ("site", "press")]).json["total"] == 1
    assert ask(app, "/api/v1/search", [("q", "info:http://gone.com/5"), ("site", "press")]).json["total"] == 0


def test_collection_alone_is_no_query(harness: SearchHarness) -> None:
    fill(harness)
    assert ask(search_app(harness.services()), "/api/v1/search", [("site", "press")]).json["total"] == 0


@pytest.mark.parametrize("match", ["any", "auto", "all"])
def test_collection_holds_however_many_words_must_occur(harness: SearchHarness, match: str) -> None:
    fill(harness)
    answer = ask(search_app(harness.services()), "/api/v1/search", [("q", "needle number"), ("site", "hr"), ("match", match)]).json
    assert answer["total"] == 4


def test_page_keeps_collection_and_front_end_in_its_links(harness: SearchHarness) -> None:
    fill(harness)
    body = ask(search_app(harness.services()), "/", "q=needle&site=press&client=intranet&num=2").text
    assert "site=press&amp;client=intranet" in body
    assert '<input type="hidden" name="site" value="press">' in body


def test_suggestions_come_of_the_collection_and_not_of_removed_urls(harness: SearchHarness) -> None:
    titles = {"http://a.com/press/1": "Press word", "http://hr.com/3": "Press people", "http://gone.com/5": "Press gone"}
    harness.add([harness.make(url, "text", title=title) for url, title in titles.items()])
    app = search_app(harness.services())

    def suggested(query: str) -> list[str]:
        return sorted(ask(app, "/api/v1/suggest", f"q=press+&{query}").json["suggestions"])

    assert suggested("site=press") == ["press", "press word"]
    assert suggested("") == ["press", "press people", "press word"]
    assert suggested("site=nowhere") == []
    assert ask(app, "/suggest", "q=press+&site=hr").json[1] == ["press", "press people"]
