"""Facets in Tantivy's terms: one aggregation counts them all in a single run over the matching documents.

Counts of values are exact. The engine keeps only the best of each of its segments, so that a value could be missing from the sum of one
of them; where it says that it left something out, the values to be shown are counted once more, over the documents that have one.
Ranges that touch each other go into different aggregations, since the engine counts a number for one range alone.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import tantivy

from feedmill.adapters.index.query import build_query
from feedmill.adapters.index.words import WordAsker
from feedmill.core.analysis import fold_value
from feedmill.core.facets import MAX_VALUES_SHOWN, column_of, merge_spellings, order_ranges, order_values, range_ends
from feedmill.core.typedvalues import name_digest
from feedmill.model.access import ClassSet
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import And, MetaEquals, Node, Or

TEXTS = "facets"
NUMBERS = "numbers"
COUNTED = 2_500
"""More different values than this are counted twice, since the first count may have left some out; listing more would cost as much."""

MAX_BUCKETS = 50_000

_Ranges = list[tuple[int, float, float]]


def count_facets(searcher: tantivy.Searcher, root: Node, access: ClassSet, facets: Sequence[Facet]) -> tuple[FacetCounts, ...]:
    """Counts facets over all documents that match and that the asker may see."""
    wanted: dict[str, Any] = {}
    for place, facet in enumerate(facets):
        if not facet.ranges:
            wanted[f"{place}"] = describe_texts(facet, COUNTED)
        for layer, ranges in enumerate(list_layers(facet)):
            wanted[f"{place}.{layer}"] = describe_ranges(facet, ranges)
    answer = searcher.aggregate(build_query(root, access, WordAsker(searcher, root)), wanted) if wanted else {}
    counted = []
    for place, facet in enumerate(facets):
        if facet.ranges:
            counts = read_ranges(facet, [answer[f"{place}.{layer}"] for layer, _ in enumerate(list_layers(facet))])
            counted.append(FacetCounts(facet=facet, values=order_ranges(facet, counts)))
        else:
            merged = read_texts(answer[f"{place}"])
            if answer[f"{place}"].get("sum_other_doc_count"):
                merged = _count_again(searcher, root, access, facet, merged)
            counted.append(FacetCounts(facet=facet, values=order_values(facet, merged)))
    return tuple(counted)


# --- values ---------------------------------------------------------------------------------------------------------------------


def describe_texts(facet: Facet, size: int) -> dict[str, Any]:
    """Returns the aggregation that counts the most frequent values."""
    return {"terms": {"field": f"{TEXTS}.{name_digest(fold_value(facet.name))}", "size": size, "segment_size": size}}


def read_texts(answer: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Returns what ``describe_texts`` counted, by folded value: its spelling and how many documents have it."""
    return merge_spellings((bucket["key"], int(bucket["doc_count"])) for bucket in answer["buckets"])


def _count_again(
    searcher: tantivy.Searcher, root: Node, access: ClassSet, facet: Facet, merged: dict[str, tuple[str, int]]
) -> dict[str, tuple[str, int]]:
    best = sorted(merged, key=lambda folded: (-merged[folded][1], folded))[:MAX_VALUES_SHOWN]
    holding = Or(tuple(MetaEquals(facet.name, folded) for folded in best))
    answer = searcher.aggregate(
        build_query(And((root, holding)), access, WordAsker(searcher, root)), {"again": describe_texts(facet, MAX_BUCKETS)}
    )
    exact = read_texts(answer["again"])
    return {folded: exact[folded] for folded in best if folded in exact}


# --- ranges ---------------------------------------------------------------------------------------------------------------------


def list_layers(facet: Facet) -> list[_Ranges]:
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
