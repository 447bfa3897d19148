"""Passages that hold more and rarer words of the query come first, and no text has the list for itself."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.core.query.language import parse_query
from feedmill.core.text.passageranking import LEAST_OF_ONE, MAX_CANDIDATES, Candidate, PassageRanking
from feedmill.core.text.textblob import QUOTED, UNQUOTED, QuotableText, decode_whole, encode_text

FILLER = "Other words that say nothing. " * 20


def rank(query: str, *texts: tuple[str, QuotableText], num: int = 10) -> list[Candidate]:
    ranking = PassageRanking(FormsHighlighter(parse_query(query).root, ("en", "de")))
    for source, (title, text) in enumerate(texts):
        ranking.add(source, title, text)
    return ranking.rank(num)


def plain(text: str) -> QuotableText:
    return decode_whole(encode_text(text, []))


def test_passage_with_more_and_rarer_words_is_first() -> None:
    text = f"{FILLER}\n\nLeave is granted. {FILLER}\n\nLeave of part-time staff is twelve days. {FILLER}\n\nLeave, leave, leave. {FILLER}"
    best = rank("leave of part-time staff", ("", plain(text)))[0]
    assert "twelve days" in best.passage.text
    assert len(best.counts) == 4


def test_function_words_count_little_beside_other_words() -> None:
    kept, long = "The log is kept for ninety days.", "How long is the way to the house, and how is the way back?"
    ranked = rank("how is the log kept", ("", plain(f"{long} {FILLER}\n\n{kept} {FILLER}")))
    assert [kept in candidate.passage.text for candidate in ranked[:1]] == [True]
    assert ranked[0].coverage > 2 * ranked[1].coverage
    assert rank("how is the", ("", plain(long)))[0].coverage == pytest.approx(1.0)


def test_other_forms_of_a_word_count_as_the_word() -> None:
    [best, *_] = rank("invoices", ("", plain(f"{FILLER}\n\nOne invoice. {FILLER}")))
    assert best.counts == {0: 1}


def test_phrases_and_wildcards_are_counted_as_written() -> None:
    counts = FormsHighlighter(parse_query('"travel cost" merg*').root, ()).count_terms(
        "Travel cost, cost of travel; merger and merging, travel costs"
    )
    assert counts == {0: 1, 1: 2}


@given(st.text(st.sampled_from("aAbB1 .-'é\u2019字\U00010000\u0e01"), max_size=40))
def test_words_are_counted_alike_whether_a_text_can_be_laid_out_or_not(text: str) -> None:
    words = FormsHighlighter(parse_query("a b ab ba b1 1").root, ("en",))
    # the last word, of no query, keeps the second text from being laid out
    assert words.count_terms(text) == words.count_terms(f"{text} \u0e01\u0e01")


def test_words_of_the_title_help_the_passages_of_their_text() -> None:
    ranked = rank("holiday days", ("Canteen", plain("Open on all days of the week.")), ("Holiday", plain("You get thirty days a year.")))
    assert [candidate.source for candidate in ranked] == [1, 0]


def test_text_without_a_word_has_its_first_passage() -> None:
    [only] = rank("nowhere", ("", plain(f"Beginning. {FILLER * 4}")))
    assert only.passage.start == 0
    assert only.counts == {}


def test_text_gives_its_share_of_the_list_alone() -> None:
    many = "\n\n".join(f"Word {number}. {FILLER}" for number in range(40))
    texts = [("", plain(many)) for _ in range(10)]
    ranked = rank("word", *texts, num=20)
    assert max(sum(candidate.source == source for candidate in ranked) for source in range(10)) == LEAST_OF_ONE
    assert len(rank("word", ("", plain(many)), num=50)) == MAX_CANDIDATES


def test_navigation_is_listed_only_where_the_main_text_holds_no_word() -> None:
    page = decode_whole(encode_text("Main text about travel.", [], navigation="Home Travel Contact"))
    assert [candidate.is_navigation for candidate in rank("travel", ("", page))] == [False]
    assert [candidate.is_navigation for candidate in rank("contact", ("", page))] == [True]
    assert [candidate.is_navigation for candidate in rank("nowhere", ("", page))] == [False]
    ranked = rank("contact", ("", page), ("", plain("Contact us by mail.")))
    assert [candidate.is_navigation for candidate in ranked] == [False, True]


def test_what_is_never_quoted_is_in_no_passage() -> None:
    text = decode_whole(encode_text(f"Open words. {UNQUOTED}A hidden word.{QUOTED} More words.", []))
    assert "hidden" in text.text
    ranked = rank("word", ("", text))
    assert ranked
    assert not any("hidden" in candidate.passage.text for candidate in ranked)


PIECES = st.sampled_from(
    ["travel ", "Kosten ", "𐀀𐀁 ", "שלום עולם ", "旅行の費用。", "résumé. ", "\n\n", f"{UNQUOTED}not this{QUOTED} ", "x" * 300]
)


@given(st.lists(PIECES, max_size=60), st.lists(PIECES, max_size=6), st.sampled_from(["travel", "旅行", "שלום", "résumé 𐀀𐀁", "kosten -x"]))
def test_candidates_stand_where_they_say_and_do_not_overlap(main: list[str], navigation: list[str], query: str) -> None:
    text = decode_whole(encode_text("".join(main), [], navigation="".join(navigation)))
    ranked = rank(query, ("", text), num=50)
    assert all(text.text[one.passage.start : one.passage.end] == one.passage.text for one in ranked)
    places = sorted((one.passage.start, one.passage.end) for one in ranked)
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    assert bool(ranked) == bool(text.text.replace("not this", "").strip())


@pytest.mark.parametrize("query", ["word", "word other"])
def test_same_passages_are_in_the_order_of_their_texts(query: str) -> None:
    ranked = rank(query, *(("", plain("The same word.")) for _ in range(5)))
    assert [candidate.source for candidate in ranked] == [0, 1, 2, 3, 4]
    assert [candidate.score for candidate in ranked] == sorted((candidate.score for candidate in ranked), reverse=True)
