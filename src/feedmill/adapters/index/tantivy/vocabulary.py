"""The words of an index, for completing typed words and for finding what a user meant.

Words are in the fields of titles and texts as people write them, ignoring letter case and accents, and never as stems. A user gets only
words of documents that they may see, and the number of these documents decides between words.
"""

from collections.abc import Sequence

import tantivy
from tantivy import Occur, Query

from feedmill.adapters.index.analysis import NAVIGATION_WORD, split_words
from feedmill.adapters.index.querywords import read_single
from feedmill.adapters.index.similarwords import MAX_START_CHARACTERS, Counted, choose_alike
from feedmill.adapters.index.tantivy.accessfilter import find_permitted, has_no_deleted, hides_nothing
from feedmill.adapters.index.tantivy.failures import translated
from feedmill.adapters.index.tantivy.holding import find_holding
from feedmill.adapters.index.tantivy.nearwords import FIELDS, TITLE, find_near_words
from feedmill.adapters.index.tantivy.query import build_query
from feedmill.adapters.index.tantivy.schema import build_schema
from feedmill.adapters.index.tantivy.words import NAVIGATION, WordQueries
from feedmill.model.access import AccessFilter
from feedmill.model.query import Node, Word

EXACT_TO = 100


class TantivyVocabulary:
    """Reads the words of one state of an index."""

    def __init__(self, searcher: tantivy.Searcher | None) -> None:
        self._searcher = searcher

    def complete(self, start: str, within: Node, access: AccessFilter, limit: int) -> list[Counted]:
        """Finds words of titles with this start, most frequent first, each with its number of documents."""
        folded = split_words(start[:MAX_START_CHARACTERS])
        if self._searcher is None or not folded:
            return []
        clauses = [(Occur.Must, build_query(within, access, WordQueries(self._searcher, within)))]
        clauses += [(Occur.Must, Query.term_query(build_schema(), TITLE, word, "basic")) for word in folded[:-1]]
        with translated("completing a word"):
            return self._searcher.terms_with_prefix(TITLE, folded[-1], Query.boolean_query(clauses), limit)

    def count(self, word: str, access: AccessFilter) -> int:
        """Counts the documents that hold a word and that the user may see. A count above ``EXACT_TO`` may be an estimate."""
        folded = split_words(word)
        if self._searcher is None or len(folded) != 1:
            return 0
        schema, searcher = build_schema(), self._searcher
        terms = [*((field, folded[0]) for field in FIELDS), (NAVIGATION, NAVIGATION_WORD + folded[0])]
        with translated("counting a word"):
            # Only where nothing is hidden: otherwise the time would tell whether a hidden document holds the word.
            if hides_nothing(searcher, access):
                counts = {place: count for place in terms if (count := searcher.doc_freq(*place))}
                if not counts or (len(counts) == 1 and has_no_deleted(searcher)):
                    return sum(counts.values())
                terms = list(counts)
            held = [Query.term_query(schema, field, term, "basic") for field, term in terms]
            holding = held[0] if len(held) == 1 else Query.boolean_query([(Occur.Should, query) for query in held])
            scoreless = Query.const_score_query(holding, 0.0)
            return find_permitted(searcher, scoreless, access, start=0, num=0, exact_to=EXACT_TO).total

    def is_in_compound(self, word: str, access: AccessFilter) -> bool:
        """Whether a document that the user may see holds a compound of which a word is a part."""
        raw = read_single(word)
        if self._searcher is None or not raw:
            return False
        compounds = WordQueries(self._searcher, Word(word)).list_compounds("stems", raw)
        if not compounds:
            return False
        holding = Query.const_score_query(Query.boolean_query([(Occur.Should, one) for one in compounds]), 0.0)
        with translated("looking for compounds"):
            return find_permitted(self._searcher, holding, access, start=0, num=0, exact_to=EXACT_TO).total > 0

    def find_alike(self, word: str, access: AccessFilter, more_than: int) -> str | None:
        """Finds the likeliest similar word, by the documents that the user may see."""
        folded = split_words(word)
        if self._searcher is None or len(folded) != 1:
            return None
        with translated("looking for words alike"):
            near = find_near_words(self._searcher, more_than).list_near(folded[0], more_than)
            return choose_alike(folded[0], near, lambda one: self.count(one, access), more_than)

    def has_read(self, word: str, more_than: int) -> bool:
        """Whether the words that begin like a word have been read of this commit."""
        folded = split_words(word)
        return self._searcher is None or len(folded) != 1 or find_near_words(self._searcher, more_than).has_read(folded[0])

    def find_holding(self, parts: Sequence[Node], keys: Sequence[int], access: AccessFilter) -> tuple[frozenset[int], ...]:
        """Finds which of some documents match each part of a query."""
        if self._searcher is None or not keys or not parts:
            return tuple(frozenset[int]() for _ in parts)
        with translated("looking for words in documents"):
            return find_holding(self._searcher, parts, keys, access)
