"""The index in memory: plain dictionaries that keep the same promises as an engine, for tests and for reading what they are.

It scans every document at every search. A score counts how often the words stand in each field, weighted as the engine's fields are.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from feedmill.adapters.index import analysis
from feedmill.adapters.index.analysis import lay_out_whole, tagged_words
from feedmill.adapters.index.highlighting import seek
from feedmill.adapters.index.memoryvocabulary import MemoryVocabulary
from feedmill.adapters.index.sorting import RELEVANT
from feedmill.adapters.index.stemming import list_query_stems, stems_of
from feedmill.adapters.index.words import FIELD_WEIGHTS, read_single
from feedmill.core.analysis import fold_value, gram_size, is_spaceless, list_grams, split_words
from feedmill.core.biasing import WORDLESS_SCORE, bias_factor, biased
from feedmill.core.facets import column_of, counted_numbers, counted_texts, merge_spellings, order_ranges, order_values, range_ends
from feedmill.core.indexterms import (
    filetype_term,
    filetype_terms,
    info_terms,
    link_terms,
    metadata_terms,
    name_term,
    path_term,
    site_terms,
    sort_keys,
    split_site,
    start_term,
    url_term,
    url_words,
    value_term,
)
from feedmill.core.patternsets import pattern_term
from feedmill.core.ranking import HOLDS_ALL_BONUS, freshness_factor
from feedmill.core.snippets import Sought
from feedmill.core.typedvalues import (
    DATE,
    NUMBER,
    first_second,
    is_within,
    last_second,
    name_digest,
    numbers_of_text,
    sortable,
    typed_terms,
    typed_values,
)
from feedmill.core.wildcards import compile_wildcard, fold_wildcard, is_wildcard
from feedmill.model.access import ClassSet
from feedmill.model.errors import Conflict
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import (
    And,
    DateRange,
    Everything,
    FileType,
    Info,
    InText,
    InTitle,
    InUrl,
    Language,
    LinksTo,
    MetaContains,
    MetaDates,
    MetaEquals,
    MetaExists,
    MetaNumbers,
    MetaStarts,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Related,
    Restriction,
    Site,
    Some,
    UnderPattern,
    Wildcard,
    Word,
)
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.search import Hit, Hits, IndexDocument, Sort


@dataclass(frozen=True, slots=True)
class _Entry:
    document: IndexDocument
    words: dict[str, list[str]]
    terms: frozenset[str]

    @classmethod
    def of(cls, document: IndexDocument) -> "_Entry":
        texts = {
            "title": document.title,
            "body": document.body,
            "words_of_url": url_words(document.url),
            "words_of_metadata": "\n".join(value for _, value in document.metadata),
        }
        told = "\n".join(document.anchors)
        stems = [lay_out_whole(text, stems_of(document.language)).stems.split() for text in (*texts.values(), told)]
        words = {name: split_words(text) for name, text in texts.items()} | {"stems": [stem for part in stems for stem in part]}
        terms = {f"site {term}" for term in site_terms(document.url)} | {f"metadata {term}" for term in metadata_terms(document.metadata)}
        return cls(document, words, frozenset(terms))


class MemoryIndex:
    """Searches what its writer committed. May be used from several threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: dict[int, _Entry] = {}
        self._commits = 0
        self._lock = threading.Lock()

    def search(
        self,
        query: Node,
        access: ClassSet,
        *,
        start: int,
        num: int,
        sort: Sort | None = None,
        bias: ScoreBias | None = None,
        explains: bool = False,
    ) -> Hits:
        """Finds documents that match and that the asker may see, best first or as the sort says, the lower key first among equals."""
        scored = [
            Hit(key=key, score=score, parts=(("words", score),) if explains else ())
            for key, entry in sorted(self._entries.items())
            if entry.document.access_class in access.permitted and (score := _score(query, entry)) is not None
        ]
        if bias is not None:
            scored = [
                replace(hit, score=(hit.score or WORDLESS_SCORE) * _bias_of(self._entries[hit.key], bias, self._clock())) for hit in scored
            ]
        scored.sort(key=lambda hit: -hit.score)
        if sort is not None:
            scored = self._sort(scored, sort)
        return Hits(hits=tuple(scored[max(start, 0) :][: max(num, 0)]), total=len(scored), is_exact=True)

    def _sort(self, hits: list[Hit], sort: Sort) -> list[Hit]:
        valued = [(_value_of(self._entries[hit.key].document, sort.name), hit) for hit in hits[: None if sort.is_whole else RELEVANT]]
        having = [(value, hit) for value, hit in valued if value is not None]
        having.sort(key=lambda pair: pair[0], reverse=sort.is_descending)
        return [hit for _, hit in having] + [hit for value, hit in valued if value is None]

    def list_by_key(self, query: Node, access: ClassSet, *, after: int, num: int) -> Hits:
        """Lists documents that match and that the asker may see by their keys, those behind one."""
        found = self.search(query, access, start=0, num=len(self._entries))
        keys = sorted(hit.key for hit in found.hits if hit.key > after)
        return Hits(hits=tuple(Hit(key=key, score=0.0) for key in keys[: max(num, 0)]), total=found.total, is_exact=True)

    def count_facets(self, query: Node, access: ClassSet, facets: Sequence[Facet]) -> tuple[FacetCounts, ...]:
        """Counts facets over all documents that match and that the asker may see."""
        matching = [self._entries[hit.key].document for hit in self.search(query, access, start=0, num=len(self._entries)).hits]
        return tuple(_count_facet(facet, matching) for facet in facets)

    @property
    def vocabulary(self) -> MemoryVocabulary:
        """The words of the index as it is now."""
        entries = self._entries

        def find(query: Node, access: ClassSet) -> list[IndexDocument]:
            return [entries[hit.key].document for hit in self.search(query, access, start=0, num=len(entries)).hits]

        return MemoryVocabulary([entry.document for entry in entries.values()], find)

    def terms(self, query: Node) -> tuple[str, ...]:
        """Gives the words and phrases that a query would highlight."""
        return analysis.highlight_terms(query)

    def seek(self, query: Node) -> Sought:
        """Gives what a query highlights, its words in all the forms that it finds."""
        return seek(query, sorted({entry.document.language or "" for entry in self._entries.values()}))

    def fold(self, text: str) -> list[tuple[str, int, int]]:
        """Splits a text as the index does."""
        return analysis.fold(text)

    def is_visible(self, token: str) -> bool:
        """Whether the commit is there, which it is as soon as there was one."""
        return not token or int(token) <= self._commits

    def count(self) -> int:
        """Counts documents in the index."""
        return len(self._entries)

    def take(self, changes: dict[int, IndexDocument | None]) -> str:
        """Applies a batch, None for a removal, and gives its token."""
        made = {key: _Entry.of(document) for key, document in changes.items() if document is not None}
        with self._lock:
            kept = {key: entry for key, entry in self._entries.items() if key not in changes}
            self._entries = kept | made
            self._commits += 1
            return str(self._commits)


