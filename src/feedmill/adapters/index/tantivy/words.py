"""Builds the queries of the plain words of a search.

- A word is searched by all stems that it may have in the languages of the index. The best stem counts, and a rare stem counts no more
  than the usual one. Otherwise a stem that only one unusual text has would outweigh the word itself.
- Function words count little next to other words (``core.text.functionwords``).
- A run of a spaceless script is searched by its pairs of neighbouring characters (triples from Thai to Burmese), and by the phrase of its
  characters, which makes it exact. A Hangul word is searched by its pairs of syllables, since particles are written onto a noun.
- A word may be in the texts of links to a document instead of in the document itself. It counts less there.
- A word may be a part of a compound (``Antrag`` of ``Urlaubsantrag``). It counts less there, and not if the query means the word alone: if
  it is excluded, or has a plus.
- Likewise a word may be in the navigation of a page: its menus, and what else stands beside its main text.
- A text that is one word to a reader and several to the index (``3.11``) is a phrase.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tantivy import Occur, Query, Searcher

from feedmill.adapters.index.analysis import NAVIGATION_STEM, NAVIGATION_WORD, navigation_words
from feedmill.adapters.index.querywords import (
    FIELD_WEIGHTS,
    MAX_PHRASE_WORDS,
    iter_query_phrases,
    iter_query_words,
    list_run_grams,
    read_single,
)
from feedmill.adapters.index.stemming import COMPOUND, list_part_stems, list_query_stems
from feedmill.adapters.index.tantivy.schema import build_schema
from feedmill.core.text.analysis import gram_size, is_spaceless, list_characters, list_raw_words, split_words
from feedmill.core.text.functionwords import find_function_words
from feedmill.core.text.wordforms import FOLDED, MAX_REMEMBERED_CHARACTERS
from feedmill.model.query import Node
from feedmill.model.ranking import Ranking

OTHER_FIELDS_SHARE = 0.2
ANCHORS = "anchor_stems"
NAVIGATION = "tagged"
PLAIN = Ranking(function_words=1.0, anchors=1.0)
"""The ranking where only matches count."""
MAX_LANGUAGES = 40
MAX_KNOWN = 10_000
_MANY = 1_000


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query that is also one word in the index. ``raw`` is in lower case, ``weight`` below 1 for a function word."""

    raw: str
    folded: str
    weight: float


