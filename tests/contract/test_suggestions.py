"""Suggestions as they are asked for and answered."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from searchhouse import ANN, FOR_ANN, SearchHouse, ask, open_house
from tests.asgi import Answer

from feedmill.core.access import class_of
from feedmill.http.search import SearchSite, search_app
from feedmill.model.access import ANONYMOUS, ClassSet


@pytest.fixture
def house(tmp_path: Path) -> Iterator[SearchHouse]:
    made = open_house(tmp_path)
    titles = ("Travel expenses", "Travel policy", "Travel expenses abroad", "Größe der Räume", "Train tickets")
    made.add([made.make(f"http://a.com/{number}", "text", title=title) for number, title in enumerate(titles)])
    made.add([made.make("http://a.com/secret", "text", title="Trade secret merger")], acls={"http://a.com/secret": FOR_ANN})
    yield made
    made.store.close()


def suggest(house: SearchHouse, query: str, path: str = "/suggest", site: SearchSite | None = None) -> Answer:
    return ask(search_app(house.searcher(), site), path, query)


def test_suggest_forms_of_the_appliance(house: SearchHouse) -> None:
    found = ["travel", "travel expenses", "travel policy"]
    assert suggest(house, "q=trav&max=3").json == ["trav", found]
    assert suggest(house, "q=trav&max=3&format=os").json == ["trav", found]
    assert suggest(house, "token=trav&max_matches=3&use_similar=0").json == found
    assert suggest(house, "q=trav&max_matches=1&use_similar&access=p&format=rich").json == {
        "query": "trav",
        "results": [{"name": "travel", "type": "suggest"}],
    }
    assert suggest(house, "token=zzz").json == suggest(house, "").json == []
    assert suggest(house, "q=&max=x").json == ["", []]


def test_suggest_words_before_the_last_must_be_there(house: SearchHouse) -> None:
    assert suggest(house, "q=travel+exp").json[1] == ["travel expenses", "travel expenses abroad"]
    assert suggest(house, "q=train+exp").json[1] == []


def test_suggest_shows_titles_with_their_accents(house: SearchHouse) -> None:
    assert suggest(house, "q=GROS").json[1] == suggest(house, "q=xyz").json[1] == []
    assert suggest(house, "q=gr%C3%B6&max=1").json[1] == ["größe"]


def test_suggest_never_shows_what_is_hidden(house: SearchHouse) -> None:
    assert "trade" not in suggest(house, "q=trad").text.lower().replace('"trad"', "")
    nobody = SearchSite(identify=lambda _: ClassSet(permitted=frozenset()))
    assert suggest(house, "q=tra&access=a", site=nobody).json == ["tra", []]


def test_suggest_titles_that_the_index_still_shows_are_checked_by_the_store(house: SearchHouse) -> None:
    changed = house.make("http://a.com/4", "text", title="Train tickets", secure=True)
    assert class_of(changed) not in ANONYMOUS.permitted
    house.add([changed], into_index=False)
    assert suggest(house, "q=trai").json == ["trai", []]


def test_suggest_callback_is_a_script_of_public_suggestions(house: SearchHouse) -> None:
    everything = SearchSite(identify=lambda _: house.searcher().classes_of(ANN))
    assert suggest(house, "q=trad&access=a", site=everything).json[1][:1] == ["trade"]
    answer = suggest(house, "q=trad&access=a&callback=a.b$c", site=everything)
    assert answer.text == '/* GSA Suggest Service JSONP Response. */ a.b$c(["trad", []])'
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["x-content-type-options"] == "nosniff"
    policies = [suggest(house, f"q=trad{more}", site=everything).headers["cross-origin-resource-policy"] for more in ("", "&callback=f")]
    assert policies == ["same-origin", "cross-origin"]


@pytest.mark.parametrize("name", ["alert(1)", "a b", "<script>", "1a", "a..b", "a" * 500, "a;b", "a\u2028"])
def test_suggest_senseless_callback_is_refused(house: SearchHouse, name: str) -> None:
    answer = ask(search_app(house.searcher()), "/suggest", [("q", "a"), ("callback", name)])
    assert answer.status == 400
    assert "function" in answer.text


def test_suggest_typed_text_cannot_leave_the_script(house: SearchHouse) -> None:
    answer = ask(search_app(house.searcher()), "/suggest", [("q", '</script>\u2028"&'), ("callback", "f")])
    body = answer.text.partition("f(")[2][:-1]
    assert not {"<", ">", "&", "\u2028"} & set(body)
    assert json.loads(body)[0] == '</script>\u2028"&'


def test_suggest_api_shows_what_the_asker_may_see(house: SearchHouse) -> None:
    everything = SearchSite(identify=lambda _: house.searcher().classes_of(ANN))
    assert suggest(house, "q=trad", "/api/v1/suggest", everything).json == {
        "query": "trad",
        "suggestions": ["trade", "trade secret", "trade secret merger"],
    }
    assert suggest(house, "q=trad", "/api/v1/suggest").json == {"query": "trad", "suggestions": []}
    assert suggest(house, "q=tra&num=99999&num=0", "/api/v1/suggest").json["suggestions"] == []