class MemoryWriter:
    """Writes into a ``MemoryIndex``."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._changes: dict[int, IndexDocument | None] | None = {}

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents, each replacing the earlier one of its key."""
        self._batch.update((document.key, document) for document in documents)

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""
        self._batch.update((key, None) for key in keys)

    def commit(self) -> str:
        """Makes all of it visible at once."""
        token = self._index.take(self._batch)
        self._changes = {}
        return token

    def close(self) -> None:
        """Forgets what was not committed."""
        self._changes = None

    @property
    def _batch(self) -> dict[int, IndexDocument | None]:
        if self._changes is None:
            raise Conflict("the index writer is closed")
        return self._changes


def _value_of(document: IndexDocument, name: str) -> str | None:
    if name:
        return sort_keys(document.metadata).get(name_digest(fold_value(name)))
    return None if document.last_modified is None else sortable(document.last_modified.timestamp())


def _count_facet(facet: Facet, documents: Sequence[IndexDocument]) -> FacetCounts:
    if not facet.ranges:
        column = name_digest(fold_value(facet.name))
        texts = [text for document in documents for text in counted_texts(document.metadata).get(column, ())]
        return FacetCounts(facet=facet, values=order_values(facet, merge_spellings((text, 1) for text in texts)))
    kept = [counted_numbers(typed_terms(document.metadata)).get(column_of(facet), ()) for document in documents]
    ends = [range_ends(facet, wanted) for wanted in facet.ranges]
    counts = [sum(any(is_within(number, low, high) for number in numbers) for numbers in kept) for low, high in ends]
    return FacetCounts(facet=facet, values=order_ranges(facet, counts))


