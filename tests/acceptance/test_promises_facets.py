"""Facets that need no settings, and selections of what facets list, through HTTP."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.acceptance.promises import put
from tests.appliance import Appliance
from tests.builders.feedxml import make_record

BUILT_IN = ("@filetype", "@date", "@source", "@language", "@site")
ENGLISH = "This page is written in plain English, so that a server can tell which language it is in."
GERMAN = "Diese Seite ist auf Deutsch geschrieben, damit ein Server erkennen kann, welche Sprache sie hat."


def ask(server: Appliance, facets: Sequence[str] = (), select: Sequence[str] = (), query: str = "facetword") -> dict[str, Any]:
    parameters = [("q", query), *(("facet", name) for name in facets), *(("select", text) for text in select)]
    status, _, body = server.request("GET", server.search_port, f"/api/v1/search?{urlencode(parameters)}")
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


def as_text(value: dict[str, Any]) -> str:
    if value["value"] is not None:
        return str(value["value"])
    return "..".join("" if end is None else str(end) for end in (value["low"], value["high"]))


@pytest.fixture(scope="module")
def filled(server: Appliance) -> Appliance:
    kinds = ["plain", "a:b", "x..y", "10..20", "Größe & mehr", "東京"]
    pages = []
    for number in range(24):
        text = GERMAN if number % 3 == 0 else ENGLISH
        mimetype, content = ("text/plain", text) if number % 4 == 0 else ("text/html", f"<p>{text}</p>")
        metadata = [("Kind", kinds[number % len(kinds)]), ("og:type", "article" if number % 2 else "b:c"), ("Price", str(number))]
        written = f"{2019 + number % 5}-0{number % 9 + 1}-15"
        record = make_record(
            f"http://facet{number % 3}.example.com:8080/{number}",
            f"{content} facetword",
            metadata,
            mimetype=mimetype,
            last_modified=written,
        )
        pages.append(record)
    put(server, "facets_one", *pages[:12])
    put(server, "facets_two", *pages[12:])
    return server


def test_built_in_facets_count_the_whole_result(filled: Appliance) -> None:
    answer = ask(filled, BUILT_IN)
    facets = {facet["name"]: {as_text(value): value["count"] for value in facet["values"]} for facet in answer["facets"]}
    assert list(facets) == list(BUILT_IN)
    assert answer["total"] == 24
    assert facets["@filetype"] == {"html": 18, "txt": 6}
    assert facets["@source"] == {"facets_one": 12, "facets_two": 12}
    assert facets["@language"] == {"en": 16, "de": 8}
    assert facets["@site"] == {f"facet{number}.example.com": 8 for number in range(3)}
    assert facets["@date"] == {f"{year}-01-01..{year}-12-31": 4 if year == 2023 else 5 for year in range(2019, 2024)}


def test_whatever_a_facet_lists_is_selected_by_copying_it(filled: Appliance) -> None:
    for facet in ask(filled, (*BUILT_IN, "kind", "OG:TYPE"))["facets"]:
        for value in facet["values"]:
            chosen = ask(filled, [facet["name"]], [f"{facet['name']}:{as_text(value)}"])
            assert chosen["total"] == value["count"], (facet["name"], value)
            assert chosen["facets"] == [facet]


def test_values_of_a_name_are_alternatives_and_names_hold_together(filled: Appliance) -> None:
    assert ask(filled, select=["KIND:plain", "kind:a:b"])["total"] == 8
    assert ask(filled, select=["price:5..7", "price:20.."])["total"] == 7
    assert ask(filled, select=["price:5..7", "@source:facets_two"])["total"] == 0
    assert (
        ask(filled, select=["@date:2019-01-01..2020-01-31", "@language:DE"])["total"]
        == ask(filled, select=["@language:de", "@date:..2020-01-31"])["total"]
    )
    answer = ask(filled, ["@source", "@site"], ["@source:facets_one", "@site:facet0.example.com"])
    assert (answer["total"], answer["exact"]) == (4, True)
    assert [{value["value"]: value["count"] for value in facet["values"]} for facet in answer["facets"]] == [
        {"facets_one": 4, "facets_two": 4},
        {f"facet{number}.example.com": 4 for number in range(3)},
    ]


@pytest.mark.parametrize("text", ["kind", "@date:soon", "@date:2020-02-01..2020-01-01", "@colour:red", "price:7..5"])
def test_senseless_selection_is_refused_by_its_name(filled: Appliance, text: str) -> None:
    path = f"/api/v1/search?{urlencode({'q': 'facetword', 'select': text})}"
    status, _, body = filled.request("GET", filled.search_port, path)
    assert (status, "select" in json.loads(body)["detail"]) == (400, True)
