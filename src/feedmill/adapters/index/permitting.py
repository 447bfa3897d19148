"""How the asker's classes are applied to what the engine matches.

A clause of the query serves where the classes are few, and wherever everything that matches must be gone through: one term a class, or,
where less is hidden than shown, one term a hidden class and the newest class that the set knows as a bound, lest a newer one gets in.

With thousands of classes such a clause costs more than the query itself. There the best matches are taken without it, and each is kept or
dropped by its class, until the page is full and a thousand more are known; a longer list is not counted to its end but estimated from the
share that was kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tantivy import DocAddress, FieldType, Occur, Query, Searcher, SearchResult

from feedmill.adapters.index.schema import build_schema
from feedmill.model.access import ClassMap, ClassSet

FEW_CLASSES = 8
COST_OF_A_TERM = 0.9
COST_OF_A_CLASS = 0.1
"""What a class that is asked, and one that there is, cost a clause; a match that is taken and decided costs 1, about a microsecond."""

EXACT_TO = 1_000
LEAST_TAKEN = 1_500
MOST_TAKEN = 25_000
MARGIN = 1.25

Take = Callable[[int], SearchResult]
"""Gives the best matches, whoever may see them, and counts all."""

Pair = tuple[float, DocAddress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """The best matches that the asker may see. ``total`` is exact while ``is_exact``, else an estimate above ``EXACT_TO``."""

    pairs: Sequence[Pair]
    total: int
    is_exact: bool = True


def permitted(access: ClassSet) -> Query:
    """Builds what only documents of the asker's classes match, without adding to their score."""
    if isinstance(access.permitted, ClassMap):
        return _permitted_of(access.permitted.table)
    return _shown(sorted(access.permitted))


@lru_cache(maxsize=64)
def _permitted_of(table: bytes) -> Query:
    flags = np.frombuffer(table, np.uint8)
    shown = int(np.count_nonzero(flags))
    if shown <= flags.size - shown:
        return _shown(np.flatnonzero(flags).tolist())
    schema = build_schema()
    known = Query.range_query(schema, "access_class", FieldType.Unsigned, 0, flags.size - 1)
    hidden = np.flatnonzero(flags == 0).tolist()
    clauses = [(Occur.Must, known), *((Occur.MustNot, part) for part in ([_terms(hidden)] if hidden else []))]
    return Query.const_score_query(Query.boolean_query(clauses), 0.0)


def _shown(classes: list[int]) -> Query:
    return Query.const_score_query(_terms(classes), 0.0) if classes else Query.empty_query()


def _terms(classes: list[int]) -> Query:
    schema = build_schema()
    if len(classes) > FEW_CLASSES:
        return Query.term_set_query(schema, "access_class", classes)
    return Query.boolean_query([(Occur.Should, Query.term_query(schema, "access_class", number)) for number in classes])


def find_permitted(searcher: Searcher, take: Take, access: ClassSet, wanted: int) -> Permitted | None:
    """Goes through the best matches and gives the best ``wanted`` that the asker may see, and how many there are.

    None where a clause of the query serves better: of few classes, and where so little is visible that too much would be gone through.
    """
    table = access.permitted.table if isinstance(access.permitted, ClassMap) else None
    if table is None:
        return None
    shown = max(table.count(1), 1)
    needed = max(wanted, EXACT_TO + 1)
    depth = max(int(needed * MARGIN * len(table) / shown), LEAST_TAKEN)
    cost_of_clause = shown * COST_OF_A_TERM + len(table) * COST_OF_A_CLASS
    for _ in range(2):
        if depth > min(MOST_TAKEN, cost_of_clause):
            return None
        found = take(depth)
        total: int = found.count  # type: ignore[attr-defined]  # the engine's stub leaves it out
        kept = _keep(searcher, found.hits, table)
        if total <= len(found.hits):
            return Permitted(pairs=kept[:wanted], total=len(kept))
        if len(kept) >= needed:
            estimate = round(total * len(kept) / len(found.hits))
            return Permitted(pairs=kept[:wanted], total=max(estimate, len(kept)), is_exact=False)
        depth = int(depth * needed * MARGIN / max(len(kept), 1))
    return None


def _keep(searcher: Searcher, pairs: Sequence[Pair], table: bytes) -> list[Pair]:
    if not pairs:
        return []
    classes = searcher.fast_field_values("access_class", [address for _, address in pairs])
    count = len(table)
    return [pair for pair, number in zip(pairs, classes, strict=True) if number is not None and number < count and table[int(number)]]
