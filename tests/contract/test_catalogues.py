"""The catalogues are complete, and what they hold fits its place: `make catalogues` adds new texts, and people translate them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

from feedmill.http.pages.catalogues import list_program_texts, make_template, read_catalogue
from feedmill.http.pages.languages import DEFAULT, get_language, list_tags
from feedmill.http.search.app import search_app
from tests.contract.searchharness import SearchHarness, add_pages, ask, open_harness

LANGUAGES = "ar de en es fr he it ja ko nl pl pt ru tr zh-Hans zh-Hant".split()
TRANSLATED = [tag for tag in LANGUAGES if tag != DEFAULT]

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_TAG = re.compile(r"</?[a-z][^>]*>")


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path_factory.mktemp("catalogues"))
    add_pages(made, 30)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def wanted() -> set[tuple[str, ...]]:
    """Returns the texts of the pages, for which all modules are parsed."""
    return {ids for ids, _ in list_entries(make_template())}


def list_entries(catalogue: Catalog) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Returns the texts of a catalogue with their translations; both have one part, or one for each form."""
    return [(forms_of(entry.id), forms_of(entry.string)) for entry in catalogue if entry.id]


def forms_of(text: str | Sequence[str] | None) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text or ())


def find_strange(ids: tuple[str, ...], forms: tuple[str, ...], plurals: int) -> str:
    """Returns what is wrong with a translation, "" if nothing is."""
    wanted, tags = set(_PLACEHOLDER.findall("".join(ids))), set(_TAG.findall("".join(ids)))
    if len(forms) != (1 if len(ids) == 1 else plurals):
        return "the number of its forms is not that of the language"
    for form in forms:
        # a form for one thing, or for two, may write the number as a word
        found = set(_PLACEHOLDER.findall(form)) | ({"count", "shown", "total"} & wanted if len(ids) > 1 else set())
        if found != wanted:
            return f"its placeholders differ: {form}"
        if (
            set(_TAG.findall(form)) != tags
            or form.count("<") != 2 * form.count("</")
            or form.replace("%%", "").count("%") != len(_PLACEHOLDER.findall(form))
        ):
            return f"its elements differ: {form}"
        if form != form.strip():
            return f"it has blanks around it: {form}"
    return ""


def test_pages_have_the_languages_of_the_list() -> None:
    assert sorted(list_tags()) == LANGUAGES


@pytest.mark.parametrize("tag", TRANSLATED)
def test_catalogue_translates_every_text_and_no_other(wanted: set[tuple[str, ...]], tag: str) -> None:
    held = dict(list_entries(read_catalogue(tag)))
    assert (sorted(wanted - set(held)), sorted(set(held) - wanted)) == ([], []), "run make catalogues"
    assert [ids for ids, forms in held.items() if not all(forms)] == []
    assert [entry.id for entry in read_catalogue(tag) if isinstance(entry, Message) and entry.fuzzy and entry.id] == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_translations_fit_their_texts(tag: str) -> None:
    catalogue = read_catalogue(tag)
    strange = {ids: find_strange(ids, forms, catalogue.num_plurals) for ids, forms in list_entries(catalogue)}
    assert {ids: reason for ids, reason in strange.items() if reason} == {}


@pytest.mark.parametrize("tag", TRANSLATED)
def test_sentences_are_not_left_in_english(tag: str) -> None:
    held = [(ids[0], forms[0]) for ids, forms in list_entries(read_catalogue(tag))]
    words = {text: re.findall("[a-z]{2,}", _TAG.sub("", _PLACEHOLDER.sub("", text))) for text, _ in held}
    assert [text for text, translated in held if text == translated and len(words[text]) > 2] == []


def test_find_strange_sees_each_mistake() -> None:
    assert find_strange(("%(a)s <b>x</b>",), ("<b>%(a)s</b> y",), 2) == ""
    assert find_strange(("one %(a)s", "%(count)s %(a)s"), ("eins %(a)s", "%(count)s %(a)s"), 2) == ""
    assert find_strange(("%(count)s",), ("%(count)s", "%(count)s"), 2)
    for wrong in ("%(b)s <b>y</b>", "<b>y</b>", "%(a)s <b>y<b>", "%(a)s y", "%(a)s <i>y</i>", " %(a)s <b>y</b>", "%(a)s <b>100% y</b>"):
        assert find_strange(("%(a)s <b>x</b>",), (wrong,), 2), wrong


def test_texts_of_a_module_are_found() -> None:
    source = 'message("a %(b)s", b=counted("one", "many", 2))\nx.gettext("c")\nmessage(name)\nother("d")\n'
    assert sorted(map(str, list_program_texts(source))) == ["('one', 'many')", "a %(b)s", "c"]


@pytest.mark.parametrize("tag", LANGUAGES)
def test_page_is_whole_in_every_language(harness: SearchHarness, tag: str) -> None:
    app = search_app(harness.services())
    language = get_language(tag)
    for path, query, status in (("/", "", 200), ("/", "q=needle&start=10", 200), ("/", "q=nothing+OR", 200), ("/none", "", 404)):
        answer = ask(app, path, f"{query}&lang={tag}".lstrip("&"))
        assert (answer.status, answer.headers["content-language"]) == (status, tag)
        assert f'<html lang="{tag}" dir="{language.direction}">' in answer.text
        assert "%(" not in answer.text
    assert language.direction == ("rtl" if tag in ("ar", "he") else "ltr")


@pytest.mark.parametrize(
    ("tag", "number", "form"),
    [
        ("ru", 21, "21 результат<"),
        ("ru", 3, "3 результата<"),
        ("ru", 11, "11 результатов<"),
        ("pl", 5, "5 wyników<"),
        ("fr", 1, "1 résultat<"),
    ],
)
def test_counts_have_the_form_of_their_number(tmp_path: Path, tag: str, number: int, form: str) -> None:
    harness = open_harness(tmp_path)
    add_pages(harness, number)
    text = ask(search_app(harness.services()), "/", f"q=needle&num=50&lang={tag}").text
    assert form in text.replace(" <", "<")
    harness.store.close()
