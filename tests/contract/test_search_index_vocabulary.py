"""What every search index promises of its words."""

from collections.abc import Sequence
from string import ascii_lowercase

import pytest

from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.query import MatchAll, Node, Or, Phrase, Related, Word
from feedmill.ports.search import MAX_HELD_PARTS
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import BOTH, Opened, put

NO_ACCESS = AccessFilter(permitted=frozenset())


def put_titles(opened: Opened, *titles: str) -> None:
    put(opened, *[make_index_document(key=number, title=title, body=f"body{number}") for number, title in enumerate(titles, 1)])


def test_vocabulary_of_nothing_is_empty(opened: Opened) -> None:
    words = opened[0].vocabulary
    assert words.complete("a", MatchAll(), ANONYMOUS, 10) == []
    assert (words.count("a", ANONYMOUS), words.find_alike("word", ANONYMOUS, 0)) == (0, None)


def test_complete_words_of_titles_most_frequent_first(opened: Opened) -> None:
    put_titles(opened, "Travel expenses", "TRAVEL in Trávnik", "traveller", "body of trade")
    words = opened[0].vocabulary
    assert words.complete("trav", MatchAll(), ANONYMOUS, 10) == [("travel", 2), ("traveller", 1), ("travnik", 1)]
    assert words.complete("TRÁV", MatchAll(), ANONYMOUS, 1) == [("travel", 2)]
    assert words.complete("trav", Word("expenses"), ANONYMOUS, 10) == [("travel", 1)]
    assert words.complete("body", MatchAll(), ANONYMOUS, 10) == [("body", 1)]
    assert words.complete("travel exp", MatchAll(), ANONYMOUS, 10) == [("expenses", 1)]
    assert words.complete("???", MatchAll(), ANONYMOUS, 10) == []


def test_complete_and_count_only_what_may_be_seen(opened: Opened) -> None:
    put(opened, make_index_document(title="open plan"), make_index_document(key=2, title="opening night", body="curtain", access_class=1))
    words = opened[0].vocabulary
    assert words.complete("open", MatchAll(), ANONYMOUS, 10) == [("open", 1)]
    assert words.complete("open", MatchAll(), BOTH, 10) == [("open", 1), ("opening", 1)]
    assert words.complete("open", MatchAll(), NO_ACCESS, 10) == []
    assert [words.count("curtain", access) for access in (ANONYMOUS, BOTH, NO_ACCESS)] == [0, 1, 0]


def test_complete_removed_documents_do_not_count(opened: Opened) -> None:
    put_titles(opened, "travel", "travel")
    opened[1].remove_many([1])
    put_titles_again = opened[1].commit()
    assert opened[0].reload_to(put_titles_again)
    assert opened[0].vocabulary.complete("tr", MatchAll(), ANONYMOUS, 10) == [("travel", 1)]


def test_count_removed_documents_do_not_count(opened: Opened) -> None:
    put(opened, *[make_index_document(key=key, title="x", body="policy", access_class=key == 4) for key in range(1, 5)])
    put(opened, make_index_document(key=9, title="policy", body="policy policx", navigation="menu"))
    words = opened[0].vocabulary
    assert [words.count(word, ANONYMOUS) for word in ("policy", "policx", "menu", "none")] == [4, 1, 1, 0]
    for removed, left in ((4, 4), (1, 3), (9, 2)):
        opened[1].remove_many([removed])
        assert opened[0].reload_to(opened[1].commit())
        assert opened[0].vocabulary.count("policy", ANONYMOUS) == left
    assert [opened[0].vocabulary.count(word, BOTH) for word in ("policx", "menu")] == [0, 0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("expences", "expenses"),
        ("expneses", "expenses"),
        ("xpenses", "expenses"),
        ("wxpenses", "expenses"),
        ("xepenses", "expenses"),
        ("Größw", "grosse"),
        ("teh", "the"),
    ],
)
def test_find_alike_slips_are_found(opened: Opened, typed: str, meant: str) -> None:
    put_titles(opened, "expenses", "Größe", "the")
    assert opened[0].vocabulary.find_alike(typed, ANONYMOUS, 0) == meant


def test_find_alike_far_words_numbers_and_the_word_itself_are_not_found(opened: Opened) -> None:
    put_titles(opened, "expenses", "cat", "2024", "dog")
    words = opened[0].vocabulary
    for typed in ("expenses", "cow", "2025", "", "two words", "x" * 500):
        assert words.find_alike(typed, ANONYMOUS, 0) is None


