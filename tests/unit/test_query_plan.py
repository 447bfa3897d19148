"""What a plan says of a request under the search settings."""

import sys
from types import FrameType

from feedmill.core.query.language import parse_query
from feedmill.core.query.plan import MAX_FACETS
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.facets import Facet, FacetType
from feedmill.model.query import And, MatchAll, MetaEquals, Not, UnderPattern, Word
from feedmill.model.search import AdvancedSearch, SearchRequest
from feedmill.model.serving import Collection, FrontEnd, KeyMatch, KeyMatchKind, Serving

PRICE = Facet(name="Price", label="What it costs", type=FacetType.CURRENCY)
MATCH = KeyMatch(kind=KeyMatchKind.KEYWORD, term="car", url="http://cars/")
SHOP = FrontEnd(name="shop", remove_urls=("a.com/old/",), facets=(PRICE,), keymatches=(MATCH,))
SETTINGS = CompiledSearchConfig(
    Serving(frontends={"shop": SHOP}, collections={"docs": Collection(name="docs", include=("a.com/docs/",))}, stop_words=("the",))
)


def test_plan_joins_query_collection_selection_and_removed_urls_in_one_tree() -> None:
    plan = SETTINGS.plan(SearchRequest(query="the car", site="docs", client="shop", navigation="inmeta:a=b word"))
    assert plan.typed == And((Word("the"), Word("car")))
    assert plan.selected == (MetaEquals("a", "b"), Word("word"))
    scope = UnderPattern("a.com/docs/")
    assert plan.root == And((Word("car"), MetaEquals("a", "b"), scope, Not(UnderPattern("a.com/old/"))))
    assert (plan.facets, plan.keymatches, plan.is_empty) == ((), (MATCH,), False)
    assert (plan.removes("http://a.com/old/1"), plan.removes("http://a.com/new")) == (True, False)


def test_plan_of_nothing_is_empty_and_of_an_unknown_collection_has_no_tree() -> None:
    blank = SETTINGS.plan(SearchRequest(query=" "))
    assert (blank.is_empty, blank.root) == (True, MatchAll())
    assert all(SETTINGS.plan(request).is_empty for request in (SearchRequest(query="site:"), SearchRequest(query="", languages="lang_en")))
    restricted = (SearchRequest(query="site:x"), SearchRequest(query="-a"), SearchRequest(query="", required_fields="k"))
    assert not any(SETTINGS.plan(request).is_empty for request in restricted)
    nowhere = SETTINGS.plan(SearchRequest(query="car", site="none"))
    assert (nowhere.is_empty, nowhere.root, nowhere.warnings) == (False, None, ("there is no collection none",))


def test_plan_at_another_part_changes_nothing_else() -> None:
    plan = SETTINGS.plan(SearchRequest(query="car", client="shop", has_frontend_facets=True))
    part = plan.at(20, 5)
    assert (part.request.start, part.request.num, part.root, part.facets) == (20, 5, plan.root, (PRICE,))
    assert plan.at(20, 5, counts_facets=False).facets == ()


def test_plan_names_facets_as_the_front_end_does_and_bounds_them() -> None:
    plan = SETTINGS.plan(SearchRequest(query="car", client="shop", facet_names=("price", "", "PRICE", "team ")))
    assert plan.facets == (PRICE, Facet(name="team"))
    many = SETTINGS.plan(SearchRequest(query="car", facet_names=tuple(f"f{number}" for number in range(MAX_FACETS + 1))))
    assert (len(many.facets), many.facet_warnings) == (MAX_FACETS, ("only the first 20 facets were counted",))


def test_plan_parses_each_text_once() -> None:
    parsed: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is parse_query.__code__:
            parsed.append(frame.f_locals["text"])

    sys.setprofile(watch)
    try:
        SETTINGS.plan(SearchRequest(query="car", navigation="inmeta:a", advanced=AdvancedSearch(all_words="b", no_words="c")))
    finally:
        sys.setprofile(None)
    assert sorted(parsed) == ["b", "c", "car", "inmeta:a"]


def test_find_scope_is_what_collections_and_front_end_leave() -> None:
    assert SETTINGS.find_scope("", "") == MatchAll()
    assert SETTINGS.find_scope("docs", "shop") == And((UnderPattern("a.com/docs/"), Not(UnderPattern("a.com/old/"))))
    assert SETTINGS.find_scope("none", "shop") is None
