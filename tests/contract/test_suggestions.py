"""Requests for suggestions and their answers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.core.access.classes import class_of
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import ANONYMOUS, AccessFilter
from tests.asgi import Answer
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import SearchHarness, ask, open_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    titles = ("Travel expenses", "Travel policy", "Travel expenses abroad", "Größe der Räume", "Train tickets")
    made.add([made.make(f"http://a.com/{number}", "text", title=title) for number, title in enumerate(titles)])
    made.add([made.make("http://a.com/secret", "text", title="Trade secret merger")], acls={"http://a.com/secret": FOR_ANN})
    yield made
    made.store.close()


def suggest(harness: SearchHarness, query: str, path: str = "/suggest", site: SearchSite | None = None) -> Answer:
    return ask(search_app(harness.services(), site), path, query)


def test_suggest_forms_of_the_appliance(harness: SearchHarness) -> None:
    found = ["travel", "travel expenses", "travel policy"]
    assert suggest(harness, "q=trav&max=3").json == ["trav", found]
    assert suggest(harness, "q=trav&max=3&format=os").json == ["trav", found]
    assert suggest(harness, "token=trav&max_matches=3&use_similar=0").json == found
    assert suggest(harness, "q=trav&max_matches=1&use_similar&access=p&format=rich").json == {
        "query": "trav",
        "results": [{"name": "travel", "type": "suggest"}],
    }
    assert suggest(harness, "token=zzz").json == suggest(harness, "").json == []
    assert suggest(harness, "q=&max=x").json == ["", []]


def test_suggest_words_before_the_last_must_be_there(harness: SearchHarness) -> None:
    assert suggest(harness, "q=travel+exp").json[1] == ["travel expenses", "travel expenses abroad"]
    assert suggest(harness, "q=train+exp").json[1] == []


def test_suggest_shows_titles_with_their_accents(harness: SearchHarness) -> None:
    assert suggest(harness, "q=GROS").json[1] == suggest(harness, "q=xyz").json[1] == []
    assert suggest(harness, "q=gr%C3%B6&max=1").json[1] == ["größe"]


def test_suggest_words_of_texts_where_no_title_helps(harness: SearchHarness) -> None:
    texts = ("Drinking water is free, and drinkable", "The Drinks and drinking glasses", "_drinker")
    harness.add([harness.make(f"http://b.com/{number}", text, title="Canteen") for number, text in enumerate(texts)])
    harness.add([harness.make("http://b.com/n", "drinktestword", title="Quiet", robots=["nosnippet"])])
    harness.add([harness.make("http://b.com/s", "drinksecret", title="Hidden")], acls={"http://b.com/s": FOR_ANN})
    assert suggest(harness, "q=drin").json[1] == ["drinking", "drinks", "drinker", "drinkable"]
    assert suggest(harness, "q=Free+DRIN").json[1] == ["free drinking", "free drinkable"]
    assert suggest(harness, "q=drin&max=1").json[1] == ["drinking"]
    # no title has the words, a start is too short, the word is finished, nothing follows it
    for query in ("q=trains+drin", "q=dr", "q=drin+", "q=drinkable", "q=drin*", "q=%E6%B0%B4"):
        assert suggest(harness, query).json[1] == []
    everything = SearchSite(identify=lambda _: harness.services().filters.find_filter(ANN))
    assert "drinksecret" in suggest(harness, "q=drinks&access=a", site=everything).json[1]


def test_suggest_never_shows_what_is_hidden(harness: SearchHarness) -> None:
    assert "trade" not in suggest(harness, "q=trad").text.lower().replace('"trad"', "")
    anonymous = SearchSite(identify=lambda _: AccessFilter(permitted=frozenset()))
    assert suggest(harness, "q=tra&access=a", site=anonymous).json == ["tra", []]


def test_suggest_titles_that_the_index_still_shows_are_checked_by_the_store(harness: SearchHarness) -> None:
    changed = harness.make("http://a.com/4", "text", title="Train tickets", secure=True)
    assert class_of(changed) not in ANONYMOUS.permitted
    harness.add([changed], into_index=False)
    assert suggest(harness, "q=trai").json == ["trai", []]


def test_suggest_callback_is_a_script_of_public_suggestions(harness: SearchHarness) -> None:
    everything = SearchSite(identify=lambda _: harness.services().filters.find_filter(ANN))
    assert suggest(harness, "q=trad&access=a", site=everything).json[1][:1] == ["trade"]
    answer = suggest(harness, "q=trad&access=a&callback=a.b$c", site=everything)
    assert answer.text == '/* GSA Suggest Service JSONP Response. */ a.b$c(["trad", []])'
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["x-content-type-options"] == "nosniff"
    policies = [suggest(harness, f"q=trad{more}", site=everything).headers["cross-origin-resource-policy"] for more in ("", "&callback=f")]
    assert policies == ["same-origin", "cross-origin"]


@pytest.mark.parametrize("name", ["alert(1)", "a b", "<script>", "1a", "a..b", "a" * 500, "a;b", "a\u2028"])
def test_suggest_senseless_callback_is_refused(harness: SearchHarness, name: str) -> None:
    answer = ask(search_app(harness.services()), "/suggest", [("q", "a"), ("callback", name)])
    assert answer.status == 400
    assert "function" in answer.text


def test_suggest_typed_text_cannot_leave_the_script(harness: SearchHarness) -> None:
    answer = ask(search_app(harness.services()), "/suggest", [("q", '</script>\u2028"&'), ("callback", "f")])
    body = answer.text.partition("f(")[2][:-1]
    assert not {"<", ">", "&", "\u2028"} & set(body)
    assert json.loads(body)[0] == '</script>\u2028"&'


def test_suggest_api_shows_what_the_user_may_see(harness: SearchHarness) -> None:
    everything = SearchSite(identify=lambda _: harness.services().filters.find_filter(ANN))
    assert suggest(harness, "q=trad", "/api/v1/suggest", everything).json == {
        "query": "trad",
        "suggestions": ["trade", "trade secret", "trade secret merger"],
    }
    assert suggest(harness, "q=trad", "/api/v1/suggest").json == {"query": "trad", "suggestions": []}
    assert suggest(harness, "q=tra&num=0", "/api/v1/suggest").json["suggestions"] == []