def test_find_alike_two_slips_and_another_beginning_make_another_word_of_a_short_one(opened: Opened) -> None:
    put_titles(opened, "double", "strategie")
    words = opened[0].vocabulary
    assert [words.find_alike(typed, ANONYMOUS, 0) for typed in ("oublie", "duoble", "doubel", "trategei")] == [
        None,
        "double",
        "double",
        "strategie",
    ]


def test_find_alike_the_more_frequent_of_equals_comes_first(opened: Opened) -> None:
    put_titles(opened, "policy", "policx", "policx", "police")
    words = opened[0].vocabulary
    assert [words.find_alike("polici", ANONYMOUS, number) for number in (0, 1, 2)] == ["policx", "policx", None]


@pytest.mark.parametrize(
    ("typed", "meant", "hidden"),
    [
        ("travle", "travel", [f"{'travle'[:at]}{letter}{'travle'[at + 1 :]}" for at in range(1, 6) for letter in ascii_lowercase]),
        ("trategie", "strategie", [f"stra{one}{other}" for one in ascii_lowercase for other in ascii_lowercase]),
        ("trategei", "strategie", [f"stra{one}{other}" for one in ascii_lowercase for other in ascii_lowercase]),
    ],
)
def test_find_alike_hidden_words_do_not_push_out_a_visible_one(opened: Opened, typed: str, meant: str, hidden: list[str]) -> None:
    words = " ".join(word for word in hidden if word != typed)
    put(opened, make_index_document(key=1, title="x", body=meant))
    assert opened[0].vocabulary.find_alike(typed, ANONYMOUS, 0) == meant
    put(opened, *[make_index_document(key=100 + n, title="x", body=words, access_class=1) for n in range(20)])
    assert opened[0].vocabulary.find_alike(typed, ANONYMOUS, 0) == meant


def test_find_alike_hidden_documents_change_nothing(opened: Opened) -> None:
    put_titles(opened, "policy", "policx", "policx", "police")
    hidden = [f"polic{letter}" for letter in "abcdefghijklm"] + ["police", "policy"]
    put(opened, *[make_index_document(key=100 + n, title=hidden[n % 15], body="", access_class=1) for n in range(60)])
    words = opened[0].vocabulary
    assert [words.find_alike("polici", access, 0) for access in (ANONYMOUS, NO_ACCESS)] == ["policx", None]
    assert words.find_alike("polici", BOTH, 0) == "police"


def test_find_alike_of_a_held_word_only_words_of_many_more_count(opened: Opened) -> None:
    put(opened, *[make_index_document(key=n, title="x", body="policy bolicx" if n < 12 else "policx") for n in range(30)])
    words = opened[0].vocabulary
    found = [words.find_alike(typed, ANONYMOUS, 11) for typed in ("policz", "xpolicy", "xolicy", "policy")]
    assert found == ["policx", "policy", "policy", "policx"]
    assert [words.find_alike(typed, ANONYMOUS, 12) for typed in ("xpolicy", "policz")] == [None, "policx"]
    assert words.has_read("policz", 12)


def test_find_holding_says_which_documents_match_each_part(opened: Opened) -> None:
    bodies = {1: "two invoices of a supplier", 2: "supplier", 3: "late payment of an invoice", 4: "invoice", 5: "payment late"}
    put(opened, *[make_index_document(key=key, body=body, access_class=key == 4) for key, body in bodies.items()])
    put(opened, make_index_document(key=6, title="Supplier", body="a page", navigation="late invoices"))
    parts = (Word("invoice"), Phrase("late payment"), Or((Word("supplier"), Word("late"))), Word("nowhere"), Word("x" * 500))

    def find(parts: Sequence[Node], keys: Sequence[int], access: AccessFilter = ANONYMOUS) -> list[set[int]]:
        return list(map(set, opened[0].vocabulary.find_holding(parts, keys, access)))

    assert find(parts, (1, 2, 3, 4, 5, 6, 99)) == [{1, 3, 6}, {3}, {1, 2, 3, 5, 6}, set(), set()]
    assert find(parts[:1], (2, 3, 4), BOTH) == [{3, 4}]
    assert find(parts[:1], (2, 3, 4), NO_ACCESS) == [set()]
    assert (find((), (1, 2)), find(parts[:1], ())) == ([], [set()])
    many = (*[Word("nowhere")] * (MAX_HELD_PARTS - 1), Word("invoice"))
    assert find(many, (1, 2))[-1] == {1}


def test_search_related_without_resolved_terms_finds_nothing(opened: Opened) -> None:
    put_titles(opened, "a")
    assert opened[0].search(Related("http://www.example.com/"), ANONYMOUS, start=0, num=1).total == 0
