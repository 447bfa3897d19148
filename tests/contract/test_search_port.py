from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.document import Attributes
from feedmill.model.errors import Corrupt
from feedmill.ports import SearchIndex
from feedmill.services.searching.searchservices import wire_search_services
from tests.anytext import any_query, any_text
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness
from tests.thorough import count_examples

# what either port of searching reads besides the query
_READ_PARAMETERS = """
    access as_dt as_epq as_eq as_ft as_filetype as_lq as_occt as_oq as_q as_sitesearch client correct cursor dnavs entqr facet filter
    getfields ie inmeta lr match num numgm oe output partialfields proxycustom proxyreload proxystylesheet rc requiredfields select site
    sitesearch sort start tlen ud""".split()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


# --- JSON -----------------------------------------------------------------------------------------------------------------------


def test_search_api_answers_as_documented(harness: SearchHarness) -> None:
    attributes = Attributes(display_url="http://shown.com/1", last_modified=NOW)
    metadata = (("dc.title", "x"), ("Topic", "y"))
    harness.add([harness.make("http://a.com/1", "the needle", title="Größe", metadata=metadata, attributes=attributes)])
    answer = ask(search_app(harness.services()), "/api/v1/search", [("q", "needle"), ("getfields", "dc%2Etitle.TOPIC")])
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    body = answer.json
    (result,) = body.pop("results")
    assert body == {
        "query": "needle",
        "total": 1,
        "exact": True,
        "facets": [],
        "spelling": None,
        "keymatches": [],
        "related": [],
        "next_cursor": None,
        "warnings": [],
    }
    assert result.pop("score") is None
    assert result == {
        "url": "http://a.com/1",
        "display_url": "http://shown.com/1",
        "title": "Größe",
        "snippet": "the needle",
        "snippet_marks": [[4, 10]],
        "date": "2026-03-01T12:30:00Z",
        "mimetype": "text/html",
        "language": None,
        "metadata": {"dc.title": ["x"], "Topic": ["y"]},
    }


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("q=a", 10),
        ("q=a&num=5", 5),
        ("q=a&num=0", 0),
        ("q=a&num=", 10),
        ("q=a&num=007", 7),
        ("q=a&start=11", 1),
        ("q=a&start=100000", 0),
        ("q=%00a", 10),
        ("q=a&site=default_collection&client=default_frontend", 10),
        ("q=", 0),
        ("", 0),
    ],
)
def test_search_api_reads_its_parameters(harness: SearchHarness, parameters: str, found: int) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "a") for number in range(12)])
    answer = ask(search_app(harness.services()), "/api/v1/search", parameters)
    assert answer.status == 200
    assert len(answer.json["results"]) == found


def test_search_api_unknown_collection_holds_nothing_and_says_so(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "a")])
    body = ask(search_app(harness.services()), "/api/v1/search", [("q", "a"), ("site", "press")]).json
    assert (body["total"], body["results"], body["warnings"]) == (0, [], ["there is no collection press"])


