"""Sort orders other than relevance, in Tantivy's terms.

The engine sorts by its fast fields, such as the date, and puts documents without a value last in both directions. It cannot sort by a
path inside a JSON field. A composite aggregation over such a path and the key lists exactly the pairs that a sorted page needs.
"""

from collections.abc import Sequence
from typing import Any

import tantivy

from feedmill.adapters.index.reach import MAX_METADATA_REACH, RELEVANT
from feedmill.adapters.index.tantivy.query import build_keys
from feedmill.adapters.index.tantivy.schema import RANK_FIELDS, build_schema, read_fingerprint
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.typedvalues import name_digest
from feedmill.model.search import Hit, Hits, Sort

MOST_FINGERPRINTS = 200
"""Of so many hits of a page sorted by metadata the fingerprints are looked up, one by one."""

_Page = tuple[list[Hit], int]


def find_sorted(searcher: tantivy.Searcher, query: tantivy.Query, sort: Sort, *, start: int, num: int) -> Hits:
    """Finds a page in a sort order. The scores are 0."""
    if sort.name:
        hits, total = _by_metadata(searcher, query, sort, start, num)
    elif sort.is_whole:
        hits, total = _by_date(searcher, query, sort, start, num)
    else:
        hits, total = _relevant_by_date(searcher, query, sort, start, num)
    return Hits(hits=tuple(hits), total=total, is_exact=True)


def list_by_key(searcher: tantivy.Searcher, query: tantivy.Query, after: int, num: int) -> Hits:
    """Lists documents by key, with keys above ``after``. Each page costs the same, however long the list is."""
    total = _total(searcher.search(query, 1, count=True))
    if not num:
        return Hits(hits=(), total=total, is_exact=True)
    behind = tantivy.Query.range_query(build_schema(), "key", tantivy.FieldType.Integer, after + 1, None)
    paged = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, behind)])
    found = searcher.search(paged, num, count=False, order_by_field="key", order=tantivy.Order.Asc)
    keys = _keys(searcher, [address for _, address in found.hits])
    return Hits(hits=tuple(Hit(key=key, score=0.0) for key in keys), total=total, is_exact=True)


def _order(sort: Sort) -> tantivy.Order:
    return tantivy.Order.Desc if sort.is_descending else tantivy.Order.Asc


def _by_date(searcher: tantivy.Searcher, query: tantivy.Query, sort: Sort, start: int, num: int) -> _Page:
    # the engine panics if it must return no hits at all
    found = searcher.search(query, max(num, 1), count=True, order_by_field="date", order=_order(sort), offset=start)
    return _read_hits(searcher, [address for _, address in found.hits[:num]]), _total(found)


def _relevant_by_date(searcher: tantivy.Searcher, query: tantivy.Query, sort: Sort, start: int, num: int) -> _Page:
    found = searcher.search(query, RELEVANT, count=True)
    addresses = [address for _, address in found.hits]
    dates = searcher.fast_field_values("date", addresses) if addresses else []
    sign = -1 if sort.is_descending else 1
    pairs = sorted(zip(dates, addresses, strict=True), key=lambda pair: (pair[0] is None, sign * int(pair[0] or 0)))
    return _read_hits(searcher, [address for _, address in pairs[start:][:num]]), _total(found)


def _by_metadata(searcher: tantivy.Searcher, query: tantivy.Query, sort: Sort, start: int, num: int) -> _Page:
    total = _total(searcher.search(query, 1, count=True))
    # A composite aggregation has no offset: everything up to the end of the page is listed.
    end = min(start + num, MAX_METADATA_REACH)
    if start >= min(total, end):
        return [], total
    path = f"sort.{name_digest(fold_value(sort.name))}"
    order = "desc" if sort.is_descending else "asc"
    by_value = {"field": path, "order": order, "missing_bucket": True, "missing_order": "last"}
    sources = [{"value": {"terms": by_value}}, {"key": {"terms": {"field": "key"}}}]
    answer: dict[str, Any] = searcher.aggregate(query, {"page": {"composite": {"size": end, "sources": sources}}})
    keys = [int(bucket["key"]["key"]) for bucket in answer["page"]["buckets"][start:end]]
    fingerprints = {hit.key: hit.fingerprint for hit in _look_up(searcher, keys[:MOST_FINGERPRINTS])}
    return [Hit(key=key, score=0.0, fingerprint=fingerprints.get(key, 0)) for key in keys], total


def _look_up(searcher: tantivy.Searcher, keys: Sequence[int]) -> list[Hit]:
    """Finds documents by their keys, in any order."""
    found = searcher.search(build_keys(keys), max(len(keys), 1), count=False)
    return _read_hits(searcher, [address for _, address in found.hits])


def _read_hits(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[Hit]:
    """Returns the hits at places of the index, with the fingerprints of their texts."""
    if not addresses:
        return []
    ranks, linked = ([int(value or 0) for value in searcher.fast_field_values(field, addresses)] for field in RANK_FIELDS)
    fingerprints = map(read_fingerprint, ranks, linked)
    return [Hit(key=key, score=0.0, fingerprint=mark) for key, mark in zip(_keys(searcher, addresses), fingerprints, strict=True)]


def _keys(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[int]:
    return [int(key or 0) for key in searcher.fast_field_values("key", addresses)] if addresses else []


def _total(found: tantivy.SearchResult) -> int:
    total: int = found.count  # type: ignore[attr-defined]  # the engine's stub leaves it out
    return total
