"""What every search index promises of compounds: words that some languages write together of others."""

from dataclasses import replace

import pytest

from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.query import And, AnyOf, InText, InTitle, Node, Not, Or, Phrase, Wildcard, Word
from feedmill.model.search import IndexDocument
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import BOTH, Opened, keys, put

NO_ACCESS = AccessFilter(permitted=frozenset())
LONG = "nothing of this " * 20


def write(*bodies: str, language: str | None = "de", title: str = "") -> list[IndexDocument]:
    """Makes documents that are longer than those whose language may be in doubt, numbered from 1."""
    return [make_index_document(key=number, title=title, body=f"{body} {LONG}", language=language) for number, body in enumerate(bodies, 1)]


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("de", "Den Urlaubsantrag stellen", "Antrag"),
        ("de", "Den Urlaubsantrag stellen", "Urlaub"),
        ("de", "Den Urlaubsantrag stellen", "Urlaubs"),
        ("de", "Die Urlaubsanträge stellen", "Antrag"),
        ("de", "Den Urlaubsantrag stellen", "Anträge"),
        ("de", "Das Formular Urlaubsantragsformular", "Urlaubsantrag"),
        ("de", "Die Hauptstraße ist gesperrt", "Strasse"),
        ("de", "Die Hauptstraße ist gesperrt", "Straßen"),
        ("de", "Die Wirtschaftsprüfung kommt", "Prüfung"),
        ("nl", "Het drinkwater is gecontroleerd", "water"),
        ("sv", "Skatteverket och dricksvatten", "vatten"),
        ("da", "Der er drikkevand her", "vand"),
        ("nb", "Det er drikkevann her", "vann"),
        ("nn", "Det er drikkevann her", "vann"),
    ],
)
def test_word_that_is_a_part_of_a_compound_is_found(opened: Opened, language: str, text: str, query: str) -> None:
    put(opened, *write(text, "Fahrrad und Apparat", language=language))
    assert keys(opened, Word(query)) == [1]
    assert opened[0].vocabulary.is_in_compound(query, ANONYMOUS)


@pytest.mark.parametrize("query", ["Rat", "Reis", "Tor", "Ei", "Lunge", "Ende", "Nehmen", "Ort"])
def test_word_that_only_ends_other_words_is_not_found(opened: Opened, query: str) -> None:
    body = "Apparat Fahrrat Vorrat Kreis Preis Motor Direktor Bäckerei Eis Abteilungen spannende Unternehmen Antwort Wort"
    put(opened, *write(body, "x"))
    assert keys(opened, Word(query)) == []
    assert not opened[0].vocabulary.is_in_compound(query, ANONYMOUS)


def test_word_and_the_part_that_is_the_same_word_are_ordered_by_the_word(opened: Opened) -> None:
    put(opened, *write("Der Urlaubsantrag", "Der Antrag", "Der Urlaubsantrag und der Antrag auf Urlaub"))
    assert keys(opened, Word("Antrag"))[-1] == 1
    assert keys(opened, And((Word("Urlaub"), Word("Antrag")))) == [3, 1]
    assert keys(opened, AnyOf((Word("Urlaub"), Word("Antrag"))))[-1] == 2


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (Phrase("Antrag"), [2]),
        (Word("Antrag", is_fixed=True), [2]),
        (InTitle("Antrag"), []),
        (InText("Antrag"), [2]),
        (Wildcard("Antrag*"), [2]),
        (And((Word("stellen"), Not(Word("Antrag")))), [1]),
        (And((Word("stellen"), Not(Or((Word("Antrag"), Word("zebra")))))), [1]),
        (And((Word("stellen"), Not(AnyOf((Word("Antrag"), Word("zebra")))))), [1]),
        (Or((Word("zebra"), Word("Antrag"))), [2, 1]),
    ],
    ids=["phrase", "plus", "intitle", "intext", "wildcard", "minus", "minus of alternatives", "minus of optional words", "alternatives"],
)
def test_operators_mean_the_word_alone_and_alternatives_its_compounds_too(opened: Opened, query: Node, found: list[int]) -> None:
    put(opened, *write("Urlaubsantrag stellen", "Antrag stellen", title="Urlaubsantrag"))
    assert keys(opened, query) == found


def test_words_of_other_languages_are_not_divided(opened: Opened) -> None:
    german = write("Wasserhahn")[0]
    english = [replace(one, key=10 + one.key) for one in write("Wasserhahn and Wasserhahn", language="en")]
    put(opened, german, *english)
    assert keys(opened, Word("Wasser")) == [1]
    assert sorted(keys(opened, Word("Wasserhahn"))) == [1, 11]


