"""Facets in Tantivy's terms: one aggregation counts them all in a single run over the matching documents.

Counts of values are exact. The engine keeps only the best of each of its segments, so that a value could be missing from the sum of one
of them; where it says that it left something out, the values to be shown are counted once more, over the documents that have one.

To hand thousands of counted values over takes as long as to count them, and a hundred are shown. So the engine is asked for the best few
hundred of its sums, which are enough where every value of the name is spelt in one way alone, and those that may be missing are fewer than
the last one shown.
Ranges that touch each other go into different aggregations, since the engine counts a number for one range alone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import tantivy

from feedmill.adapters.index.query import build_query
from feedmill.adapters.index.words import WordQueries
from feedmill.core.analysis import fold_value
from feedmill.core.facets import MAX_VALUES_SHOWN, column_of, merge_spellings, order_ranges, order_values, range_ends
from feedmill.core.typedvalues import name_digest
from feedmill.model.access import AccessFilter
from feedmill.model.facets import Facet, FacetCounts, FacetValue
from feedmill.model.query import And, MetaEquals, Node, Or

TEXTS = "facets"
NUMBERS = "numbers"
COUNTED = 2_500
"""More different values than this are counted twice, since the first count may have left some out; listing more would cost as much."""

LISTED = 3 * MAX_VALUES_SHOWN
MAX_BUCKETS = 50_000
MAX_KNOWN_NAMES = 10_000

Check = Callable[[], None]
"""Is called before each question to the engine, and may raise."""

_Ranges = list[tuple[int, float, float]]


def count_facets(
    searcher: tantivy.Searcher, root: Node, access: AccessFilter, facets: Sequence[Facet], check: Check
) -> tuple[FacetCounts, ...]:
    """Counts facets over all documents that match and that the asker may see."""
    return _Counting(searcher, root, access, check).count(facets)


class _Counting:
    """Counts for one query."""

    def __init__(self, searcher: tantivy.Searcher, root: Node, access: AccessFilter, check: Check) -> None:
        self._check = check
        self._searcher = searcher
        self._root = root
        self._access = access

    def count(self, facets: Sequence[Facet]) -> tuple[FacetCounts, ...]:
        wanted: dict[str, Any] = {}
        for place, facet in enumerate(facets):
            if not facet.ranges:
                wanted[f"{place}"] = self._describe(facet)
            for layer, ranges in enumerate(list_snapshots(facet)):
                wanted[f"{place}.{layer}"] = describe_ranges(facet, ranges)
        answer = self._ask(self._root, wanted) if wanted else {}
        counted = []
        for place, facet in enumerate(facets):
            if facet.ranges:
                counts = read_ranges(facet, [answer[f"{place}.{layer}"] for layer, _ in enumerate(list_snapshots(facet))])
                counted.append(FacetCounts(facet=facet, values=order_ranges(facet, counts)))
            else:
                counted.append(FacetCounts(facet=facet, values=self._read(facet, answer[f"{place}"])))
        return tuple(counted)

    def _ask(self, root: Node, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check()
        return self._searcher.aggregate(build_query(root, self._access, WordQueries(self._searcher, root)), wanted)

    def _describe(self, facet: Facet) -> dict[str, Any]:
        is_spelt_variously = _list_spelt_once(self._searcher).get(field_of(facet)) is False
        return describe_texts(facet, COUNTED, COUNTED if is_spelt_variously else LISTED)

    def _read(self, facet: Facet, answer: dict[str, Any]) -> tuple[FacetValue, ...]:
        if not answer.get("sum_other_doc_count"):
            return order_values(facet, read_texts(answer))
        if not answer["doc_count_error_upper_bound"] and len(answer["buckets"]) < COUNTED:
            values = order_values(facet, read_texts(answer))
            least = int(answer["buckets"][-1]["doc_count"])
            is_clear = len(values) == MAX_VALUES_SHOWN and min(value.count for value in values) > least
            if is_clear and is_spelt_once(self._searcher, facet):
                return values
            answer = self._ask(self._root, {"all": describe_texts(facet, COUNTED)})["all"]
        merged = read_texts(answer)
        return order_values(facet, self._count_again(facet, merged) if answer.get("sum_other_doc_count") else merged)

    def _count_again(self, facet: Facet, merged: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
        best = sorted(merged, key=lambda folded: (-merged[folded][1], folded))[:MAX_VALUES_SHOWN]
        holding = Or(tuple(MetaEquals(facet.name, folded) for folded in best))
        exact = read_texts(self._ask(And((self._root, holding)), {"again": describe_texts(facet, MAX_BUCKETS)})["again"])
        return {folded: exact[folded] for folded in best if folded in exact}


# --- values ---------------------------------------------------------------------------------------------------------------------


def field_of(facet: Facet) -> str:
    """Returns the path under which the engine keeps the texts of a facet's name."""
    return f"{TEXTS}.{name_digest(fold_value(facet.name))}"


