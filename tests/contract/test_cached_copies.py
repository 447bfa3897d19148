import io
import re
import time
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from html import unescape
from itertools import accumulate
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html
from starlette.applications import Starlette

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.frames import AnswerReader, pack_answer
from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.core.query.language import parse_query
from feedmill.core.text.structure import Event, Kind, Space, Structure
from feedmill.core.text.textblob import encode_text
from feedmill.core.text.textblocks import build_blocks
from feedmill.core.urls.digests import copy_id
from feedmill.http.pages.branding import Brand
from feedmill.http.pages.languages import choose_language
from feedmill.http.pages.rendering import Pages
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.cachepage import read_cache_query
from feedmill.http.search.copypage import ShownBlock, show_copy
from feedmill.http.search.resultpage import write_anchor
from feedmill.model.document import Attributes
from feedmill.model.extraction import ExtractionLimits, Link, Task
from feedmill.services.searching.cachedcopy import CachedCopies, CachedCopy
from tests.contract.searchharness import SearchHarness, ask, open_harness

URL = "http://a.com/1?x=y"
PAGE_OF_RESULTS = ("proxystylesheet", "default_frontend")

HOSTILE = [
    *("<script>", "</script>", "</p>", "</style>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<base href=//b.com>"),
    *(
        "<meta http-equiv=refresh content=0>",
        "<form>",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://a.com/",
        '"',
        "'",
        "&lt;",
        "{{",
        "\n",
    ),
    *("{% raw %}", "<!--", "]]>", "\u202e", "\ufdd0", " ", "needle", "http://a.com/x' onclick=alert(1)", "//b.com", "vbscript:x", "\x00"),
]
ATTRIBUTES = {
    "html": {"lang", "dir"},
    "meta": {"charset", "name", "content"},
    "header": {"id"},
    "main": {"lang"},
    "a": {"href", "target", "rel", "class", "title", "aria-label"},
    "span": {"id", "class"},
    "div": {"class", "dir", "role", "tabindex", "aria-label"},
    **{tag: {"dir", "id"} for tag in ("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre")},
    **{tag: {"dir"} for tag in ("b", "ul", "dl", "table", "blockquote")},
    "ol": {"dir", "start", "reversed"},
    "li": {"value"},
    **{tag: {"colspan", "rowspan"} for tag in ("td", "th")},
    **{tag: set() for tag in ("head", "title", "style", "body", "dt", "dd", "tr", "mark", "strong", "em", "code")},
}
"""All elements of the page, with their attributes."""


def find_marks(text: str, query: str) -> tuple[tuple[int, int], ...]:
    return FormsHighlighter(parse_query(query).root, ()).find_marks(text)


def list_texts(blocks: Sequence[ShownBlock]) -> list[str]:
    """Returns all pieces of text that are shown, in order."""
    own = [[part.text for line in block.lines for link in line.links for part in link.parts] for block in blocks]
    return [text for block, texts in zip(blocks, own, strict=True) for text in texts + list_texts(block.blocks)]


def open_app(harness: SearchHarness) -> Starlette:
    services = harness.services()
    return search_app(services, SearchSite(copies=CachedCopies(services.documents, harness.blobs, services.states)))


def test_cache_shows_the_text_marked_and_in_a_sandbox(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "the <script>alert(1)</script> Nädel", title="<b>T")])
    answer = ask(open_app(harness), "/cache", [("url", URL), ("q", "nadel")])
    assert answer.status == 200
    assert "<mark>Nädel</mark>" in answer.text
    assert "<script>" not in answer.text
    assert '<h1 dir="auto">&lt;b&gt;T</h1>' in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    harness.store.close()


def test_cache_marks_a_half_typed_word_as_its_results_do(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "The harvest, and its harps", language="en")])
    app = open_app(harness)
    results = ask(app, "/", "q=the+har&prefix=1").text
    link = unescape(re.findall(r'href="/cache\?([^"]+)"', results)[0])
    copy = ask(app, "/cache", link).text
    assert re.findall("<mark>(.*?)</mark>", copy) == ["harvest", "harps"]
    assert 'href="/?q=the+har&amp;prefix=1#' in copy
    assert "<mark>" not in ask(app, "/cache", [("url", URL), ("q", "har")]).text
    harness.store.close()


