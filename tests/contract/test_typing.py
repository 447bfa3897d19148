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


def test_front_end_says_whether_results_come_while_typing(harness: SearchHarness) -> None:
    brandings = {"default_frontend": Branding(), "still": Branding(as_you_type=False)}
    app = search_app(harness.services(), SearchSite(pages=Pages(Brands(brandings.get))))
    assert " data-typing" in ask(app, "/").text
    still = ask(app, "/", "client=still").text
    assert "data-typing" not in still
    assert "/static/results.js" not in still
