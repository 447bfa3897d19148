"""The rules of the search protocol one by one, each as a front end sees it: request in, XML out."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.document import Attributes
from feedmill.model.facets import Facet
from feedmill.model.serving import FrontEnd, Serving
from feedmill.services.searching import resultlist
from tests.contract.searchharness import NOW, SearchHarness, add_pages, ask, open_harness, search_xml


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def urls(found: Any) -> list[str]:
    return [one.text.removeprefix("http://") for one in found.findall("RES/R/U")]


def parameter_of(found: Any, name: str) -> tuple[str, str]:
    one = found.find(f"PARAM[@name='{name}']")
    return one.get("value"), one.get("original_value")


# --- pages and totals -----------------------------------------------------------------------------------------------------------


def test_start_is_returned_as_where_the_page_begins(harness: SearchHarness) -> None:
    add_pages(harness, 25)
    assert parameter_of(search_xml(harness, "q=needle&start=500"), "start") == ("20", "500")
    assert parameter_of(search_xml(harness, "q=needle&start=10"), "start") == ("10", "10")
    assert parameter_of(search_xml(harness, "q=needle&start=-7"), "start") == ("0", "-7")
    assert parameter_of(search_xml(harness, "q=none&start=30"), "start") == ("30", "30")


def test_pages_reach_no_further_than_a_bound(harness: SearchHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resultlist, "MAX_REACH", 100)
    add_pages(harness, 115)
    for thinning in ("&filter=0", ""):
        res = search_xml(harness, f"q=needle&start=90&num=20{thinning}").find("RES")
        assert (res.get("SN"), res.get("EN"), len(res.findall("R")), res.find("NB/NU")) == ("91", "100", 10, None)
        beyond = search_xml(harness, f"q=needle&start=110&num=30{thinning}").find("RES")
        assert (beyond.get("SN"), beyond.get("EN"), beyond.find("NB/NU")) == ("91", "100", None)
    assert search_xml(harness, "q=needle&num=1000&filter=0").find("RES").get("EN") == "100"
    assert search_xml(harness, "q=needle&filter=0").findtext("RES/M") == "115"


def test_single_page_has_no_links_to_others(harness: SearchHarness) -> None:
    add_pages(harness, 3)
    assert search_xml(harness, "q=needle").find("RES/NB") is None


def test_results_are_numbered_through_all_pages(harness: SearchHarness) -> None:
    add_pages(harness, 25)
    assert [one.get("N") for one in search_xml(harness, "q=needle&start=20").findall("RES/R")] == ["21", "22", "23", "24", "25"]


def test_total_of_a_filtered_search_is_that_of_what_is_left_on_its_last_page_alone(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/d{number // 4}/{number}", f"needle {number}", title=f"T{number}") for number in range(48)])
    first = search_xml(harness, "q=needle").find("RES")
    assert (first.findtext("M"), first.get("EN"), first.find("FI") is not None) == ("48", "10", True)
    last = search_xml(harness, "q=needle&start=20").find("RES")
    assert (last.findtext("M"), last.get("EN"), last.find("NB/NU")) == ("24", "24", None)
    assert search_xml(harness, "q=needle&filter=0").find("RES/FI") is None


def test_directory_that_holds_more_says_so_on_its_last_result_and_links_there(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/d/{number}", f"needle {number}", title=f"T{number}") for number in range(5)])
    found = search_xml(harness, "q=needle")
    assert [one.get("L") for one in found.findall("RES/R")] == ["1", "2"]
    more = found.find("RES/R[2]/HN")
    assert (found.find("RES/R[1]/HN"), more.text) == (None, "a.com/d/")
    assert len(urls(search_xml(harness, f"q=needle&as_sitesearch={more.get('U')}"))) == 5


@pytest.mark.parametrize(("access", "shown"), [("p", True), ("P", True), ("s", False), ("a", False), ("x", True), ("", True)])
def test_total_is_shown_for_public_searches_alone(harness: SearchHarness, access: str, shown: bool) -> None:
    add_pages(harness, 2)
    res = search_xml(harness, f"q=needle&access={access}").find("RES")
    if res is not None:
        assert (res.find("M") is not None, res.find("XT") is not None) == (shown, shown)


# --- parameters -----------------------------------------------------------------------------------------------------------------


def test_known_parameters_keep_their_blanks_and_unknown_ones_do_not(harness: SearchHarness) -> None:
    found = search_xml(harness, "q=a+b&btnG=Google+Search&as_q=x%20y&mine=a+b%09c&sitesearch=&my+name=1")
    assert parameter_of(found, "btnG") == ("Google Search", "Google+Search")
    assert parameter_of(found, "as_q") == ("x y", "x%20y")
    assert parameter_of(found, "mine") == ("a_b_c", "a+b%09c")
    assert parameter_of(found, "sitesearch") == ("", "")
    assert parameter_of(found, "my name") == ("1", "1")


def test_client_is_the_one_named_else_that_of_the_stylesheet(harness: SearchHarness) -> None:
    add_pages(harness, 2)
    removing = FrontEnd(name="narrow", remove_urls=("a.com/0/",), facets=(Facet(name="kind"), Facet(name="none")))
    harness.serving = Serving(frontends={"narrow": removing})
    assert search_xml(harness, "q=needle&client=narrow").findtext("RES/M") == "1"
    assert search_xml(harness, "q=needle&client=default_frontend").findtext("RES/M") == "2"
    harness.add([harness.make("http://a.com/kind", "needle", metadata=(("kind", "memo"),))])
    xml = search_xml(harness, "q=needle&client=narrow")
    assert [facet.get("NM") for facet in xml.findall("RES/PARM/PMT")] == ["kind"]
    assert search_xml(harness, "q=needle&client=other").find("RES/PARM") is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=needle&as_sitesearch=a.com", ["a.com/docs/1", "a.com/news/2"]),
        ("q=needle&as_sitesearch=a.com/docs/", ["a.com/docs/1"]),
        ("q=needle&as_sitesearch=http://a.com/docs/", ["a.com/docs/1"]),
        ("q=needle&as_sitesearch=a.com&as_dt=i", ["a.com/docs/1", "a.com/news/2"]),
        ("q=needle&as_sitesearch=a.com&as_dt=e", ["b.com/docs/3"]),
        ("q=needle&sitesearch=b.com", ["b.com/docs/3"]),
        ("q=needle&sitesearch=a.com/news", ["a.com/news/2"]),
        ("q=needle&sitesearch=a.com&as_dt=e", ["a.com/docs/1", "a.com/news/2"]),
        ("q=&sitesearch=a.com", []),
        ("q=&as_sitesearch=b.com", ["b.com/docs/3"]),
        ("q=needle+-site:a.com", ["b.com/docs/3"]),
        ("as_q=needle&as_eq=two", ["a.com/docs/1", "b.com/docs/3"]),
        ("q=needle&as_oq=two+three", ["a.com/news/2", "b.com/docs/3"]),
        ("as_epq=needle+two", ["a.com/news/2"]),
        ("q=three&as_occt=title", []),
        ("q=third&as_occt=title", ["b.com/docs/3"]),
        ("q=docs&as_occt=url", ["a.com/docs/1", "b.com/docs/3"]),
        ("q=needle&as_filetype=pdf", []),
        ("q=needle&as_filetype=html&as_ft=e", []),
    ],
)
def test_fields_of_the_advanced_form_narrow_the_search(harness: SearchHarness, query: str, found: list[str]) -> None:
    harness.add(
        [
            harness.make("http://a.com/docs/1", "needle one", title="First"),
            harness.make("http://a.com/news/2", "needle two", title="Second"),
            harness.make("http://b.com/docs/3", "needle three", title="Third"),
        ]
    )
    assert sorted(urls(search_xml(harness, f"{query}&filter=0"))) == found


@pytest.mark.parametrize(
    ("query", "count"), [("as_sitesearch=a.com", 4), ("sitesearch=a.com", 4), ("as_sitesearch=b.com&as_dt=e", 2), ("", 2)]
)
def test_directories_are_thinned_but_in_a_search_of_a_site(harness: SearchHarness, query: str, count: int) -> None:
    harness.add([harness.make(f"http://a.com/d/{number}", f"needle {number}", title=f"T{number}") for number in range(4)])
    assert len(urls(search_xml(harness, f"q=needle&{query}"))) == count


# --- order ----------------------------------------------------------------------------------------------------------------------


def dated(harness: SearchHarness) -> None:
    days: tuple[int | None, ...] = (5, None, 1, 9)
    prices = (("10",), ("9.5",), (), ("100", "1"))
    harness.add(
        [
            harness.make(
                f"http://{number}.com/",
                "needle " * (number + 1),
                title=f"T{number}",
                attributes=Attributes(last_modified=None if day is None else NOW - timedelta(days=day)),
                metadata=tuple(("Price", price) for price in held),
            )
            for number, (day, held) in enumerate(zip(days, prices, strict=True))
        ]
    )


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("date:D:S:d1", "2031"),
        ("date:A:S:d1", "3021"),
        ("date%3AD%3AR%3Ad1", "2031"),
        ("date:A:R", "3021"),
        ("date:D", "2031"),
        ("meta:price:A", "1032"),
        ("meta:price:D", "3012"),
        ("meta:Price", "1032"),
        ("meta:price:D:E:en:D:Y", "3012"),
        ("meta:price::ED", "1032"),
    ],
)
def test_results_are_sorted_by_date_and_by_metadata_what_lacks_it_last(harness: SearchHarness, sort: str, order: str) -> None:
    dated(harness)
    assert "".join(url[0] for url in urls(search_xml(harness, f"q=needle&sort={sort}"))) == order


@pytest.mark.parametrize("sort", ["date:D:L:d1", "", "size:D", "meta:", "date", "x:y:z"])
def test_results_without_another_order_are_sorted_by_relevance(harness: SearchHarness, sort: str) -> None:
    dated(harness)
    assert urls(search_xml(harness, f"q=needle&sort={sort}")) == urls(search_xml(harness, "q=needle"))
    if sort:
        assert parameter_of(search_xml(harness, f"q=needle&sort={sort}"), "sort") == (sort, sort)


def test_date_of_a_result_is_shown_in_any_order(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/", "needle", attributes=Attributes(last_modified=datetime(2011, 3, 5, 23, 59, tzinfo=UTC)))])
    assert [(one.get("NAME"), one.get("VALUE")) for one in search_xml(harness, "q=needle").findall("RES/R/FS")] == [("date", "2011-03-05")]


# --- metadata -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("requiredfields=dept", "123"),
        ("requiredfields=dept:legal%2520affairs", "1"),
        ("requiredfields=dept:legal affairs", "1"),
        ("requiredfields=dept:Legal", ""),
        ("requiredfields=dept:legal*", "1"),
        ("requiredfields=dept?legal", "1"),
        ("requiredfields=dept:sales|dept:it", "23"),
        ("requiredfields=dept:sales.region:west", "2"),
        ("requiredfields=dept.-region", "13"),
        ("requiredfields=-dept:sales", "1345"),
        ("requiredfields=(dept:sales|dept:it).-region:west", "3"),
        ("requiredfields=dc%252Etitle:v1%252E0%257Cx", "4"),
        ("requiredfields=k%2525y:100%2525", "5"),
        ("partialfields=dept:affairs", "1"),
        ("partialfields=dept:affairs legal", ""),
        ("partialfields=dept:aff", ""),
        ("partialfields=dept:sales|dept:legal", "12"),
        ("partialfields=region:west&requiredfields=dept:sales", "2"),
        ("partialfields=region:west&requiredfields=dept:it", ""),
    ],
)
def test_metadata_that_is_demanded_must_be_there(harness: SearchHarness, parameters: str, found: str) -> None:
    held = (
        (("dept", "Legal Affairs"),),
        (("Dept", "sales"), ("region", "West")),
        (("dept", "IT"),),
        (("dc.title", "v1.0|x"),),
        (("k%y", "100%"),),
    )
    harness.add([harness.make(f"http://{number}.com/", "needle", title=f"T{number}", metadata=meta) for number, meta in enumerate(held, 1)])
    app = search_app(harness.services())
    assert "".join(sorted(url[0] for url in urls(search_xml(harness, f"q=needle&filter=0&{parameters}")))) == found
    listed = ask(app, "/api/v1/search", f"q=needle&{parameters}").json
    assert "".join(sorted(result["url"][7] for result in listed["results"])) == found


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ("", []),
        ("author", [("Author", "Ann"), ("Author", "Bob")]),
        ("AUTHOR.dc%252Etitle", [("Author", "Ann"), ("Author", "Bob"), ("dc.title", "a & <b>")]),
        ("none", []),
        ("*", [("Author", "Ann"), ("Author", "Bob"), ("dc.title", "a & <b>")]),
    ],
)
def test_metadata_is_returned_as_requested(harness: SearchHarness, fields: str, given: list[tuple[str, str]]) -> None:
    harness.add([harness.make("http://a.com/", "needle", metadata=(("Author", "Ann"), ("Author", "Bob"), ("dc.title", "a & <b>")))])
    assert [(one.get("N"), one.get("V")) for one in search_xml(harness, f"q=needle&getfields={fields}").findall("RES/R/MT")] == given


# --- results --------------------------------------------------------------------------------------------------------------------


def test_result_has_its_elements_in_their_order(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/", "needle", title="T", metadata=(("a", "b"),), language="en")])
    tags = [one.tag for one in search_xml(harness, "q=needle&getfields=*").find("RES/R")]
    assert tags == ["U", "UE", "UD", "T", "RK", "CRAWLDATE", "ENT_SOURCE", "FS", "MT", "S", "LANG", "HAS"]


def test_result_of_an_old_document_without_title_and_copy_leaves_out_what_it_lacks(harness: SearchHarness) -> None:
    app = search_app(harness.services(), SearchSite(clock=lambda: NOW + timedelta(days=3)))
    harness.add([harness.make("http://a.com/", "needle", robots=("noarchive",))])
    result = etree.fromstring(ask(app, "/search", "q=needle").body).find("RES/R")
    assert result is not None
    assert [one.tag for one in result] == ["U", "UE", "UD", "RK", "ENT_SOURCE", "FS", "S", "LANG", "HAS"]
    fields, has = result.find("FS"), result.find("HAS")
    assert fields is not None
    assert has is not None
    assert (fields.get("VALUE"), [one.tag for one in has]) == ("", ["L"])


@pytest.mark.parametrize(("days", "date"), [(0, "1 Mar 2026"), (2, "1 Mar 2026"), (3, None)])
def test_crawl_date_is_shown_for_two_days(harness: SearchHarness, days: int, date: str | None) -> None:
    harness.add([harness.make("http://a.com/", "needle")])
    app = search_app(harness.services(), SearchSite(clock=lambda: NOW + timedelta(days=days)))
    assert etree.fromstring(ask(app, "/search", "q=needle").body).findtext("RES/R/CRAWLDATE") == date


def test_answer_without_results_keeps_everything_else(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/search", "q=none&output=xml&oe=latin1")
    assert answer.body.startswith(b'<?xml version="1.0" encoding="ISO-8859-1" standalone="no"?>\n<!DOCTYPE GSP SYSTEM "google.dtd">\n')
    assert [one.tag for one in etree.fromstring(answer.body)] == ["TM", "Q", "PARAM", "PARAM", "PARAM", "PARAM"]


@pytest.mark.parametrize(
    ("query", "status"), [("proxystylesheet=", 400), ("proxystylesheet=none", 404), ("proxystylesheet=default_frontend", 200)]
)
def test_stylesheet_that_is_empty_or_unknown_is_an_error(harness: SearchHarness, query: str, status: int) -> None:
    assert ask(search_app(harness.services()), "/search", f"q=needle&{query}").status == status
