"""The parts of a score other than words: one query for each part, for the best matches only.

Each part is a sum of scores on the same scale as the score of the words, times its weight.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tantivy import Occur, Query

from feedmill.adapters.index.analysis import ONLY_ACCENTED
from feedmill.adapters.index.querywords import MAX_PHRASE_WORDS
from feedmill.adapters.index.tantivy.query import build_filter, build_keys
from feedmill.adapters.index.tantivy.schema import build_schema
from feedmill.adapters.index.tantivy.words import ANCHORS, QueryWord, WordQueries, boosted, in_field
from feedmill.core.text.wordforms import ACCENTED
from feedmill.model.ranking import Ranking, ScoreBias

MAX_WORDS = 50
MAX_PARTS = 300
NEAR = 3


def build_parts(word_queries: WordQueries, ranking: Ranking) -> dict[str, list[Query]]:
    """Builds the queries of the parts by name. A part without any query has an empty list."""
    exact, url, metadata = (_weighed(word_queries, one) for one in (ranking.exact, ranking.url, ranking.metadata))
    return {
        "title": [*_build_stem_queries(word_queries, "title_stems", ranking.title), *_build_compound_queries(word_queries, ranking.title)],
        "headings": _build_stem_queries(word_queries, "heading_stems", ranking.headings),
        "anchors": _build_stem_queries(word_queries, ANCHORS, ranking.anchors),
        "exact": [boosted(part, weight) for word, weight in exact for part in _in_text(word_queries, [word.folded])],
        "proximity": list(_build_pair_queries(word_queries, ranking)),
        "url": _build_queries(word_queries, "words_of_url", [(word.folded, weight) for word, weight in url]),
        "metadata": _build_queries(word_queries, "words_of_metadata", [(word.folded, weight) for word, weight in metadata]),
        "accents": list(_build_accent_queries(word_queries, ranking.accents)),
        "characters": _build_queries(
            word_queries, "stems", [(one, ranking.characters) for one in _characters(word_queries) if ranking.characters]
        ),
    }


def ask_bias(bias: ScoreBias | None) -> tuple[list[Query], list[Query]]:
    """Builds the queries of the documents to raise and to lower, each with its weight."""
    raising: list[Query] = []
    lowering: list[Query] = []
    for node, weight in bias.parts if bias is not None else ():
        (raising if weight > 0 else lowering).append(Query.const_score_query(build_filter(node), float(abs(weight))))
    return raising, lowering


def among(keys: Sequence[int], parts: Sequence[Query]) -> Query:
    """Builds the query of parts over some documents alone.

    Each part is optional over all documents, and the chosen documents are required in addition. This makes the engine look up the chosen
    documents in each part. Several optional parts in one query would make the engine build a union first and walk it through thousands of
    documents around every chosen one. A term set would be looked up through an automaton, which takes six times as long for a hundred keys.
    """
    every = Query.const_score_query(Query.all_query(), 0.0)
    optional = [Query.boolean_query([(Occur.Must, every), (Occur.Should, part)]) for part in parts[:MAX_PARTS]]
    clauses = [Query.const_score_query(build_keys(keys), 0.0), *optional]
    return Query.boolean_query([(Occur.Must, clause) for clause in clauses])


def _build_stem_queries(word_queries: WordQueries, field: str, weight: float) -> list[Query]:
    """Returns the queries of the words in a field of stems. Words that no document has there are left out, since every part takes time."""
    weighed = _weighed(word_queries, weight)
    return [boosted(part, weight) for word, weight in weighed for part in word_queries.list_stems(field, word.raw, known_only=True)]


def _build_compound_queries(word_queries: WordQueries, weight: float) -> list[Query]:
    """Returns the queries of the words as parts of compounds in the title."""
    weighed = _weighed(word_queries, weight)
    return [boosted(part, weight) for word, weight in weighed for part in word_queries.list_compounds("title_stems", word.raw)]


def _build_queries(word_queries: WordQueries, field: str, weighed: Sequence[tuple[str, float]]) -> list[Query]:
    return [boosted(in_field(field, [word]), weight) for word, weight in weighed if word_queries.is_held(field, word)]


def _weighed(word_queries: WordQueries, weight: float) -> list[tuple[QueryWord, float]]:
    """Returns each different plain word once, with its weight times how often it is in the query."""
    return _weigh(word_queries.words if weight else (), weight)


def _weigh(words: Sequence[QueryWord], weight: float) -> list[tuple[QueryWord, float]]:
    counts: dict[str, tuple[QueryWord, float]] = {}
    for word in words:
        before = counts[word.raw][1] if word.raw in counts else 0.0
        counts[word.raw] = (word, before + weight * word.weight)
    return list(counts.values())[:MAX_WORDS]


def _build_accent_queries(word_queries: WordQueries, weight: float) -> Iterator[Query]:
    """Yields each word as spelled in the query: with its accents, or without them if some documents have it only with accents."""
    for word, weight_of_word in _weigh(word_queries.spelt if weight else (), weight):
        if accented := ACCENTED[word.raw]:
            yield from _build_queries(word_queries, "accented", [(accented, weight_of_word)])
        elif word_queries.is_held("accented", mark := ONLY_ACCENTED + word.folded):
            others = (Occur.MustNot, in_field("accented", [mark]))
            for part in _in_text(word_queries, [word.folded]):
                yield boosted(Query.boolean_query([(Occur.Must, part), others]), weight_of_word)


def _build_pair_queries(word_queries: WordQueries, ranking: Ranking) -> Iterator[Query]:
    """Yields neighbouring words of the query that are close to each other, skipping function words between them."""
    telling = [word for word in word_queries.words[:MAX_WORDS] if word.weight >= 1.0]
    pairs = dict.fromkeys((one.folded, other.folded) for one, other in pairwise(telling) if one.folded != other.folded)
    for pair in pairs if ranking.proximity else ():
        for part in _in_text(word_queries, list(pair)):
            yield boosted(part, ranking.proximity)


def _in_text(word_queries: WordQueries, words: list[str]) -> list[Query]:
    fields = [field for field in ("title", "body") if all(word_queries.is_held(field, word) for word in words)]
    if len(words) == 1:
        return [in_field(field, words) for field in fields]
    return [Query.phrase_query(build_schema(), field, list(words), slop=NEAR) for field in fields]


def _characters(word_queries: WordQueries) -> list[str]:
    """Returns the single characters of the query's runs from U+3000 on: Han and kana, and a few Burmese letters."""
    return list(dict.fromkeys(one for run in word_queries.runs for one in run if one >= "\u3000"))[:MAX_PHRASE_WORDS]