def test_cache_shows_headings_paragraphs_and_links(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    links = [
        Link(url="http://b.com/form", text="The form"),
        Link(url="javascript:alert(1)", text="Run"),
        Link(url="smb://b/c", text="Share"),
    ]
    data = encode_text("Costs\nA needle of text\nThe form\nRun\nShare\nAnother needle", links, "Costs", "Home")
    harness.add([harness.make(URL, blob=harness.blobs.put(io.BytesIO(data), len(data)), title="Travel")])
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", URL), ("q", "needle")]).text)
    shown = [(node.tag, str(node.xpath("string()")).rstrip("↑↓")) for node in page.iterfind("body/main/*")]
    paragraphs = ["A needle of text", "The form", "Run", "Share", "Another needle", "Home"]
    assert shown == [("h1", "Travel"), ("h2", "Costs"), *(("p", text) for text in paragraphs)]
    (link,) = page.findall("body/main/p/a[@rel]")
    assert {name: link.get(name) for name in link.attrib} == {
        "href": "http://b.com/form",
        "target": "_top",
        "rel": "nofollow noopener noreferrer",
    }
    jumps = [(node.get("href"), node.get("aria-label")) for node in page.findall("body/main/p/span/a[@class]")]
    assert jumps == [("#top", "Previous match"), ("#match2", "Next match"), ("#match1", "Previous match")]
    assert [node.get("id") for node in page.findall("body/main/p[@id]")] == ["match1", "match2"]
    harness.store.close()


PAGE = """<h1>Travel</h1><p>A <em>red ne</em>edle and <a href="/form">the <b>form</b></a>.</p><ol><li>One<li>Two</ol>
<dl><dt>Cost<dd>Ten</dl><blockquote>Quoted</blockquote><h3>Parts</h3><table><tr><th>a<th>b<tr><td><td>needle</table><pre>if x:
    y</pre>"""


def add_page(harness: SearchHarness, body: str) -> None:
    (answer,) = AnswerReader(1 << 20).feed(
        pack_answer(extract(Task(key=1, url=URL, mimetype="text/html", data=body.encode()), ExtractionLimits()))
    )
    assert answer is not None
    harness.add([harness.make(URL, blob=harness.blobs.put(io.BytesIO(answer.body), len(answer.body)), title="Travel")])


def test_cache_shows_the_structure_of_a_page(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    add_page(harness, PAGE)
    text = ask(open_app(harness), "/cache", [("url", URL), ("q", "needle")]).text
    shown = re.sub('<span class="jumps">.*?</span>', "", text.partition('<main lang="">')[2].partition("</main>")[0])
    link = 'href="http://a.com/form" target="_top" rel="nofollow noopener noreferrer"'
    assert shown.replace("\n", "").replace(' dir="auto"', "") == (
        '<h1>Travel</h1><p id="match1">A <em>red </em><em><mark>ne</mark></em><mark>edle</mark> and '
        f"<a {link}>the <strong>form</strong></a>.</p>"
        '<ol dir="ltr"><li><p>One</p></li><li><p>Two</p></li></ol><dl dir="ltr"><dt><p>Cost</p></dt><dd><p>Ten</p></dd></dl>'
        '<blockquote dir="ltr"><p>Quoted</p></blockquote><h2>Parts</h2>'
        '<div class="table" dir="ltr" role="group" tabindex="0" aria-label="Table">'
        '<table dir="ltr"><tr><th><p>a</p></th><th><p>b</p></th></tr>'
        '<tr><td></td><td><p id="match2"><mark>needle</mark></p></td></tr></table>'
        "</div><pre>if x:    y</pre>"
    )
    harness.store.close()


def test_search_cache_page_has_no_structure(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    add_page(harness, PAGE)
    copy = ask(open_app(harness), "/search", [("q", f"cache:{URL} needle"), PAGE_OF_RESULTS]).text
    text = "Travel\nA red <mark>needle</mark> and the form.\nOne\nTwo\nCost\nTen\nQuoted\nParts\na\nb\n<mark>needle</mark>\nif x:\ny"
    assert f'<pre dir="auto">{text}</pre>' in copy
    harness.store.close()


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<h2>a</h2><h2>b</h2><h5>c</h5><h3>d</h3><h1>e</h1>", ["h1", "h2", "h2", "h3", "h3", "h2"]),
        ("<h1>Travel</h1><h3>a</h3><h4>b</h4><h3>c</h3><h1>d</h1>", ["h1", "h2", "h3", "h2", "h2"]),
        ("".join(f"<h{level}>{level}</h{level}>" for level in range(1, 7)), ["h1", "h2", "h3", "h4", "h5", "h6", "h6"]),
    ],
)
def test_headings_leave_no_level_out(tmp_path: Path, body: str, shown: list[str]) -> None:
    harness = open_harness(tmp_path)
    add_page(harness, body)
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", URL)]).text)
    assert [node.tag for node in page.iter("h1", "h2", "h3", "h4", "h5", "h6")] == shown
    harness.store.close()


def test_lists_and_tables_have_the_direction_of_their_text(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    add_page(harness, "<p>" + "text " * 12 + "</p><ul><li>12 שלום<ul><li>inner</ul></ul><table><tr><td>1<td>سلام</table><ul><li>1.2</ul>")
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", URL)]).text)
    assert [node.get("dir") for node in page.iter("ul", "table")] == [None, "rtl", None, "rtl", "ltr"]
    harness.store.close()


@pytest.mark.parametrize(
    ("sent", "is_led_back"),
    [
        ([("q", "needle")], True),
        ([("q", ""), ("select", "@filetype:html")], True),
        ([("q", " "), ("lang", "de"), ("num", "5"), ("sort", "date:D:R:d1")], False),
        ([], False),
    ],
    ids=["query", "filters alone", "nothing to list", "no parameters"],
)
def test_copy_leads_back_to_a_list_that_has_a_query_or_filters(tmp_path: Path, sent: list[tuple[str, str]], is_led_back: bool) -> None:
    harness = open_harness(tmp_path)
    add_page(harness, "<p>A needle.</p>")
    text = ask(open_app(harness), "/cache", [("url", URL), *sent]).text
    assert (f'href="/?{urlencode(sent)}#{write_anchor(URL)}"' in text.replace("&amp;", "&")) is is_led_back
    harness.store.close()


def test_cache_with_an_invalid_structure_shows_lines(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    data = encode_text("Costs\ntext", [], "Costs", "", "u")
    harness.add([harness.make(URL, blob=harness.blobs.put(io.BytesIO(data), len(data)), title="Travel")])
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", URL)]).text)
    assert [(node.tag, node.text) for node in page.iterfind("body/main/*")] == [("h1", "Travel"), ("h2", "Costs"), ("p", "text")]
    harness.store.close()


def test_cache_shows_a_heading_that_is_the_title_once(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    data = encode_text("Travel\nText", [], "Travel")
    harness.add([harness.make(URL, blob=harness.blobs.put(io.BytesIO(data), len(data)), title="Travel")])
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", URL), ("q", "travel")]).text)
    assert [(node.tag, node.findtext("mark")) for node in page.iterfind("body/main/*")] == [("h1", "Travel"), ("p", None)]
    harness.store.close()


@pytest.mark.parametrize(
    ("url", "shown", "opened"),
    [(URL, None, URL), ("db://inner/1", "https://b.com/2", "https://b.com/2"), ("db://inner/1", "javascript:alert(1)", None)],
)
def test_cache_leads_to_the_document(tmp_path: Path, url: str, shown: str | None, opened: str | None) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(url, "text", attributes=Attributes(display_url=shown))])
    page = html.fromstring(ask(open_app(harness), "/cache", [("url", url)]).text)
    assert [node.get("href") for node in page.iterfind("body/header/ul/li/a")] == ([opened] if opened else [])
    harness.store.close()


def test_cache_leads_back_to_the_results_on_this_server_alone(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "text")])
    sent = [("url", URL), ("q", 'a "b" & //b.com'), ("num", "20"), ("select", "@site:a"), ("select", "@site:b"), ("lang", "de")]
    page = html.fromstring(ask(open_app(harness), "/cache", sent).text)
    (link,) = [node for node in page.iterfind("body/header/ul/li/a") if node.text == "Zurück zu den Ergebnissen"]
    address = urlsplit(link.get("href") or "")
    assert (address.scheme, address.netloc, address.path) == ("", "", "/")
    assert parse_qsl(address.query) == sent[1:]
    assert address.fragment == write_anchor(URL)
    harness.store.close()


