"""Facets for users with thousands of classes, where a clause that names the classes would take longer than everything else.

Every value is counted for each class, and the counts of the user's classes are added up. If the user may see more than about ``WHOLE``
of the matches, a random sample is counted and the counts are estimated from it. Otherwise the counts are exact: up to ``WHOLE`` matches
are all counted for each class; if there are more matches, the clause selects the visible ones and these are counted.
"""

import sys
from collections.abc import Sequence
from typing import Any

import tantivy
from tantivy import FieldType, Occur, Query

from feedmill.adapters.index.tantivy.accessfilter import Flags, cost_of_clause, hides_nothing, table_of
from feedmill.adapters.index.tantivy.facets import (
    COUNTED,
    SPAN,
    Check,
    count_facets,
    counts_values,
    describe_ranges,
    describe_texts,
    is_open,
    partition_ranges,
    read_ranges,
    read_span,
    read_texts,
)
from feedmill.adapters.index.tantivy.query import build_unfiltered
from feedmill.adapters.index.tantivy.schema import SAMPLES, build_schema
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.core.ranking.facets import order_ranges, order_values, with_days
from feedmill.model.access import AccessFilter
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node

DEAR_CLAUSE = 8_000
WHOLE = 25_000
DRAWN = 6_000
PILOT = 6_000
MOST_BUCKETS = 65_000
VALUE_BYTES = 120
COUNTS_BYTES = 300
"""The size of a counted value, and of a facet, without their texts."""

_CLASSES = {"terms": {"field": "access_class", "size": MOST_BUCKETS, "segment_size": MOST_BUCKETS}}


def count_facets_by_class(
    searcher: tantivy.Searcher, root: Node, access: AccessFilter, facets: Sequence[Facet], check: Check
) -> tuple[FacetCounts, ...]:
    """Counts facets over all matching documents that the user may see."""
    table = table_of(access)
    if facets and table is not None and cost_of_clause(access) > DEAR_CLAUSE and not hides_nothing(searcher, access):
        counted = _Counting(searcher, build_unfiltered(root, WordQueries(searcher, root)), table).count(facets)
        if counted is not None:
            return counted
    return count_facets(searcher, root, access, facets, check)


def count_bytes_of(counted: Sequence[FacetCounts]) -> int:
    """Returns the bytes that counted facets take in memory."""
    values = [value for each in counted for value in each.values]
    names = sum(sys.getsizeof(each.facet.name) + COUNTS_BYTES for each in counted)
    return names + sum(VALUE_BYTES + sys.getsizeof(value.value) for value in values)


def _floor_power(number: int) -> int:
    """Returns the greatest power of two that is not above a number, from 1 to ``SAMPLES``."""
    # The subtraction comes before the shift, so this is the highest set bit of the number alone.
    return min(1 << max(number, 1).bit_length() - 1, SAMPLES)


class _Counting:
    """Counts by class for one query, and sums the counts of the classes that one user may see."""

    def __init__(self, searcher: tantivy.Searcher, unfiltered: Query, table: Flags) -> None:
        self._searcher = searcher
        self._unfiltered = unfiltered
        self._flags = table.tobytes()

    def count(self, facets: Sequence[Facet]) -> tuple[FacetCounts, ...] | None:
        """Returns the counts, or None if the clause is faster."""
        part = self._choose_part()
        if part is None:
            return None
        facets = self._choose_days(facets, part)
        wanted: dict[str, Any] = {}
        for position, facet in enumerate(facets):
            if counts_values(facet):
                wanted[f"{position}"] = describe_texts(facet, COUNTED) | {"aggs": {"classes": _CLASSES}}
            for partition, ranges in enumerate(partition_ranges(facet)):
                wanted[f"{position}.{partition}"] = describe_ranges(facet, ranges) | {"aggs": {"classes": _CLASSES}}
        try:
            answer = self._searcher.aggregate(self._draw(part), wanted)
        except ValueError:
            # more values and classes than the engine can count at once
            return None
        if any(each.get("sum_other_doc_count") for each in answer.values()):
            return None
        return tuple(self._read_facet(facet, position, answer, SAMPLES / part) for position, facet in enumerate(facets))

    def _choose_days(self, facets: Sequence[Facet], part: int) -> Sequence[Facet]:
        if not any(is_open(facet) for facet in facets):
            return facets
        buckets = self._searcher.aggregate(self._draw(part), {"classes": _CLASSES | {"aggs": SPAN}})["classes"]["buckets"]
        spans = [read_span(bucket) for bucket in buckets if self._sum_seen([bucket])]
        firsts, lasts = ([second for second in ends if second is not None] for ends in zip(*spans, strict=True)) if spans else ([], [])
        span = min(firsts, default=None), max(lasts, default=None)
        return [with_days(facet, *span) if is_open(facet) else facet for facet in facets]

    def _choose_part(self) -> int | None:
        """Returns the part of the matches to count, ``SAMPLES`` for all; None if all are counted with the clause.

        Whether counts are exact, and from which part they are estimated, depends only on what the user may see.
        """
        if self._searcher.num_docs <= WHOLE:
            return SAMPLES
        pilot = _floor_power(SAMPLES * PILOT // self._searcher.num_docs)
        buckets = self._searcher.aggregate(self._draw(pilot), {"classes": _CLASSES})["classes"]["buckets"]
        seen = self._sum_seen(buckets) * SAMPLES // pilot
        if seen > WHOLE:
            return _floor_power(SAMPLES * DRAWN // seen)
        matching = sum(int(bucket["doc_count"]) for bucket in buckets) * SAMPLES // pilot
        return SAMPLES if matching <= WHOLE else None

    def _draw(self, part: int) -> Query:
        if part == SAMPLES:
            return self._unfiltered
        drawn = Query.range_query(build_schema(), "sample", FieldType.Unsigned, 0, part - 1)
        return Query.boolean_query([(Occur.Must, self._unfiltered), (Occur.Must, Query.const_score_query(drawn, 0.0))])

    def _read_facet(self, facet: Facet, position: int, answer: dict[str, Any], factor: float) -> FacetCounts:
        if not counts_values(facet):
            partitions = range(len(partition_ranges(facet)))
            counts = read_ranges(facet, [self._see(answer[f"{position}.{partition}"], factor) for partition in partitions])
            values = order_ranges(facet, counts)
        else:
            values = order_values(facet, read_texts(self._see(answer[f"{position}"], factor)))
        return FacetCounts(facet=facet, values=values, is_exact=factor == 1)

    def _see(self, answer: dict[str, Any], factor: float) -> dict[str, Any]:
        """Returns the counts of the documents that the user may see. Values without such documents are left out."""
        counted = ((bucket["key"], round(self._sum_seen(bucket["classes"]["buckets"]) * factor)) for bucket in answer["buckets"])
        return {"buckets": [{"key": key, "doc_count": count} for key, count in counted if count]}

    def _sum_seen(self, buckets: Sequence[dict[str, Any]]) -> int:
        flags, count = self._flags, len(self._flags)
        return sum(int(bucket["doc_count"]) for bucket in buckets if (number := int(bucket["key"])) < count and flags[number])
