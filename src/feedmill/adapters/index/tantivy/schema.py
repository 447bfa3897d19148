"""The fields of the Tantivy index, and how a document becomes an index entry.

No text is stored: results read their texts from the store. The fields are:

- The words of each part of a document, in a field for each part: for phrases and for searches in one part.
- The stems of all parts in one field, which finds and scores, since a word's weight is that of its whole document.
- The stems of the title and of headings once more, and the words with accents.
- The stems of the texts of links to the document, in their own field, so that link texts do not make a document longer.
- The stems of the parts of compounds, and of hyphenated words as they are written together, in the fields of stems of all parts and of the
  title, after a sign of their own.
- Terms for exact matches in raw fields, and numbers for filters, sorting and ranking in fast fields. Two of them hold the pagerank and the
  link rank and, above these, the halves of the fingerprint of the text.
- The words and stems of the navigation of a page, after signs of their own in the field of metadata words. So they make no document
  longer, and an index of the schema before is served meanwhile.
- Metadata of any name in one field: its words after a digest of their name, its numbers and dates as terms that sort. One JSON object
  serves sorting and another one counting.
- The values of the built-in facets, beside those of metadata: under their names in the object for counting, and as terms of their own.

The number of the schema is part of the value that names an index folder. A new schema gets a new folder, which is built while the old
one serves.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tantivy import Document, Index, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from feedmill.adapters.index.analysis import (
    NAVIGATION_STEM,
    NAVIGATION_WORD,
    AnalyzedText,
    lay_out_whole,
    list_accented,
    list_compound_stems,
    navigation_words,
    tagged_words,
)
from feedmill.adapters.index.stemming import COMPOUND, find_compound_stems, stems_of
from feedmill.core.ranking.builtinfacets import built_in_term, built_in_values
from feedmill.core.ranking.facets import counted_numbers, counted_texts
from feedmill.core.ranking.indexterms import (
    filetype_terms,
    link_terms,
    metadata_terms,
    path_term,
    site_terms,
    sort_keys,
    url_term,
    url_words,
)
from feedmill.core.text.fingerprints import find_fingerprint, join_fingerprint, split_fingerprint
from feedmill.core.text.typedvalues import text_number_terms, typed_terms
from feedmill.model.search import IndexDocument

SCHEMA_VERSION = 18
# Older schemas whose folders are served until they are rebuilt. A schema may stay here only as long as all fields are the same and the
# classes in them mean the same, so that access is decided, and documents are written, as in a new folder. Terms that it lacks are not
# found.
SERVED_VERSIONS = frozenset({10, 11, 12, 13, 14, 15, 16, 17})

WORD_FIELDS = ("title", "body", "words_of_url", "words_of_metadata")
COUNTED_FIELDS = ("stems", "title_stems", "heading_stems", "anchor_stems", "accented")
RAW_FIELDS = ("url", "site", "path", "metadata", "typed", "filetype", "links", "patterns", "datasource", "mimetype", "language", "access")
MAX_BODY_CHARACTERS = 10_000_000
MAX_METADATA_VALUES = 4_000
# a power of two, so that samples halve and double
SAMPLES = 65_536
# if headings are a large part of a text, a word in a heading says little more than another word
HEADINGS_CHARACTERS, HEADINGS_SHARE = 300, 50


RANK_BITS = 8
"""The fields of pagerank and link rank hold halves of the fingerprint of the text above these bits. Fields of their own would be another
schema."""

MAX_RANK = (1 << RANK_BITS) - 1
RANK_FIELDS = ("pagerank", "link_rank")
"""The fields that hold a rank and half of a fingerprint each."""

TAGGED = "words"
"""The name of the analyzer of all text fields. It only splits at blanks: ``adapters/index/analysis`` has done all other analysis before.