@given(
    st.lists(st.sampled_from(HOSTILE)),
    st.lists(st.builds(Link, url=st.lists(st.sampled_from(HOSTILE)).map("".join), text=st.sampled_from(HOSTILE))),
    *[st.lists(st.sampled_from(HOSTILE)).map("".join)] * 3,
    st.lists(st.tuples(st.sampled_from(["q", "url", "lang", "client"]), st.sampled_from(HOSTILE))),
    st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 9), st.lists(st.integers(-9, 10**6), max_size=3))),
)
def test_page_of_any_copy_has_only_the_elements_and_links_of_the_list(
    pieces: list[str],
    links: list[Link],
    headings: str,
    title: str,
    url: str,
    sent: list[tuple[str, str]],
    distances: list[tuple[Kind, int, list[int]]],
) -> None:
    text = "".join(pieces)
    places = accumulate(distance for _, distance, _ in distances)
    events = [Event(kind, place) for (kind, _, _), place in zip(distances, places, strict=True)]
    numbers = {place: tuple(numbers) for place, (_, _, numbers) in enumerate(distances)}
    structure = Structure(events=events, spaces=[Space(0, 3, 1, 2)], numbers=numbers)
    copy = CachedCopy(
        url=url,
        display_url=title,
        title=title,
        text=text,
        blocks=tuple(build_blocks(text, structure, headings, links)),
        marks=find_marks(text, "needle alert"),
        updated_at=datetime(2026, 5, 4, tzinfo=UTC),
    )
    shown = show_copy(copy, sent)
    assert "".join("".join(list_texts(shown.blocks)).split()) == "".join(text.split())
    page = html.document_fromstring(Pages().render("copy.html", choose_language("", ""), Brand(), copy=shown))
    for node in page.iter():
        assert isinstance(node.tag, str)
        assert set(node.attrib) <= ATTRIBUTES[node.tag]
        if node.tag == "a":
            assert (node.get("href") or "").startswith(("http://a.com/", "#match", "#top", "/?"))
    assert len(page.findall(".//style")) == 1
    assert "4 May 2026" in str(page.xpath("string(//header)"))
    ids = [node.get("id") for node in page.iter() if (node.get("id") or "").startswith("match")]
    assert ids == [f"match{number + 1}" for number in range(len(ids))]
    assert page.xpath("string(//meta[2]/@name)") == "viewport"


