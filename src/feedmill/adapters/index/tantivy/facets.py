"""Facets in Tantivy's terms. One aggregation counts them all in a single run over the matching documents.

Counts of values are exact. The engine returns only the most frequent values of each segment, so a segment could be missing from the sum
of a value. If the engine reports that it left values out, the values to be shown are counted again, over the documents that have one.

Reading thousands of counted values takes as long as counting them, and only a hundred are shown. So the engine returns only its few
hundred largest sums. They are enough if every value of the name has only one spelling, and if the missing values are less frequent than
the last value shown.
Ranges that touch each other go into different aggregations, because the engine counts a number for one range only.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import tantivy

from feedmill.adapters.index.tantivy.query import build_query
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.core.ranking.facets import (
    MAX_VALUES_SHOWN,
    column_of,
    counts_days,
    merge_spellings,
    narrow,
    order_ranges,
    order_values,
    range_ends,
    text_column_of,
    with_days,
)
from feedmill.model.access import AccessFilter
from feedmill.model.facets import Facet, FacetCounts, FacetValue
from feedmill.model.query import And, Node, Or

TEXTS = "facets"
NUMBERS = "numbers"
DATE_FIELD = "date"
SPAN: Final = {"first": {"min": {"field": DATE_FIELD}}, "last": {"max": {"field": DATE_FIELD}}}
COUNTED = 2_500
"""If there are more different values than this, they are counted twice, since the first count may have left some out. Listing more
values would cost as much.
"""

LISTED = 3 * MAX_VALUES_SHOWN
MAX_BUCKETS = 50_000
MAX_KNOWN_NAMES = 10_000

Check = Callable[[], None]
"""Is called before each query to the engine, and may raise."""

_Ranges = list[tuple[int, float, float]]


def count_facets(
    searcher: tantivy.Searcher, root: Node, access: AccessFilter, facets: Sequence[Facet], check: Check
) -> tuple[FacetCounts, ...]:
    """Counts facets over all matching documents that the user may see."""
    return _Counting(searcher, root, access, check).count(facets)


class _Counting:
    """The facet counts of one query."""

    def __init__(self, searcher: tantivy.Searcher, root: Node, access: AccessFilter, check: Check) -> None:
        self._check = check
        self._searcher = searcher
        self._root = root
        self._access = access

    def count(self, facets: Sequence[Facet]) -> tuple[FacetCounts, ...]:
        facets = self._choose_days(facets)
        wanted: dict[str, Any] = {}
        for position, facet in enumerate(facets):
            if counts_values(facet):
                wanted[f"{position}"] = self._describe(facet)
            for partition, ranges in enumerate(partition_ranges(facet)):
                wanted[f"{position}.{partition}"] = describe_ranges(facet, ranges)
        answer = self._ask(self._root, wanted) if wanted else {}
        counted = []
        for position, facet in enumerate(facets):
            if not counts_values(facet):
                counts = read_ranges(facet, [answer[f"{position}.{partition}"] for partition, _ in enumerate(partition_ranges(facet))])
                counted.append(FacetCounts(facet=facet, values=order_ranges(facet, counts)))
            else:
                counted.append(FacetCounts(facet=facet, values=self._read_facet(facet, answer[f"{position}"])))
        return tuple(counted)

    def _choose_days(self, facets: Sequence[Facet]) -> Sequence[Facet]:
        if not any(is_open(facet) for facet in facets):
            return facets
        span = read_span(self._ask(self._root, SPAN))
        return [with_days(facet, *span) if is_open(facet) else facet for facet in facets]

    def _ask(self, root: Node, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check()
        return self._searcher.aggregate(build_query(root, self._access, WordQueries(self._searcher, root)), wanted)

    def _describe(self, facet: Facet) -> dict[str, Any]:
        is_spelt_variously = _list_spelt_once(self._searcher).get(field_of(facet)) is False
        return describe_texts(facet, COUNTED, COUNTED if is_spelt_variously else LISTED)

    def _read_facet(self, facet: Facet, answer: dict[str, Any]) -> tuple[FacetValue, ...]:
        if not answer.get("sum_other_doc_count"):
            return order_values(facet, read_texts(answer))
        if not answer["doc_count_error_upper_bound"] and len(answer["buckets"]) < COUNTED:
            values = order_values(facet, read_texts(answer))
            # What the engine left out is at most as frequent as the last value that it returned.
            least = int(answer["buckets"][-1]["doc_count"])
            is_clear = len(values) == MAX_VALUES_SHOWN and min(value.count for value in values) > least
            if is_clear and is_spelt_once(self._searcher, facet):
                return values
            answer = self._ask(self._root, {"all": describe_texts(facet, COUNTED)})["all"]
        merged = read_texts(answer)
        return order_values(facet, self._count_again(facet, merged) if answer.get("sum_other_doc_count") else merged)

    def _count_again(self, facet: Facet, merged: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
        best = sorted(merged, key=lambda folded: (-merged[folded][1], folded))[:MAX_VALUES_SHOWN]
        holding = Or(tuple(narrow(facet, FacetValue(value=folded, count=0)) for folded in best))
        exact = read_texts(self._ask(And((self._root, holding)), {"again": describe_texts(facet, MAX_BUCKETS)})["again"])
        return {folded: exact[folded] for folded in best if folded in exact}


# --- values ---------------------------------------------------------------------------------------------------------------------


def field_of(facet: Facet) -> str:
    """Returns the path under which the engine stores the texts of a facet's name."""
    return f"{TEXTS}.{text_column_of(facet)}"


