"""Searches of one profile, in the XML of Thunderstone's appliance."""

from collections.abc import Iterator
from urllib.parse import quote_plus
from xml.etree import ElementTree as ET

import pytest

from feedmill.settings.dataload import FieldSettings, ProfileSettings
from feedmill.wire.dataload.results import FIELD_NAMESPACE
from tests.asgi import ask_app
from tests.contract.dataloadharness import HOST, DataloadHarness, insert, open_dataload

FIELDS = (FieldSettings(name="Price", type="number"), FieldSettings(name="Cost", type="number", output=False))
SHOP = ProfileSettings(name="shop", fields=FIELDS, categories=("New", "Old. Used", "Rare"))
PRICE = f"{{{FIELD_NAMESPACE}}}Price"


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataloadHarness]:
    with open_dataload(tmp_path_factory.mktemp("data"), [SHOP, ProfileSettings(name="other")]) as opened:
        first = "<Title>One &amp; only</Title><Body>a red lamp</Body><Category>New</Category><Category>Rare</Category><Depth>2</Depth>"
        dated = "<Modified>2020-01-02 03:04:05</Modified><Size>77</Size>"
        opened.load(
            insert("1", first, dated, "<u:Price>9</u:Price><u:Cost>5</u:Cost>"),
            insert("2", "<Body>a blue lamp</Body><Category>Old. Used</Category><u:Price>10</u:Price>"),
            insert("3", "<Body>a green lamp</Body><Category>New</Category><u:Price>1</u:Price><Modified>2021-01-02 03:04:05</Modified>"),
            "<Type>UI</Type>",
            profile="shop",
        )
        opened.load(insert("4", "<Body>a lamp elsewhere</Body>"), "<Type>UI</Type>", profile="other")
        yield opened


def search(harness: DataloadHarness, query: str) -> ET.Element:
    answer = ask_app(harness.search_port(), "GET", "/texis/search/main.xml", query=query)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/xml; charset=UTF-8")
    return ET.fromstring(answer.body)


def test_parameters_may_be_posted(harness: DataloadHarness) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    body = b"pr=shop&query=red+%22lamp%22&rpp=5&category=New&category=Rare"
    answer = ask_app(harness.search_port(), "POST", "/texis/search/main.xml", query="dropXSL=1", body=body, headers=headers)
    root = ET.fromstring(answer.body)
    echo = [root.findtext(name) for name in ("Query", "dropXSL", "CategoryName")]
    assert (answer.status, urls_of(root), echo) == (200, ["1"], ['red "lamp"', "1", "New|Rare"])
    assert ask_app(harness.search_port(), "POST", "/texis/search/main.xml", body=b"a" * 2_000_000, headers=headers).status == 413


def urls_of(root: ET.Element) -> list[str]:
    return [(result.findtext("Url") or "").removeprefix(f"{HOST}/") for result in root.findall("Result")]


def test_result_shows_what_the_profile_outputs(harness: DataloadHarness) -> None:
    root = search(harness, "pr=shop&query=red&dropXSL=1&rpp=5")

    assert (root.tag, root.findtext("ExitReason"), root.findtext("Profile"), root.findtext("UserResultsPerPage")) == (
        "ThunderstoneResults",
        "ok",
        "shop",
        "5",
    )
    assert [root.findtext(f"Summary/{name}") for name in ("Start", "End", "Total")] == ["1", "1", "1"]
    (result,) = root.findall("Result")
    assert {element.tag: element.text for element in result} == {
        "Num": "1",
        "Url": f"{HOST}/1",
        "UrlDisplay": f"{HOST}/1",
        "DocSize": "77",
        "Depth": "2",
        "ResultTitle": "One & only",
        "Abstract": "a red lamp",
        "Modified": "2020-01-02 03:04:05",
        PRICE: "9",
    }


def test_request_is_repeated(harness: DataloadHarness) -> None:
    given = {"tq": "only", "dq": "3", "prox": "line", "sufs": "1", "rorder": "500", "rdfreq": "1", "mdgt": "2019-01-01"}
    root = search(harness, "pr=shop&query=lamp&cq=1&cq=3&" + "&".join(f"{name}={value}" for name, value in given.items()))
    names = ("TitleQuery", "DepthQuery", "Proximity", "Suffixes", "RankOrder", "rankDatabaseFrequency", "ModifiedDateGreaterThan")
    assert [root.findtext(name) for name in names] == list(given.values())
    assert [root.findtext(name) for name in ("CategoryQuery", "CategoryName", "Order")] == ["1,3", "New|Rare", "r"]


