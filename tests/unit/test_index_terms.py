import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.ranking.indexterms import (
    MAX_METADATA_TERMS,
    MAX_TERM_CHARACTERS,
    info_terms,
    metadata_terms,
    name_term,
    path_term,
    site_terms,
    split_site,
    url_words,
    value_term,
)
from feedmill.core.text.analysis import fold_in_place, fold_value


def test_site_terms_name_host_suffixes_ports_and_directories() -> None:
    terms = site_terms("HTTP://user:pw@A.Example.com:81/Dir/sub/page.html?x=/no/#/neither/")
    assert terms == [
        *("a.example.com", "example.com", "com"),
        *("a.example.com:81", "example.com:81", "com:81"),
        *("/", "/dir/", "/dir/sub/"),
    ]


@pytest.mark.parametrize(
    ("url", "terms"),
    [
        ("http://10.1.2.3/", ["10.1.2.3", "/"]),
        ("http://[::1]:80/x", ["[::1]", "[::1]:80", "/"]),
        ("smb://server/share/", ["server", "/", "/share/"]),
        ("", []),
        ("file:///etc/x", ["/", "/etc/"]),
    ],
)
def test_site_terms_other_urls(url: str, terms: list[str]) -> None:
    assert site_terms(url) == terms


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("Example.com", ("example.com", "")),
        ("example.com/", ("example.com", "")),
        (".com", ("com", "")),
        ("*.example.com/dir", ("example.com", "/dir")),
        ("*", ("*", "")),
        ("https://example.com:81/Dir", ("example.com:81", "/dir")),
        ("/dir/", ("", "/dir/")),
        ("", ("", "")),
    ],
)
def test_split_site_reads_host_and_path(value: str, parts: tuple[str, str]) -> None:
    assert split_site(value) == parts


def test_info_terms_complete_what_was_left_out() -> None:
    assert info_terms("http://a.com/x") == ["http://a.com/x"]
    assert info_terms("http://a.com") == ["http://a.com", "http://a.com/"]
    assert info_terms("http://a.com/") == ["http://a.com/", "http://a.com"]
    assert info_terms("a.com/") == ["a.com/", "http://a.com/", "https://a.com/", "http://a.com", "https://a.com"]
    assert info_terms("a.com/x") == ["a.com/x", "http://a.com/x", "https://a.com/x"]


def test_url_words_decode_what_is_utf8() -> None:
    assert url_words("http://a/%C3%BCber%20alles/%FF%2x") == "http://a/über alles/ %2x"


def test_metadata_terms_fold_and_stay_apart() -> None:
    assert value_term("Dept", " Legal  AFFAIRS ") == value_term("dept", "legal affairs")
    assert value_term("a", "b") not in (name_term("ab"), name_term("a b"), value_term("ab", ""))
    assert metadata_terms((("A", "x"), ("a", "X"))) == [name_term("a"), value_term("a", "x")]


def test_terms_are_bounded_in_length_and_number() -> None:
    assert len(value_term("n" * 9_999, "v" * 9_999)) < 2 * MAX_TERM_CHARACTERS + 1
    assert value_term("n", "v" * 9_999) != value_term("n", "v" * 9_998)
    assert len(metadata_terms(tuple(("n", str(number)) for number in range(10_000)))) <= MAX_METADATA_TERMS + 2
    assert len(site_terms("http://" + "a." * 9_999 + "com:1/" + "d/" * 9_999)) < 200
    assert len(path_term("http://a/" + "d/" * 9_999)) == MAX_TERM_CHARACTERS


@given(st.text(max_size=300))
def test_terms_any_url_or_value_is_no_error(text: str) -> None:
    for term in [*site_terms(text), *info_terms(text), *metadata_terms(((text, text),)), path_term(text), *split_site(text)]:
        assert len(term) <= 4 * MAX_TERM_CHARACTERS
    url_words(text)


@given(st.text(max_size=100))
def test_fold_in_place_keeps_every_character_in_its_place(text: str) -> None:
    assert len(fold_in_place(text)) == len(text)


def test_fold_value_ignores_case_width_and_blanks() -> None:
    assert fold_value(" Ａ\u00a0 STRASSE ") == fold_value("a straße")