def describe_texts(facet: Facet, size: int, listed: int | None = None) -> dict[str, Any]:
    """Returns the aggregation that counts the ``size`` most frequent values of each segment, and lists so many of their sums, or all."""
    return {"terms": {"field": field_of(facet), "size": listed or size, "segment_size": size}}


def read_texts(answer: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Returns what ``describe_texts`` counted, by folded value: its spelling and how many documents have it."""
    return merge_spellings((bucket["key"], int(bucket["doc_count"])) for bucket in answer["buckets"])


def is_spelt_once(searcher: tantivy.Searcher, facet: Facet) -> bool:
    """Whether no two values of a facet's name differ in letter case alone, in any document; False where they are too many to be told."""
    known, field = _list_spelt_once(searcher), field_of(facet)
    if field not in known:
        answer = searcher.aggregate(tantivy.Query.all_query(), {"all": describe_texts(facet, COUNTED)})["all"]
        if len(known) >= MAX_KNOWN_NAMES:
            known.clear()
        is_whole = not answer.get("sum_other_doc_count")
        known[field] = is_whole and len(read_texts(answer)) == len(answer["buckets"])
    return known[field]


# a searcher shows one commit for ever; the one before is not held back for long, since its files cannot be removed meanwhile
@lru_cache(maxsize=1)
def _list_spelt_once(_searcher: tantivy.Searcher) -> dict[str, bool]:
    return {}


# --- ranges ---------------------------------------------------------------------------------------------------------------------


def list_snapshots(facet: Facet) -> list[_Ranges]:
    """Returns a facet's ranges, by place, in as few lists as leave no two of a list with a number in common."""
    layers: list[_Ranges] = []
    for place, wanted in enumerate(facet.ranges):
        first, last = range_ends(facet, wanted)
        low = -math.inf if first is None else first
        # the engine leaves the upper end out
        high = math.inf if last is None else math.nextafter(last, math.inf)
        if low >= high:
            continue
        home = next((layer for layer in layers if all(high <= other[1] or low >= other[2] for other in layer)), None)
        if home is None:
            layers.append([(place, low, high)])
        else:
            home.append((place, low, high))
    return layers


def describe_ranges(facet: Facet, ranges: _Ranges) -> dict[str, Any]:
    """Returns the aggregation that counts ranges of one layer."""
    described = []
    for place, low, high in ranges:
        ends = {"from": low} if low > -math.inf else {}
        described.append({"key": f"{place}", **ends, **({"to": high} if high < math.inf else {})})
    return {"range": {"field": f"{NUMBERS}.{column_of(facet)}", "ranges": described}}


def read_ranges(facet: Facet, answers: Iterable[dict[str, Any]]) -> list[int]:
    """Returns what ``describe_ranges`` counted in all layers, by the place of the range."""
    counts = [0] * len(facet.ranges)
    for answer in answers:
        for bucket in answer["buckets"]:
            # the engine adds ranges of its own for what lies between
            if str(bucket["key"]).isdecimal() and int(bucket["key"]) < len(counts):
                # and gives a range twice where segments do not have the name: these round its ends and count nothing
                counts[int(bucket["key"])] += int(bucket["doc_count"])
    return counts
