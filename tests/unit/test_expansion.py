import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.expansion import holds_operator, prepare_expansion
from feedmill.core.query.language import parse_query
from feedmill.core.query.matching import loosen
from feedmill.core.query.text import render_query
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.query import And, AnyOf, Node, Or, Phrase, Word
from feedmill.model.search import Match, SearchRequest
from feedmill.model.serving import Serving, SynonymSet

SETS = (
    SynonymSet(
        two_way=(("car", "automobile"), ("NYC", "New York", "big apple"), ("email", "e-mail")),
        one_way=(("bike", "bicycle", "mountain bike"), ("work from home", "remote")),
    ),
    SynonymSet(one_way=(("car", "vehicle"),)),
)
BOOK = CompiledSearchConfig(Serving(synonyms=SETS, stop_words=("the", "of")))


def widen(query: str, *, expands: bool = True) -> Node | None:
    return BOOK.plan(SearchRequest(query=query, expands=expands)).root


def one_of(*parts: Node) -> Node:
    return Or(parts)


CAR = one_of(Word("car"), Word("automobile"), Word("vehicle"))
BIKE = one_of(Word("bike"), Word("bicycle"), Phrase("mountain bike"))


@pytest.mark.parametrize(
    ("query", "root"),
    [
        ("car", CAR),
        ("CAR", one_of(Word("CAR"), Word("automobile"), Word("vehicle"))),
        ("automobile", one_of(Word("automobile"), Word("car"))),
        ("vehicle", Word("vehicle")),
        ("bike", BIKE),
        ("bicycle", Word("bicycle")),
        ("nyc", one_of(Word("nyc"), Phrase("New York"), Phrase("big apple"))),
        ("new york", one_of(And((Word("new"), Word("york"))), Word("NYC"), Phrase("big apple"))),
        ("new bike york", And((Word("new"), BIKE, Word("york")))),
        ("york new", And((Word("york"), Word("new")))),
        ("old new york car", And((Word("old"), one_of(And((Word("new"), Word("york"))), Word("NYC"), Phrase("big apple")), CAR))),
        ("email", one_of(Word("email"), Phrase("e-mail"))),
        ("e-mail", one_of(Phrase("e-mail"), Word("email"))),
        ("car OR boat", one_of(Word("car"), Word("automobile"), Word("vehicle"), Word("boat"))),
        ('"car"', Phrase("car")),
        ('"new york"', Phrase("new york")),
        ("+car", Word("car", is_fixed=True)),
        ("the car", CAR),
        ("+the car", And((Word("the", is_fixed=True), CAR))),
        ("the", Word("the")),
        ("the of", And((Word("the"), Word("of")))),
        ('the "the who"', Phrase("the who")),
        ("", parse_query("").root),
    ],
)
def test_query_is_widened_by_synonyms_and_freed_of_stop_words(query: str, root: Node) -> None:
    assert widen(query) == root


def test_excluded_words_are_not_expanded() -> None:
    assert widen("boat -car") == parse_query("boat -car").root


@pytest.mark.parametrize(
    "query",
    ["car inurl:x", "intitle:y car", "allintext:car", "car site:a.com", "car -site:a.com", "car inmeta:a", "car 1..2", "car OR intitle:x"],
)
def test_query_with_an_operator_is_not_expanded(query: str) -> None:
    assert widen(query) == parse_query(query).root


def test_query_with_an_operator_is_freed_of_stop_words_all_the_same() -> None:
    assert widen("the boat intitle:x") == parse_query("boat intitle:x").root


def test_restrictions_that_were_not_typed_do_not_switch_expansion_off() -> None:
    request = SearchRequest(query="car", required_fields="a:b", navigation="inmeta:c=d")
    root = BOOK.plan(request).root
    assert isinstance(root, And)
    assert root.parts[0] == CAR


def test_expansion_is_switched_off_by_the_request() -> None:
    assert widen("car", expands=False) == Word("car")
    assert widen("the car", expands=False) == Word("car")


def test_words_with_synonyms_stay_optional_where_words_are() -> None:
    root = widen("new york hotel")
    assert root is not None
    loosened = loosen(root, Match.AUTO)
    assert loosened == AnyOf((one_of(And((Word("new"), Word("york"))), Word("NYC"), Phrase("big apple")), Word("hotel")))


def test_expansion_is_bounded() -> None:
    many = prepare_expansion([SynonymSet(two_way=(tuple(f"w{number}" for number in range(500)),))], ())
    widened = many.widen(And(tuple(Word(f"w{number}") for number in range(50))))
    assert isinstance(widened, And)
    assert sum(len(part.parts) for part in widened.parts if isinstance(part, Or)) <= 250


@given(st.text(alphabet='carwoknyz the+-"OR:', max_size=40))
def test_expansion_of_any_query_never_raises(query: str) -> None:
    widen(query)
    holds_operator(parse_query(query).root)


@given(st.text(alphabet='ab+-OR "', max_size=20))
def test_words_with_a_plus_come_back_as_they_were_typed(query: str) -> None:
    root = parse_query(query).root
    assert parse_query(render_query(root)).root == root
