import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from feedmill.core.query.language import parse_query
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.document import Attributes, BlobRef, DocumentState, Metadata, Origin
from feedmill.model.errors import Corrupt, NotFound
from feedmill.model.results import Collapsing, ResultPage
from feedmill.model.search import Match, SearchRequest
from feedmill.model.serving import Serving, SynonymSet
from feedmill.ports import IndexTask, Lane, SearchIndex, Stage
from feedmill.services.keyvalues import INDEX_FOLDER
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.services.searching.resultlist import list_results
from feedmill.services.searching.searcher import Searcher
from feedmill.services.searching.searchservices import wire_search_services
from feedmill.services.searching.searchstate import SearchStates
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import NOW, SearchHarness, open_harness

Ask = Callable[..., ResultPage]


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def search(harness: SearchHarness, query: str, access: AccessFilter = ANONYMOUS, **given: object) -> ResultPage:
    return harness.services().searcher.search(SearchRequest(query=query, **given), access)  # type: ignore[arg-type]


def urls(page: ResultPage) -> list[str]:
    return [result.url for result in page.results]


def name_missing(page: ResultPage) -> dict[str, tuple[str, ...]]:
    return {result.url: result.missing for result in page.results}


def test_searcher_names_the_words_that_a_result_lacks(harness: SearchHarness) -> None:
    harness.add(
        [
            harness.make("http://a.com/all", "Bring the dog into the office", title="Dogs", language="en"),
            harness.make("http://a.com/dogs", "Running dogs", title="Dogs", language="en"),
            harness.make("http://a.com/code", "error 1042 of the office", title="Codes", language="en"),
            # a form of a word, also in the title, counts as the word
            harness.make("http://a.com/title", "no more", title="Offices", language="en"),
        ]
    )
    missing = name_missing(search(harness, "the dog in the Office"))
    assert missing == {
        "http://a.com/all": (),
        "http://a.com/dogs": ("Office",),
        "http://a.com/title": ("dog",),
        "http://a.com/code": ("dog",),
    }
    phrases = name_missing(search(harness, 'E-1042 "office dog" zebra 会議室'))
    assert phrases["http://a.com/code"] == ("E-1042", "office dog", "zebra")
    for given in ({"match": Match.ANY}, {"match": Match.ALL}, {"corrects": False}):
        assert not any(name_missing(search(harness, "dog Office", ANONYMOUS, **given)).values())
    harness.serving = Serving(synonyms=(SynonymSet(two_way=(("hound", "dog"),)),))
    assert name_missing(search(harness, "hound zebra"))["http://a.com/dogs"] == ("zebra",)


def test_word_that_is_a_part_of_a_compound_is_not_missing(harness: SearchHarness) -> None:
    harness.add(
        [
            harness.make("http://a.com/form", "Den Urlaubsantrag gibt es im Büro.", title="Formulare", language="de"),
            harness.make("http://a.com/rest", "Resturlaub verfällt im März.", title="Regeln", language="de"),
        ]
    )
    page = search(harness, "Urlaub Antrag")
    assert [(result.url, result.missing) for result in page.results] == [("http://a.com/form", ()), ("http://a.com/rest", ("Antrag",))]
    snippet = page.results[0].snippet
    assert [snippet.text[start:end] for start, end in snippet.marks] == ["Urlaubsantrag"]
    assert [result.url for result in search(harness, "Urlaub Antrag", ANONYMOUS, match=Match.ALL).results] == ["http://a.com/form"]


@pytest.mark.parametrize(("language", "missing"), [("en", ("die", "zebra")), ("de", ("the", "zebra"))])
def test_function_words_of_the_language_of_the_results_are_not_named(
    harness: SearchHarness, language: str, missing: tuple[str, ...]
) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "Hamster", language=language) for number in range(2)])
    assert name_missing(search(harness, "the die hamster zebra"))["http://a.com/0"] == missing


def test_searcher_names_missing_words_of_what_the_user_may_see(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "a merger"), harness.make("http://s.com/1", "giants", secure=True)])
    assert name_missing(search(harness, "merger giants")) == {"http://a.com/1": ("giants",)}


def test_searcher_before_any_index_finds_nothing(harness: SearchHarness) -> None:
    page = search(harness, "a")
    assert (page.results, page.total, page.is_exact) == ((), 0, True)
    assert harness.services().states.find_problems() == []


