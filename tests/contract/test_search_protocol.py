from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from feedmill.http.search.app import search_app
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import SearchHarness, add_pages, ask, open_harness, search_xml


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def urls(found: Any) -> list[str]:
    return [one.text for one in found.findall("RES/R/U")]


def test_search_without_output_is_xml_and_finds_words_that_all_occur(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "red apple", title="One"), harness.make("http://b.com/1", "red", title="Two")])
    assert urls(search_xml(harness, "q=red+apple")) == ["http://a.com/1"]
    assert len(urls(search_xml(harness, "q=red+apple&match=any"))) == 2


def test_search_nothing_found_has_no_res(harness: SearchHarness) -> None:
    add_pages(harness, 1)
    assert search_xml(harness, "q=haystack").find("RES") is None
    assert search_xml(harness, "").find("RES") is None
    assert search_xml(harness, "q=needle&site=nowhere").find("RES") is None


@pytest.mark.parametrize("num", ["0", "-5", "x", "", "%D9%A3", "1e9"])
def test_search_senseless_num_returns_ten(harness: SearchHarness, num: str) -> None:
    add_pages(harness, 12)
    found = search_xml(harness, f"q=needle&num={num}")
    assert len(urls(found)) == 10
    parameter = found.find("PARAM[@name='num']")
    assert (parameter.get("value"), parameter.get("original_value")) == ("10", num)


def test_search_num_beyond_the_limit_is_the_limit(harness: SearchHarness) -> None:
    add_pages(harness, 12)
    found = search_xml(harness, "q=needle&num=99999")
    assert (len(urls(found)), found.find("PARAM[@name='num']").get("value")) == (12, "1000")


@pytest.mark.parametrize("thinned", ["", "&filter=0"])
@pytest.mark.parametrize("start", ["25", "100", "999999999999"])
def test_search_start_beyond_the_end_returns_the_last_page(harness: SearchHarness, thinned: str, start: str) -> None:
    add_pages(harness, 25)
    res = search_xml(harness, f"q=needle&start={start}{thinned}").find("RES")
    assert (res.get("SN"), res.get("EN"), res.findtext("M")) == ("21", "25", "25")
    assert res.find("NB/NU") is None
    assert res.find("R").get("N") == "21"


def test_search_pages_link_to_their_neighbours(harness: SearchHarness) -> None:
    add_pages(harness, 25)
    first = search_xml(harness, "q=needle&sort=date%3AD%3AL%3Ad1&num=10&x=a+b").find("RES")
    assert (first.get("SN"), first.get("EN"), first.find("NB/PU")) == ("1", "10", None)
    following = first.findtext("NB/NU")
    assert following == "/search?q=needle&sort=date%3AD%3AL%3Ad1&num=10&x=a+b&start=10&sa=N"
    seen = urls(search_xml(harness, "q=needle"))
    for _ in range(2):
        page = search_xml(harness, following.partition("?")[2])
        seen += urls(page)
        following = page.findtext("RES/NB/NU")
    assert following is None
    assert page.findtext("RES/NB/PU").endswith("&start=10&sa=N")
    assert len(set(seen)) == len(seen) == 25


def test_search_total_of_secure_searches_is_not_shown(harness: SearchHarness) -> None:
    add_pages(harness, 1)
    assert search_xml(harness, "q=needle").findtext("RES/M") == "1"
    assert search_xml(harness, "q=needle&rc=1").find("RES/XT") is not None
    assert search_xml(harness, "q=needle&access=a").find("RES/M") is None
    assert search_xml(harness, "q=needle&access=a&secure_estimates=1").findtext("RES/M") == "1"


def test_search_access_separates_public_from_secure(harness: SearchHarness) -> None:
    documents = [harness.make("http://a.com/1", "needle", title="open"), harness.make("http://b.com/1", "needle", title="shut")]
    harness.add(documents, acls={"http://b.com/1": FOR_ANN})
    everything = harness.services().filters.find_filter(ANN)
    assert urls(search_xml(harness, "q=needle&access=s")) == []
    assert urls(search_xml(harness, "q=needle&access=a")) == ["http://a.com/1"]
    assert urls(search_xml(harness, "q=needle", identify=lambda _: everything)) == ["http://a.com/1"]
    assert urls(search_xml(harness, "q=needle&access=s", identify=lambda _: everything)) == ["http://b.com/1"]
    assert len(urls(search_xml(harness, "q=needle&access=a", identify=lambda _: everything))) == 2


