"""The words of an index, for completing typed words and for finding what a user meant.

Words are in the fields of titles and texts as people write them, ignoring letter case and accents, and never as stems. A user gets only
words of documents that they may see, and the number of these documents decides between words.
"""

from collections import Counter
from functools import lru_cache

import tantivy
from tantivy import Occur, Query

from feedmill.adapters.index.analysis import NAVIGATION_WORD, split_words
from feedmill.adapters.index.querywords import read_single
from feedmill.adapters.index.similarwords import MAX_START_CHARACTERS, Counted, WordTable, choose_alike, count_allowed
from feedmill.adapters.index.tantivy.accessfilter import find_permitted
from feedmill.adapters.index.tantivy.failures import translated
from feedmill.adapters.index.tantivy.query import build_query
from feedmill.adapters.index.tantivy.schema import build_schema
from feedmill.adapters.index.tantivy.words import NAVIGATION, WordQueries
from feedmill.model.access import AccessFilter
from feedmill.model.query import Node, Word

TITLE = "title"
FIELDS = ("title", "body")
MAX_KNOWN = 20_000
MAX_NEAR = 1_000
MAX_TABLED = 200_000
"""How many words of one commit are held in memory."""
EXACT_TO = 100
LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
        holding = Query.boolean_query([(Occur.Should, Query.term_query(schema, field, term, "basic")) for field, term in terms])
        scoreless = Query.const_score_query(holding, 0.0)
        with translated("counting a word"):
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
            near = _list_near(self._searcher, folded[0], more_than)
            return choose_alike(folded[0], near, lambda one: self.count(one, access), more_than)


def _list_near(searcher: tantivy.Searcher, word: str, more_than: int) -> dict[str, int]:
    """Lists similar words that begin with the first or second letter of a word, or have another or one more letter in front."""
    known: Counter[str] = Counter()
    allowed, size = count_allowed(word), len(word)
    for field in FIELDS:
        for letter in LETTERS:
            for near, count in searcher.terms_with_prefix(field, letter + word[:3], None, MAX_NEAR):
                if -allowed <= len(near) - size <= allowed:
                    known[near] += count
            for near in (letter + word[1:], letter + word):
                if count := searcher.doc_freq(field, near):
                    known[near] += count
    # With the second letter too, because the first one may be missing, or both may be swapped.
    begun = [_find_tables(searcher).find(letter).iter_near(word, more_than) for letter in dict.fromkeys(word[:2])]
    return known | {near: count for words in begun for near, count in words}


class _Tables:
    """The words of one commit by their first letter. Each letter is read when it is first needed, and recurs in other queries."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._tables: dict[str, WordTable] = {}

    def find(self, letter: str) -> WordTable:
        """Returns the words that begin with a letter."""
        table = self._tables.get(letter)
        if table is None:
            counted: Counter[str] = Counter()
            for field in FIELDS:
                counted.update(dict(self._searcher.terms_with_prefix(field, letter, None, MAX_KNOWN)))
            table = WordTable(counted)
            if sum(map(len, [*self._tables.values(), table])) > MAX_TABLED:
                self._tables = {}
            self._tables[letter] = table
        return table


# A searcher always shows the same commit. Only one is cached: a searcher holds its files, which cannot be removed meanwhile.
@lru_cache(maxsize=1)
def _find_tables(searcher: tantivy.Searcher) -> _Tables:
    return _Tables(searcher)