def test_searcher_that_meets_the_end_of_a_rebuild_looks_again(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle")])

    def open_index(folder: str) -> SearchIndex:
        if folder == "2":
            return harness.index
        with harness.store.writing() as unit:  # the rebuild ends, and what was served before is removed
            unit.state.key_values.put(INDEX_FOLDER, "2" if folder == "1" else folder)
        raise Corrupt("there is no folder")

    with harness.store.writing() as unit:
        unit.state.key_values.put(INDEX_FOLDER, "1")
    services = wire_search_services(
        harness.store, open_index, harness.blobs, search_config=SearchConfigProvider(lambda _settings: harness.serving)
    )
    assert urls(services.searcher.search(SearchRequest(query="needle"), ANONYMOUS)) == ["http://a.com/1"]
    with harness.store.writing() as unit:
        unit.state.key_values.put(INDEX_FOLDER, "broken")
    with pytest.raises(Corrupt):
        services.searcher.search(SearchRequest(query="needle"), ANONYMOUS)


def test_searcher_empty_query_finds_nothing_but_with_a_restriction_lists(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", metadata=(("k", "v"),)), harness.make("http://a.com/2")])
    assert urls(search(harness, "")) == urls(search(harness, "  ")) == []
    assert urls(search(harness, "inmeta:k=V")) == ["http://a.com/1"]
    assert len(search(harness, "site:a.com").results) == 2
    assert urls(search(harness, "-inmeta:k")) == ["http://a.com/2"]


def test_searcher_result_carries_what_the_store_knows(harness: SearchHarness) -> None:
    attributes = Attributes(display_url="http://shown.com/1", last_modified=NOW, mimetype="text/plain")
    harness.add([harness.make("http://a.com/1", "the needle is here", title="Title", language="en", attributes=attributes)])
    (result,) = search(harness, "needle").results
    assert (result.url, result.display_url, result.title) == ("http://a.com/1", "http://shown.com/1", "Title")
    assert (result.date, result.mimetype, result.language) == (NOW, "text/html", "en")
    assert [result.snippet.text[start:end] for start, end in result.snippet.marks] == ["needle"]
    assert result.score > 0
    assert result.metadata == ()


def test_searcher_hit_that_the_store_hides_does_not_leave(harness: SearchHarness) -> None:
    documents = [harness.make(f"http://a.com/{name}", "needle") for name in ("open", "closed", "gone", "noindex")]
    harness.add(documents)
    text = documents[3].text
    assert text is not None
    harness.add(
        [
            replace(documents[1], secure=True),
            replace(documents[2], state=DocumentState.GONE),
            replace(documents[3], text=replace(text, robots=frozenset({"noindex"}))),
        ],
        into_index=False,
    )
    page = search(harness, "needle")
    assert (urls(page), page.total) == (["http://a.com/open"], 1)


def test_searcher_guarded_document_is_for_users_that_its_acl_permits(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle"), harness.make("http://a.com/2", "needle")], acls={"http://a.com/1": FOR_ANN})
    ann = harness.services().filters.find_filter(ANN)
    assert urls(search(harness, "needle")) == ["http://a.com/2"]
    assert sorted(urls(search(harness, "needle", ann))) == ["http://a.com/1", "http://a.com/2"]
    assert urls(search(harness, "needle", ann.only_secure())) == ["http://a.com/1"]
    assert urls(search(harness, "needle", ann.only_public())) == ["http://a.com/2"]
    assert search(harness, "needle", AccessFilter(permitted=frozenset())).total == 0


def test_searcher_class_set_alone_opens_nothing(harness: SearchHarness) -> None:
    harness.add(
        [harness.make("http://a.com/1", "needle"), harness.make("http://a.com/2", "needle", secure=True)], acls={"http://a.com/1": FOR_ANN}
    )
    forged = AccessFilter(permitted=frozenset({0, 1, 2, 3}))
    assert search(harness, "needle", forged).total == 0
    with pytest.raises(NotFound):
        harness.services().documents.get_document("http://a.com/1", forged)


def test_searcher_other_folder_is_opened_once(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle")])
    services = harness.services()
    for _ in range(2):
        services.searcher.search(SearchRequest(query="needle"), ANONYMOUS)
    with harness.store.writing() as unit:
        unit.state.key_values.put(INDEX_FOLDER, "second")
    for _ in range(2):
        services.searcher.search(SearchRequest(query="needle"), ANONYMOUS)
    assert harness.opened == ["first", "second"]


# --- snippets and metadata ------------------------------------------------------------------------------------------------------


def test_searcher_nosnippet_shows_none_of_the_text(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle", robots=("nosnippet",), metadata=(("description", "needle"),))])
    assert search(harness, "needle").results[0].snippet.text == ""


def test_searcher_text_without_the_words_falls_back_to_the_description(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/needle", "some text", own=(("Description", "About the needle"),))])
    assert search(harness, "needle").results[0].snippet.text == "About the needle"
    assert search(harness, "site:a.com").results[0].snippet.text == "some text"


@pytest.mark.parametrize(
    ("main", "own", "shown"),
    [
        ("the needle stands here", (), "the needle stands here"),
        ("some text", (("Description", "About the needle"),), "About the needle"),
        ("some text", (("Description", "About sewing"),), "needle menu"),
        ("some text", (), "needle menu"),
        ("", (), "needle menu"),
    ],
)
def test_searcher_quotes_navigation_last(harness: SearchHarness, main: str, own: Metadata, shown: str) -> None:
    harness.add([harness.make("http://a.com/needle", main, navigation="needle menu", own=own)])
    assert search(harness, "needle").results[0].snippet.text == shown


def test_searcher_text_that_cannot_be_read_costs_the_snippet_alone(harness: SearchHarness) -> None:
    document = harness.make("http://a.com/1", "needle", title="T")
    harness.add([document])
    assert document.text is not None
    harness.add([replace(document, text=replace(document.text, blob=BlobRef("m/99")))], into_index=False)
    (result,) = search(harness, "needle").results
    assert (result.title, result.snippet.text) == ("T", "")


def test_searcher_getfields_any_letter_case_fed_before_own_never_acls(harness: SearchHarness) -> None:
    fed = (("Author", "A"), ("google:aclusers", "joe"), ("Topic", "x"), ("Topic", "y"))
    harness.add([harness.make("http://a.com/1", "needle", metadata=fed, own=(("author", "B"), ("Topic", "x")))])
    named = search(harness, "needle", getfields=("AUTHOR", "google:aclusers", "none")).results[0].metadata
    assert named == (("Author", "A"), ("author", "B"))
    everything = search(harness, "needle", getfields=("*",)).results[0].metadata
    assert everything == (("Author", "A"), ("Topic", "x"), ("Topic", "y"), ("author", "B"))


# --- match= ---------------------------------------------------------------------------------------------------------------------


def test_searcher_auto_few_hold_all_goes_on_with_those_that_hold_some(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "one " * 30) for number in range(12)])
    harness.add([harness.make("http://a.com/both", "one two"), harness.make("http://b.com/both", "one two")])
    pages = [search(harness, "one two", start=start, num=5) for start in (0, 5, 10)]
    found = [url for page in pages for url in urls(page)]
    assert sorted(found[:2]) == ["http://a.com/both", "http://b.com/both"]
    assert len(set(found)) == 14
    assert {page.total for page in pages} == {14}
    assert search(harness, "one two", match=Match.ALL).total == 2
    assert search(harness, "one two", match=Match.ANY).total == 14
    restricted = search(harness, "one two site:b.com -three")
    assert (urls(restricted), restricted.total) == (["http://b.com/both"], 1)


def test_searcher_auto_enough_hold_all_lists_those_alone(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", "one two") for number in range(10)])
    harness.add([harness.make("http://a.com/some", "one")])
    assert search(harness, "one two").total == 10


def test_searcher_num_and_start_beyond_the_end_still_count(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/1", "needle")])
    assert (search(harness, "needle", num=0).total, search(harness, "needle", start=5).total) == (1, 1)
    assert search(harness, "needle", start=5).results == ()


# --- documents by URL -----------------------------------------------------------------------------------------------------------


def test_searcher_document_by_url_only_for_who_may_see_it(harness: SearchHarness) -> None:
    harness.add([harness.make("http://a.com/open"), harness.make("http://a.com/closed")], acls={"http://a.com/closed": FOR_ANN})
    services = harness.services()
    assert services.documents.get_document("http://a.com/open", ANONYMOUS).is_searchable
    assert services.documents.get_document("http://a.com/closed", services.filters.find_filter(ANN)).is_searchable
    for url in ("http://a.com/closed", "http://a.com/none"):
        with pytest.raises(NotFound):
            services.documents.get_document(url, ANONYMOUS)


def test_searcher_document_not_in_the_index_is_not_searchable(harness: SearchHarness) -> None:
    marked, hidden = harness.make("http://a.com/1"), harness.make("http://a.com/2", robots=("noindex",))
    named = replace(harness.make("http://a.com/3"), origin=Origin.WEB, content=None, text=None)
    ids = harness.add([marked, hidden, named], into_index=False)
    mark = IndexTask(document_id=ids[0], version=1, stage=Stage.INDEX, lane=Lane.QUICK, feed_id=1, datasource="hr")
    with harness.store.writing() as unit:
        unit.processing.index_tasks.put_many([mark])
    services = harness.services()
    assert not any(services.documents.get_document(document.url, ANONYMOUS).is_searchable for document in (marked, hidden, named))


def test_collapsed_list_of_many_steps_is_planned_once(harness: SearchHarness) -> None:
    harness.add([harness.make(f"http://a.com/{number}", f"needle {number}") for number in range(60)])
    services = harness.services()
    calls: list[str] = []
    watched = {
        CompiledSearchConfig.plan.__code__,
        Searcher.find_page.__code__,
        SearchStates.read_search_state.__code__,
        parse_query.__code__,
    }

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in watched:
            calls.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        page = list_results(services.searcher, services.searcher.prepare(SearchRequest(query="needle"), ANONYMOUS), Collapsing())
    finally:
        sys.setprofile(None)
    assert (len(page.results), page.is_collapsed) == (2, True)
    assert Counter(calls) == {"read_search_state": 1, "plan": 1, "parse_query": 1, "find_page": 2}
