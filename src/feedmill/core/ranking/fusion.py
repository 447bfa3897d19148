"""Merges two ranked lists into one by reciprocal rank fusion.

A document's score is the sum of 1 / (60 + rank) over the lists that hold it, ranks counting from 1. Scores of the lists need not be
comparable, and a document high in both stands above one that only one list holds. Documents with equal scores stand in the order of the
first list, then of the second.
Source: Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning Methods" (SIGIR 2009).
"""

from collections.abc import Sequence

SMOOTHING = 60


def fuse(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, float]]:
    """Returns the keys of both lists, best first, with their scores. Shape: a list holds a key once."""
    scores: dict[int, float] = {}
    for keys in (first, second):
        for rank, key in enumerate(keys, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (SMOOTHING + rank)
    # a stable sort: the dictionary holds the keys of the first list in their order, then the others
    return sorted(scores.items(), key=lambda pair: -pair[1])
