"""Whatever stands in a document or a query, the functions that see it return something: a fault would cost more than one document."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.adapters.extract.clean import clean_line, clean_text, strip_controls
from feedmill.adapters.extract.language import detect_language
from feedmill.adapters.index.analysis import highlight_terms, lay_out_whole, list_accented, tagged_words
from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.adapters.index.stemming import LANGUAGES, list_query_stems, stem, stems_of
from feedmill.adapters.index.tantivy.schema import make_entry
from feedmill.core.documents.anchors import combine_link_texts, list_link_texts
from feedmill.core.query.builder import read_languages
from feedmill.core.query.fields import read_fields
from feedmill.core.query.inmeta import read_days, read_inmeta
from feedmill.core.query.language import parse_query
from feedmill.core.query.matching import loosen
from feedmill.core.query.sites import read_site
from feedmill.core.query.terms import read_words
from feedmill.core.query.text import render_query
from feedmill.core.ranking import indexterms
from feedmill.core.ranking.concepts import find_alike, name_group, weigh_words
from feedmill.core.ranking.facets import clean_value, counted_numbers, counted_texts
from feedmill.core.text import analysis
from feedmill.core.text.dates import parse_date, parse_iso
from feedmill.core.text.phrases import complete_from
from feedmill.core.text.plainwords import is_plain, iter_words, without_accents
from feedmill.core.text.textblob import decode_headings, decode_link_urls, decode_quotable_text, decode_text, encode_text
from feedmill.core.text.typedvalues import read_day, text_number_terms, typed_terms
from feedmill.core.text.units import find_leading_unit, find_unit, find_word_unit
from feedmill.core.text.wildcards import compile_wildcard, fold_wildcard, is_wildcard, list_pieces
from feedmill.core.urls.digests import copy_id, digest_of_url, find_copied
from feedmill.core.urls.links import resolve_links
from feedmill.core.urls.patternrules import split_url
from feedmill.core.urls.targets import parse_target
from feedmill.core.urls.validation import check_url, host_of
from feedmill.model.errors import BadRequest
from feedmill.model.extraction import Link
from feedmill.model.search import Match
from tests.anytext import any_numbers, any_query, any_text
from tests.builders.indexdocuments import make_index_document
from tests.thorough import count_examples

_METADATA = st.lists(st.tuples(any_text(4), any_numbers() | any_text(6)), max_size=5).map(tuple)
_MANY = settings(max_examples=count_examples(100))
_DATES = st.lists(
    st.sampled_from(list("0123456789:-+/. ,TZ"))
    | st.sampled_from(["2024", "9999", "0000", "12", "31", "Jan", "Mon, ", " GMT", "+14:00", "-99:99", "PST", "AM", "\u0663", "9" * 20]),
    max_size=14,
).map("".join)  # fmt: skip


def _is_text(text: object) -> bool:
    """Whether a value is text that can be stored and sent."""
    return isinstance(text, str) and text.encode("utf-8").decode("utf-8") == text


@_MANY
@given(_DATES | any_text())
def test_dates_of_any_text_are_times_or_nothing(text: str) -> None:
    for day_first in (False, True):
        moment = parse_date(text, day_first=day_first)
        assert moment is None or (moment.tzinfo is not None and isinstance(moment.timestamp(), float))
    moment = parse_iso(text)
    assert moment is None or moment.tzinfo is not None
    read_day(text)
    read_days(text, text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-14:00",
            "9999-12-31T23:59:59.999999-23:59",
            "0001-01-01",
            "1 Jan 0001 00:00 +1400",
        ),
        *("31 Dec 9999 23:59:59 -2359", "31 Dec 9999 23:59:59 -9999", "Mon, 1 Jan 2024 25:61:61 GMT", "1 Jan 2024 00:00 +9999", "9" * 90),
        *(
            "2024-W99-9",
            "99999-01-01",
            "00000101",
            "1/1/" + "9" * 40,
            "Jan 1 " + "0" * 60,
            "1e400 Jan 2024",
            "12:30:99999999999999 Jan 1 2024",
        ),
    ],
)
def test_dates_at_the_ends_of_time_are_times_or_nothing(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or isinstance(moment.timestamp(), float)
    assert isinstance(typed_terms((("day", text),)), list)
    read_inmeta(f"day:{text}..")


@_MANY
@given(any_text())
def test_words_of_any_text_are_split_and_folded(text: str) -> None:
    assert _is_text(analysis.lay_out(text))
    assert analysis.lay_out(text).split() == [word for word in analysis.lay_out(text).split(" ") if word]
    assert len(analysis.fold_in_place(text)) == len(text)
    blank = analysis.blank_out(text)
    assert blank is None or len(blank) == len(text)
    for word, start, end in analysis.fold_words(text):
        assert word
        assert 0 <= start < end <= len(text)
    for piece, size in analysis.split_runs(text):
        analysis.list_grams(piece, max(size, 1))
    for plain in iter_words(text):
        is_plain(plain.folded)
        without_accents(plain.folded)
    assert all(map(_is_text, (analysis.fold_value(text), strip_controls(text), clean_text(text, 100), clean_line(text, 100))))
    assert len(clean_text(text, 100)) <= 100
    detect_language(text)
    for find in (find_unit, find_word_unit, find_leading_unit):
        find(text)


@_MANY
@given(any_text(), st.sampled_from([None, "zz", *LANGUAGES]))
def test_stems_of_any_text_are_words_of_an_index(text: str, language: str | None) -> None:
    laid = lay_out_whole(text, stems_of(language))
    assert all(map(_is_text, (laid.words, laid.stems, laid.accented)))
    list_accented([laid, laid])
    for word in analysis.list_raw_words(text):
        if not analysis.gram_size(word):
            assert all(one and len(one.encode()) <= 100 for one in stem(word, language or ""))
            list_query_stems(word, ["en", "cs", "ar"])


@_MANY
@given(any_text(), any_numbers() | any_text(), any_text(6), _METADATA, st.lists(any_text(6), max_size=3))
def test_index_entry_of_any_document_is_made(
    title: str, body: str, url: str, metadata: tuple[tuple[str, str], ...], links: list[str]
) -> None:
    for language in (None, "de"):
        document = make_index_document(
            url=url, access_class=1, title=title, body=body, metadata=metadata, mimetype=url, language=language,
            last_modified=datetime(2024, 1, 1, tzinfo=UTC), pagerank=98, links=links, headings=title, anchors=links,
        )  # fmt: skip
        make_entry(document)
    text_number_terms((title, body), "fr")
    assert all(map(_is_text, counted_texts(metadata)))
    counted_numbers(typed_terms(metadata))
    for name, value in metadata:
        tagged_words(name, value)
        clean_value(value)


@_MANY
@given(any_text(), st.text(max_size=20))
def test_url_functions_take_any_text(text: str, mimetype: str) -> None:
    for url in (text, f"http://{text}", f"http://host/{text}", f"http://[{text}]/"):
        assert all(
            map(_is_text, (*indexterms.site_terms(url), *indexterms.info_terms(url), indexterms.path_term(url), indexterms.url_words(url)))
        )
        indexterms.split_site(url)
        indexterms.filetype_terms(url, mimetype)
        split_url(url)
        host_of(url)
        check_url(url, require_fqdn=True)
        digest_of_url(url)
        find_copied(copy_id(url))
        read_site(url, {})
        try:
            parse_target(url)
        except BadRequest:
            continue
        resolve_links(url, [Link(url=text, text=mimetype), Link(url=f"//{text}", text=""), Link(url=f"?{text}", text="")])


@_MANY
@given(any_text(), any_text(), any_query())
def test_links_snippets_and_groups_of_any_text(text: str, title: str, query: str) -> None:
    combine_link_texts([text, title, text])
    list_link_texts(title, [Link(url=text, text=title), Link(url=title, text=text)])
    complete_from([title, text], query)
    vectors = weigh_words([text, title, f"{text} {title}"], query)
    find_alike(vectors)
    name_group([title, text], [text, title], [title], query)
    blob = encode_text(text, [Link(url=title, text=text)], title)
    assert decode_text(blob) is not None
    decode_quotable_text(blob)
    decode_headings(blob)
    decode_link_urls(blob)
    root = parse_query(query).root
    snippet = FormsHighlighter(root, ("en", "de")).make_snippet(f"{text} {query} {title} " * 3)
    assert snippet is not None


@_MANY
@given(any_query() | any_text())
def test_queries_of_any_text_are_read_and_written(text: str) -> None:
    typed = parse_query(text)
    assert isinstance(render_query(typed.root), str)
    highlight_terms(typed.root)
    read_words(typed.root)
    for match in Match:
        loosen(typed.root, match)
    read_inmeta(text)
    read_languages(text)
    read_fields(text, is_partial=True)
    read_fields(text, is_partial=False)
    if is_wildcard(text):
        list_pieces(text)
        compile_wildcard(fold_wildcard(text))