def _bias_of(entry: _Entry, bias: ScoreBias, now: float) -> float:
    date = entry.document.last_modified
    fresh = freshness_factor(None if date is None else int(date.timestamp()), biased(Ranking(), bias), now)
    return fresh * bias_factor(sum(weight for node, weight in bias.parts if _match(node, entry) is not None))


# --- scoring --------------------------------------------------------------------------------------------------------------------

STEM_WEIGHT = 0.4
_NO_DEMAND = -1.0
"""What a part without words scores: it asks for nothing."""


def _score(root: Node, entry: _Entry) -> float | None:
    """Returns the score of a match, None for no match."""
    score = _match(root, entry)
    return None if score is None or score == _NO_DEMAND else score


def _match(node: Node, entry: _Entry) -> float | None:
    match node:
        case Word(text):
            return _match_word(text, entry)
        case Phrase(text):
            return _match_words(text, entry, FIELD_WEIGHTS)
        case Wildcard(text):
            return _match_pieces(text, entry, FIELD_WEIGHTS)
        case Everything():
            return 0.0
        case And(parts):
            return _match_all(parts, entry)
        case Or(parts):
            return _match_any(parts, entry)
        case Some(parts):
            some, every = _match_any(parts, entry), _match_all(parts, entry)
            return some if some is None or every is None or some == _NO_DEMAND else some + HOLDS_ALL_BONUS
        case Not(part):
            score = _match(part, entry)
            return _NO_DEMAND if score == _NO_DEMAND else _when(score is None)
        case _:
            return _match_restriction(node, entry)


def _match_restriction(node: Restriction, entry: _Entry) -> float | None:
    document = entry.document
    match node:
        case InUrl(text):
            return _match_place(text, entry, "words_of_url")
        case InTitle(text):
            return _match_place(text, entry, "title")
        case InText(text):
            return _match_place(text, entry, "body")
        case Site(value):
            return _match_site(value, entry)
        case Language(code):
            return _when(document.language == code)
        case Info(url):
            return _when(url_term(document.url) in info_terms(url))
        case Related():
            return None
        case LinksTo(url):
            return _when(bool(set(link_terms(document.links)).intersection(info_terms(url))))
        case FileType(ending):
            return _when(filetype_term(ending) in filetype_terms(document.url, document.mimetype))
        case DateRange(first, last):
            date = document.last_modified
            return _when(date is not None and is_within(date.timestamp(), first_second(first), last_second(last)))
        case NumberRange(low, high):
            numbers = numbers_of_text(document.title) + numbers_of_text(document.body)
            return _when(any(is_within(number, low, high) for number in numbers))
        case UnderPattern(pattern):
            return _when(pattern_term(pattern) in document.patterns)
        case _:
            return _when(_holds_metadata(node, entry))


_Metadata = MetaEquals | MetaExists | MetaStarts | MetaContains | MetaNumbers | MetaDates


