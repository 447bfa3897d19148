"""Lists the words of an index that are similar to a word, from tables of its words that are held in memory.

The engine lists the words with a beginning, and goes through its dictionary for that. So the words of a letter are read once a commit, when
they are first needed, and recur in other queries. The tables have the words of all documents: who asks must count each word for the user.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from tantivy import Searcher

from feedmill.adapters.index.similarwords import SECOND_LETTERS, WordEnds, WordTable, count_allowed

TITLE, TEXT = FIELDS = "title", "body"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FREQUENT = 10
"""For a word that some documents hold, only words count that more than so many hold: a few of all. They have tables of their own."""
LOOKUPS_A_LETTER = 32
"""After how many look-ups one more letter is read that none of them needed: until then, the index is asked for it each time."""
MAX_KNOWN = 20_000
MAX_NEAR = 1_000
MAX_TABLED = 200_000
"""How many words of one commit are held in memory, and how many frequent ones."""


class NearWords:
    """The words of one commit that more than ``least`` documents hold, by their first letter. Several threads may use it."""

    def __init__(self, searcher: Searcher, least: int) -> None:
        self._searcher = searcher
        self._least = least
        self._reading = threading.Lock()
        self._tables: dict[str, WordTable] = {}
        # The frequent words of the letters that were read whole, and the other letters; one value, so that both are of the same moment. All
        # words are too many for that: sorting them takes longer than asking the index for a misspelt word.
        self._others = WordEnds(), LETTERS
        self._reads_others = least > 0
        self._lookups = 0

    def has_read(self, word: str) -> bool:
        """Returns whether the words that begin like a word have been read."""
        return all(letter in self._tables for letter in word[:2])

    def list_near(self, word: str, more_than: int) -> Mapping[str, int]:
        """Lists similar words that begin with the first or second letter of a word, or have another or one more letter in front.

        Shape: each with at least its number of documents. All in more than ``more_than`` of them, and some others that are not near.
        """
        # With the second letter too, because the first one may be missing, or both may be swapped.
        begun = [near for letter in dict.fromkeys(word[:2]) for near in self._find(letter).iter_near(word, more_than)]
        self._read_another()
        ends, unread = self._others
        others = [near for letter in unread for near in self._list_in_index(letter, word).items()]
        return ends.list_near(word) | dict(others) | dict(begun)

    def _list_in_index(self, letter: str, word: str) -> Mapping[str, int]:
        """Lists the words that begin with a letter, and go on like a word or like it from its second letter on."""
        known: Counter[str] = Counter()
        allowed, size = count_allowed(word), len(word)
        for field in FIELDS:
            listed = self._searcher.terms_with_prefix(field, letter + word[:SECOND_LETTERS], None, MAX_NEAR)
            for near, count in listed:
                if -allowed <= len(near) - size <= allowed:
                    known[near] += count
            single = {letter + word[1:]} | ({letter + word} if len(listed) == MAX_NEAR else set())
            for near in single.difference(near for near, _ in listed):
                if count := self._searcher.doc_freq(field, near):
                    known[near] += count
        return known

    def _read_another(self) -> None:
        """Reads a letter that no look-up needed, at some of them."""
        self._lookups += 1
        if self._lookups % LOOKUPS_A_LETTER == 0 and self._reads_others:
            for letter in self._others[1]:
                if letter not in self._tables:
                    self._find(letter)
                    return

    def _find(self, letter: str) -> WordTable:
        """Returns the words that begin with a letter."""
        table = self._tables.get(letter)
        if table is not None:
            return table
        with self._reading:
            # another thread may have read it meanwhile
            return self._tables[letter] if letter in self._tables else self._read(letter)

    def _read(self, letter: str) -> WordTable:
        counted, most = self._count_words(letter)
        table = WordTable({word: count for word, count in counted.items() if count > self._least} if self._least else counted)
        if sum(map(len, [*self._tables.values(), table])) > MAX_TABLED:
            self._tables, self._others, self._reads_others = {}, (WordEnds(), LETTERS), False
        ends, unread = self._others
        if self._reads_others and letter in unread and most <= self._least:
            ends.add(table)
            self._others = ends, unread.replace(letter, "")
        self._tables[letter] = table
        return table

    def _count_words(self, letter: str) -> tuple[Mapping[str, int], int]:
        """Returns the words that begin with a letter by their numbers, and the largest number that another such word may have."""
        titles, texts = (dict(self._searcher.terms_with_prefix(field, letter, None, MAX_KNOWN)) for field in FIELDS)
        # a list that is cut ends with its least frequent word
        most_in_titles, most_in_texts = (min(words.values()) if len(words) == MAX_KNOWN else 0 for words in (titles, texts))
        counted = Counter(texts)
        counted.update(titles)
        for field, most, words, others in ((TITLE, most_in_titles, texts, titles), (TEXT, most_in_texts, titles, texts)):
            if most and self._least:
                counted.update({word: self._searcher.doc_freq(field, word) for word in words.keys() - others.keys()})
        return counted, most_in_titles + most_in_texts


# A searcher always shows the same commit. Only one is cached: a searcher holds its files, which cannot be removed meanwhile.
@lru_cache(maxsize=1)
def _make_tables(searcher: Searcher) -> tuple[NearWords, NearWords]:
    return NearWords(searcher, least=0), NearWords(searcher, least=FREQUENT)


def find_near_words(searcher: Searcher, more_than: int) -> NearWords:
    """Returns the words of a commit among which those in more than ``more_than`` documents are looked up."""
    every, frequent = _make_tables(searcher)
    return every if more_than < FREQUENT else frequent
