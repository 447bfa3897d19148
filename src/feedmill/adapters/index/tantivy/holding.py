"""Finds which documents match which parts of a query, by one query for all parts.

Each part adds another power of two to the score of a document, so that the score says which parts match. The engine adds in 32-bit floats,
which are exact for as many parts as the port permits.
"""

from collections.abc import Sequence

from tantivy import Query, Searcher

from feedmill.adapters.index.tantivy.accessfilter import filter_by_access
from feedmill.adapters.index.tantivy.features import among
from feedmill.adapters.index.tantivy.query import build_unfiltered
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.model.access import AccessFilter
from feedmill.model.query import And, Node
from feedmill.ports.search import MAX_HELD_PARTS


def find_holding(searcher: Searcher, parts: Sequence[Node], keys: Sequence[int], access: AccessFilter) -> tuple[frozenset[int], ...]:
    """Returns, for each part of a query, the keys of those documents that match it and that the user may see."""
    assert len(parts) <= MAX_HELD_PARTS, "more parts than a score tells apart"
    word_queries = WordQueries(searcher, And(tuple(parts)))
    matching = [build_unfiltered(part, word_queries) for part in parts]
    scoring = [Query.const_score_query(query, float(1 << place)) for place, query in enumerate(matching)]
    found = searcher.search(filter_by_access(among(keys, scoring), access, searcher), len(keys), count=False).hits
    numbers = searcher.fast_field_values("key", [address for _, address in found]) if found else ()
    scored = [(int(score), int(key or 0)) for (score, _), key in zip(found, numbers, strict=True)]
    return tuple(frozenset(key for score, key in scored if score >> place & 1) for place in range(len(parts)))