A filter for long words would take a tenth of the time of a word, so there are none before it.
"""


def register_analyzer(index: Index) -> None:
    """Registers the analyzer with an open index; the engine forgets it when it closes."""
    index.register_tokenizer(TAGGED, TextAnalyzerBuilder(Tokenizer.whitespace()).build())


@cache
def build_schema() -> Schema:
    """Builds the schema, and returns the same one at each call."""
    builder = SchemaBuilder()
    builder.add_integer_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("access_class", fast=True)
    builder.add_integer_field("date", indexed=True, fast=True)
    builder.add_unsigned_field("pagerank", fast=True)
    builder.add_unsigned_field("link_rank", fast=True)
    builder.add_unsigned_field("sample", fast=True)
    for name in WORD_FIELDS:
        builder.add_text_field(name, tokenizer_name=TAGGED)
    for name in COUNTED_FIELDS:
        builder.add_text_field(name, tokenizer_name=TAGGED, index_option="freq")
    for name in RAW_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("tagged", tokenizer_name=TAGGED)
    for name in ("sort", "facets", "numbers"):
        builder.add_json_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def _cut_headings(headings: str, characters: int) -> str:
    limit = HEADINGS_CHARACTERS + characters // HEADINGS_SHARE
    return headings if len(headings) <= limit else headings[:limit].rpartition(" ")[0]


def class_term(access_class: int) -> str:
    """Returns the term of a class: few different characters in few positions, so that the engine finds thousands of terms quickly."""
    return f"{access_class:x}"


def sample_of(key: int) -> int:
    """Returns the position of a document in random samples, from 0 to below ``SAMPLES``. It is always the same for one document."""
    # Multiplicative hashing: the factor is the prime next to 2**32 / the golden ratio, and scatters neighbouring keys over 32 bits. The
    # product with SAMPLES, shifted by 32, scales them to the range.
    return (key * 2_654_435_761 & 0xFFFF_FFFF) * SAMPLES >> 32


def read_fingerprint(pagerank: int, link_rank: int) -> int:
    """Returns the fingerprint of a text by the values of the rank fields, 0 if it has none."""
    return join_fingerprint(pagerank >> RANK_BITS, link_rank >> RANK_BITS)


def _list_compounds(document: IndexDocument, texts: Sequence[str], parts: Sequence[AnalyzedText]) -> list[str]:
    """Returns the stems of the compounds of each text, "" where nothing is divided."""
    compounds = find_compound_stems(document.language, len(document.body))
    if compounds is None:
        return [""] * len(texts)
    return [list_compound_stems(text, part.words, compounds) for text, part in zip(texts, parts, strict=True)]


def make_entry(document: IndexDocument) -> Document:
    """Makes the engine's form of a document. Errors: ValueError when a number does not fit its field."""
    typed = typed_terms(document.metadata) if document.has_values else []
    text_numbers = text_number_terms((document.title, document.body), document.language) if document.has_values else []
    stems = stems_of(document.language)
    metadata = [value for _, value in document.list_text_metadata()[:MAX_METADATA_VALUES]]
    texts = (document.title, document.body[:MAX_BODY_CHARACTERS], url_words(document.url), *metadata)
    title, body, url, *values = parts = [lay_out_whole(text, stems) for text in texts]
    held = _list_compounds(document, texts, parts)
    fields: dict[str, Any] = {
        "key": document.key,
        "access_class": document.access_class,
        "access": class_term(document.access_class),
        "sample": sample_of(document.key),
        "title": title.words,
        "body": body.words,
        "words_of_url": url.words,
        "title_stems": [title.stems, *([COMPOUND, held[0]] if held[0] else [])],
        # the title twice, so that a short query's match in it is not lost among long texts before the ranking
        "stems": [title.stems, *(part.stems for part in parts), *([COMPOUND, held[0], *held] if any(held) else [])],
        "accented": list_accented((title, body, *values)),
        "url": url_term(document.url),
        "site": site_terms(document.url),
        "path": path_term(document.url),
        "filetype": filetype_terms(document.url, document.mimetype),
        "links": link_terms(document.links),
        "patterns": list(document.patterns),
        "typed": [*typed, *text_numbers],
        "datasource": document.datasource,
        "mimetype": document.mimetype,
    }
    if document.headings:
        fields["heading_stems"] = lay_out_whole(_cut_headings(document.headings, len(document.body)), stems).stems
    if document.anchors:
        fields["anchor_stems"] = lay_out_whole("\n".join(document.anchors), stems).stems
    high, low = split_fingerprint(find_fingerprint(document.body))
    fields["pagerank"] = document.pagerank | high << RANK_BITS
    if document.link_rank or low:
        fields["link_rank"] = document.link_rank | low << RANK_BITS
    if values:
        fields["words_of_metadata"] = [value.words for value in values]
    tagged: list[str] = []
    if document.navigation:
        navigation = lay_out_whole(document.navigation[:MAX_BODY_CHARACTERS], stems)
        tagged = [
            " ".join(navigation_words(navigation.words.split(), NAVIGATION_WORD)),
            " ".join(navigation_words(navigation.stems.split(), NAVIGATION_STEM)),
        ]
    built_in = built_in_values(document.url, document.mimetype, document.datasource, document.language)
    fields["metadata"] = [built_in_term(name, value) for name, value in built_in.items()]
    fields["facets"] = {name: [value] for name, value in built_in.items()}
    if document.metadata:
        fields["metadata"] += metadata_terms(document.metadata)
        tagged += [" ".join(tagged_words(name, value)) for name, value in document.metadata[:MAX_METADATA_VALUES]]
        counted = document.list_facet_metadata()
        fields["facets"] |= counted_texts(counted)
        fields["numbers"] = counted_numbers(typed_terms(counted) if document.has_values and document.facet_metadata is not None else typed)
    if sorted_by := document.metadata if document.sort_metadata is None else document.sort_metadata:
        fields["sort"] = sort_keys(sorted_by)
    if tagged:
        fields["tagged"] = tagged
    if document.language:
        fields["language"] = document.language
    if document.last_modified is not None:
        fields["date"] = int(document.last_modified.timestamp())
    # with the schema, a value of a wrong type fails here and affects one document; at the commit it would fail the whole batch
    return Document.from_dict(fields, build_schema())