class WordQueries:
    """Builds the queries of the plain words of one search.

    Of the index it reads only how many documents hold a term, and which languages the documents have.
    """

    def __init__(self, searcher: Searcher, root: Node, ranking: Ranking | None = None) -> None:
        ranking = ranking or PLAIN
        self.searcher = searcher
        self._root = root
        self._weight = ranking.function_words
        self._anchors_weight = ranking.anchors
        self._navigation_weight = ranking.navigation
        self._compounds_weight = ranking.compounds
        self._known = _find_known(searcher)
        self._known.evict()

    @cached_property
    def words(self) -> tuple[QueryWord, ...]:
        """The plain words in the order of the query. A repeated word occurs as often as in the query."""
        functions = self.function_words
        return tuple(QueryWord(raw, FOLDED[raw], self._weight if FOLDED[raw] in functions else 1.0) for raw in self._raws)

    @cached_property
    def _raws(self) -> list[str]:
        return [raw for text in iter_query_words(self._root) for raw in (read_single(text),) if raw and not gram_size(raw)]

    @cached_property
    def function_words(self) -> frozenset[str]:
        """The function words of the query, folded."""
        return find_function_words((FOLDED[raw] for raw in self._raws), self.languages)

    @cached_property
    def spelt(self) -> tuple[QueryWord, ...]:
        """The words whose accents may count: the plain words and those of phrases."""
        raws = [raw for text in iter_query_phrases(self._root) for raw in list_raw_words(text) if FOLDED[raw] and not gram_size(raw)]
        return (*self.words, *(QueryWord(raw, FOLDED[raw], 1.0) for raw in raws))

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """The characters of the query's runs of spaceless scripts, run by run."""
        texts = (text for text in iter_query_words(self._root) if not text.isascii())
        raws = [raw for text in texts for raw in list_raw_words(text) if is_spaceless(raw)]
        return tuple("".join(list_characters(raw)) for raw in raws)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the index, that of most documents first."""
        return _list_languages(self.searcher)

    def count(self, field: str, word: str) -> int:
        """Counts the documents that hold a word in a field."""
        found = self._known.counts.get((field, word))
        if found is None:
            found = self.searcher.doc_freq(field, word)
            if len(word) <= MAX_REMEMBERED_CHARACTERS:
                self._known.counts[field, word] = found
        return found

    def is_held(self, field: str, word: str) -> bool:
        """Whether any document holds a word in a field. Words that none holds are left out, because each part of a query takes time."""
        return self.count(field, word) > 0

    @cached_property
    def _weights(self) -> dict[str, float]:
        return {word.folded: word.weight for word in self.words}

    def build(self, text: str, *, in_navigation: bool = True, in_compounds: bool = True) -> Query | None:
        """Returns the query of a plain word, or None for a text without words.

        Without ``in_navigation``, navigation does not count; without ``in_compounds``, words of which it is a part do not.
        """
        raw = read_single(text)
        if raw and not gram_size(raw):
            found = self._build_word(raw, in_navigation=in_navigation, in_compounds=in_compounds)
            return boosted(found, self._weights.get(FOLDED[raw], 1.0))
        if raw and (query := _build_gram_query(raw)) is not None:
            return self._with_others(query, self._list_anchor_grams(raw), self._list_navigation_grams(raw) if in_navigation else [])
        return self.build_phrase(text, in_navigation=in_navigation)

    def _build_word(self, raw: str, *, in_navigation: bool, in_compounds: bool) -> Query:
        key = raw, in_navigation, in_compounds, self._anchors_weight, self._navigation_weight, self._compounds_weight
        query = self._known.words.get(key)
        if query is None:
            anchors = self.list_stems(ANCHORS, raw, known_only=True)
            navigation = self._list_navigation_stems(raw) if in_navigation else []
            compounds = self.list_compounds("stems", raw) if in_compounds else []
            query = self._with_others(self.build_stem_query("stems", raw), anchors, navigation, compounds)
            if len(raw) <= MAX_REMEMBERED_CHARACTERS:
                self._known.words[key] = query
        return query

    def finds_nothing(self, text: str) -> bool:
        """Returns whether no document can match a plain word, because none holds a stem of it. False where that is not known at once."""
        raw = read_single(text)
        if not raw or gram_size(raw):
            return False
        is_nowhere = self._known.nowhere.get(raw)
        if is_nowhere is None:
            stems = list_query_stems(raw, self.languages)
            held = any(self.is_held(field, stem) for field in ("stems", ANCHORS) for stem in stems)
            is_nowhere = bool(stems) and not held and not self._list_navigation_stems(raw) and not self.list_compounds("stems", raw)
            if len(raw) <= MAX_REMEMBERED_CHARACTERS:
                self._known.nowhere[raw] = is_nowhere
        return is_nowhere

    def build_phrase(self, text: str, *, in_navigation: bool = True) -> Query | None:
        """Returns the query of consecutive words without stemming, or None for a text without words."""
        query = build_exact_query(text)
        words = split_words(text)[:MAX_PHRASE_WORDS] if in_navigation else []
        if query is None or not words:
            return query
        tagged = navigation_words(words, NAVIGATION_WORD)
        held = all(self.is_held(NAVIGATION, word) for word in tagged)
        return self._with_others(query, [], [in_field(NAVIGATION, tagged)] if held else [])

    def _with_others(self, query: Query, anchors: list[Query], navigation: list[Query], compounds: Sequence[Query] = ()) -> Query:
        """Returns a query of a document's own words, of its compounds, its link texts, or its navigation; the best one counts."""
        if not anchors and not navigation and not compounds:
            return query
        others = [*compounds, *(Query.boost_query(part, self._anchors_weight) for part in anchors)]
        others += [Query.boost_query(part, self._navigation_weight) for part in navigation]
        return Query.disjunction_max_query([query, *others], 0.0)

    def list_compounds(self, field: str, raw: str) -> list[Query]:
        """Returns the queries of a word as a part of compounds, by its stems that some document has so, with the weight of parts."""
        if not self.is_held(field, COMPOUND):
            return []
        found = {stem: count for stem in list_part_stems(raw, self.languages) if (count := self.count(field, stem))}
        # Compounds may be rarer than the word itself, which must not outweigh the lower weight.
        most = self._rarity(max((self.count(field, stem) for stem in list_query_stems(raw, self.languages)), default=0))
        return [
            boosted(in_field(field, [stem]), self._compounds_weight * min(1.0, most / self._rarity(count))) for stem, count in found.items()
        ]

    def _list_navigation_stems(self, raw: str) -> list[Query]:
        """Returns the queries of a word in navigation, by its stems that some document has there."""
        stems = navigation_words(list_query_stems(raw, self.languages), NAVIGATION_STEM)
        return [in_field(NAVIGATION, [stem]) for stem in stems if self.is_held(NAVIGATION, stem)]

    def _list_navigation_grams(self, raw: str) -> list[Query]:
        """Returns the query of a run in navigation. Returns nothing if no document holds it there."""
        grams = navigation_words(list_run_grams(raw), NAVIGATION_STEM)
        if not grams or not all(self.is_held(NAVIGATION, gram) for gram in grams):
            return []
        return [Query.boolean_query([(Occur.Must, in_field(NAVIGATION, [gram])) for gram in grams])]

    def _list_anchor_grams(self, raw: str) -> list[Query]:
        """Returns the query of a run in link texts, where the order of characters is unknown. Returns nothing if they do not hold it."""
        grams = list_run_grams(raw)
        if not grams or not all(self.count(ANCHORS, gram) for gram in grams):
            return []
        return [Query.boolean_query([(Occur.Must, in_field(ANCHORS, [gram])) for gram in grams])]

    def build_stem_query(self, field: str, raw: str) -> Query:
        """Returns the query of a word in lower case in a field of stems."""
        parts = self.list_stems(field, raw)
        return parts[0] if len(parts) == 1 else Query.disjunction_max_query(parts, OTHER_FIELDS_SHARE)

    def list_stems(self, field: str, raw: str, *, known_only: bool = False) -> list[Query]:
        """Returns a query for each stem that a word in lower case has in the index; at least one, unless ``known_only`` is set."""
        queries = self._known.stems.get((field, raw, known_only))
        if queries is None:
            queries = self._build_stem_queries(field, raw, known_only)
            if len(raw) <= MAX_REMEMBERED_CHARACTERS:
                self._known.stems[field, raw, known_only] = queries
        return queries

    def _build_stem_queries(self, field: str, raw: str, known_only: bool) -> list[Query]:
        stems = list_query_stems(raw, self.languages)
        if not stems:
            return [] if known_only else [Query.empty_query()]
        are_counted = known_only or len(stems) > 1
        found = {stem: count for stem in stems if (count := self.count(field, stem))} if are_counted else {}
        if not found and known_only:
            return []
        # With one stem, or with none in the index, there are no rarities to compare.
        if len(found) < 2:
            return [in_field(field, [next(iter(found), stems[0])])]
        # The score of a term contains its rarity. The factor replaces it by the rarity of the most frequent stem.
        most = self._rarity(max(found.values()))
        return [boosted(in_field(field, [stem]), most / self._rarity(count)) for stem, count in found.items()]

    def _rarity(self, count: int) -> float:
        # The inverse document frequency of BM25, as the engine computes it.
        return math.log(1.0 + max(self.searcher.num_docs - count + 0.5, 0.5) / (count + 0.5))


