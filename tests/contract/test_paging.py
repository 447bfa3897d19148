"""Every list of the JSON resources is paged in one way, and a walk over its pages finds each item once."""

import base64
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp

from feedmill.http.admin.app import admin_app
from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.paging import cut_page, read_cursor, write_cursor
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT
from feedmill.http.search.app import search_app
from feedmill.model.errors import BadRequest
from feedmill.model.signin import TokenScope
from feedmill.services.crawling.requesting import CrawlRequests
from feedmill.wire.jsonvalues import write_code
from tests.asgi import Answer, ask_app
from tests.builders.administration import make_administration
from tests.builders.changes import OPEN
from tests.builders.requests import PASSWORD
from tests.contract.feedharness import FeedHarness
from tests.contract.feedharness import open_harness as open_feed_harness
from tests.contract.searchharness import add_pages
from tests.contract.searchharness import open_harness as open_search_harness
from tests.contract.signinharness import ADMIN_TOKEN, open_signin_harness
from tests.contract.test_crawl_updates import request as crawl_request
from tests.fakes import SilentNotifier

TOKEN = {"authorization": f"Bearer {ADMIN_TOKEN}"}
NEXT = re.compile(r'<([^>]+)>; rel="next"')


def walk(app: ASGIApp, path: str, query: str) -> Iterator[Answer]:
    """Yields the pages of a list, by the links to them."""
    while True:
        answer = ask_app(app, "GET", path, query=query, headers=TOKEN)
        assert answer.status == 200, answer.text
        yield answer
        link = NEXT.fullmatch(answer.headers.get("link", ""))
        if link is None:
            return
        following = urlsplit(link[1])
        assert following.path == path
        query = following.query


def check_walk(app: ASGIApp, path: str, key: Callable[[Any], Any], count: int, more: str = "") -> None:
    whole = [key(item) for page in walk(app, path, f"limit=1000{more}") for item in page.json]
    assert len(whole) == count
    for limit in (1, 2, count, count + 1):
        pages = [page.json for page in walk(app, path, f"limit={limit}&cursor=*{more}")]
        assert [key(item) for page in pages for item in page] == whole
        assert all(len(page) <= limit for page in pages)
        assert len(pages) == -(-count // limit)


@pytest.fixture
def feeds(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_feed_harness(tmp_path)
    made.push(*(crawl_request(f"a/{number}") for number in range(5)), datasource="web")
    yield made
    made.store.close()


def test_crawl_queue_is_walked(feeds: FeedHarness) -> None:
    crawling = CrawlRequests(feeds.store, lambda: OPEN, SilentNotifier(), feeds.clock)
    app = admin_app(make_administration(crawling=crawling), ADMIN_TOKEN)
    check_walk(app, "/api/v1/crawl/queue", lambda entry: entry["url"], 5, "&group=waiting")
    # the earlier way, which names the last URL, still leads on
    first = ask_app(app, "GET", "/api/v1/crawl/queue", query="limit=2", headers=TOKEN).json
    assert len(ask_app(app, "GET", "/api/v1/crawl/queue", query=f"after={first[-1]['url']}", headers=TOKEN).json) == 3


def test_users_and_tokens_are_walked(tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path)
    for name in ("cid", "ann", "bob"):
        harness.signing.accounts.add(name, PASSWORD)
        harness.signing.tokens.add(name, [TokenScope.SEARCH], user=name)
    app: Starlette = harness.admin()
    check_walk(app, "/api/v1/users", lambda user: user["name"], 3)
    check_walk(app, "/api/v1/tokens", lambda token: token["id"], 3)
    assert "link" not in ask_app(app, "GET", "/api/v1/users", headers=TOKEN).headers
    harness.search.store.close()


def test_every_list_of_the_documents_is_paged() -> None:
    for port in (FEED_PORT, ADMIN_PORT):
        for path, methods in build_openapi(port)["paths"].items():
            schema = (
                methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
            )
            if schema.get("type") == "array":
                names = {parameter["name"] for parameter in methods["get"]["parameters"]}
                assert {"limit", "cursor"} <= names, path
                assert "Link" in methods["get"]["responses"]["200"]["headers"], path


# --- cursors ------------------------------------------------------------------------------------------------------------------------


def make_request(query: str) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/api/v1/x", "query_string": query.encode(), "headers": []})


def raw(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    ["x", "%00", raw("null"), raw("true"), raw("1.5"), raw("{}"), raw("[[1]]"), raw(str(2**63)), raw('"\\ud800"'), raw("[" * 9000)],
)
def test_text_that_is_no_cursor_is_refused(cursor: str) -> None:
    for kind in (int, str, list, object):
        with pytest.raises(BadRequest, match="parameter cursor is no cursor of this list"):
            read_cursor(make_request(f"cursor={cursor}"), kind)


def test_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(BadRequest):
        read_cursor(make_request(f"cursor={write_cursor(7)}"), str)
    with pytest.raises(BadRequest):
        cut_page(make_request(f"cursor={write_cursor('a')}"), [1, 2, 3], lambda item: item)


def test_items_that_come_and_go_move_no_other_one() -> None:
    first = cut_page(make_request("limit=2&kept=a%26b"), ["b", "d", "f"], lambda item: item)
    assert first.items == ["b", "d"]
    link = NEXT.fullmatch(first.headers["link"])
    assert link is not None
    query = urlsplit(link[1]).query
    assert "kept=a%26b" in query
    assert cut_page(make_request(query), ["a", "c", "e", "f"], lambda item: item).items == ["e", "f"]


def test_search_takes_limit_and_links_to_its_next_page(tmp_path: Path) -> None:
    harness = open_search_harness(tmp_path)
    add_pages(harness, 5)
    app = search_app(harness.services())
    pages = [page.json for page in walk(app, "/api/v1/search", "q=needle&limit=2&cursor=*")]
    assert [len(page["results"]) for page in pages] == [2, 2, 1]
    assert len({result["url"] for page in pages for result in page["results"]}) == 5
    for query in ("q=needle&limit=2&num=2", "limit=1001", "limit=x"):
        refused = ask_app(app, "GET", "/api/v1/search", query=query)
        assert refused.status == 400
        assert "limit" in refused.json["detail"]
    harness.store.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("in progress", "in_progress"),
        ("known, not crawled", "known_not_crawled"),
        ("metadata-and-url", "metadata_and_url"),
        ("gone", "gone"),
    ],
)
def test_codes_are_snake_case(words: str, code: str) -> None:
    assert write_code(words) == code


@given(st.text())
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    with contextlib.suppress(BadRequest):
        key = read_cursor(make_request(urlencode({"cursor": text}, errors="replace")), object)
        assert key is None or isinstance(key, int | str | list)


@given(st.integers(-(2**63) + 1, 2**63 - 1) | st.text() | st.lists(st.integers(0, 99) | st.text()))
def test_cursor_holds_its_key(key: Any) -> None:
    assert read_cursor(make_request(f"cursor={write_cursor(key)}"), object) == key
