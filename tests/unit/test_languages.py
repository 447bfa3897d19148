import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.builder import read_languages, read_request
from feedmill.model.query import And, Language, MatchAll, Node, Not, Or, Word
from feedmill.model.search import SearchRequest

NORWEGIAN = Or((Language("no"), Language("nb"), Language("nn")))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("lang_en", Language("en")),
        ("LANG_EN", Language("en")),
        ("en", Language("en")),
        ("lang_iw", Language("he")),
        ("lang_zh-CN|lang_zh_TW", Or((Language("zh"), Language("zh")))),
        ("lang_nn", NORWEGIAN),
        ("-lang_no", Not(NORWEGIAN)),
        ("lang_en|lang_fr.-lang_de", And((Or((Language("en"), Language("fr"))), Not(Language("de"))))),
        ("-(lang_en|lang_fr)", Not(Or((Language("en"), Language("fr"))))),
        ("", None),
        ("lang_", None),
        ("english please", None),
    ],
)
def test_read_languages_demands(text: str, node: Node | None) -> None:
    assert read_languages(text)[0] == node


def test_read_languages_what_is_none_is_reported() -> None:
    assert read_languages("lang_en|elvish!") == (Language("en"), ("lr=: elvish! is no language and was passed over",))
    assert read_languages("lang_en|" * 300)[1] == ("lr= is too long and was cut",)


@given(st.text(alphabet="lang_enfr-|.() zh!", max_size=200))
def test_read_languages_any_text_is_no_error(text: str) -> None:
    read_languages(text)


def test_request_languages_narrow_a_question_and_ask_none() -> None:
    def root(query: str) -> Node:
        return read_request(SearchRequest(query=query, languages="lang_en")).root

    assert root("a") == And((Word("a"), Language("en")))
    assert root("") == MatchAll()