def test_copy_with_very_many_links_and_matches_in_a_line_is_shown_in_time() -> None:
    text = "needle word " * 20_000
    events = [event for place in range(0, 200_000, 10) for event in (Event(Kind.LINK, place), Event(Kind.END, place + 6))]
    copy = CachedCopy(
        url=URL,
        display_url=URL,
        title="",
        text=text,
        blocks=tuple(build_blocks(text, Structure(events=events), "", [])),
        marks=find_marks(text, "needle"),
        updated_at=datetime(2026, 5, 4, tzinfo=UTC),
    )
    began = time.process_time()
    show_copy(copy, [])
    assert time.process_time() - began < 5


def test_cache_of_what_may_not_be_seen_answers_as_unknown(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/shut", "x", secure=True), harness.make("http://a.com/no", "x", robots=("noarchive",))])
    app = open_app(harness)
    answers = [ask(app, "/cache", [("url", url)]) for url in ("http://a.com/shut", "http://a.com/no", "http://a.com/unknown")]
    assert {(answer.status, answer.body) for answer in answers} == {(404, answers[0].body)}
    assert ask(app, "/search", [("q", "cache:http://a.com/shut")]).status == 404
    assert ask(app, "/cache").status == 400
    harness.store.close()


@pytest.mark.parametrize(
    "query",
    [
        f"cache:{URL}",
        f"cache:{copy_id(URL)}:{URL} needle",
        f"CACHE:{copy_id(URL)}:a.com/1%3Fx%3Dy",
        "cache:a.com/1?x=y",
        "cache:http%3A//a.com/1?x=y",
    ],
)
def test_search_cache_query_in_every_form_finds_the_copy(tmp_path: Path, query: str) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, "a needle")])
    app = open_app(harness)
    assert "needle" in ask(app, "/search", [("q", query), PAGE_OF_RESULTS]).text
    for output in ([], [("output", "xml_no_dtd")], [("output", "xml")], [("output", "html")]):
        root = etree.fromstring(ask(app, "/search", [("q", query), *output]).body)
        assert root.findtext("CACHE/CACHE_URL") == URL
        assert "needle" in b64decode(root.findtext("CACHE/CACHE_HTML/BLOB") or "").decode()
    harness.store.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [("smb://files/a b.doc", None), ("http://a.com/inner", "http://shown.com/x?y=1&z=2"), ("http://a.com/ü?x=a%20b", None)],
)
def test_search_cache_link_of_a_front_end_finds_the_copy(tmp_path: Path, url: str, shown: str | None) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(url, "a needle", attributes=Attributes(display_url=shown))])
    app = open_app(harness)
    found = etree.fromstring(ask(app, "/search", [("q", "needle")]).body)
    copy_name, escaped = found.findall("RES/R/HAS/C")[0].get("CID"), found.findtext("RES/R/UE")
    link = f"q=cache:{copy_name}:{escaped}+needle&proxystylesheet=default_frontend"
    copy = ask(app, "/search", link)
    assert (copy.status, "<mark>needle</mark>" in copy.text) == (200, True)
    harness.store.close()