# A searcher always shows the same commit. Only one is cached: a searcher holds its files, which cannot be removed meanwhile.
@lru_cache(maxsize=1)
def _list_languages(searcher: Searcher) -> tuple[str, ...]:
    counted = searcher.terms_with_prefix("language", "", None, _MANY)
    return tuple(code for code, _ in sorted(counted, key=lambda pair: -pair[1])[:MAX_LANGUAGES])


@dataclass(slots=True)
class _TermCache:
    """Looked-up terms of one commit. Words recur in other queries, and each lookup reads the dictionaries of all segments."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    stems: dict[tuple[str, str, bool], list[Query]] = field(default_factory=dict)
    words: dict[tuple[str, bool, bool, float, float, float], Query] = field(default_factory=dict)
    """The queries of words. A request makes several queries of its words."""
    nowhere: dict[str, bool] = field(default_factory=dict)

    def evict(self) -> None:
        """Clears the cache when it is too large."""
        for cache in (self.counts, self.stems, self.words, self.nowhere):
            if len(cache) > MAX_KNOWN:
                cache.clear()


# A searcher always shows the same commit. Only one is cached: a searcher holds its files, which cannot be removed meanwhile. Threads share
# the cache: each operation on its dictionaries is atomic, and a lost entry is looked up again.
@lru_cache(maxsize=1)
def _find_known(_searcher: Searcher) -> _TermCache:
    return _TermCache()


def _build_gram_query(raw: str) -> Query | None:
    """Returns the query of a run, or None for a run that is too short to have neighbours."""
    grams = [in_field("stems", [gram]) for gram in list_run_grams(raw)]
    if not grams:
        return None
    # Pairs of neighbours may come from different places. The phrase of all characters excludes that, and adds no score.
    if is_spaceless(raw) and len(list_characters(raw)) > gram_size(raw):
        grams.append(Query.const_score_query(build_exact_query(raw) or Query.empty_query(), 0.0))
    return grams[0] if len(grams) == 1 else Query.boolean_query([(Occur.Must, gram) for gram in grams])


def build_exact_query(text: str) -> Query | None:
    """Returns the query of consecutive words without stemming, or None for a text without words."""
    words = split_words(text)[:MAX_PHRASE_WORDS]
    if words:
        return _in_word_fields(words)
    return Query.empty_query() if any(character.isalnum() for character in text) else None


def _in_word_fields(words: list[str]) -> Query:
    return Query.disjunction_max_query(
        [boosted(in_field(field, words), weight) for field, weight in FIELD_WEIGHTS.items()], OTHER_FIELDS_SHARE
    )


def in_field(field: str, words: list[str]) -> Query:
    """Returns the query of a word, or of consecutive words, in one field."""
    if len(words) == 1:
        return Query.term_query(build_schema(), field, words[0], "freq")
    return Query.phrase_query(build_schema(), field, list(words))


def boosted(query: Query, weight: float) -> Query:
    """Returns a query whose score is multiplied by a weight."""
    return query if weight == 1.0 else Query.boost_query(query, weight)
