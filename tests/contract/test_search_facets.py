"""Facets in requests and answers of the search port."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from starlette.types import ASGIApp

from feedmill.core.ranking.facets import read_facet_range
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.facetlinks import label_days
from feedmill.model.access import AccessFilter
from feedmill.model.document import Attributes
from feedmill.model.facets import Facet, FacetType
from feedmill.model.serving import FrontEnd, Serving
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.thorough import count_examples

PRICE = Facet(
    name="price",
    label="What it costs",
    type=FacetType.CURRENCY,
    ranges=(read_facet_range("..9.99", FacetType.CURRENCY), read_facet_range("10..20", FacetType.CURRENCY)),
)
SHOP = FrontEnd(name="shop", facets=(PRICE, Facet(name="team")))


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.serving = Serving(frontends={"shop": SHOP})
    for number, (price, team) in enumerate([("$5", "Sales"), ("$10", "sales"), ("15", "Legal Affairs"), ("99", "Ops")]):
        made.add(
            [made.make(f"http://a.com/{number}/x", f"word n{number}", title=f"T{number}", metadata=(("Price", price), ("Team", team)))]
        )
    made.add([made.make("http://a.com/secret", "word", metadata=(("team", "Board"),), secure=True)])
    yield made
    made.store.close()


def test_search_api_facets_are_counted_over_the_whole_result(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/api/v1/search", [("q", "word"), ("num", "1"), ("facet", "TEAM"), ("facet", "none")])
    none = {"value": None, "low": None, "high": None}
    assert answer.json["facets"] == [
        {
            "name": "TEAM",
            "label": "TEAM",
            "type": "string",
            "values": [
                {**none, "value": "Sales", "count": 2},
                {**none, "value": "Legal Affairs", "count": 1},
                {**none, "value": "Ops", "count": 1},
            ],
        },
        {"name": "none", "label": "none", "type": "string", "values": []},
    ]


def test_search_api_facet_of_a_front_end_has_its_label_type_and_ranges(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    (facet,) = ask(app, "/api/v1/search", [("q", "word"), ("num", "0"), ("client", "shop"), ("facet", "Price")]).json["facets"]
    assert facet == {
        "name": "price",
        "label": "What it costs",
        "type": "currency",
        "values": [{"value": None, "low": None, "high": 9.99, "count": 1}, {"value": None, "low": 10, "high": 20, "count": 2}],
    }
    assert ask(app, "/api/v1/search", [("q", "word"), ("client", "shop")]).json["facets"] == []


def test_search_api_facets_show_no_value_that_only_hidden_documents_hold(harness: SearchHarness) -> None:
    values = ask(search_app(harness.services()), "/api/v1/search", "q=word&facet=team").json["facets"][0]["values"]
    assert "Board" not in [value["value"] for value in values]
    anonymous = SearchSite(identify=lambda _: AccessFilter(permitted=frozenset()))
    assert ask(search_app(harness.services(), anonymous), "/api/v1/search", "q=word&facet=team").json["facets"][0]["values"] == []


def test_search_api_facets_describe_the_loosened_list(harness: SearchHarness) -> None:
    body = ask(search_app(harness.services()), "/api/v1/search", "q=n1+n2&facet=team").json
    assert (body["total"], [value["count"] for value in body["facets"][0]["values"]]) == (2, [1, 1])


def test_search_api_choice_of_a_facet_finds_what_was_counted(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    for choice, found in [("inmeta:team=sales", 2), ("inmeta:Team=Legal%2520Affairs", 1), ("inmeta:price:10..20", 2)]:
        assert ask(app, "/api/v1/search", f"q=word&dnavs={choice}").json["total"] == found
    assert ask(app, "/api/v1/search", "dnavs=inmeta:team=sales+inmeta:price:..9").json["total"] == 1


def test_search_api_too_many_facets_are_bounded_and_said(harness: SearchHarness) -> None:
    body = ask(
        search_app(harness.services()), "/api/v1/search", [("q", "word"), ("facet", ""), *(("facet", f"f{n}") for n in range(50))]
    ).json
    assert len(body["facets"]) == 20
    assert body["warnings"] == ["only the first 20 facets were counted"]


def test_search_xml_has_the_facets_of_the_front_end(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    found = etree.fromstring(ask(app, "/search", "q=word&client=shop&num=2").body)
    result_list = found.find("RES")
    assert result_list is not None
    assert [element.tag for element in result_list if element.tag != "R"] == ["M", "XT", "NB", "PARM"]
    assert etree.tostring(result_list[3], with_tail=False).decode() == (
        '<PARM><PC>0</PC>\n<PMT NM="price" DN="What it costs" IR="1" T="3">'
        '<PV V="" L="" H="9.99" C="1"/><PV V="" L="10" H="20" C="2"/></PMT>\n'
        '<PMT NM="team" DN="team" IR="0" T="0"><PV V="Sales" L="" H="" C="2"/><PV V="Legal Affairs" L="" H="" C="1"/>'
        '<PV V="Ops" L="" H="" C="1"/></PMT>\n</PARM>'
    )
    assert etree.fromstring(ask(app, "/search", "q=word").body).find("RES/PARM") is None
    narrowed = etree.fromstring(ask(app, "/search", "q=word&client=shop&dnavs=inmeta:team%3Dsales").body)
    assert narrowed.findtext("RES/M") == "2"


@pytest.mark.parametrize("path", ["/suggest", "/cluster", "/click", "/api/v1/suggest", "/api/v1/search", "/"])
@settings(max_examples=count_examples(20), suppress_health_check=list(HealthCheck))
@given(query=st.text(st.sampled_from("abq=&%+.*:;@\"'()<>{}[]|-~\\/ä東\x00\u202e0123456789"), max_size=60))
def test_any_query_string_is_answered(harness: SearchHarness, path: str, query: str) -> None:
    known = {"/api/v1/suggest": ("q",), "/api/v1/search": ("q", "facet", "dnavs", "select")}
    names = known.get(path, ("q", "facet", "dnavs", "select", "token", "max", "url"))
    sent = quote("&".join([*(f"{name}={query}" for name in names), query]), safe="=&%+")
    answer = ask(search_app(harness.services()), path, sent)
    assert answer.status in (200, 204, 400), answer.text
    if answer.status == 400:
        said = answer.json["detail"] if path.startswith("/api/") else answer.text
        assert re.search(r"cursor=|callback=|^parameter .* is (unknown|given|no |')", said)


def test_page_shows_facets_as_boxes_and_what_is_selected(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    text = ask(app, "/", [("q", "word"), ("client", "shop")]).text
    assert 'name="select" value="team:Legal Affairs">' in text
    assert 'name="select" value="price:10..20">' in text
    chosen = ask(app, "/", [("q", "word"), ("client", "shop"), ("select", "Team:sales"), ("select", "price:..9.99")]).text
    assert 'value="team:Sales" checked>' in chosen
    assert 'value="price:..9.99" checked>' in chosen
    assert "What it costs</bdi>: <b>at most 9.99</b>" in chosen
    assert 'href="/?q=word&amp;client=shop&amp;select=Team%3Asales"' in chosen
    assert 'href="/?q=word&amp;client=shop"' in chosen
    listed = ask(app, "/", [("client", "shop"), ("select", "team:Sales")]).text
    assert "2 results" in listed
    assert 'class="blank"' in ask(app, "/", [("client", "shop"), ("site", "default_collection"), ("num", "20")]).text


def test_page_shows_the_selections_of_old_links(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    chosen = ask(app, "/", [("q", "word"), ("client", "shop"), ("dnavs", "inmeta:team=Sales inmeta:price:..9.99")]).text
    assert "What it costs</bdi>: <b>at most 9.99</b>" in chosen
    assert 'href="/?q=word&amp;client=shop&amp;dnavs=inmeta%3Ateam%3DSales"' in chosen


def test_page_shows_only_facets_that_narrow(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    text = ask(app, "/", [("q", "word")]).text
    # all documents are of one host, one type and one source
    assert "<fieldset>" not in text
    harness.add([harness.make("http://b.com/x", "word", language="de")])
    text = ask(app, "/", [("q", "word")]).text
    assert [legend.partition("</legend>")[0] for legend in text.split("<legend>")[1:]] == ["Language", "Site"]
    assert '<span class="value">German</span>' in text


def test_page_shows_sites_only_where_they_split_the_results_otherwise_than_sources(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    for number, source in enumerate(("wiki", "wiki", "files")):
        harness.add([replace(harness.make(f"http://{source}.com/{number}", "pebble"), datasource=source)])
    assert list(read_counts(ask(app, "/", "q=pebble").text)) == ["Source"]
    # a user who asks for it, or has selected of it, sees it
    assert list(read_counts(ask(app, "/", "q=pebble&facet=@site").text)) == ["Site", "Source"]
    assert list(read_counts(ask(app, "/", "q=pebble&select=@site:wiki.com").text)) == ["Source", "Site"]
    harness.add([replace(harness.make("http://old.com/", "pebble"), datasource="files")])
    assert list(read_counts(ask(app, "/", "q=pebble").text)) == ["Source", "Site"]


def read_counts(page: str) -> dict[str, list[tuple[str, str | None]]]:
    """Returns the values of the facets of a page by their names, each with its count; the name of one that cannot be used has a "-"."""
    found = {}
    for group in etree.HTML(page).iterfind(".//fieldset"):
        name = str(group.xpath("string(legend)")) + ("-" if "disabled" in group.attrib else "")
        items = group.findall(".//li")
        found[name] = [(read_span(item, "value") or "", read_span(item, "number")) for item in items]
    return found


def read_span(item: etree._Element, name: str) -> str | None:
    return str(item.xpath(f"string(.//span[@class='{name}'])")).strip("()") or None


def test_page_keeps_facets_in_their_place_with_their_counts_when_one_narrows(harness: SearchHarness) -> None:
    harness.add([harness.make("http://b.com/x", "word", language="de", metadata=(("team", "Press"),))])
    app = search_app(harness.services())
    whole = read_counts(ask(app, "/", [("q", "word"), ("client", "shop")]).text)
    assert list(whole) == ["What it costs", "team", "Language", "Site"]
    # only one of what is left has a language, no price: neither narrows any further
    narrowed = read_counts(ask(app, "/", [("q", "word"), ("client", "shop"), ("select", "@site:b.com")]).text)
    assert narrowed == {
        "What it costs-": [("at most 9.99", "0"), ("10 – 20", "0")],
        "team": [("Press", "1")],
        "Language": [("German", "1")],
        "Site": [("a.com", "4"), ("b.com", "1")],
    }
    # by the API the facets are those of the list alone
    facets = ask(app, "/api/v1/search", [("q", "word"), ("client", "shop"), ("facet", "price"), ("select", "@site:b.com")]).json["facets"]
    assert facets[0]["values"] == []


def test_page_counts_a_selected_value_that_nothing_is_left_of(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    shown = read_counts(ask(app, "/", [("q", "word"), ("client", "shop"), ("select", "team:Ops"), ("select", "price:..9.99")]).text)
    assert shown == {"What it costs": [("at most 9.99", "0")], "team": [("Ops", "0"), ("Sales", "1")]}
    # of what no document has, nothing is known
    shown = read_counts(ask(app, "/", [("q", "word"), ("client", "shop"), ("select", "team:nobody")]).text)
    assert ("nobody", None) in shown["team"]


@pytest.mark.parametrize(("ending", "name"), [("html", "Web page"), ("md", "Markdown"), ("txt", "Plain text"), ("pdf", "PDF")])
def test_page_names_types_of_files_for_people(harness: SearchHarness, ending: str, name: str) -> None:
    text = ask(search_app(harness.services()), "/", [("q", "word"), ("select", f"@filetype:{ending}")]).text
    assert f"File type: <b>{name}</b>" in text


def test_page_keeps_a_selection_without_results_in_sight(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    text = ask(app, "/", [("q", "word"), ("select", "@language:fr"), ("select", "other:x")]).text
    assert 'value="@language:fr" checked>' in text
    assert '<input type="hidden" name="select" value="other:x">' in text
    assert "<bdi>other</bdi>: <b><bdi>x</bdi></b>" in text


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("2026-11-27", "2026-11-27", "Today"),
        ("2026-11-21", "2026-11-27", "Past 7 days"),
        ("2026-11-20", "2026-11-26", "2026-11-20 – 2026-11-26"),
        ("2025-01-01", "2025-12-31", "year"),
        ("9999-12-01", "9999-12-31", "month"),
        ("2024-02-01", "2024-02-29", "month"),
        ("2024-02-01", "2024-02-28", "2024-02-01 – 2024-02-28"),
        ("2024-02-05", "2024-02-05", "day"),
        ("", "2024-02-05", "until 2024-02-05"),
        ("2024-01-01", "", "from 2024"),
    ],
)
def test_page_names_ranges_of_days(first: str, last: str, shown: str) -> None:
    label = label_days(first, last, date(2026, 11, 27))
    assert (label.text or label.form) == shown


# --- built-in facets and selections -----------------------------------------------------------------------------------------------

NONE = {"value": None, "low": None, "high": None}


def find_total(app: ASGIApp, *selected: str, query: str = "word") -> int:
    answer = ask(app, "/api/v1/search", [("q", query), ("num", "1"), *(("select", text) for text in selected)])
    assert answer.status == 200, answer.text
    assert isinstance(answer.json["total"], int)
    return int(answer.json["total"])


def test_search_api_built_in_facets_need_no_settings(harness: SearchHarness) -> None:
    written = Attributes(last_modified=datetime(2020, 5, 1, tzinfo=UTC))
    harness.add([harness.make("http://b.com:81/new.pdf", "word", language="de", attributes=written)])
    names = ("@FileType", "@date", "@source", "@language", "@site")
    answer = ask(search_app(harness.services()), "/api/v1/search", [("q", "word"), *(("facet", name) for name in names)])
    assert answer.json["facets"] == [
        {"name": "@filetype", "label": "File type", "type": "string", "values": [{**NONE, "value": "html", "count": 5}]},
        {
            "name": "@date",
            "label": "Date",
            "type": "date",
            "values": [{"value": None, "low": "2020-05-01", "high": "2020-05-01", "count": 1}],
        },
        {"name": "@source", "label": "Source", "type": "string", "values": [{**NONE, "value": "hr", "count": 5}]},
        {"name": "@language", "label": "Language", "type": "string", "values": [{**NONE, "value": "de", "count": 1}]},
        {
            "name": "@site",
            "label": "Site",
            "type": "string",
            "values": [{**NONE, "value": "a.com", "count": 4}, {**NONE, "value": "b.com", "count": 1}],
        },
    ]


def test_search_api_values_of_one_name_are_alternatives_and_names_hold_together(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    assert find_total(app, "TEAM:SALES") == 2
    assert find_total(app, "team:sales", "team:Ops") == 3
    assert find_total(app, "team:sales", "price:10..20") == 1
    assert find_total(app, "team:sales", "@site:A.com", "@filetype:.HTM") == 2
    assert find_total(app, "@site:b.com") == 0
    assert find_total(app, "team:ops", query="") == 1
    both = ask(app, "/api/v1/search", [("q", "word"), ("select", "team:ops"), ("facet", "team"), ("facet", "price")]).json
    assert [value["count"] for value in both["facets"][0]["values"]] == [2, 1, 1]
    assert [value["value"] for value in both["facets"][1]["values"]] == ["99"]


def test_search_api_a_range_of_the_front_end_is_a_range_whatever_values_there_are(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/odd", "word", metadata=(("price", "10..20"),))])
    app = search_app(harness.services())
    asked = [("q", "word"), ("client", "shop"), ("select", "price:10..20")]
    assert ask(app, "/api/v1/search", asked).json["total"] == 2
    assert ask(app, "/api/v1/search", [("q", "word"), ("select", "price:10..20")]).json["total"] == 1


def test_search_xml_reads_a_selection_alike_on_all_pages(harness: SearchHarness) -> None:
    names = [(("og:type", f"{n}"), ("og", "type:x")) for n in range(30)]
    harness.add([harness.make(f"http://a.com/{n}/p", f"list {n}", title=f"N{n}", metadata=pairs) for n, pairs in enumerate(names)])
    app = search_app(harness.services())
    sent = [("q", "list"), ("facet", "og:type"), ("facet", "og"), ("select", "og:type:x"), ("num", "15"), ("filter", "p")]
    pages = [etree.fromstring(ask(app, "/search", [*sent, ("start", start)]).body) for start in ("0", "15")]
    assert [len(page.findall("RES/R")) for page in pages] == [15, 15]


def test_search_api_selected_list_is_paged_and_listed_by_cursor(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    pages = [ask(app, "/api/v1/search", [("q", "word"), ("select", "team:sales"), ("num", "1"), ("start", at)]).json for at in "012"]
    assert [len(page["results"]) for page in pages] == [1, 1, 0]
    assert all(page["exact"] and page["total"] == 2 for page in pages)
    first = ask(app, "/api/v1/search", [("q", "word"), ("select", "team:sales"), ("num", "1"), ("cursor", "*")]).json
    more = [("q", "word"), ("num", "1"), ("cursor", first["next_cursor"])]
    second = ask(app, "/api/v1/search", [*more, ("select", "team:sales")]).json
    assert {first["results"][0]["title"], second["results"][0]["title"]} == {"T0", "T1"}
    refused = ask(app, "/api/v1/search", more)
    assert (refused.status, "cursor=" in refused.json["detail"]) == (400, True)


@pytest.mark.parametrize(
    "text",
    [
        "team",
        ":x",
        "team:",
        "@date:soon",
        "@date:..",
        "@date:2026-02-01..2026-01-01",
        "@date:2026-02-30",
        "@nothing:x",
        "price:20..10",
        "a:..",
    ],
)
def test_search_api_refuses_a_selection_without_meaning(harness: SearchHarness, text: str) -> None:
    app = search_app(harness.services())
    refused = ask(app, "/api/v1/search", [("q", "word"), ("select", text)])
    assert refused.status == 400
    assert refused.json["detail"].startswith(f"parameter select is {text!r}; ")
    for path in ("/", "/search"):
        lenient = ask(app, path, [("q", "word"), ("select", text)])
        assert lenient.status == 200


def test_search_api_refuses_an_unknown_built_in_facet(harness: SearchHarness) -> None:
    refused = ask(search_app(harness.services()), "/api/v1/search", [("q", "word"), ("facet", "@colour")])
    assert (refused.status, refused.json["detail"].startswith("parameter facet: '@colour' is no built-in facet")) == (400, True)


def test_search_api_refuses_too_many_selections(harness: SearchHarness) -> None:
    refused = ask(search_app(harness.services()), "/api/v1/search", [("q", "word"), *(("select", f"a:{n}") for n in range(101))])
    assert (refused.status, "parameter select" in refused.json["detail"]) == (400, True)


def test_search_api_selected_source_of_hidden_documents_looks_like_an_unknown_one(harness: SearchHarness) -> None:
    hidden = search_app(harness.services(), SearchSite(identify=lambda _: AccessFilter(permitted=frozenset())))
    for source in ("hr", "unknown"):
        answer = ask(hidden, "/api/v1/search", [("q", "word"), ("select", f"@source:{source}"), ("facet", "@source")]).json
        assert (answer["total"], answer["results"], answer["facets"][0]["values"]) == (0, [], [])


def test_search_xml_is_narrowed_by_selections(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    found = etree.fromstring(ask(app, "/search", [("q", "word"), ("select", "team:sales"), ("select", "team:ops")]).body)
    assert found.findtext("RES/M") == "3"
    assert etree.fromstring(ask(app, "/search", [("q", "word"), ("select", "team:none")]).body).find("RES") is None


def test_search_api_a_selection_is_a_part_of_the_list_it_was_made_in(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://c.com/{n}", "both words", metadata=(("kind", f"{n % 4}"),)) for n in range(12)])
    harness.add([harness.make(f"http://c.com/x{n}", "words", metadata=(("kind", "0"),)) for n in range(12)])
    answer = ask(search_app(harness.services()), "/api/v1/search", [("q", "both words"), ("facet", "kind"), ("select", "kind:0")]).json
    assert (answer["total"], answer["facets"][0]["values"][0]["count"]) == (3, 3)


def test_search_xml_counts_named_facets_beside_those_of_the_front_end(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    sent = [("q", "word"), ("client", "shop"), ("facet", "@site"), ("facet", "Team"), ("facet", "@unknown")]
    found = etree.fromstring(ask(app, "/search", sent).body)
    assert [facet.get("NM") for facet in found.findall("RES/PARM/PMT")] == ["price", "team", "@site"]
    assert [value.get("V") for value in found.findall("RES/PARM/PMT[@NM='@site']/PV")] == ["a.com"]


def test_page_shows_a_facet_that_its_address_names(harness: SearchHarness) -> None:
    text = ask(search_app(harness.services()), "/", [("q", "word"), ("facet", "team"), ("select", "team:ops")]).text
    assert 'value="team:Ops" checked>' in text
    assert '<input type="hidden" name="facet" value="team">' in text
    assert 'href="/?q=word&amp;facet=team"' in text


def test_search_api_front_end_names_and_divides_built_in_facets(harness: SearchHarness) -> None:
    ranges = (read_facet_range("..2019-12-31", FacetType.DATE), read_facet_range("2020-01-01..", FacetType.DATE))
    facets = (Facet(name="@Date", label="Written", type=FacetType.DATE, ranges=ranges), Facet(name="@site", label="Server"))
    harness.serving = Serving(frontends={"dated": FrontEnd(name="dated", facets=facets)})
    written = Attributes(last_modified=datetime(2020, 1, 1, tzinfo=UTC))
    harness.add([harness.make("http://b.com/new", "word", attributes=written)])
    app = search_app(harness.services())
    asked = [("q", "word"), ("client", "dated"), ("facet", "@date"), ("facet", "@site"), ("facet", "@source")]
    answer = ask(app, "/api/v1/search", asked).json
    assert [(facet["name"], facet["label"]) for facet in answer["facets"]] == [
        ("@date", "Written"),
        ("@site", "Server"),
        ("@source", "Source"),
    ]
    assert answer["facets"][0]["values"] == [{"value": None, "low": "2020-01-01", "high": None, "count": 1}]
    assert ask(app, "/api/v1/search", [*asked, ("select", "@date:2020-01-01..")]).json["total"] == 1
