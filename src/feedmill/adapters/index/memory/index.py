"""The index in memory, made of plain dictionaries, for tests. It implements the same contract as an engine and is easy to read.

It scans every document at every search (``matching``).
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from feedmill.adapters.index.analysis import split_words
from feedmill.adapters.index.highlighting import FormsHighlighter
from feedmill.adapters.index.memory.matching import Entry, holds_part, match_entry, score_entry
from feedmill.adapters.index.querywords import read_single
from feedmill.adapters.index.reach import RELEVANT
from feedmill.adapters.index.similarwords import MAX_START_CHARACTERS, Counted, choose_alike
from feedmill.core.ranking.bias import WORDLESS_SCORE, bias_factor, biased
from feedmill.core.ranking.builtinfacets import built_in_values
from feedmill.core.ranking.facets import (
    column_of,
    counted_numbers,
    counted_texts,
    counts_days,
    is_built_in,
    merge_spellings,
    order_ranges,
    order_values,
    range_ends,
    text_column_of,
    with_days,
)
from feedmill.core.ranking.indexterms import sort_keys
from feedmill.core.ranking.scoring import freshness_factor
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.fingerprints import find_fingerprint
from feedmill.core.text.typedvalues import is_within, name_digest, sortable, typed_terms
from feedmill.model.access import AccessFilter
from feedmill.model.errors import Conflict
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Among, And, Node
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.search import Hit, Hits, IndexDocument, Sort
from feedmill.ports import BuiltEntries, PreparedEntry
from feedmill.ports.search import go_on

_Find = Callable[[Node, AccessFilter], Sequence[IndexDocument]]


class MemoryVocabulary:
    """Reads the words of documents in memory. ``find`` returns the matching documents that a user may see."""

    def __init__(self, entries: Sequence[Entry], find: _Find) -> None:
        self._entries = entries
        self._documents = [entry.document for entry in entries]
        self._find = find

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[Counted]:
        """Finds words of titles with this start."""
        folded = split_words(start[:MAX_START_CHARACTERS])
        if not folded:
            return []
        counts: Counter[str] = Counter()
        for document in self._find(within, access):
            words = set(split_words(document.title))
            if words.issuperset(folded[:-1]):
                counts.update(word for word in words if word.startswith(folded[-1]))
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts the documents that hold a word and that the user may see."""
        folded = split_words(word)
        visible = (document for document in self._documents if document.access_class in access.permitted)
        return sum(len(folded) == 1 and folded[0] in _words_of(document) for document in visible)

    def is_in_compound(self, word: str, access: AccessFilter) -> bool:
        """Whether a document that the user may see holds a compound of which a word is a part."""
        raw = read_single(word)
        return any(holds_part(raw, entry) for entry in self._entries if entry.document.access_class in access.permitted) if raw else False

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds the likeliest similar word."""
        folded = split_words(word)
        if len(folded) != 1:
            return None
        known = Counter(one for document in self._documents for one in _words_of(document))
        return choose_alike(folded[0], known, lambda near: self.count(near, access), more_than)

    def has_read(self, word: str, more_than: int) -> bool:  # noqa: ARG002  # nothing is read
        """Returns that nothing need be read first."""
        return True

    def find_holding(self, parts: Sequence[Node], keys: Sequence[int], access: AccessFilter) -> tuple[frozenset[int], ...]:
        """Finds which of some documents match each part of a query."""
        among = Among(tuple(keys))
        return tuple(frozenset(document.key for document in self._find(And((part, among)), access)) for part in parts)


class MemoryIndex:
    """Searches the commits of its writer. Several threads may use it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: dict[int, Entry] = {}
        self._commits = 0
        self._lock = threading.Lock()

    def search(
        self,
        query: Node,
        access: AccessFilter,
        *,
        start: int,
        num: int,
        sort: Sort | None = None,
        bias: ScoreBias | None = None,
        explains: bool = False,
    ) -> Hits:
        """Finds matching documents that the user may see, best first or as ``sort`` says. Among equals the lower key is first."""
        scored = [
            Hit(key=key, score=score, parts=(("words", score),) if explains else ())
            for key, entry in sorted(self._entries.items())
            if entry.document.access_class in access.permitted and (score := score_entry(query, entry)) is not None
        ]
        if bias is not None:
            scored = [
                replace(hit, score=(hit.score or WORDLESS_SCORE) * _bias_of(self._entries[hit.key], bias, self._clock())) for hit in scored
            ]
        scored.sort(key=lambda hit: -hit.score)
        if sort is not None:
            scored = self._sort(scored, sort)
        page = scored[max(start, 0) :][: max(num, 0)]
        page = [replace(hit, fingerprint=find_fingerprint(self._entries[hit.key].document.body)) for hit in page]
        return Hits(hits=tuple(page), total=len(scored), is_exact=True)

    def _sort(self, hits: list[Hit], sort: Sort) -> list[Hit]:
        valued = [(_value_of(self._entries[hit.key].document, sort.name), hit) for hit in hits[: None if sort.is_whole else RELEVANT]]
        having = [(value, hit) for value, hit in valued if value is not None]
        having.sort(key=lambda pair: pair[0], reverse=sort.is_descending)
        return [hit for _, hit in having] + [hit for value, hit in valued if value is None]

    def list_by_key(self, query: Node, access: AccessFilter, *, after: int, num: int) -> Hits:
        """Lists matching documents that the user may see, by key, with keys above ``after``."""
        found = self.search(query, access, start=0, num=len(self._entries))
        keys = sorted(hit.key for hit in found.hits if hit.key > after)
        return Hits(hits=tuple(Hit(key=key, score=0.0) for key in keys[: max(num, 0)]), total=found.total, is_exact=True)

    def count_facets(
        self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Callable[[], None] = go_on
    ) -> tuple[FacetCounts, ...]:
        """Counts facets over all matching documents that the user may see."""
        matching = [self._entries[hit.key].document for hit in self.search(query, access, start=0, num=len(self._entries)).hits]
        counted = []
        for facet in facets:
            check()
            counted.append(_count_facet(facet, matching))
        return tuple(counted)

    @property
    def vocabulary(self) -> MemoryVocabulary:
        """The words of the index in its current state."""
        entries = self._entries

        def find(query: Node, access: AccessFilter) -> list[IndexDocument]:
            return [entries[hit.key].document for hit in self.search(query, access, start=0, num=len(entries)).hits]

        return MemoryVocabulary(list(entries.values()), find)

    def make_highlighter(self, query: Node) -> FormsHighlighter:
        """Returns the highlighter of a query, with the word forms of the documents' languages."""
        return FormsHighlighter(query, sorted({entry.document.language or "" for entry in self._entries.values()}))

    def reload_to(self, token: str) -> bool:
        """Returns whether the commit is visible, which it is at once."""
        return not token or int(token) <= self._commits

    def count(self) -> int:
        """Counts documents in the index."""
        return len(self._entries)

    def apply_batch(self, changes: dict[int, IndexDocument | None]) -> str:
        """Applies a batch, with None for a removal, and returns its token."""
        made = {key: Entry.of(document) for key, document in changes.items() if document is not None}
        with self._lock:
            # A new dictionary, so that a search under way continues on the old one.
            remaining = {key: entry for key, entry in self._entries.items() if key not in changes}
            self._entries = remaining | made
            self._commits += 1
            return str(self._commits)


