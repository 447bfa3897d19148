"""Groups of results, and what was clicked."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedmill.adapters.clicklog import FolderClickLog
from feedmill.adapters.clustering import find_clusters
from feedmill.core.ranking.concepts import find_alike, name_group, weigh_words
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.clicks import MAX_CHARACTERS, read_click
from feedmill.model.click import Click, ClickSender
from feedmill.model.document import Document
from tests.asgi import ask_app
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness

SITE = SearchSite(find_clusters=find_clusters)
SUBJECTS = {
    "Engine repair": "engine gearbox clutch brake",
    "Garden flowers": "tulip rose watering soil",
    "Tax return": "income deduction receipt office",
}


def documents(harness: SearchHarness) -> list[Document]:
    made = []
    for subject, words in SUBJECTS.items():
        for number in range(6):
            chosen = words.split()
            text = f"manual about {chosen[number % 4]} and {chosen[(number + 1) % 4]} and {chosen[(number + 2) % 4]}"
            made.append(harness.make(f"http://{subject.split()[0].lower()}.com/{number}/x", text, title=f"{subject} {number}"))
    return made


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.add(documents(made))
    made.add([made.make("http://secret.com/", "manual about engine gearbox", title="Engine repair secret", secure=True)])
    yield made
    made.store.close()


def test_cluster_groups_by_subject_and_names_it(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services(), SITE), "/cluster", "coutput=json&q=manual&site=default_collection&client=x", "POST")
    body = answer.json
    assert [one["algorithm"] for one in body["clusters"]] == ["Concepts"]
    groups = body["clusters"][0]["clusters"]
    assert sorted(group["label"] for group in groups) == sorted(SUBJECTS)
    for group in groups:
        hosts = {body["documents"][place]["url"].split("/")[2] for place in group["docs"]}
        assert hosts == {f"{group['label'].split()[0].lower()}.com"}
        assert len(group["docs"]) == 6
    assert sorted(body["documents"][0]) == ["snippet", "title", "url"]
    assert len(body["documents"]) == 18


def test_cluster_as_xml_holds_the_same(harness: SearchHarness) -> None:
    found = etree.fromstring(ask(search_app(harness.services(), SITE), "/cluster", "coutput=xml&q=manual").body)
    assert sorted(label.get("data", "") for label in found.iter("label")) == sorted(SUBJECTS)
    assert len(found.findall("Response/document")) == 18


@pytest.mark.parametrize("query", ["", "q=nothinghere", "q=manual&site=nowhere", "q=tulip+rose+watering+5"])
def test_cluster_of_little_is_no_error(harness: SearchHarness, query: str) -> None:
    answer = ask(search_app(harness.services(), SITE), "/cluster", query)
    assert answer.status == 200
    assert isinstance(answer.json["clusters"][0]["clusters"], list)


@given(texts=st.lists(st.text(max_size=80), max_size=12), query=st.text(max_size=10))
def test_groups_of_any_texts_are_disjoint_and_named_or_not(texts: list[str], query: str) -> None:
    edges = find_alike(weigh_words(texts, query))
    assert all(0 < edge.likeness < 1.01 and edge.one < edge.other for edge in edges)
    groups = find_clusters(edges)
    places = [place for group in groups for place in group]
    assert len(places) == len(set(places))
    for group in groups:
        name_group([texts[place] for place in group], [""] * len(group), [], query)


# --- clicks ---------------------------------------------------------------------------------------------------------------------


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


ANN, BOB, PROXY = ClickSender(name="10.0.0.1"), ClickSender(name="10.0.0.2"), ClickSender(name="10.0.0.3", is_many=True)


def click(at: datetime = NOW, url: str = "http://a") -> Click:
    return Click(at=at, kind="c", query="q", url=url, place=1, site="", client="", details="")


def test_click_is_stored_without_its_user(harness: SearchHarness, tmp_path: Path) -> None:
    app = search_app(harness.services(), SearchSite(clicks=FolderClickLog(tmp_path / "clicks", 90), clock=lambda: NOW))
    query = "q=caf%C3%A9&ct=c&url=http%3A%2F%2Fa%2F1&r=3&s=0&site=default_collection&client=default_frontend&src_id=x&cd=3"
    assert ask(app, "/click", query).status == ask(app, "/click", query, "POST").status == 204
    assert ask(app, "/click", query, **{"sec-fetch-site": "cross-site"}).status == 204
    assert ask(app, "/click", "").status == 204
    assert (
        lines(tmp_path / "clicks")
        == [
            {
                "at": "2026-03-01T12:30:00.000Z",
                "kind": "c",
                "query": "café",
                "url": "http://a/1",
                "place": 3,
                "site": "default_collection",
                "client": "default_frontend",
                "details": "3",
            }
        ]
        * 2
    )


@given(st.dictionaries(st.sampled_from(["q", "url", "r", "cd", "ct", "site"]), st.text(max_size=3_000)))
def test_click_of_anything_is_one_bounded_line(values: dict[str, str]) -> None:
    found = read_click(values, NOW)
    if found is not None:
        assert all(character.isprintable() for character in found.query + found.url + found.kind)
        assert max(len(found.query), len(found.url)) <= MAX_CHARACTERS
        assert 0 <= found.place <= 100_000


def test_click_log_keeps_its_days_and_its_size(tmp_path: Path) -> None:
    log = FolderClickLog(tmp_path, 3, max_day_bytes=20_000)
    assert [log.keep(click(NOW + timedelta(days=day)), ANN) for day in range(6)] == [True] * 6
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["2026-03-04.jsonl", "2026-03-05.jsonl", "2026-03-06.jsonl"]
    written = [log.keep(click(NOW + timedelta(days=5)), ClickSender(name=str(number))) for number in range(400)]
    assert (written[0], written[-1]) == (True, False)
    assert (tmp_path / "2026-03-06.jsonl").stat().st_size <= 20_000


def test_click_log_that_is_off_or_cannot_write_costs_nothing(tmp_path: Path) -> None:
    assert not FolderClickLog(tmp_path / "off", 0).keep(click(), ANN)
    assert not (tmp_path / "off").exists()
    (tmp_path / "file").write_text("")
    assert not FolderClickLog(tmp_path / "file", 9).keep(click(datetime(2026, 1, 1, tzinfo=UTC)), ANN)


def test_click_log_limits_each_sender_to_its_share_of_a_day(tmp_path: Path) -> None:
    log = FolderClickLog(tmp_path, 3, max_day_bytes=100_000)
    written = {sender.name: sum(log.keep(click(), sender) for _ in range(500)) for sender in (ANN, PROXY, BOB)}
    line_bytes = len((tmp_path / "2026-03-01.jsonl").read_bytes().splitlines(keepends=True)[0])
    assert written == {ANN.name: 1_000 // line_bytes, PROXY.name: 10_000 // line_bytes, BOB.name: 1_000 // line_bytes}
    assert not log.keep(click(), ANN)
    assert log.keep(click(NOW + timedelta(days=1)), ANN)


def test_clicks_are_counted_by_address(harness: SearchHarness, tmp_path: Path) -> None:
    log = FolderClickLog(tmp_path / "clicks", 90, max_day_bytes=100_000)
    app = search_app(harness.services(), SearchSite(clicks=log, clock=lambda: NOW))
    for peer in ("2001:db8::1", "2001:db8::2", "10.0.0.1"):
        for _ in range(50):
            assert ask_app(app, "GET", "/click", query="q=a", peer=peer).status == 204
    found = lines(tmp_path / "clicks")
    line_bytes = (tmp_path / "clicks" / "2026-03-01.jsonl").stat().st_size // len(found)
    assert len(found) == 2 * (1_000 // line_bytes)