def test_search_parameters_are_returned_as_used_and_as_sent(harness: SearchHarness) -> None:
    parameters = {
        one.get("name"): (one.get("value"), one.get("original_value"))
        for one in search_xml(harness, "q=a%20b&foo=c%20d+e&ie=nope&ip=1").findall("PARAM")
    }
    assert parameters == {
        "q": ("a b", "a%20b"),
        "foo": ("c_d_e", "c%20d+e"),
        "ie": ("UTF-8", "nope"),
        "ip": ("127.0.0.1", "127.0.0.1"),
    }


@pytest.mark.parametrize("query", ["q=K%C3%A4se", "q=K%E4se", "q=K%E4se&ie=latin1", "q=K%C3%A4se&ie=utf8", "q=K%C3%A4se&ie=unknown"])
def test_search_query_in_any_encoding_is_understood(harness: SearchHarness, query: str) -> None:
    harness.add([harness.make("http://a.com/1", "Käse", title="T")])
    assert urls(search_xml(harness, query)) == ["http://a.com/1"]


def test_search_answers_in_the_requested_encoding(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "Käse", title="日")])
    answer = ask(search_app(harness.services()), "/search", "q=K%C3%A4se&oe=latin1")
    assert answer.headers["content-type"] == "text/xml; charset=ISO-8859-1"
    assert b"<Q>K\xe4se</Q>" in answer.body
    assert b"<T>&#26085;</T>" in answer.body


def test_search_output_xml_names_the_dtd(harness: SearchHarness) -> None:
    assert b"<!DOCTYPE GSP SYSTEM" in ask(search_app(harness.services()), "/search", "q=a&output=xml").body
    assert b"<!DOCTYPE" not in ask(search_app(harness.services()), "/search", "q=a&output=xml_no_dtd").body


def test_search_getfields_returns_one_element_a_value(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle", metadata=(("dc.title", "x"), ("Topic", "y"), ("Topic", "z")))])
    fields = [(one.get("N"), one.get("V")) for one in search_xml(harness, "q=needle&getfields=dc%252Etitle.topic").findall("RES/R/MT")]
    assert fields == [("dc.title", "x"), ("Topic", "y"), ("Topic", "z")]
    assert search_xml(harness, "q=needle").find("RES/R/MT") is None
    assert len(search_xml(harness, "q=needle&getfields=*").findall("RES/R/MT")) == 3


def test_search_noarchive_has_no_cached_copy(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle", robots=("noarchive",))])
    assert search_xml(harness, "q=needle").find("RES/R/HAS/C") is None


def crowd(harness: SearchHarness) -> None:
    pages = [harness.make(f"http://a.com/d/{number}", f"needle {number}", title=f"T{number}") for number in range(4)]
    harness.add(
        [*pages, harness.make("http://a.com/e/1", "needle same", title="S"), harness.make("http://b.com/f/1", "needle same", title="S")]
    )


@pytest.mark.parametrize(("thinning", "count"), [("", 3), ("&filter=1", 3), ("&filter=p", 5), ("&filter=s", 4), ("&filter=0", 6)])
def test_search_filter_leaves_out_copies_and_crowds(harness: SearchHarness, thinning: str, count: int) -> None:
    crowd(harness)
    found = search_xml(harness, "q=needle" + thinning)
    assert len(urls(found)) == count
    assert found.findtext("RES/M") == str(count)
    assert (found.find("RES/FI") is not None) == (count < 6)


def test_search_crowded_directory_names_itself_on_its_last_result(harness: SearchHarness) -> None:
    crowd(harness)
    marked = [
        (one.findtext("HN"), one.find("HN").get("U"), one.get("L"))
        for one in search_xml(harness, "q=needle").findall("RES/R")
        if one.find("HN") is not None
    ]
    assert marked == [("a.com/d/", "http://a.com/d/", "2")]
    assert search_xml(harness, "q=needle&filter=0").find("RES/R/HN") is None


@pytest.mark.parametrize("query", ["q=needle+site:a.com", "q=needle&as_sitesearch=a.com", "q=needle&sitesearch=a.com&filter=1"])
def test_search_of_a_site_is_not_thinned(harness: SearchHarness, query: str) -> None:
    harness.add([harness.make(f"http://a.com/same/{number}", "needle twice", title="Same") for number in range(4)])
    found = search_xml(harness, query)
    assert len(urls(found)) == 4
    assert found.find("RES/FI") is None


def test_search_posted_form_is_read_and_bounded(harness: SearchHarness) -> None:
    add_pages(harness, 1)
    app = search_app(harness.services())
    assert len(urls(etree.fromstring(ask(app, "/search", "q=needle", "POST").body))) == 1