def test_search_languages_narrow_everywhere(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{code}", "word", language=code or None) for code in ("en", "fr", "zh", "nb", "")])
    app = search_app(harness.services())

    def found(languages: str, query: str = "word") -> str:
        results = ask(app, "/api/v1/search", [("q", query), ("lr", languages)]).json["results"]
        return " ".join(sorted(result["url"].removeprefix("http://a.com/") for result in results))

    assert found("lang_fr") == found("fr") == "fr"
    assert found("lang_en|lang_fr") == "en fr"
    assert found("-lang_en") == " fr nb zh"
    assert found("(lang_en|lang_zh-TW).(-lang_en)") == "zh"
    assert found("lang_no") == "nb"
    assert found("lang_fr", "") == ""
    assert ask(app, "/api/v1/search", [("q", "word"), ("lr", "!?")]).status == 400
    assert "lr=: !? is no language and was passed over" in ask(app, "/", [("q", "word"), ("lr", "!?")]).text
    page = ask(app, "/", [("q", "word"), ("lr", "lang_fr")]).text
    assert "http://a.com/fr" in page
    assert "http://a.com/en" not in page
    assert ask(app, "/search", [("q", "word"), ("lr", "lang_fr")]).text.count("<R N=") == 1
    # the old protocol falls back to all languages where there is nothing in the requested ones
    assert ask(app, "/search", [("q", "word"), ("lr", "lang_de"), ("filter", "0")]).text.count("<R N=") == 5


def test_search_api_refinements_narrow_and_order(harness: SearchHarness) -> None:
    pages = [("1", "10", "legal affairs"), ("2", "9", "Legal Affairs"), ("3", "8", "sales"), ("4", "", "")]
    for name, price, team in pages:
        harness.add([harness.make(f"http://a.com/{name}.pdf", "word", metadata=(("price", price), ("team", team)) if price else ())])
    app = search_app(harness.services())

    def names(*parameters: tuple[str, str]) -> str:
        results = ask(app, "/api/v1/search", parameters).json["results"]
        return "".join(result["url"].removeprefix("http://a.com/").removesuffix(".pdf") for result in results)

    assert names(("q", "word"), ("sort", "meta:Price:A")) == "3214"
    assert names(("q", "word"), ("sort", "meta:price:D:E:en::y"), ("start", "1"), ("num", "2")) == "23"
    assert names(("requiredfields", "team:legal%2520affairs".replace("%25", "%")), ("sort", "meta:price")) == "21"
    assert names(("partialfields", "team:affairs|team:sales"), ("sort", "meta:price")) == "321"
    assert names(("requiredfields", "-team.price")) == names(("requiredfields", "nothing")) == ""
    assert names(("as_epq", "word"), ("as_filetype", "pdf"), ("as_sitesearch", "a.com"), ("as_dt", "e")) == ""
    assert names(("q", "inmeta:price:9.."), ("sort", "meta:price:A")) == "21"


def test_search_page_links_keep_refinements(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "word", metadata=(("k", "v"),)) for number in range(15)])
    text = ask(search_app(harness.services()), "/", [("q", "word"), ("requiredfields", "k:v"), ("sort", "meta:a b:D")]).text
    assert "requiredfields=k%3Av&amp;sort=meta%3Aa%2520b%3AD&amp;start=10" in text


def test_documents_api_secure_answers_as_unknown(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/open", title="T", metadata=(("k", "v"),)), harness.make("http://a.com/closed", secure=True)])
    app = search_app(harness.services())
    body = ask(app, "/api/v1/documents", [("url", "http://a.com/open")]).json
    assert (body["title"], body["metadata"], body["searchable"]) == ("T", {"k": ["v"]}, True)
    assert not {"datasource", "acl"} & set(body)
    closed, unknown = (ask(app, "/api/v1/documents", [("url", url)]) for url in ("http://a.com/closed", "http://a.com/none00"))
    assert closed.status == unknown.status == 404
    assert closed.text.replace("closed", "none00") == unknown.text
    assert ask(app, "/api/v1/documents").status == 400


def test_search_api_user_is_distinguished_by_identify(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "a")], acls={"http://a.com/1": FOR_ANN})
    app = search_app(harness.services(), SearchSite(identify=lambda request: harness.services().filters.find_filter(ANN)))
    assert ask(app, "/api/v1/search", [("q", "a")]).json["total"] == 1
    assert ask(search_app(harness.services()), "/api/v1/search", [("q", "a")]).json["total"] == 0


# --- the page -------------------------------------------------------------------------------------------------------------------


def test_page_without_a_query_is_a_search_box(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/")
    assert answer.status == 200
    assert '<input id="q" name="q"' in answer.text
    assert "Nothing was found" not in answer.text
    assert answer.text.count("<script") == answer.text.count('<script src="/static/') == 2


def test_page_shows_results_with_marks_date_and_title_or_url(harness: SearchHarness) -> None:
    attributes = Attributes(last_modified=NOW)
    harness.add(
        [
            harness.make("http://a.com/1", "the needle", title="Title", attributes=attributes),
            harness.make("http://a.com/no%20title", "needle"),
        ]
    )
    text = ask(search_app(harness.services()), "/", [("q", "needle")]).text
    assert "the <mark>needle</mark>" in text
    assert 'datetime="2026-03-01T12:30:00+00:00"><bdi dir="ltr" lang="en">1 Mar 2026</bdi></time>' in text
    assert '<a href="http://a.com/1" rel="noopener">Title</a>' in text
    assert '<a href="http://a.com/no%20title" rel="noopener">no title</a>' in text
    assert "2 results" in text


def test_page_hostile_documents_and_queries_stay_text(harness: SearchHarness) -> None:
    hostile = '<script>alert("x")</script>'
    attributes = Attributes(display_url="javascript:alert(1)//http://")
    document = harness.make("http://a.com/1", f"needle {hostile}", title=hostile, language='"><b>', attributes=attributes)
    harness.add([document])
    text = ask(search_app(harness.services()), "/", [("q", f'needle "{hostile}')]).text
    assert text.count("<script") == text.count('<script src="/static/') == 2
    assert 'href="javascript' not in text.lower()
    assert '<a href="http://a.com/1" rel="noopener">' in text
    assert "&lt;script&gt;" in text
    assert "<b>" not in text


def test_page_url_that_no_browser_should_open_is_no_link(harness: SearchHarness) -> None:
    harness.add([harness.make("data:text/html,needle", "needle", title="Here")])
    text = ask(search_app(harness.services()), "/", [("q", "needle")]).text
    assert "<h2>Here</h2>" in text


def test_page_walks_through_pages(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "a") for number in range(25)])
    app = search_app(harness.services())
    first, last = ask(app, "/", [("q", "a")]).text, ask(app, "/", [("q", "a"), ("start", "20"), ("match", "all")]).text
    assert '<a class="step" rel="next" href="/?q=a&amp;start=10">Next</a>' in first
    assert 'rel="prev"' not in first
    assert '<a class="step" rel="prev" href="/?q=a&amp;match=all&amp;start=10">Previous</a>' in last
    assert 'rel="next"' not in last
    assert '<input type="hidden" name="match" value="all">' in last
    assert "The list ends before here" in ask(app, "/", [("q", "a"), ("start", "50")]).text


