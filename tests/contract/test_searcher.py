from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from searchhouse import ANN, FOR_ANN, NOW, SearchHouse, open_house

from feedmill.model.access import ANONYMOUS, ClassSet
from feedmill.model.document import Attributes, BlobRef, DocumentState, Origin
from feedmill.model.errors import Corrupt, NotFound
from feedmill.model.search import Match, ResultPage, SearchRequest
from feedmill.ports import Lane, Mark, SearchIndex, Stage
from feedmill.services.facts import INDEX_FOLDER
from feedmill.services.searching.searcher import Searcher
from feedmill.services.servingdesk import ServingDesk

Ask = Callable[..., ResultPage]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[SearchHouse]:
    made = open_house(tmp_path)
    yield made
    made.store.close()


def search(house: SearchHouse, query: str, access: ClassSet = ANONYMOUS, **given: object) -> ResultPage:
    return house.searcher().search(SearchRequest(query=query, **given), access)  # type: ignore[arg-type]


def urls(page: ResultPage) -> list[str]:
    return [result.url for result in page.results]


def test_searcher_before_any_index_finds_nothing(house: SearchHouse) -> None:
    page = search(house, "a")
    assert (page.results, page.total, page.is_exact) == ((), 0, True)
    assert house.searcher().find_problems() == []