def test_words_of_a_short_text_in_an_unknown_language_are_divided(opened: Opened) -> None:
    long = make_index_document(key=2, body=f"Urlaubsantrag {LONG}", language=None)
    put(opened, make_index_document(key=1, title="Urlaubsantrag", body="Urlaubsantrag", language=None), long)
    assert keys(opened, Word("Antrag")) == keys(opened, Word("Urlaub")) == [1]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Den Urlaubs-Antrag stellen", "Urlaubsantrag"),
        ("Den Urlaubs\u2010Antrag stellen", "Urlaubsanträge"),
        ("Die Reisekosten-Richtlinie lesen", "Reisekostenrichtlinie"),
        ("Das XYZ-Modul einbauen", "xyzmodul"),
        ("An die E-Mail-Adresse", "Emailadresse"),
    ],
)
def test_hyphenated_word_is_found_and_marked_as_it_is_written_together(opened: Opened, text: str, query: str) -> None:
    put(opened, *write(text, "x"))
    assert keys(opened, Word(query)) == [1]
    hyphenated = next(word for word in text.split() if "-" in word or "\u2010" in word)
    found = opened[0].make_highlighter(Word(query)).make_snippet("Füllung. " * 400 + text, "de")
    assert [found.text[start:end] for start, end in found.marks] == [hyphenated]
    plain = opened[0].make_highlighter(Word(query)).make_snippet("filler. " * 400 + text, "de")
    assert [plain.text[start:end] for start, end in plain.marks] == [hyphenated]
    assert opened[0].make_highlighter(Word(query)).count_terms(text, "de") == {0: 1}


def test_hyphenated_word_of_a_word_of_the_query_is_marked_apart(opened: Opened) -> None:
    put(opened, *write("Den Urlaubs-Antrag stellen", "Den Urlaubs- und Reiseantrag"))
    assert sorted(keys(opened, Word("Antrag"))) == [1, 2]
    found = opened[0].make_highlighter(Word("Antrag")).make_snippet("Den Urlaubs-Antrag stellen, Reiseantrag", "de")
    assert [found.text[start:end] for start, end in found.marks] == ["Antrag", "Reiseantrag"]
    # in other languages a hyphenated word is a phrase
    put(opened, *write("an e-mail", language="en"))
    assert keys(opened, Word("email")) == []


def test_compounds_of_titles_urls_and_metadata_are_divided_too(opened: Opened) -> None:
    put(
        opened,
        make_index_document(key=1, title="Der Urlaubsantrag", body="x", language="de"),
        make_index_document(key=2, url="http://a.com/urlaubsantrag.pdf", body="x", language="de"),
        make_index_document(key=3, body="x", metadata=(("thema", "Urlaubsantrag"),), language="de"),
        make_index_document(key=4, body="x", language="de"),
    )
    assert keys(opened, Word("Antrag"))[0] == 1
    assert sorted(keys(opened, Word("Antrag"))) == [1, 2, 3]


def test_compounds_of_hidden_documents_are_no_compounds(opened: Opened) -> None:
    put(opened, *(replace(one, access_class=1) for one in write("Urlaubsantrag")))
    words = opened[0].vocabulary
    assert [words.is_in_compound("Antrag", access) for access in (ANONYMOUS, BOTH, NO_ACCESS)] == [False, True, False]
    assert (keys(opened, Word("Antrag")), keys(opened, Word("Antrag"), BOTH)) == ([], [1])


def test_compounds_of_nothing_hold_nothing(opened: Opened) -> None:
    words = opened[0].vocabulary
    assert not any(words.is_in_compound(text, ANONYMOUS) for text in ("Antrag", "", "???", "zwei Worte", "東京"))


@pytest.mark.parametrize(
    ("query", "language", "text", "marked"),
    [
        ((Word("Antrag"),), "de", "Der Urlaubsantrag, das Antragsformular und der Auftrag", ["Urlaubsantrag", "Antragsformular"]),
        ((Word("Urlaub"), Word("Antrag")), "de", "Der Urlaubsantrag", ["Urlaubsantrag"]),
        ((Word("Strasse"),), "de", "Die Hauptstraße", ["Hauptstraße"]),
        ((Word("Rat"),), "de", "Der Apparat", []),
        ((Word("Antrag"),), "en", "Der Urlaubsantrag", []),
        ((Word("Antrag"),), None, "Der Urlaubsantrag", []),
        ((Phrase("Antrag"),), "de", "Der Urlaubsantrag", []),
        ((Word("Antrag", is_fixed=True),), "de", "Der Urlaubsantrag", []),
    ],
)
def test_highlighter_marks_whole_compounds(
    opened: Opened, query: tuple[Node, ...], language: str | None, text: str, marked: list[str]
) -> None:
    put(opened, *write("x", "y"))
    highlighter = opened[0].make_highlighter(And(query))
    found = highlighter.make_snippet("filler. " * 400 + text, language)
    assert [found.text[start:end] for start, end in found.marks] == marked
    if language is not None:
        assert [text[start:end] for start, end in highlighter.find_marks(text, language)] == marked
        assert bool(highlighter.find_terms(text, language)) == bool(highlighter.count_terms(text, language)) == bool(marked)


def test_highlighter_finds_compounds_far_behind(opened: Opened) -> None:
    put(opened, *write("x"))
    highlighter = opened[0].make_highlighter(Word("Antrag"))
    for filler in ("filler. " * 20_000, "Füllung. " * 20_000):
        assert highlighter.find_terms(f"{filler}Der Urlaubsantrag.", "de") == [(len(filler) + 4, 0)]
    found = highlighter.make_snippet("filler. " * 20_000 + "Der Urlaubsantrag.", "de")
    assert [found.text[start:end] for start, end in found.marks] == ["Urlaubsantrag"]