def _holds_metadata(node: _Metadata, entry: _Entry) -> bool:
    match node:
        case MetaEquals(name, value):
            return f"metadata {value_term(name, value)}" in entry.terms
        case MetaExists(name):
            return f"metadata {name_term(name)}" in entry.terms
        case MetaStarts(name, start):
            return any(term.startswith(f"metadata {start_term(name, start)}") for term in entry.terms)
        case MetaContains(name, text, is_prefix):
            asked = tagged_words(name, text)
            return any(_holds_run(tagged_words(*pair), asked, is_prefix=is_prefix) for pair in entry.document.metadata)
        case MetaNumbers(name, low, high):
            return _holds_typed(entry, NUMBER, name, low, high)
        case MetaDates(name, first, last):
            return _holds_typed(entry, DATE, name, first_second(first), last_second(last))


def _holds_run(words: list[str], run: list[str], *, is_prefix: bool) -> bool:
    if not run:
        return False
    if not is_prefix:
        return _count_runs(words, run) > 0
    starts = range(len(words) - len(run) + 1)
    return any(words[at : at + len(run) - 1] == run[:-1] and words[at + len(run) - 1].startswith(run[-1]) for at in starts)


def _holds_typed(entry: _Entry, kind: str, name: str, low: float | None, high: float | None) -> bool:
    wanted = (fold_value(name), kind)
    return any(wanted == (found, of) and is_within(number, low, high) for found, of, number in typed_values(entry.document.metadata))


def _match_word(text: str, entry: _Entry) -> float | None:
    """Matches a plain word as it is, else by its stems, which count for less; a Hangul word by its pairs of syllables."""
    exact, raw = _match_words(text, entry, FIELD_WEIGHTS), read_single(text)
    if exact is not None or not raw or is_spaceless(raw):
        return exact
    stems = entry.words["stems"]
    if size := gram_size(raw):
        return STEM_WEIGHT if all(gram in stems for gram in list_grams(raw, size)) else None
    asked = list_query_stems(raw, [entry.document.language or ""])
    count = sum(1 for stem in stems if stem in asked)
    return STEM_WEIGHT * count if count else None


def _match_place(text: str, entry: _Entry, name: str) -> float | None:
    match_terms = _match_pieces if is_wildcard(text) else _match_words
    return match_terms(text, entry, {name: 0.0})


def _match_pieces(text: str, entry: _Entry, weights: dict[str, float]) -> float | None:
    wanted = compile_wildcard(fold_wildcard(text))
    return max((weight for name, weight in weights.items() if any(map(wanted.fullmatch, entry.words[name]))), default=None)


def _match_words(text: str, entry: _Entry, weights: dict[str, float]) -> float | None:
    words = split_words(text)
    if not words:
        return None if any(character.isalnum() for character in text) else _NO_DEMAND
    counts = {name: _count_runs(entry.words[name], words) for name in weights}
    return max(count * weights[name] for name, count in counts.items()) if any(counts.values()) else None


def _count_runs(words: list[str], run: list[str]) -> int:
    return sum(1 for index in range(len(words) - len(run) + 1) if words[index : index + len(run)] == run)


def _match_site(value: str, entry: _Entry) -> float | None:
    host, path = split_site(value)
    if not host and not path:
        return _NO_DEMAND
    is_below = path_term(entry.document.url).startswith(path)
    return _when((not host or f"site {host}" in entry.terms) and is_below)


def _match_all(parts: tuple[Node, ...], entry: _Entry) -> float | None:
    scores = [score for score in (_match(part, entry) for part in parts) if score != _NO_DEMAND]
    if not scores:
        return _NO_DEMAND
    matched = [score for score in scores if score is not None]
    return sum(matched) if len(matched) == len(scores) else None


def _match_any(parts: tuple[Node, ...], entry: _Entry) -> float | None:
    scores = [score for score in (_match(part, entry) for part in parts) if score != _NO_DEMAND]
    if not scores:
        return _NO_DEMAND
    matched = [score for score in scores if score is not None]
    return sum(matched) if matched else None


def _when(holds: bool) -> float | None:
    return 0.0 if holds else None