def test_searcher_that_meets_the_end_of_a_rebuild_looks_again(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", "needle")])

    def open_index(folder: str) -> SearchIndex:
        if folder == "2":
            return house.index
        with house.store.writing() as unit:  # the rebuild ends, and what was served before is removed
            unit.facts.put(INDEX_FOLDER, "2" if folder == "1" else folder)
        raise Corrupt("there is no folder")

    with house.store.writing() as unit:
        unit.facts.put(INDEX_FOLDER, "1")
    searcher = Searcher(house.store, open_index, house.blobs, desk=ServingDesk(lambda _kept: house.serving))
    assert urls(searcher.search(SearchRequest(query="needle"), ANONYMOUS)) == ["http://a.com/1"]
    with house.store.writing() as unit:
        unit.facts.put(INDEX_FOLDER, "broken")
    with pytest.raises(Corrupt):
        searcher.search(SearchRequest(query="needle"), ANONYMOUS)


def test_searcher_empty_query_finds_nothing_but_with_a_restriction_lists(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", metadata=(("k", "v"),)), house.make("http://a.com/2")])
    assert urls(search(house, "")) == urls(search(house, "  ")) == []
    assert urls(search(house, "inmeta:k=V")) == ["http://a.com/1"]
    assert len(search(house, "site:a.com").results) == 2
    assert urls(search(house, "-inmeta:k")) == ["http://a.com/2"]


def test_searcher_result_carries_what_the_store_knows(house: SearchHouse) -> None:
    attributes = Attributes(display_url="http://shown.com/1", last_modified=NOW, mimetype="text/plain")
    house.add([house.make("http://a.com/1", "the needle is here", title="Title", language="en", attributes=attributes)])
    (result,) = search(house, "needle").results
    assert (result.url, result.display_url, result.title) == ("http://a.com/1", "http://shown.com/1", "Title")
    assert (result.date, result.mimetype, result.language) == (NOW, "text/html", "en")
    assert [result.snippet.text[start:end] for start, end in result.snippet.marks] == ["needle"]
    assert result.score > 0
    assert result.metadata == ()


def test_searcher_hit_that_the_store_hides_does_not_leave(house: SearchHouse) -> None:
    documents = [house.make(f"http://a.com/{name}", "needle") for name in ("open", "closed", "gone", "noindex")]
    house.add(documents)
    text = documents[3].text
    assert text is not None
    house.add(
        [
            replace(documents[1], secure=True),
            replace(documents[2], state=DocumentState.GONE),
            replace(documents[3], text=replace(text, robots=frozenset({"noindex"}))),
        ],
        into_index=False,
    )
    page = search(house, "needle")
    assert (urls(page), page.total) == (["http://a.com/open"], 1)


def test_searcher_guarded_document_is_for_whom_its_acl_permits(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", "needle"), house.make("http://a.com/2", "needle")], acls={"http://a.com/1": FOR_ANN})
    ann = house.searcher().classes_of(ANN)
    assert urls(search(house, "needle")) == ["http://a.com/2"]
    assert sorted(urls(search(house, "needle", ann))) == ["http://a.com/1", "http://a.com/2"]
    assert urls(search(house, "needle", ann.only_secure())) == ["http://a.com/1"]
    assert urls(search(house, "needle", ann.only_public())) == ["http://a.com/2"]
    assert search(house, "needle", ClassSet(permitted=frozenset())).total == 0


def test_searcher_class_set_alone_opens_nothing(house: SearchHouse) -> None:
    house.add(
        [house.make("http://a.com/1", "needle"), house.make("http://a.com/2", "needle", secure=True)], acls={"http://a.com/1": FOR_ANN}
    )
    forged = ClassSet(permitted=frozenset({0, 1, 2, 3}))
    assert search(house, "needle", forged).total == 0
    with pytest.raises(NotFound):
        house.searcher().get_document("http://a.com/1", forged)


def test_searcher_other_folder_is_opened_once(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", "needle")])
    searcher = house.searcher()
    for _ in range(2):
        searcher.search(SearchRequest(query="needle"), ANONYMOUS)
    with house.store.writing() as unit:
        unit.facts.put(INDEX_FOLDER, "second")
    for _ in range(2):
        searcher.search(SearchRequest(query="needle"), ANONYMOUS)
    assert house.opened == ["first", "second"]


# --- snippets and metadata ------------------------------------------------------------------------------------------------------


def test_searcher_nosnippet_shows_none_of_the_text(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", "needle", robots=("nosnippet",), metadata=(("description", "needle"),))])
    assert search(house, "needle").results[0].snippet.text == ""


def test_searcher_text_without_the_words_falls_back_to_the_description(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/needle", "some text", own=(("Description", "About the needle"),))])
    assert search(house, "needle").results[0].snippet.text == "About the needle"
    assert search(house, "site:a.com").results[0].snippet.text == "some text"


def test_searcher_text_that_cannot_be_read_costs_the_snippet_alone(house: SearchHouse) -> None:
    document = house.make("http://a.com/1", "needle", title="T")
    house.add([document])
    assert document.text is not None
    house.add([replace(document, text=replace(document.text, blob=BlobRef("m/99")))], into_index=False)
    (result,) = search(house, "needle").results
    assert (result.title, result.snippet.text) == ("T", "")


def test_searcher_getfields_any_letter_case_fed_before_own_never_acls(house: SearchHouse) -> None:
    fed = (("Author", "A"), ("google:aclusers", "joe"), ("Topic", "x"), ("Topic", "y"))
    house.add([house.make("http://a.com/1", "needle", metadata=fed, own=(("author", "B"), ("Topic", "x")))])
    named = search(house, "needle", getfields=("AUTHOR", "google:aclusers", "none")).results[0].metadata
    assert named == (("Author", "A"), ("author", "B"))
    everything = search(house, "needle", getfields=("*",)).results[0].metadata
    assert everything == (("Author", "A"), ("Topic", "x"), ("Topic", "y"), ("author", "B"))


# --- match= ---------------------------------------------------------------------------------------------------------------------


def test_searcher_auto_few_hold_all_goes_on_with_those_that_hold_some(house: SearchHouse) -> None:
    house.add([house.make(f"http://a.com/{number}", "one " * 30) for number in range(12)])
    house.add([house.make("http://a.com/both", "one two"), house.make("http://b.com/both", "one two")])
    pages = [search(house, "one two", start=start, num=5) for start in (0, 5, 10)]
    found = [url for page in pages for url in urls(page)]
    assert sorted(found[:2]) == ["http://a.com/both", "http://b.com/both"]
    assert len(set(found)) == 14
    assert {page.total for page in pages} == {14}
    assert search(house, "one two", match=Match.ALL).total == 2
    assert search(house, "one two", match=Match.ANY).total == 14
    restricted = search(house, "one two site:b.com -three")
    assert (urls(restricted), restricted.total) == (["http://b.com/both"], 1)


def test_searcher_auto_enough_hold_all_lists_those_alone(house: SearchHouse) -> None:
    house.add([house.make(f"http://a.com/{number}", "one two") for number in range(10)])
    house.add([house.make("http://a.com/some", "one")])
    assert search(house, "one two").total == 10


def test_searcher_num_and_start_beyond_the_end_still_count(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/1", "needle")])
    assert (search(house, "needle", num=0).total, search(house, "needle", start=5).total) == (1, 1)
    assert search(house, "needle", start=5).results == ()


# --- documents by URL -----------------------------------------------------------------------------------------------------------


def test_searcher_document_by_url_only_for_who_may_see_it(house: SearchHouse) -> None:
    house.add([house.make("http://a.com/open"), house.make("http://a.com/closed")], acls={"http://a.com/closed": FOR_ANN})
    searcher = house.searcher()
    assert searcher.get_document("http://a.com/open", ANONYMOUS).is_searchable
    assert searcher.get_document("http://a.com/closed", searcher.classes_of(ANN)).is_searchable
    for url in ("http://a.com/closed", "http://a.com/none"):
        with pytest.raises(NotFound):
            searcher.get_document(url, ANONYMOUS)


def test_searcher_document_not_in_the_index_is_not_searchable(house: SearchHouse) -> None:
    marked, hidden = house.make("http://a.com/1"), house.make("http://a.com/2", robots=("noindex",))
    named = replace(house.make("http://a.com/3"), origin=Origin.WEB, content=None, text=None)
    ids = house.add([marked, hidden, named], into_index=False)
    mark = Mark(document_id=ids[0], version=1, stage=Stage.INDEX, lane=Lane.QUICK, feed_id=1, datasource="hr")
    with house.store.writing() as unit:
        unit.marks.put_many([mark])
    searcher = house.searcher()
    assert not any(searcher.get_document(document.url, ANONYMOUS).is_searchable for document in (marked, hidden, named))
