"""KeyMatches and related queries, as every front end shows them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from feedmill.http.search.app import search_app
from feedmill.model.serving import FrontEnd, KeyMatch, KeyMatchKind, RelatedQuery, Serving
from tests.contract.searchharness import SearchHarness, ask, open_harness

MATCHES = [
    KeyMatch(kind=KeyMatchKind.KEYWORD, term="needle", url=f"http://promo.com/{number}?a=1&b=2", title=f"Promo <{number}>")
    for number in range(4)
]
RELATED = (RelatedQuery(term="needle", query="pins & needles"), RelatedQuery(term="needle", query="thread"))


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    odd = KeyMatch(kind=KeyMatchKind.EXACT, term="odd", url="javascript:alert(1)")
    default = FrontEnd(name="default_frontend", keymatches=(*MATCHES, odd), related=RELATED)
    made.serving = Serving(frontends={"default_frontend": default, "plain": FrontEnd(name="plain")})
    made.add([made.make(f"http://a.com/{number}/x", f"needle {number}", title=f"T{number}") for number in range(12)])
    yield made
    made.store.close()


def test_xml_has_related_queries_and_three_keymatches_before_the_results(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/search", "q=needle&output=xml_no_dtd")
    found: Any = etree.fromstring(answer.body)
    assert [one.tag for one in found if one.tag != "PARAM"] == ["TM", "Q", "Synonyms", "GM", "GM", "GM", "RES"]
    assert [(one.get("q"), one.text) for one in found.findall("Synonyms/OneSynonym")] == [
        ("pins+%26+needles", "pins & needles"),
        ("thread", "thread"),
    ]
    assert [(one.findtext("GL"), one.findtext("GD")) for one in found.findall("GM")] == [(match.url, match.title) for match in MATCHES[:3]]
    assert [one.tag for one in found.find("GM")] == ["GL", "GD"]


@pytest.mark.parametrize(("numgm", "count"), [("", 3), ("0", 0), ("1", 1), ("50", 4), ("x", 3), ("-1", 3), ("999", 4)])
def test_xml_has_as_many_keymatches_as_requested(harness: SearchHarness, numgm: str, count: int) -> None:
    found: Any = etree.fromstring(ask(search_app(harness.services()), "/search", f"q=needle&numgm={numgm}").body)
    assert len(found.findall("GM")) == count


def test_xml_has_keymatches_where_nothing_was_found(harness: SearchHarness) -> None:
    found: Any = etree.fromstring(ask(search_app(harness.services()), "/search", "q=odd").body)
    assert (found.findtext("GM/GL"), found.findtext("GM/GD"), found.find("RES")) == ("javascript:alert(1)", "javascript:alert(1)", None)


def test_front_end_without_any_offers_nothing(harness: SearchHarness) -> None:
    found: Any = etree.fromstring(ask(search_app(harness.services()), "/search", "q=needle&client=plain").body)
    assert (found.find("GM"), found.find("Synonyms")) == (None, None)
    assert found.findtext("RES/M") == "12"


def test_json_has_keymatches_and_related_queries(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/api/v1/search", "q=needle").json
    assert answer["keymatches"] == [{"url": match.url, "title": match.title} for match in MATCHES[:3]]
    assert answer["related"] == ["pins & needles", "thread"]
    answer = ask(search_app(harness.services()), "/api/v1/search", "q=needle&client=plain").json
    assert (answer["keymatches"], answer["related"]) == ([], [])


def test_page_shows_keymatches_on_its_first_page_and_links_no_script(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    first = ask(app, "/", "q=needle").text
    assert '<a href="http://promo.com/0?a=1&amp;b=2" rel="noopener">Promo &lt;0&gt;</a>' in first
    assert 'href="/?q=pins+%26+needles"' in first
    assert "promo.com" not in ask(app, "/", "q=needle&start=10").text
    odd = ask(app, "/", "q=odd").text
    assert "javascript:alert(1)" in odd
    assert 'href="javascript' not in odd