def test_query_may_be_empty_beside_a_restriction(harness: DataloadHarness) -> None:
    assert sorted(urls_of(search(harness, "pr=shop&query=&category=New"))) == ["1", "3"]
    assert sorted(urls_of(search(harness, "pr=shop&query=&uq=*/2"))) == ["2"]


def test_only_documents_of_the_profile_are_found(harness: DataloadHarness) -> None:
    assert sorted(urls_of(search(harness, "pr=shop&query=lamp"))) == ["1", "2", "3"]
    assert urls_of(search(harness, "pr=other&query=lamp")) == ["4"]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("order=Price", ["3", "1", "2"]),
        ("order=dd", ["3", "1", "2"]),
        ("order=da", ["1", "3", "2"]),
        ("order=Price&rpp=1", ["3"]),
        ("order=Price&rpp=2&jump=2", ["2"]),
        ("order=Price&category=new", ["3", "1"]),
        ("order=Price&category=Rare%7COld.+Used", ["1", "2"]),
        ("category=New&category=Rare&requireAllCategories=Y", ["1"]),
        ("sq=elsewhere.test", []),
        ("tq=only&order=Price", ["1"]),
        ("tq=-only&order=Price", ["3", "2"]),
        ("cq=1&order=Price", ["3", "1"]),
        ("cq=2,3&order=Price", ["1", "2"]),
        ("cq=2&cq=3&order=Price", ["1", "2"]),
        ("cqall=1,3", ["1"]),
        ("cq=0&cq=4&cq=x&order=Price", ["3", "1", "2"]),
        ("dq=1&order=Price", ["3", "2"]),
        ("dq=2&order=Price", ["3", "1", "2"]),
        ("dq=-1&order=Price", ["3", "1", "2"]),
        ("uq=*/2", ["2"]),
        ("uq=*none*", []),
        ("mtq=image/*", []),
        ("mdlt=2021-01-01", ["1"]),
        ("mdgt=2021-01-02", ["3"]),
        ("mdlt=2021-01-02+03:05:00&mdgt=2020-02-01", ["3"]),
    ],
)
def test_parameters_order_and_narrow_the_results(harness: DataloadHarness, parameters: str, found: list[str]) -> None:
    assert urls_of(search(harness, f"pr=shop&query=lamp&{parameters}")) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("lamp (red,blue)", ["1", "2"]),
        ("+lamp -(red,blue)", ["3"]),
        ("@0 red green", ["1", "3"]),
        ("@1 red lamp elsewhere", ["1"]),
        ('~lamp "a blue"', ["2"]),
        ("la*p -green", ["1", "2"]),
    ],
)
def test_queries_have_the_operators_of_the_appliance(harness: DataloadHarness, query: str, found: list[str]) -> None:
    root = search(harness, f"pr=shop&query={quote_plus(query)}")
    assert sorted(urls_of(root)) == found
    assert root.findtext("Query") == query


@pytest.mark.parametrize(("query", "reason"), [("query=lamp", "NoProfileSpecified"), ("pr=none&query=lamp", "NoSuchProfile")])
def test_search_without_a_known_profile_finds_nothing(harness: DataloadHarness, query: str, reason: str) -> None:
    root = search(harness, query)

    assert (root.findtext("ExitReason"), urls_of(root)) == (reason, [])


@pytest.mark.parametrize("more", ["limit=1", "&rows=0&=x&%00=1", "dq=x&prox=line&rorder=500", "mdlt=never&mdgt=", "rpp=5&RPP=1&Query=none"])
def test_other_parameters_have_no_effect(harness: DataloadHarness, more: str) -> None:
    assert len(urls_of(search(harness, f"pr=shop&query=lamp&{more}"))) == 3


def test_blank_query_finds_nothing(harness: DataloadHarness) -> None:
    assert urls_of(search(harness, "pr=shop&query=")) == []
