"""Which words are compounds, and of what: the rules, and what they make of the words of each language with a list."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.compounds import LANGUAGES, MAX_CHARACTERS, Compounds, compounds_of, find_language, iter_hyphenated
from feedmill.core.text.wordforms import FOLDED
from feedmill.core.text.wordlists import read_list

PARTS = ("urlaub", "antrag", "formular", "wasser", "rat", "betrieb", "fahrt", "mai", "mais", "kolben", "fahr-", "=wasserrat")


def divide(word: str, language: str = "de") -> list[str]:
    return sorted(compounds_of(language).list_parts(FOLDED[word.lower()]))


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("wasserfahrt", {"wasser", "fahrt"}),
        ("urlaubsantrag", {"urlaub", "antrag"}),
        ("urlaubsantragsformular", {"urlaub", "antrag", "formular", "urlaubsantrag", "antragsformular"}),
        ("maiskolben", {"mais", "kolben"}),
        ("fahrwasser", {"fahr", "wasser"}),
        ("wasserfahr", set()),
        ("urlaubxantrag", set()),
        ("urlaubs", set()),
        ("antrag", set()),
        ("wasserrat", set()),
        ("betriebsrat", {"betrieb", "rat"}),
        ("fahrrat", set()),
        ("wasser" * 3, {"wasser", "wasser" * 2}),
        ("wasser" * 20, set()),
        ("", set()),
    ],
    ids=[
        "two parts",
        "a link",
        "three parts and two together",
        "s of a part is no link",
        "a form before another part",
        "the same form at the end",
        "a letter that links nothing",
        "a link at the end",
        "one part",
        "named as whole",
        "short part behind a long one",
        "short part behind a short one",
        "repeated",
        "too long",
        "nothing",
    ],
)
def test_list_parts_of_a_small_list(word: str, parts: set[str]) -> None:
    assert set(Compounds(PARTS).list_parts(word)) == parts


@pytest.mark.parametrize(
    ("language", "word", "expected"),
    [
        ("de", "Urlaubsantrag", "antrag urlaubs"),
        ("de", "Trinkwasser", "trink wasser"),
        ("de", "Reisekosten", "kosten reise"),
        ("de", "Hauptstraße", "haupt strasse"),
        ("de", "Anträge", ""),
        ("de", "Wirtschaftsprüfung", "prufung wirtschaft"),
        ("de", "Schulbuch", "buch schul"),
        ("nl", "drinkwater", "drink water"),
        ("nl", "vakantieaanvraag", "aanvraag vakantie"),
        ("nl", "bedrijfswagen", "bedrijfs wagen"),
        ("sv", "dricksvatten", "dricks vatten"),
        ("sv", "arbetsmarknad", "arbets marknad"),
        ("da", "arbejdsmarked", "arbejds marked"),
        ("no", "arbeidsmarked", "arbeids marked"),
    ],
)
def test_list_parts_of_words_of_a_language(language: str, word: str, expected: str) -> None:
    assert " ".join(divide(word, language)) == expected


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ("rat", "Apparat"),
        ("rat", "Fahrrat"),
        ("rat", "Vorrat"),
        ("reis", "Kreis"),
        ("reis", "Preise"),
        ("tor", "Motor"),
        ("tor", "Direktor"),
        ("tor", "Administrator"),
        ("ei", "Bäckerei"),
        ("ei", "Eisenbahn"),
        ("ort", "Antwort"),
        ("rad", "Kamerad"),
        ("amt", "Gesamt"),
        ("lunge", "Abteilungen"),
        ("ende", "spannende"),
        ("tisch", "automatisch"),
        ("nehmen", "Unternehmen"),
    ],
)
def test_list_parts_a_word_that_only_ends_like_another_is_no_compound(part: str, word: str) -> None:
    assert part not in divide(word)


def test_find_language_norwegian_has_one_list_for_both_forms() -> None:
    assert [find_language(code) for code in ("de", "nb", "nn", "no", "en", "", None)] == ["de", "no", "no", "no", "", "", ""]
    assert "en" not in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_list_has_folded_words_alone(language: str) -> None:
    words = [entry.removeprefix("=").removesuffix("-") for entry in read_list(f"compounds/{language}")]
    assert all(word.isascii() and word.isalpha() and FOLDED[word] == word and len(word) >= 3 for word in words)


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data())
def test_list_parts_of_joined_words_cover_them(language: str, data: st.DataObject) -> None:
    entries = [entry for entry in read_list(f"compounds/{language}") if entry.isalpha() and len(entry) > 3]
    words = data.draw(st.lists(st.sampled_from(entries), min_size=2, max_size=3))
    joined = data.draw(st.sampled_from(["", "s"])).join(words)
    parts = compounds_of(language).list_parts(joined)
    if len(joined) > MAX_CHARACTERS or f"={joined}" in read_list(f"compounds/{language}"):
        assert parts == ()
        return
    # however it is divided, no letter but a link is left out
    assert parts
    assert all(part in joined and part != joined for part in parts)
    covered = {place for part in parts for place in range(joined.find(part), joined.find(part) + len(part))}
    left = [joined[place] for place in range(len(joined)) if place not in covered]
    assert set(left) <= {"s"} or any(joined.count(part) > 1 for part in parts)


@given(st.text(max_size=80))
def test_list_parts_of_any_text_holds_slices_of_it(text: str) -> None:
    for language in LANGUAGES:
        parts = compounds_of(language).list_parts(text)
        assert all(part in text and 3 <= len(part) < len(text) for part in parts)
        assert len(parts) != 1 or len(text) == 2 * len(parts[0]) + (len(text) % 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Der Urlaubs-Antrag, die E\u2010Mail\u2011Adresse", ["urlaubsantrag", "emailadresse"]),
        ("Straßen-Bau", ["strassenbau"]),
        ("Urlaubs- und Reise-", []),
        ("--force -v a--b 3-4 a-1 - -", []),
        ("a-b-", ["ab"]),
        ("-a-b", ["ab"]),
        ("", []),
    ],
)
def test_iter_hyphenated(text: str, words: list[str]) -> None:
    assert [word for word, _, _ in iter_hyphenated(text)] == words


@given(st.text(alphabet="aAäß1 -\u2010\u2011\n", max_size=60))
def test_iter_hyphenated_words_of_any_text_lie_in_it_in_order(text: str) -> None:
    behind = 0
    for word, start, end in iter_hyphenated(text):
        assert behind <= start < end <= len(text)
        written = text[start:end]
        behind = end
        pieces = written.replace("\u2010", "-").replace("\u2011", "-").split("-")
        assert len(pieces) > 1
        assert all(piece.isalpha() for piece in pieces)
        assert word == FOLDED["".join(pieces).lower()]


def test_likeliest_division_has_few_and_frequent_parts() -> None:
    assert Compounds(["druck", "drucker", "zeugnis", "erzeugnis"]).list_parts("druckerzeugnis") == ("druck", "erzeugnis")
    assert Compounds(["drucker", "zeugnis", "druck", "erzeugnis"]).list_parts("druckerzeugnis") == ("drucker", "zeugnis")
    assert Compounds(["wasser", "hahn", "wasserhahn", "griff"]).list_parts("wasserhahngriff") == ("wasserhahn", "griff")
    assert all(one != other for one, other in pairwise(LANGUAGES))
