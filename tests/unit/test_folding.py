from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.access.folding import fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ENG", "eng"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("ſmith", "smith"),
        ("ＥＮＧ", "eng"),
        ("oﬃce", "office"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("İ", "i\u0307"),
        ("co\u00adop", "coop"),
        ("a\u200bb\u200dc\ufeff\ufe0f", "abc"),
        ("\u3164\uffa0\u115f", ""),
        ("\U000e0041x\U000e0fff", "x"),
        ("e\u0301", "é"),
        ("E\u034f\u0301", "é"),
        ("②", "2"),
        ("㎏", "kg"),
        ("\u1e9b\u0323", "\u1e69"),
        ("a b\tc", "a b\tc"),
        ("", ""),
    ],
)
def test_fold_of_a_text_is_its_nfkc_casefold(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize("text", ["ı", "а", "\u0301", "-", "\ud800"])
def test_fold_of_what_only_looks_alike_keeps_it_apart(text: str) -> None:
    assert fold(text) == text


@given(st.text(max_size=20))
def test_fold_of_folded_text_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x17F) | st.sampled_from("\u0300\u0301\u0308\u0327"), max_size=20))
def test_fold_of_composed_and_decomposed_text_is_the_same(text: str) -> None:
    assert fold(normalize("NFC", text)) == fold(normalize("NFD", text))


@given(st.text(alphabet=st.sampled_from("aBßé\u212b"), max_size=10), st.sampled_from("\u00ad\u200b\u2060\ufe0f"))
def test_fold_of_text_with_ignorable_characters_drops_them(text: str, ignorable: str) -> None:
    assert fold(ignorable.join(text)) == fold(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=20))
def test_fold_of_ascii_is_lower_case(text: str) -> None:
    assert fold(text) == fold(text.upper()) == text.lower()