def describe_texts(facet: Facet, size: int, listed: int | None = None) -> dict[str, Any]:
    """Returns the aggregation that counts the ``size`` most frequent values of each segment. It lists ``listed`` of their sums, or all."""
    return {"terms": {"field": field_of(facet), "size": listed or size, "segment_size": size}}


def read_texts(answer: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Returns what ``describe_texts`` counted, by folded value: its spelling and its number of documents."""
    return merge_spellings((bucket["key"], int(bucket["doc_count"])) for bucket in answer["buckets"])


def is_spelt_once(searcher: tantivy.Searcher, facet: Facet) -> bool:
    """Whether no two values of a facet's name differ in letter case alone, in any document. False if there are too many values to check."""
    known, field = _list_spelt_once(searcher), field_of(facet)
    if field not in known:
        answer = searcher.aggregate(tantivy.Query.all_query(), {"all": describe_texts(facet, COUNTED)})["all"]
        if len(known) >= MAX_KNOWN_NAMES:
            known.clear()
        is_whole = not answer.get("sum_other_doc_count")
        known[field] = is_whole and len(read_texts(answer)) == len(answer["buckets"])
    return known[field]


# A searcher always shows the same commit. Only one is cached: a searcher holds its files, which cannot be removed meanwhile.
@lru_cache(maxsize=1)
def _list_spelt_once(_searcher: tantivy.Searcher) -> dict[str, bool]:
    return {}


def counts_values(facet: Facet) -> bool:
    """Whether the values of a facet are counted, and no ranges."""
    return not facet.ranges and not counts_days(facet)


# --- ranges ---------------------------------------------------------------------------------------------------------------------


def partition_ranges(facet: Facet) -> list[_Ranges]:
    """Splits a facet's ranges, with their positions, into as few lists as possible; ranges in one list have no number in common."""
    partitions: list[_Ranges] = []
    for position, wanted in enumerate(facet.ranges):
        first, last = range_ends(facet, wanted)
        low = -math.inf if first is None else first
        # the engine excludes the upper end
        high = math.inf if last is None else _next_after(facet, last)
        if low >= high:
            continue
        home = next((partition for partition in partitions if all(high <= other[1] or low >= other[2] for other in partition)), None)
        if home is None:
            partitions.append([(position, low, high)])
        else:
            home.append((position, low, high))
    return partitions


def _next_after(facet: Facet, last: float) -> float:
    # dates of documents are stored in whole seconds
    return math.floor(last) + 1 if counts_days(facet) else math.nextafter(last, math.inf)


def describe_ranges(facet: Facet, ranges: _Ranges) -> dict[str, Any]:
    """Returns the aggregation that counts one list of ranges."""
    described = []
    for position, low, high in ranges:
        ends = {"from": low} if low > -math.inf else {}
        described.append({"key": f"{position}", **ends, **({"to": high} if high < math.inf else {})})
    field = DATE_FIELD if counts_days(facet) else f"{NUMBERS}.{column_of(facet)}"
    return {"range": {"field": field, "ranges": described}}


def read_ranges(facet: Facet, answers: Iterable[dict[str, Any]]) -> list[int]:
    """Returns what ``describe_ranges`` counted in all lists, by the position of the range."""
    counts = [0] * len(facet.ranges)
    for answer in answers:
        for bucket in answer["buckets"]:
            # the engine adds its own ranges for the gaps
            if str(bucket["key"]).isdecimal() and int(bucket["key"]) < len(counts):
                # It also returns a range twice if segments do not have the name; the extra one has rounded ends and a count of 0.
                counts[int(bucket["key"])] += int(bucket["doc_count"])
    return counts


def is_open(facet: Facet) -> bool:
    """Whether the ranges of a facet are still to be chosen."""
    return facet.as_of is not None and not facet.ranges


def read_span(answer: dict[str, Any]) -> tuple[float | None, float | None]:
    """Returns the first and the last date that ``SPAN`` found, None if no document has one. Units: seconds since 1970."""
    return answer["first"]["value"], answer["last"]["value"]
