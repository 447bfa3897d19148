"""Searches that the page makes while somebody types: they are not counted as searches, and correct nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.http.pages.branding import Brands
from feedmill.http.pages.rendering import Pages
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.serving import Branding
from feedmill.telemetry import metrics
from tests.contract.searchharness import SearchHarness, ask, open_harness

TYPING = {"x-feedmill-typing": "1"}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def count(name: str) -> float:
    found = re.search(rf"^{name}_count (.+)$", metrics.render_metrics(dict, dict).decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_search_while_typing_is_not_counted_as_a_search(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "harvest", title="Harvest")])
    app = search_app(harness.services())
    searches, typed = count("feedmill_query_seconds"), count("feedmill_typing_seconds")
    assert "<mark>Harvest</mark>" in ask(app, "/", "q=harvest", **TYPING).text
    assert (count("feedmill_query_seconds"), count("feedmill_typing_seconds")) == (searches, typed + 1)
    ask(app, "/", "q=harvest")
    assert (count("feedmill_query_seconds"), count("feedmill_typing_seconds")) == (searches + 1, typed + 1)


def test_search_that_is_corrected_is_one_search(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "harvest", title="Harvest") for number in range(12)])
    searches = count("feedmill_query_seconds")
    assert "<mark>Harvest</mark>" in ask(search_app(harness.services()), "/", "q=harvets").text
    assert count("feedmill_query_seconds") == searches + 1


def test_search_while_typing_corrects_nothing(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "harvest", title="Harvest") for number in range(12)])
    app = search_app(harness.services())
    assert 'class="meant"' in ask(app, "/", "q=harvets").text
    typed = ask(app, "/", "q=harvets", **TYPING).text
    assert 'class="meant"' not in typed
    assert 'class="nothing"' in typed


def test_search_while_typing_says_nothing_of_parts(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "harvest", title="Harvest")])
    app = search_app(harness.services())
    assert "Nothing matches the whole query" in ask(app, "/", "q=harvest+tim").text
    typed = ask(app, "/", "q=harvest+tim", **TYPING).text
    assert "<mark>Harvest</mark>" in typed
    assert "Nothing matches" not in typed


def test_last_word_may_be_half_typed(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "harvest time", title="Harvest"), harness.make("http://a.com/2", "a harp", title="Music")])
    app = search_app(harness.services())
    typed = ask(app, "/", "q=harv&prefix=1", **TYPING).text
    assert "<mark>Harvest</mark>" in typed
    assert "Music" not in typed
    # a pause makes a query of it, which says nothing of words that it lacks, and corrects nothing
    paused = ask(app, "/", "q=time+harp&prefix=1").text
    assert paused.count('class="missing"') == paused.count("Nothing matches") == paused.count('class="meant"') == 0
    assert "<mark>harp</mark>" in paused
    assert "<mark>time</mark>" in paused
    # the word is whole after a blank, and without the parameter
    assert 'class="nothing"' in ask(app, "/", "q=harv+&prefix=1", **TYPING).text
    assert 'class="nothing"' in ask(app, "/", "q=harv&correct=0").text


def test_links_within_a_half_typed_list_repeat_that_it_is(harness: SearchHarness) -> None:
    languages = ("en", "de")
    harness.add(
        [harness.make(f"http://a.com/{number}", "harvest", title="Harvest", language=languages[number % 2]) for number in range(30)]
    )
    shown = ask(search_app(harness.services()), "/", "q=harv&prefix=1&filter=0").text
    assert re.findall(r'rel="next" href="([^"]+)"', shown) == ["/?q=harv&amp;prefix=1&amp;filter=0&amp;start=10"]
    assert '<input type="hidden" name="prefix" value="1">' in re.findall(r'id="filters".*?</form>', shown, re.DOTALL)[0]
    assert all("prefix=1" in link for link in re.findall(r'href="(/(?:cache)?\?[^"]+q=harv[^"]*)"', shown))
    # what is typed next is another query
    assert "prefix" not in re.findall(r"<search>.*?</search>", shown, re.DOTALL)[0]


def test_last_word_that_begins_no_other_is_corrected_after_a_pause(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "harvest", title="Harvest") for number in range(12)])
    app = search_app(harness.services())
    assert 'class="nothing"' in ask(app, "/", "q=harvets&prefix=1", **TYPING).text
    paused = ask(app, "/", "q=harvets&prefix=1").text
    assert 'class="meant"' in paused
    assert "prefix=1" not in re.findall(r"<main.*</main>", paused, re.DOTALL)[0]


def test_what_is_half_typed_is_no_fault_yet(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "harvest time", title="Harvest")])
    app = search_app(harness.services())
    assert "quote without its partner" in ask(app, "/", "q=%22harvest+ti").text
    typed = ask(app, "/", "q=%22harvest+ti&prefix=1", **TYPING).text
    assert "<mark>time</mark>" in typed
    assert "quote without its partner" not in typed


def test_front_end_says_whether_results_come_while_typing(harness: SearchHarness) -> None:
    brandings = {"default_frontend": Branding(), "still": Branding(as_you_type=False)}
    app = search_app(harness.services(), SearchSite(pages=Pages(Brands(brandings.get))))
    assert " data-typing" in ask(app, "/").text
    still = ask(app, "/", "client=still").text
    assert "data-typing" not in still
    assert "/static/results.js" not in still
