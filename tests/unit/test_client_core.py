"""The parts of the client that compute: when to try again, what an answer means, where a page leads."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill_client import BadAnswer, BadRequest, DocumentPush, Receipt, Retries, SearchAnswer
from feedmill_client._addresses import find_next, hide_secrets, read_address
from feedmill_client._retrying import choose_pause, read_retry_after
from feedmill_client.decoding import decode, encode
from feedmill_client.xmltext import quote_attribute

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = st.floats(0, 1e6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(attempt=st.integers(1, 100), attempts=st.integers(1, 100), spent=SECONDS, wait=st.none() | SECONDS, chance=st.floats(0, 1))
def test_pause_is_within_its_bounds(attempt: int, attempts: int, spent: float, wait: float | None, chance: float) -> None:
    retries = Retries(attempts=attempts, first_seconds=0.5, longest_seconds=20.0, total_seconds=100.0)
    pause = choose_pause(retries, attempt, spent, wait, chance)
    if pause is None:
        assert attempt >= attempts or spent + (20.0 if wait is None else wait + 0.5) > 100.0
        return
    assert attempt < attempts
    assert spent + pause <= 100.0
    if wait is None:
        assert 0 <= pause <= min(20.0, 0.5 * 2.0 ** min(attempt - 1, 100))
    else:
        assert wait <= pause <= wait + 0.5


def test_pauses_grow_to_the_longest() -> None:
    retries = Retries(attempts=9, first_seconds=0.2, longest_seconds=3.0, total_seconds=60.0)
    assert [choose_pause(retries, attempt, 0.0, None, 1.0) for attempt in range(1, 10)] == [0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0, 3.0, None]
    assert choose_pause(retries, 8, 0.0, None, 0.0) == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("0", 0.0),
        ("120", 120.0),
        ("9" * 30, 999_999_999.0),
        ("-1", None),
        ("soon", None),
        ("٣", None),
        (format_datetime(NOW + timedelta(minutes=1), usegmt=True), 60.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30.0),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert read_retry_after(text, NOW) == seconds


@given(st.text())
def test_retry_after_of_any_text_is_no_error(text: str) -> None:
    wait = read_retry_after(text, NOW)
    assert wait is None or wait >= 0


@given(JSON)
def test_any_json_is_an_answer_or_refused(value: Any) -> None:
    for kind in (SearchAnswer, Receipt):
        with pytest.raises(BadAnswer):
            decode(kind, value)


@given(JSON, st.sampled_from(["score", "date", "metadata", "snippet_marks", "explanation"]))
def test_any_json_in_an_answer_is_of_the_type_or_refused(value: Any, name: str) -> None:
    members = {"url": "", "display_url": "", "title": None, "snippet": "", "snippet_marks": [[0, 1]], "score": 1, "date": None}
    result = {**members, "mimetype": None, "language": None, "metadata": {"a": ["b"]}, name: value}
    answer = {"query": "", "total": 1, "exact": True, "results": [result], "facets": [], "spelling": None, "warnings": [], "more": 1}
    with suppress(BadAnswer):
        (read,) = decode(SearchAnswer, answer).results
        assert encode(read.metadata) == result["metadata"]
        assert read.snippet_marks == [tuple(each) for each in result["snippet_marks"]]


def test_numbers_that_no_float_holds_are_refused() -> None:
    with pytest.raises(BadAnswer):
        decode(float, json.loads("1" + "0" * 400))


def test_objects_are_written_without_members_that_are_none_and_times_as_iso_8601() -> None:
    document = DocumentPush(url="http://a.test/", metadata={"a": [1, "b"]})
    assert encode(document) == {"url": "http://a.test/", "metadata": {"a": [1, "b"]}, "action": "add"}
    at = DocumentPush(url="http://a.test/", last_modified=datetime(2026, 5, 31, 12, tzinfo=UTC))
    assert encode(at)["last_modified"] == "2026-05-31T12:00:00+00:00"
    assert encode({"url": None, "content": document.url}) == {"url": None, "content": "http://a.test/"}


# --- addresses ---


@pytest.mark.parametrize(
    ("url", "authority", "prefix", "authorization"),
    [
        ("http://search.test", "search.test", "", ""),
        ("search.test:8080/a/", "search.test:8080", "/a", ""),
        ("https://search.test:443", "search.test", "", ""),
        ("http://search.test:443", "search.test:443", "", ""),
        ("http://[::1]:8080", "[::1]:8080", "", ""),
        ("http://köln.test", "xn--kln-sna.test", "", ""),
        ("http://ann@search.test", "search.test", "", ""),
        ("http://ann:p%40ss@search.test", "search.test", "", "Basic YW5uOnBAc3M="),
    ],
)
def test_address_of_a_server(url: str, authority: str, prefix: str, authorization: str) -> None:
    address = read_address(url)
    assert (address.authority, address.prefix, address.authorization) == (authority, prefix, authorization)
    assert "p%40ss" not in repr(address)
    assert "YW5u" not in repr(address)


def test_token_wins_over_a_user_and_a_user_over_the_url() -> None:
    assert read_address("http://a:b@s.test", token="t", user="u").authorization == "Bearer t"
    assert read_address("http://a:b@s.test", user="u", password="p").authorization == "Basic dTpw"


@pytest.mark.parametrize(
    "url", ["", "ftp://s.test", "http://", "http://s.test:x", "http://ann:secret@[s.test", "http://s.test:99999", "http://" + "ä" * 70]
)
def test_what_is_no_address_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(BadRequest, match="no address of a server") as raised:
        read_address(url)
    assert "secret" not in str(raised.value)


@given(st.text())
def test_any_text_is_an_address_or_refused(url: str) -> None:
    with suppress(BadRequest):
        read_address(url)
    hide_secrets(url)


@pytest.mark.parametrize(
    ("link", "query"),
    [
        ("", ""),
        ('</a?cursor=x%20y>; rel="next"', "?cursor=x%20y"),
        ("</a?cursor=x>;rel=next", "?cursor=x"),
        ('<http://s.test/b?cursor=x>; rel="next"', "?cursor=x"),
        ('</p>; rel="prev", </a?cursor=x>; rel="next"; title="a"', "?cursor=x"),
        ('</a?cursor=x>; rel="nextish"', ""),
        ('</a?cursor=x>; rel="prev"', ""),
    ],
)
def test_link_leads_to_the_next_page(link: str, query: str) -> None:
    assert find_next(link, read_address("http://s.test")) == query


# --- XML ---


QUOTED = [("a", '"a"'), ('a"b', "'a\"b'"), ("a\"b'c", '"a&quot;b\'c"'), ("<&>\n", '"&lt;&amp;&gt;&#10;"')]


@pytest.mark.parametrize(("text", "quoted"), QUOTED)
def test_attribute_is_quoted(text: str, quoted: str) -> None:
    assert quote_attribute(text) == quoted
