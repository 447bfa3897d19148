"""The languages of the pages: which one a request gets, and what of an answer depends on it."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.adapters.manual import PackagedManual
from feedmill.http.common.problems import Problem
from feedmill.http.pages.languages import choose_language, find_tag, get_language, list_tags, read_accepted
from feedmill.http.pages.rendering import show_error, write_remark
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import AccessFilter
from feedmill.model.document import Attributes
from feedmill.model.errors import Busy
from feedmill.model.messages import counted, message
from tests.anytext import any_text
from tests.asgi import Answer
from tests.contract.searchharness import SearchHarness, ask, open_harness

GERMAN = "de-AT,de;q=0.9,en;q=0.8"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def ask_page(harness: SearchHarness, query: str, path: str = "/", accepted: str = "") -> Answer:
    return ask(search_app(harness.services()), path, query, **({"accept_language": accepted} if accepted else {}))


# --- which language ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "accepted", "tag"),
    [
        ("", "", "en"),
        ("", GERMAN, "de"),
        ("en", GERMAN, "en"),
        ("de_CH", "", "de"),
        ("xx", GERMAN, "de"),
        ("", "xx, de;q=0.3, en;q=0.2", "de"),
        ("", "de;q=0.2, en;q=0.8", "en"),
        ("", "de;q=0, *", "en"),
        ("", "de;q=nan, de;q=2, ;;;", "en"),
        ("", "DE", "de"),
    ],
)
def test_language_is_that_of_the_parameter_then_of_the_browser_then_english(wanted: str, accepted: str, tag: str) -> None:
    assert choose_language(wanted, accepted).language.tag == tag


@given(any_text(), any_text())
def test_language_of_any_text_is_one_of_the_list(wanted: str, accepted: str) -> None:
    assert choose_language(wanted, accepted).language.tag in list_tags()
    assert all(find_tag(tag) is None or find_tag(tag) in list_tags() for tag in read_accepted(accepted))


# --- texts ------------------------------------------------------------------------------------------------------------------------


def test_texts_of_the_program_are_translated_with_their_values() -> None:
    german = get_language("de")
    assert german.translate(message("there is no collection %(name)s", name="100%")) == "es gibt keine Sammlung 100%"
    form = ("one result is left out, since it could not be shown", "%(count)s results are left out, since they could not be shown")
    assert german.translate(counted(*form, 1)) == "ein Ergebnis fehlt, weil es nicht angezeigt werden konnte"
    assert german.translate(counted(*form, 1_200)) == "1.200 Ergebnisse fehlen, weil sie nicht angezeigt werden konnten"
    assert german.translate(message("from %(day)s", day=date(2026, 5, 4))) == "ab 04.05.2026"
    assert german.translate("of an unknown author: 100%") == "of an unknown author: 100%"


@pytest.mark.parametrize("tag", ["he", "ko"])
def test_sizes_have_a_blank_before_a_latin_unit_and_no_marks_of_direction(tag: str) -> None:
    sizes = [get_language(tag).write_size(size).replace("\u00a0", " ") for size in (1, 1_000, 15_000, 1_000_000, 2_300_000)]
    assert sizes == ["1 kB", "1 kB", "15 kB", "1 MB", "2.3 MB"]


def test_numbers_days_and_names_of_languages_follow_the_language() -> None:
    english, german = get_language("en"), get_language("de")
    assert (english.write_number(12_345), german.write_number(12_345)) == ("12,345", "12.345")
    assert english.write_date(date(2026, 5, 4)) == "4 May 2026"
    assert (german.name_language("fr"), german.name_language("xx-none")) == ("Französisch", "xx-none")


# --- answers ----------------------------------------------------------------------------------------------------------------------


def test_page_in_the_language_of_the_browser(harness: SearchHarness) -> None:
    attributes = Attributes(last_modified=datetime(2026, 5, 4, tzinfo=UTC))
    harness.add([harness.make("http://a.com/1", "the needle", title="Größe", attributes=attributes)])
    answer = ask_page(harness, "q=needle", accepted=GERMAN)
    assert '<html lang="de" dir="ltr">' in answer.text
    assert "1 Ergebnis <span>" in answer.text
    assert ">04.05.2026</bdi></time>" in answer.text
    assert answer.headers["content-language"] == "de"
    assert "Accept-Language" in answer.headers["vary"].split(", ")


def test_page_in_the_language_of_the_parameter_keeps_it_in_every_link(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "the needle") for number in range(25)])
    answer = ask_page(harness, "q=needle&lang=de&start=10", accepted="en")
    assert answer.headers["content-language"] == "de"
    assert "Accept-Language" not in answer.headers["vary"]
    links = [link.split('"')[0] for link in answer.text.split('href="')[1:] if link.startswith(("/?", "/cache"))]
    assert len(links) > 10
    assert all("lang=de" in link for link in links)
    assert '<input type="hidden" name="lang" value="de">' in answer.text
    assert "lang=" not in ask_page(harness, "q=needle&start=10", accepted=GERMAN).text.split("<main", 1)[1].replace('lang="', "")


def test_warnings_are_translated_on_the_page_alone(harness: SearchHarness) -> None:
    query = "q=needle&site=press&lang=de"
    assert "Es gibt keine Sammlung press" in ask_page(harness, query).text
    assert ask_page(harness, query.replace("&lang=de", ""), "/api/v1/search", GERMAN).json["warnings"] == ["there is no collection press"]
    xml = ask_page(harness, query, "/search", GERMAN)
    assert b"Sammlung" not in xml.body
    assert "content-language" not in xml.headers


def test_error_is_in_the_language_of_the_request(harness: SearchHarness) -> None:
    assert '<p dir="auto" lang="en">No cached copies are stored</p>' in ask_page(harness, "url=http://a.com/none", "/cache").text
    answer = ask_page(harness, "url=http://a.com/none", "/cache", GERMAN)
    assert answer.status == 404
    assert "kein Dokument" in answer.text or "keine Kopien" in answer.text
    assert answer.headers["content-language"] == "de"


def test_error_offers_a_search_and_what_it_means(harness: SearchHarness) -> None:
    page = ask_page(harness, "lang=fr", "/none").text
    assert "<h1>Cette page n’existe pas</h1>" in page
    assert 'action="/" method="get"' in page
    assert '<input type="hidden" name="lang" value="fr">' in page
    assert 'href="/manual/howto/understand-an-error-page.html#this-page-does-not-exist"' in page
    assert "<p>L’adresse contient peut-être une erreur" in page
    assert "not found" not in page
    untranslated = ask_page(harness, "q=x&callback=1&lang=ar", "/suggest").text
    assert '<p dir="auto" lang="en">callback= is no name of a function' in untranslated


@pytest.mark.parametrize("problem", Problem)
def test_manual_explains_the_page_of_each_error_in_a_section_of_its_title(problem: Problem) -> None:
    page = PackagedManual().find_page("howto/understand-an-error-page")
    assert page is not None
    error = show_error(problem, "")
    assert (error["title"], error["section"]) in {(heading.text, heading.anchor) for heading in page.headings}


def test_error_of_a_search_holds_its_query_and_a_link_to_try_it_again(harness: SearchHarness) -> None:
    app = search_app(harness.services(), SearchSite(identify=make_failing(Busy("the store does not answer"))))
    busy = ask(app, "/", "q=two+words&lang=de")
    assert busy.status == 503
    assert 'value="two words"' in busy.text
    assert '<a class="again" href="/?q=two+words&amp;lang=de">Erneut versuchen</a>' in busy.text
    assert "again" not in ask(app, "/none", "q=x").text
    assert 'value=""' in ask(app, "//evil.example/", "q=x").text


def test_unexpected_error_is_a_page_with_the_headers_of_one_and_without_its_reason(harness: SearchHarness) -> None:
    site = SearchSite(identify=make_failing(ZeroDivisionError("a secret of the program")))
    app = ForgivingApp(search_app(harness.services(), site))
    page = ask(app, "/", "q=word&lang=de")
    assert page.status == 500
    assert "<h1>Auf dem Server ist etwas schiefgegangen</h1>" in page.text
    assert 'value="word"' in page.text
    assert "secret" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert (page.headers["x-content-type-options"], page.headers["cache-control"]) == ("nosniff", "private, no-cache")
    answer = ask(app, "/api/v1/search", "q=word")
    assert (answer.status, answer.json["detail"]) == (500, "internal error")


def make_failing(error: Exception) -> Callable[[Request], AccessFilter]:
    def fail(_request: Request) -> AccessFilter:
        raise error

    return fail


class ForgivingApp:
    """An application whose unexpected errors, which it raises behind its answer for the log, fail no test."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(ZeroDivisionError):
            await self._app(scope, receive, send)


def test_values_of_users_are_escaped_inside_translations(harness: SearchHarness) -> None:
    text = ask_page(harness, "q=%3Cb%3E%25(x)s&lang=de").text
    assert "<b>%(x)s" not in text
    assert "&lt;b&gt;%(x)s" in text


@pytest.mark.parametrize(
    ("warning", "tag", "shown"),
    [
        (message("a quote without its partner was ignored"), "en", "A quote without its partner was ignored"),
        (message("only the first %(count)s terms were searched", count=50), "en", "Only the first 50 terms were searched"),
        (message("%(text)s was searched as words", text="foo bar"), "en", "foo bar was searched as words"),
        (message("cache: found the document itself"), "en", "cache: found the document itself"),
    ],
)
def test_warnings_are_sentences_but_for_the_words_of_the_user(warning: str, tag: str, shown: str) -> None:
    assert write_remark(get_language(tag), warning) == shown
