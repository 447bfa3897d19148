"""Synonyms and stop words, through every way to ask and on both engines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from feedmill.http.search.app import search_app
from feedmill.model.serving import Serving, SynonymSet
from tests.contract.searchharness import SearchHarness, ask, open_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    synonyms = SynonymSet(two_way=(("car", "automobile"), ("nyc", "new york")), one_way=(("bike", "bicycle"),))
    made.serving = Serving(synonyms=(synonyms,), stop_words=("the",))
    texts = ("a red car", "an automobile of old", "my bicycle", "a bike there", "hotels of New York", "york was not new", "nyc hotels")
    made.add([made.make(f"http://a.com/{number}/x", text, title=f"T{number}") for number, text in enumerate(texts)])
    yield made
    made.store.close()


def found(harness: SearchHarness, query: str, **more: str) -> str:
    app = search_app(harness.services())
    answer = ask(app, "/api/v1/search", [("q", query), ("match", "all"), *more.items()]).json
    xml: Any = etree.fromstring(ask(app, "/search", [("q", query), ("filter", "0"), *more.items()]).body)
    numbers = "".join(sorted(result["url"].split("/")[3] for result in answer["results"]))
    assert "".join(sorted(one.text.split("/")[3] for one in xml.findall("RES/R/U"))) == numbers
    assert answer["total"] == len(numbers) == int(xml.findtext("RES/M") or 0)
    return numbers


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("car", "01"),
        ("automobile", "01"),
        ("bike", "23"),
        ("bicycle", "2"),
        ("nyc", "46"),
        ("new york", "456"),
        ('"new york"', "4"),
        ("hotels nyc", "46"),
        ('"car"', "0"),
        ("+car", "0"),
        ("car intext:red", "0"),
        ("automobile inurl:x", "1"),
        ("the car", "01"),
        ("the", ""),
    ],
)
def test_synonyms_find_each_other_one_way_or_both(harness: SearchHarness, query: str, numbers: str) -> None:
    assert found(harness, query) == numbers


def test_synonyms_are_switched_off_by_entqr_0_and_by_nothing_else(harness: SearchHarness) -> None:
    assert found(harness, "car", entqr="0") == "0"
    assert [found(harness, "car", entqr=level) for level in ("1", "2", "3", "")] == ["01"] * 4


def test_synonyms_are_marked_in_snippets(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/api/v1/search", "q=car").json
    marked = {result["snippet"][low:high] for result in answer["results"] for low, high in result["snippet_marks"]}
    assert marked == {"car", "automobile"}
