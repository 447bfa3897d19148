from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedmill.model.results import Result, ResultPage, Snippet
from feedmill.wire.results.atom import AtomLink, AtomParts, make_id, render_feed
from tests.builders.results import make_result

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ATOM = "{http://www.w3.org/2005/Atom}"
FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
<title>a &lt;b</title>
<subtitle>only until the deadline</subtitle>
<id>http://search.example.com/search?q=a</id>
<updated>2026-02-28T10:00:00Z</updated>
<author><name>Feedmill</name></author>
<generator version="1.0">Feedmill</generator>
<link rel="self" type="application/atom+xml" href="http://search.example.com/search?q=a&amp;start=10"/>
<opensearch:totalResults>40</opensearch:totalResults>
<opensearch:startIndex>11</opensearch:startIndex>
<opensearch:itemsPerPage>10</opensearch:itemsPerPage>
<opensearch:Query role="request" searchTerms="a &lt;b" startIndex="11"/>
<opensearch:Query role="correction" searchTerms="ab"/>
<entry><title>R&amp;D</title><id>http://a.com/x?b=1&amp;c</id><updated>2026-01-02T02:00:00Z</updated>\
<link rel="alternate" type="text/html" hreflang="de" href="http://a.com/x"/>\
<summary type="html">old &lt;b&gt;K\u00e4se&lt;/b&gt; &amp;lt;b&amp;gt; &amp;amp;</summary></entry>
<entry><title>javascript:x</title><id>urn:uuid:5ae1a5d2-6be8-5ed7-9c0d-1f79ad8f7b74</id><updated>2026-02-28T10:00:00Z</updated>\
<content type="html"></content></entry>
</feed>
"""


def make_parts(*results: Result, **given: Any) -> AtomParts:
    page = ResultPage(query="a <b", start=0, total=len(results), results=results)
    addresses = [result.display_url if result.display_url.startswith("http") else None for result in results]
    plain = AtomParts(
        id="http://search.example.com/search?q=a",
        page=page,
        addresses=addresses,
        links=(),
        num=10,
        shows_total=True,
        version="1.0",
        now=NOW,
    )
    return replace(plain, **given)


def entries(parts: AtomParts) -> list[Any]:
    return list(etree.fromstring(render_feed(parts)).iter(f"{ATOM}entry"))


def test_render_feed_writes_exactly_this() -> None:
    zone = timezone(timedelta(hours=-2))
    first = make_result(
        "http://a.com/x?b=1&c",
        display_url="http://a.com/x",
        title=" R&D ",
        snippet=Snippet(text="old Käse <b> &", marks=((4, 8),)),
        date=datetime(2026, 1, 2, 0, 0, 0, 5, tzinfo=zone),
        language="de",
    )
    second = make_result("javascript:x y", display_url="javascript:x", updated_at=datetime(2026, 2, 28, 10, tzinfo=UTC), language="no such")
    parts = make_parts(first, second)
    page = replace(parts.page, start=10, total=40, spelling="ab", deadline_warnings=("only until the deadline",))
    link = AtomLink(relation="self", media_type="application/atom+xml", href="http://search.example.com/search?q=a&start=10")
    made = render_feed(replace(parts, page=page, links=[link])).decode()
    assert made == FEED.replace("5ae1a5d2-6be8-5ed7-9c0d-1f79ad8f7b74", make_id("javascript:x y").removeprefix("urn:uuid:"))


def test_render_feed_of_a_secure_search_states_no_total() -> None:
    assert b"totalResults" not in render_feed(make_parts(make_result("http://a.com/"), shows_total=False))


def test_render_feed_without_results_is_a_feed_of_now() -> None:
    feed = etree.fromstring(render_feed(make_parts()))
    assert feed.findtext(f"{ATOM}updated") == "2026-03-01T12:00:00Z"
    assert feed.find(f"{ATOM}entry") is None


def test_entry_without_any_time_is_of_the_epoch() -> None:
    [entry] = entries(make_parts(make_result("http://a.com/")))
    assert entry.findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("url", ["http://a.com/x", "http://ä.com/ü?q=%20#x", "googledb://h/n/1", "smb://h/a'b(c)", "mailto:a@b.com"])
def test_id_of_a_document_is_its_url(url: str) -> None:
    assert make_id(url) == url


@pytest.mark.parametrize(
    "url", ["http://a.com/a b", "http://a.com/%zz", "http://a.com/<", "http://a.com/\u202e", "x", "http://a.com/\udc80"]
)
def test_id_of_a_url_that_is_no_iri_is_a_uuid_of_its_own(url: str) -> None:
    assert make_id(url).startswith("urn:uuid:")
    assert make_id(url) == make_id(url) != make_id(f"{url}1")


@given(st.text(), st.text(), st.text())
def test_no_text_of_a_document_becomes_markup(title: str, text: str, url: str) -> None:
    feed = etree.fromstring(render_feed(make_parts(make_result(url, title=title, snippet=Snippet(text=text, marks=((0, len(text)),))))))
    [entry] = feed.iter(f"{ATOM}entry")
    assert [child.tag.removeprefix(ATOM) for child in entry] in (
        ["title", "id", "updated", "link", "summary"],
        ["title", "id", "updated", "content"],
    )
    html = entry[-1].text or ""
    assert html.count("<") == 2
    assert (html.startswith("<b>"), html.endswith("</b>")) == (True, True)
