"""KeyMatches and related queries, which a front end offers with the results.

| kind | fits a query that |
|---|---|
| keyword | contains all words of the term, anywhere |
| phrase | contains them as a contiguous run |
| exact | consists of them and nothing else |

They are in the order of the settings, each URL once. A related query fits as an exact KeyMatch does. Excluded words and the values of
operators are no words of a query.
Source: Search Protocol Reference, "GM" and "OneSynonym".
"""

from collections import defaultdict
from collections.abc import Iterable

from feedmill.core.query.terms import QueryWords, Words, holds_run, split_term
from feedmill.model.serving import KeyMatch, KeyMatchKind, RelatedQuery

MAX_RELATED = 10


class KeyMatchTable:
    """The KeyMatches of a front end, indexed by their first words."""

    def __init__(self, keymatches: Iterable[KeyMatch]) -> None:
        self._by_first: dict[str, list[tuple[int, Words, KeyMatch]]] = defaultdict(list)
        for place, keymatch in enumerate(keymatches):
            words = split_term(keymatch.term)
            if words:
                self._by_first[words[0]].append((place, words, keymatch))

    def find_keymatches(self, query_words: QueryWords, limit: int) -> tuple[KeyMatch, ...]:
        """Returns the KeyMatches that fit a query, at most ``limit``."""
        fitting = [
            (place, keymatch)
            for word in dict.fromkeys(query_words.words)
            for place, words, keymatch in self._by_first.get(word, ())
            if _fits(keymatch.kind, words, query_words)
        ]
        first: dict[str, KeyMatch] = {}
        for _, keymatch in sorted(fitting, key=lambda found: found[0]):
            first.setdefault(keymatch.url, keymatch)
        return tuple(first.values())[:limit]


def _fits(kind: KeyMatchKind, words: Words, query_words: QueryWords) -> bool:
    match kind:
        case KeyMatchKind.KEYWORD:
            return set(words) <= set(query_words.words)
        case KeyMatchKind.PHRASE:
            return holds_run(query_words.words, words)
        case KeyMatchKind.EXACT:
            return query_words.is_whole and query_words.words == words


class RelatedTable:
    """The related queries of a front end, indexed by their words."""

    def __init__(self, related: Iterable[RelatedQuery]) -> None:
        self._by_words: dict[Words, dict[str, None]] = defaultdict(dict)
        for one in related:
            self._by_words[split_term(one.term)][one.query] = None

    def find_related(self, query_words: QueryWords) -> tuple[str, ...]:
        """Returns the related queries for a query."""
        if not query_words.words or not query_words.is_whole:
            return ()
        return tuple(self._by_words.get(query_words.words, ()))[:MAX_RELATED]
