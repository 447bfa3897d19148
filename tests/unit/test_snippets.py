import re
import time
from collections.abc import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.analysis import fold_in_place, fold_words
from feedmill.core.text.snippets import LEAD_CHARACTERS, SNIPPET_CHARACTERS, find_marks, make_snippet
from feedmill.core.text.wordforms import FOLDED

FILLER = "lorem ipsum dolor sit amet " * 40


def fold(text: str) -> list[tuple[str, int, int]]:
    return [(fold_in_place(match[0]), *match.span()) for match in re.finditer(r"[\u3040-\u9fff]|[^\W_\u3040-\u9fff]+", text)]


def marked(text: str, *terms: str) -> list[str]:
    snippet = make_snippet(text, terms, fold)
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_make_snippet_short_text_is_shown_whole() -> None:
    snippet = make_snippet("  All\n\nof it. ", ("of",), fold)
    assert (snippet.text, snippet.marks) == ("All of it.", ((4, 6),))


def test_make_snippet_word_far_inside_is_shown_with_ellipses() -> None:
    snippet = make_snippet(FILLER + "the Needle is here " + FILLER, ("needle",), fold)
    assert marked(FILLER + "the Needle is here " + FILLER, "needle") == ["Needle"]
    assert snippet.text.startswith("… ")
    assert snippet.text.endswith(" …")
    assert len(snippet.text) <= SNIPPET_CHARACTERS + 4


def test_make_snippet_window_with_most_different_words_wins() -> None:
    text = "red red red " + FILLER + "red and green " + FILLER + "green"
    assert marked(text, "red", "green") == ["red", "green"]


def test_make_snippet_accents_and_case_are_found() -> None:
    assert marked(FILLER + "CAFÉ in Łódź", "cafe") == ["CAFÉ"]


def test_make_snippet_part_of_a_word_is_not_marked() -> None:
    assert marked("needles need a needle", "need") == ["need"]


def test_make_snippet_phrase_is_marked_only_in_order() -> None:
    assert marked("report annual and annual report", "annual report") == ["annual", "report"]


def test_make_snippet_spaceless_run_is_marked_as_one() -> None:
    assert marked("これは東京都の本。京東", "東 京") == ["東京"]


def test_make_snippet_no_word_occurs_shows_the_beginning() -> None:
    snippet = make_snippet("Begin here. " + FILLER, ("nowhere",), fold)
    assert snippet.text.startswith("Begin here.")
    assert snippet.marks == ()


def test_make_snippet_no_terms_or_text_is_no_error() -> None:
    assert make_snippet("", ("a",), fold).text == ""
    assert make_snippet(" \n ", ("a",), fold).text == ""
    assert make_snippet("text", (), fold).marks == ()


def test_make_snippet_begins_at_a_sentence_when_one_is_near() -> None:
    text = FILLER + "End of that. Here the needle stands"
    assert make_snippet(text, ("needle",), fold).text.startswith("… Here the needle")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Herons\nThe heron wades.", "Herons · The heron wades."),
        ("NAME\nheron - wades in water", "NAME · heron - wades in water"),
        ("Functions\nheron_wade() wades.", "Functions · heron_wade() wades."),
        ("Name:\nThe heron", "Name: The heron"),
        ("It wades.\nIt waits.", "It wades. It waits."),
        ("It wades\nand waits", "It wades and waits"),
        ("Before\n…\nBehind", "Before … Behind"),
        ("水鳥\n鷺は水の中に立つ。", "水鳥 · 鷺は水の中に立つ。"),
        (f"{'It wades ' * 8}by the lake of\nConstance, and waits", f"{'It wades ' * 8}by the lake of Constance, and waits"),
    ],
)
def test_make_snippet_lines_of_different_sentences_have_a_sign_between_them(text: str, shown: str) -> None:
    assert make_snippet(text, ("heron",), fold).text == shown


def test_make_snippet_begins_with_the_last_sentence_before_the_word() -> None:
    text = f"{FILLER}it ends. Nesting\nThe birds, e.g. a heron, wade. {FILLER}"
    assert make_snippet(text, ("heron",), fold).text.startswith("… The birds, e.g. a heron")


def test_make_snippet_word_deep_in_a_long_text_is_found() -> None:
    text = FILLER * 300 + "Needle at last " + FILLER
    assert marked(text, "needle") == ["Needle"]


@pytest.mark.parametrize(
    "text",
    ["lorem ipsum " * 800_000, "x" * 10_000_000, "x " * 5_000_000, " " * 10_000_000, "élan où " * 1_000_000, "東京都" * 3_000_000],
    ids=["words", "one word", "letters", "blanks", "accents", "spaceless"],
)
def test_make_snippet_ten_megabytes_cost_little(text: str) -> None:
    best = 1.0
    for _ in range(3):
        begun = time.thread_time()
        make_snippet(text, ("x", "needle", "ipsum", "東 京"), fold)
        best = min(best, time.thread_time() - begun)
    assert best < 0.05


@given(st.text(max_size=2_000), st.lists(st.text(alphabet="abé x東", min_size=1, max_size=5), max_size=4))
def test_make_snippet_any_text_marks_stay_inside_and_apart(text: str, terms: list[str]) -> None:
    snippet = make_snippet(text, terms, fold)
    assert len(snippet.text) <= SNIPPET_CHARACTERS + LEAD_CHARACTERS + 4
    position = -1
    for start, end in snippet.marks:
        assert position < start < end <= len(snippet.text)
        position = end


WORDS = st.lists(
    st.sampled_from(
        ["ab", "a", "b", "abc", "x1", "\u201cab\u201d", "ab-b", "a_b", "B", "AB,", "\u2026", "a\u2192b", "\u2500", "ab\u2122", "b" * 120]
    ),
    max_size=120,
).map(" ".join)
TERMS = st.lists(st.sampled_from(["a", "ab", "b", "x1", "a b", "ab b", "a*", "b" * 120]), max_size=5)


def find_folded(laid_out: str, wanted: Set[str]) -> list[tuple[int, int]]:
    return [word.span() for word in re.finditer(r"\S+", laid_out) if FOLDED[word[0]] in wanted]


@given(WORDS, TERMS)
def test_make_snippet_text_with_or_without_foreign_letters_is_cut_and_marked_alike(text: str, terms: list[str]) -> None:
    plain = make_snippet(f"{text} {'lorem ' * 80}", terms, fold_words, find_forms=find_folded)
    foreign = make_snippet(f"{text} {'лорем ' * 80}", terms, fold_words)
    assert foreign.text.replace("лорем", "lorem") == plain.text
    assert foreign.marks == plain.marks


def test_make_snippet_with_forms_marks_them_as_the_word() -> None:
    def find_forms(laid_out: str, wanted: Set[str]) -> list[tuple[int, int]]:
        return [word.span() for word in re.finditer(r"runs|\brunning", laid_out) if wanted == {"run"}]

    snippet = make_snippet("he runs: Running, pruning", ("run",), fold_words, roots=("run*",), find_forms=find_forms)
    assert [snippet.text[start:end] for start, end in snippet.marks] == ["runs", "Running"]


def test_find_marks_neighbours_without_a_gap_are_one() -> None:
    assert find_marks("東京都", ("東", "京"), fold) == [(0, 2)]