class MemoryWriter:
    """Writes into a ``MemoryIndex``."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._changes: dict[int, IndexDocument | None] | None = {}

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        """Returns the document unchanged as its entry."""
        return PreparedEntry(document.key, document)

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        """Adds prepared entries."""
        self.put_many(entry.entry for entry in entries if isinstance(entry.entry, IndexDocument))

    def adopt(self, built: BuiltEntries) -> str:
        """Adds documents that another process built. Shape: the payload is a list of them."""
        assert isinstance(built.payload, list)
        self.remove_many(built.keys)
        self.put_many(built.payload)
        return self.commit()

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents. Each replaces the earlier one of its key."""
        self._batch.update((document.key, document) for document in documents)

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""
        self._batch.update((key, None) for key in keys)

    def commit(self) -> str:
        """Makes all writes visible at once."""
        token = self._index.apply_batch(self._batch)
        self._changes = {}
        return token

    def close(self) -> None:
        """Discards uncommitted writes."""
        self._changes = None

    @property
    def _batch(self) -> dict[int, IndexDocument | None]:
        if self._changes is None:
            raise Conflict("the index writer is closed")
        return self._changes


def _words_of(document: IndexDocument) -> set[str]:
    return {*split_words(document.title), *split_words(document.body), *split_words(document.navigation)}


def _value_of(document: IndexDocument, name: str) -> str | None:
    if name:
        sorted_by = document.metadata if document.sort_metadata is None else document.sort_metadata
        return sort_keys(sorted_by).get(name_digest(fold_value(name)))
    return None if document.last_modified is None else sortable(document.last_modified.timestamp())


def _count_facet(facet: Facet, documents: Sequence[IndexDocument]) -> FacetCounts:
    if counts_days(facet):
        return _count_days(facet, documents)
    if not facet.ranges:
        texts = [text for document in documents for text in _list_texts(facet, document)]
        return FacetCounts(facet=facet, values=order_values(facet, merge_spellings((text, 1) for text in texts)))
    remaining = [counted_numbers(typed_terms(document.list_facet_metadata())).get(column_of(facet), ()) for document in documents]
    ends = [range_ends(facet, wanted) for wanted in facet.ranges]
    counts = [sum(any(is_within(number, low, high) for number in numbers) for numbers in remaining) for low, high in ends]
    return FacetCounts(facet=facet, values=order_ranges(facet, counts))


def _list_texts(facet: Facet, document: IndexDocument) -> Sequence[str]:
    if is_built_in(facet):
        value = built_in_values(document.url, document.mimetype, document.datasource, document.language).get(facet.name)
        return () if value is None else (value,)
    return counted_texts(document.list_facet_metadata()).get(text_column_of(facet), ())


def _count_days(facet: Facet, documents: Sequence[IndexDocument]) -> FacetCounts:
    seconds = [int(document.last_modified.timestamp()) for document in documents if document.last_modified is not None]
    if not facet.ranges:
        facet = with_days(facet, min(seconds, default=None), max(seconds, default=None))
    counts = [sum(is_within(second, *range_ends(facet, wanted)) for second in seconds) for wanted in facet.ranges]
    return FacetCounts(facet=facet, values=order_ranges(facet, counts))


def _bias_of(entry: Entry, bias: ScoreBias, now: float) -> float:
    date = entry.document.last_modified
    fresh = freshness_factor(None if date is None else int(date.timestamp()), biased(Ranking(), bias), now)
    return fresh * bias_factor(sum(weight for node, weight in bias.parts if match_entry(node, entry) is not None))
