import pytest

from feedmill.adapters.index.analysis import lay_out_whole
from feedmill.adapters.index.stemming import LANGUAGES, find_script, list_query_stems, stem, stems_of
from feedmill.core.text.wordforms import MAX_WORD_BYTES

_OF_OTHER_SCRIPTS = ("ar", "fa", "el", "hy", "hi", "ne", "ru", "ta", "yi")


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "running", "runs"),
        ("de", "häuser", "hauses"),
        ("fr", "chevaux", "cheval"),
        ("es", "canciones", "canción"),
        ("ru", "книгами", "книга"),
        ("ar", "الكتاب", "كتاب"),
        ("hi", "लड़कों", "लड़के"),
        ("tr", "evlerde", "evler"),
        ("fi", "taloissa", "talot"),
        ("el", "γυναίκες", "γυναίκα"),
        ("pl", "książkami", "książka"),
    ],
)
def test_stem_inflected_words_share_one(language: str, one: str, other: str) -> None:
    assert set(stem(one, language)) & set(stem(other, language))


def test_every_language_has_its_stemmer() -> None:
    assert all(stem("abc", language) for language in LANGUAGES)
    assert stem("words", "xx") == ["words"]


def test_stem_accents_may_be_left_out() -> None:
    assert set(stem("mangées", "fr")) & set(stem("mangees", "fr"))
    assert set(stem("canción", "es")) & set(stem("cancion", "es"))


def test_stems_word_of_another_script_is_stemmed_by_its_own() -> None:
    russian = stems_of("ru")
    assert russian["книгами"] == "книг"
    assert russian["windows"] == stems_of("en")["windows"] == "window"
    assert stems_of("ja")["windows"] == "window"
    assert stems_of(None)["книгами"] == "книг"
    assert stems_of("vi")["windows"] == "window"


def test_query_stems_cover_every_language_of_the_index() -> None:
    for language in ("de", "fr", "ru", None):
        word = "книгами" if language == "ru" else "nationalen"
        assert set(stems_of(language)[word].split()) <= set(list_query_stems(word, ["de", "fr", "ru"]))
    assert list_query_stems("東", ["ja"]) == ["東"]
    assert [find_script(word) for word in ("é", "я", "α", "ა", "5")] == ["latin", "cyrillic", "greek", "", "latin"]


def test_lay_out_whole_keeps_words_stems_and_accents() -> None:
    laid = lay_out_whole("Naïve “readers” reading", stems_of("en"))
    assert (laid.words.split(), laid.accented) == (["naive", "readers", "reading"], "naïve")
    assert laid.stems.split()[1:] == ["reader", "read"]
    assert lay_out_whole("東京都 ab 都", stems_of("ja")).stems.split() == ["東", "京", "都", "東京", "京都", "ab", "都"]
    assert lay_out_whole("ภาษาไ", stems_of("th")).stems.split() == ["ภาษ", "าษา", "ษาไ"]
    assert lay_out_whole("서울에서 가", stems_of("ko")).stems.split() == ["서울", "울에", "에서", "가"]
    assert lay_out_whole("plain readers", stems_of("en")).stems == "plain reader"


@pytest.mark.parametrize("text", ["", "one {}", "{} two", "one {} two, {}", "{}", "café {} two"])
def test_lay_out_whole_drops_words_that_are_too_long_for_an_index(text: str) -> None:
    laid, expected = (lay_out_whole(text.replace("{}", word), stems_of("en")) for word in ("x" * (MAX_WORD_BYTES + 1), "-"))
    assert laid.words.split() == expected.words.split()
    assert laid.stems.split() == expected.stems.split()
    assert laid.accented == expected.accented


@pytest.mark.parametrize("language", [*LANGUAGES, None])
@pytest.mark.parametrize("word", ["", "42", "houses", "naturally", "x" * MAX_WORD_BYTES, "x" * (MAX_WORD_BYTES + 1)])
def test_stems_of_latin_words_are_those_of_the_language_or_of_english(word: str, language: str | None) -> None:
    latin = "en" if language is None or language in _OF_OTHER_SCRIPTS else language

    assert stems_of(language)[word] == " ".join(stem(word, latin))