def test_page_shows_size_and_author(harness: SearchHarness) -> None:
    authors = (("Author", "Ann <b>"), ("author", "Ann <b>"), ("author", "\u202eBob"), ("author", ""))
    harness.add([harness.make("http://a.com/1", "needle " + "y" * 5_000, metadata=authors), harness.make("http://a.com/2", "needle")])
    text = ask(search_app(harness.services()), "/", "q=needle&lang=de").text
    assert "<bdi>5 kB</bdi> <bdi>Ann &lt;b&gt;, Bob</bdi></p>" in text
    assert "<bdi>1 kB</bdi></p>" in text


def test_page_long_author_is_shortened(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle", metadata=(("author", "x" * 900),))])
    assert f"<bdi>{'x' * 60}…</bdi>" in ask(search_app(harness.services()), "/", "q=needle").text


def test_page_long_title_is_shortened_at_a_word(harness: SearchHarness) -> None:
    harness.add(
        [harness.make("http://a.com/1", "x", title="needle " + "word " * 60), harness.make("http://a.com/2", "needle", title="y" * 400)]
    )
    text = ask(search_app(harness.services()), "/", "q=needle").text
    assert "<mark>needle</mark>" + " word" * 28 + " …</a>" in text
    assert ">" + "y" * 150 + " …</a>" in text


@pytest.mark.parametrize(
    ("query", "said", "before"),
    [
        ("q=needle+thread", "What follows matches parts of the query.", "a.com/2"),
        ("q=needle+thread+hay", "Nothing matches the whole query. These match parts of it.", "a.com/1"),
        ("q=needle", "", ""),
        ("q=needle+thread&match=all", "", ""),
        ("q=needle+thread&match=any", "", ""),
        ("q=needle+thread&sort=date:D:R:d1", "", ""),
        ("q=needle+thread&num=1&start=2", "These match parts of the query.", "a.com/3"),
    ],
)
def test_page_says_where_parts_of_the_query_suffice(harness: SearchHarness, query: str, said: str, before: str) -> None:
    harness.add(
        [
            harness.make("http://a.com/1", "needle thread"),
            harness.make("http://a.com/2", "needle"),
            harness.make("http://a.com/3", "thread"),
        ]
    )
    text = ask(search_app(harness.services()), "/", query).text
    parted = text.partition('<p class="parting">')
    assert parted[2].partition("</p>")[0] == said
    if said:
        assert before in parted[2]
        assert before not in parted[0].partition('<ol class="results"')[2]


def test_page_nothing_found_and_warnings_are_said(harness: SearchHarness) -> None:
    text = ask(search_app(harness.services()), "/", [("q", "nowhere OR")]).text
    assert "Nothing was found for <q" in text
    assert "OR without a term on both sides was ignored" in text
    assert f">{'x' * 149}…</q>" in ask(search_app(harness.services()), "/", [("q", "x" * 900)]).text


@settings(max_examples=count_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=any_query() | any_text() | st.text(max_size=60), start=st.text(max_size=8), num=st.text(max_size=8))
def test_search_port_any_parameters_answer(harness: SearchHarness, query: str, start: str, num: str) -> None:
    app = search_app(harness.services())
    parameters = [("q", query), ("start", start), ("num", num)]
    is_valid = all(not text or (text.isascii() and text.isdigit() and int(text) <= most) for text, most in ((start, 100_000), (num, 1_000)))
    assert ask(app, "/api/v1/search", parameters).status == (200 if is_valid else 400)
    assert ask(app, "/", parameters).status == 200
    assert ask(app, "/search", parameters).status == 200
    assert ask(app, "/suggest", parameters).status == 200


@settings(max_examples=count_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(_READ_PARAMETERS), value=any_query() | any_text())
def test_search_port_any_value_of_a_parameter_is_answered_or_refused(harness: SearchHarness, name: str, value: str) -> None:
    app = search_app(harness.services())
    for path in ("/api/v1/search", "/search"):
        assert ask(app, path, [("q", "word"), (name, value)]).status in (200, 400, 404)


@pytest.mark.parametrize(
    "query",
    [
        *("2,375.9,5..9", 'inmeta:p:"1\t234"..', 'inmeta:p:"1\n234"..', "1\u2007234..9", "inmeta:p:1\u3000234..", "0.125,0.250..9"),
        *(
            "9" * 5_000,
            f"{'9' * 5_000}..{'9' * 5_001}",
            f"inmeta:p:{'9' * 5_000}..",
            f"daterange:{'9' * 5_000}..",
            "daterange:9999-12-31..",
        ),
        *("OR", "(OR)", "-", '""', "inmeta:", "site:", "..", "5..", "*", "a* OR", "-*", "x\x00y", "\ufdfa" * 50, "\u0e01" * 500),
    ],
)
def test_search_port_odd_queries_are_answered(harness: SearchHarness, query: str) -> None:
    app = search_app(harness.services())
    assert ask(app, "/api/v1/search", [("q", query)]).status == 200
    assert ask(app, "/search", [("q", query), ("output", "xml_no_dtd"), ("client", "default_frontend")]).status == 200


@pytest.mark.parametrize(
    "query", ["invoice OR", "OR invoice", "invoice OR OR bill", "(OR) invoice", "invoice -", 'invoice ""', "site: invoice"]
)
def test_search_port_operator_without_operand_is_ignored_with_a_warning(harness: SearchHarness, query: str) -> None:
    harness.add([harness.make("http://a.com/1", "an invoice")])
    found = ask(search_app(harness.services()), "/api/v1/search", [("q", query)]).json
    assert [result["url"] for result in found["results"]] == ["http://a.com/1"]
    assert any("was ignored" in warning for warning in found["warnings"])


# --- the rest of the port -------------------------------------------------------------------------------------------------------


def test_search_port_small_resources(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    assert ask(app, "/sw_version.txt").text == "7.4.0-0"
    assert ask(search_app(harness.services(), SearchSite(version="7.6.1")), "/sw_version.txt").text == "7.6.1"
    assert ask(app, "/healthz").status == ask(app, "/readyz").status == 200
    assert ask(search_app(harness.services(), SearchSite(find_problems=lambda: ["no"])), "/readyz").status == 503
    assert ask(app, "/static/search.css").headers["content-type"].startswith("text/css")
    assert ask(app, "/", method="HEAD").status == 200


def test_search_port_unknown_paths_and_methods_are_refused(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    assert ask(app, "/nowhere").status == 404
    assert ask(app, "/api/v1/nowhere").json["code"] == "not_found"
    refused = ask(app, "/api/v1/search", method="POST")
    assert (refused.status, refused.json["code"]) == (405, "method_not_allowed")
    assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert refused.json["detail"] == "method not allowed; this address takes GET, HEAD"
    told = ask(app, "/api/v1/documents", method="POST").json["detail"].split("; ")
    assert told[-1] == "POST /api/v1/documents is answered by the feed port, which is 19900 by default"
    told = ask(app, "/api/v1/settings/frontends/%3Cb%3E", method="PUT").json["detail"].split("; ")
    assert told == ["not found", "PUT /api/v1/settings/{section}/{name} is answered by the admin port, which is 8000 by default"]
    assert ask(app, "/static/../search.py").status == 404
    assert ask(app, "/", method="POST", origin="http://evil.example.org").status == 403


def test_search_port_every_answer_guards_the_browser(harness: SearchHarness) -> None:
    app = search_app(harness.services())
    for path in ("/", "/api/v1/search", "/nowhere", "/static/search.css", "/healthz"):
        headers = ask(app, path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"


def test_search_port_store_that_fails_hides_why(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "a")])

    def open_index(folder: str) -> SearchIndex:
        raise Corrupt(f"secret place {folder}")

    app = search_app(wire_search_services(harness.store, open_index, harness.blobs))
    answer = ask(app, "/api/v1/search", [("q", "a")])
    assert answer.status == 500
    assert "secret" not in answer.text
    assert ask(app, "/readyz").status == 503
