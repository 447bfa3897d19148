"""Going through all that matches by cursor."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.http.search.app import search_app
from feedmill.http.search.parameters import read_cursor, write_cursor
from feedmill.model.access import ANONYMOUS
from feedmill.model.errors import BadRequest
from feedmill.model.query import MatchAll, Word
from feedmill.model.search import AdvancedSearch, Cursor, Match, Occurrence, SearchRequest, Sort
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import BOTH, Opened, put
from tests.contract.searchharness import SearchHarness, ask, open_harness


def test_list_by_key_returns_each_once_in_order(opened: Opened) -> None:
    put(opened, *[make_index_document(key=key, body="word", access_class=key % 2) for key in (9, 3, 7, 2, 8, 4)])
    index = opened[0]
    assert [hit.key for hit in index.list_by_key(Word("word"), BOTH, after=-1, num=4).hits] == [2, 3, 4, 7]
    page = index.list_by_key(Word("word"), BOTH, after=7, num=4)
    assert ([hit.key for hit in page.hits], page.total) == ([8, 9], 6)
    assert [hit.key for hit in index.list_by_key(MatchAll(), ANONYMOUS, after=2, num=9).hits] == [4, 8]
    assert index.list_by_key(Word("word"), BOTH, after=9, num=4).hits == index.list_by_key(Word("word"), BOTH, after=-1, num=0).hits == ()
    assert index.list_by_key(Word("other"), BOTH, after=-1, num=4).total == 0


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.add([made.make(f"http://a.com/{number:02}", f"word {'even' if number % 2 == 0 else 'odd'}") for number in range(25)])
    yield made
    made.store.close()


def page(harness: SearchHarness, cursor: str, **parameters: str) -> Any:
    return ask(
        search_app(harness.services()), "/api/v1/search", [("q", "word"), ("num", "10"), ("cursor", cursor), *parameters.items()]
    ).json


def test_cursor_goes_through_everything_and_ends(harness: SearchHarness) -> None:
    found, cursor = [], "*"
    while cursor:
        body = page(harness, cursor)
        assert body["total"] == 25
        found.append([result["url"] for result in body["results"]])
        cursor = body["next_cursor"]
    assert [len(urls) for urls in found] == [10, 10, 5]
    assert [url for urls in found for url in urls] == [f"http://a.com/{number:02}" for number in range(25)]


def test_cursor_list_stays_the_same_while_documents_come_and_go(harness: SearchHarness) -> None:
    first = page(harness, "*")
    harness.add([harness.make("http://a.com/new", "word " * 50)])
    changed = harness.make("http://a.com/00", "no more")
    harness.add([changed])
    urls = [result["url"] for result in first["results"]]
    cursor = first["next_cursor"]
    while cursor:
        body = page(harness, cursor)
        urls += [result["url"] for result in body["results"]]
        cursor = body["next_cursor"]
    assert urls == [*(f"http://a.com/{number:02}" for number in range(25)), "http://a.com/new"]


def test_cursor_keeps_what_was_decided_of_the_words(harness: SearchHarness) -> None:
    body = ask(search_app(harness.services()), "/api/v1/search", "q=word+nowhere&num=10&cursor=*").json
    assert (body["total"], len(body["results"])) == (25, 10)
    again = ask(search_app(harness.services()), "/api/v1/search", f"q=word+nowhere&num=20&cursor={body['next_cursor']}").json
    assert (len(again["results"]), again["next_cursor"]) == (15, None)


def test_cursor_of_another_query_or_of_nothing_is_refused(harness: SearchHarness) -> None:
    cursor = page(harness, "*")["next_cursor"]
    for query in (f"q=other&cursor={cursor}", f"q=word&cursor={cursor}&dnavs=inmeta:x", "q=word&cursor=zzz", "q=word&cursor=%00"):
        answer = ask(search_app(harness.services()), "/api/v1/search", query)
        assert answer.status == 400
        assert answer.json["code"] == "bad_request"
        assert "cursor=" in answer.json["detail"]


def test_write_cursor_is_the_same_text_in_every_version() -> None:
    advanced = AdvancedSearch(site="s", occurrence=Occurrence.TITLE, excludes_site=True)
    request = SearchRequest(
        query="ä b",
        match=Match.ALL,
        required_fields="r:1",
        partial_fields="p",
        sort=Sort(),
        advanced=advanced,
        navigation="inmeta:x",
        site="c",
        client="fe",
        expands=False,
        languages="lang_en",
    )
    cursor = Cursor(after=7, is_loosened=False)
    assert write_cursor(cursor, SearchRequest(query="a")) == "Ny4wLjMxMWQzMDZkYjlkMA"
    assert write_cursor(cursor, request) == "Ny4wLmJhMzU5OWZkMmZjMA"
    refined = replace(request, start=3, num=7, getfields=("x",), keymatches=1, facet_names=("f",), explains=True)
    assert write_cursor(cursor, refined) == write_cursor(cursor, request)


@given(st.text(max_size=300))
def test_read_cursor_of_any_text_is_a_cursor_or_refused(text: str) -> None:
    try:
        assert read_cursor(text, SearchRequest(query="a")).after == -1
    except BadRequest:
        assert text != "*"