def test_search_cache_name_of_what_may_not_be_seen_answers_as_unknown(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make("http://a.com/shut", "x", secure=True)])
    app = open_app(harness)
    names = [copy_id(url) for url in ("http://a.com/shut", "http://a.com/none")]
    answers = [ask(app, "/search", [("q", f"cache:{name}:http://b.com/"), PAGE_OF_RESULTS]) for name in names]
    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].body == answers[1].body
    documents = [ask(app, "/search", [("q", f"cache:{name}:http://b.com/")]) for name in names]
    assert [answer.status for answer in documents] == [404, 404]
    roots = [etree.fromstring(answer.body) for answer in documents]
    assert [[child.tag for child in root] for root in roots] == [["TM", "Q", "PARAM"]] * 2
    harness.store.close()


def test_read_cache_query_other_query_is_none() -> None:
    assert read_cache_query("a cache:http://b") is None


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Red redder RED ärger", 'red OR red "arger"', ["Red", "RED", "ärger"]),
        ("anything red", "site:a.com -red", []),
        ("The printer printed, a PRINT", "printing", ["printed", "PRINT"]),
        ("The printers of the Café Übung", "the cafe ubung", ["Café", "Übung"]),
        ("a command of the line", "command-line", ["command", "line"]),
        ("a command line, and a command", '"command line"', ["command", "line"]),
        ("東京都の印刷", "印刷", ["印刷"]),
        ("print prints", "print*", ["print", "prints"]),
    ],
)
def test_copies_mark_what_snippets_mark(tmp_path: Path, text: str, query: str, marked: list[str]) -> None:
    harness = open_harness(tmp_path)
    harness.add([harness.make(URL, text, language="en")])
    app = open_app(harness)
    for copy in (ask(app, "/cache", [("url", URL), ("q", query)]), ask(app, "/search", [("q", f"cache:{URL} {query}"), PAGE_OF_RESULTS])):
        assert re.findall("<mark>(.*?)</mark>", copy.text) == marked
    results = ask(app, "/api/v1/search", [("q", query)]).json["results"]
    assert len(results) == bool(marked)
    assert [result["snippet"][start:end] for result in results for start, end in result["snippet_marks"]] == marked
    harness.store.close()


def test_click_is_taken(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    assert ask(open_app(harness), "/click", "q=a&ct=c&url=http://a").status == 204
    harness.store.close()
