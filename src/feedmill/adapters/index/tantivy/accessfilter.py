"""Applies the access filter of a user to the matches of the engine. There are two ways.

A clause in the query names the classes. It is used for few classes, and wherever all matches must be visited. It has one term for each
visible class. If fewer classes are hidden than visible, it has one term for each hidden class instead, and a range up to the newest
class that the filter knows, so that newer classes stay hidden.

With thousands of classes such a clause costs more than the query itself. Then the engine returns the best matches without it, and each
match is checked by its class. This goes on until the page is full and more than a thousand visible matches are known. A longer list is not
counted to its end; its length is estimated from a random sample. If so little is visible that too many matches would be read, one short
read still finds out whether the query has few matches at all.

The total, and whether it is exact, depends only on what the user may see, never on how many other documents match.

If the index holds public documents only, a user who may see these needs no clause. A clause that every document fulfils would still cost
the engine several times as much as a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, islice

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, FieldType, Occur, Order, Query, Searcher, SearchResult

from feedmill.adapters.index.tantivy.schema import SAMPLES, build_schema, class_term
from feedmill.model.access import AccessClass, AccessFilter, ClassMap

FEW_CLASSES = 8
COST_OF_A_TERM = 0.9
COST_OF_A_WAY = 4.0
COST_OF_A_CLASS = 0.1
"""What a clause costs. Each class in it costs ``COST_OF_A_TERM`` to open its list, and a way through the term dictionary to find the list.
All these ways together cost no more than a walk through the whole dictionary, ``COST_OF_A_CLASS`` for each class that exists.
The unit is the cost of reading and checking one match, about a microsecond."""

_CACHED_CLAUSES = 16
EXACT_TO = 1_000
# the short read: ``EXACT_TO`` times ``MARGIN``, and a little more
LEAST_TAKEN = 1_150
MOST_TAKEN = 25_000
MARGIN = 1.1
ENOUGH_DRAWN = 400
"""How many visible matches an estimate uses. Its mean error is then 4 %."""

Pair = tuple[float, DocAddress]
Flags = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedMatches:
    """The best matches that the user may see. ``total`` is exact if ``is_exact``, else an estimate."""

    pairs: Sequence[Pair]
    total: int
    is_exact: bool = True


def filter_by_access(query: Query, access: AccessFilter, searcher: Searcher) -> Query:
    """Builds the query of the matches whose class the user may see. The class clause adds nothing to a score."""
    return query if hides_nothing(searcher, access) else Query.boolean_query([(Occur.Must, query), (Occur.Must, _permitted(access))])


def hides_nothing(searcher: Searcher, access: AccessFilter) -> bool:
    """Returns whether the searcher shows public documents only, and the user may see public documents."""
    return AccessClass.PUBLIC in access.permitted and _is_all_public(searcher)


# a searcher always shows the same commit, so its result can be cached
@lru_cache(maxsize=1)
def _is_all_public(searcher: Searcher) -> bool:
    # Terms of deleted documents count too, so this test alone proves nothing, but most indexes need no look at every document after it.
    if searcher.doc_freq("access", class_term(AccessClass.PUBLIC)) < searcher.num_docs:
        return False
    # sorted by class, descending: if the first document is public (the lowest class), all are
    highest = searcher.search(Query.all_query(), 1, count=False, order_by_field="access_class", order=Order.Desc).hits
    return all(number == AccessClass.PUBLIC for number, _ in highest)


@lru_cache(maxsize=1)
def has_no_deleted(searcher: Searcher) -> bool:
    """Returns whether the dictionary counts no deleted documents. False where that is not known at once."""
    classes = searcher.terms_with_prefix("access", "", None, FEW_CLASSES)
    # each document has one class
    return len(classes) < FEW_CLASSES and sum(count for _, count in classes) == searcher.num_docs


def _permitted(access: AccessFilter) -> Query:
    if isinstance(access.permitted, ClassMap):
        return _permitted_of(access.permitted.table)
    return _shown(sorted(access.permitted))


@lru_cache(maxsize=_CACHED_CLAUSES)
def _permitted_of(table: bytes) -> Query:
    # flags[n] is 1 if class n is visible
    flags = np.frombuffer(table, np.uint8)
    shown = int(np.count_nonzero(flags))
    # name whichever is fewer, the visible or the hidden classes
    if shown <= flags.size - shown:
        return _shown(np.flatnonzero(flags).tolist())
    schema = build_schema()
    # everything up to the newest class that the filter knows, except the hidden classes
    known = Query.range_query(schema, "access_class", FieldType.Unsigned, 0, flags.size - 1)
    hidden = np.flatnonzero(flags == 0).tolist()
    clauses = [(Occur.Must, known)]
    if hidden:
        clauses.append((Occur.MustNot, _terms(hidden)))
    return Query.const_score_query(Query.boolean_query(clauses), 0.0)


def _shown(classes: list[int]) -> Query:
    return Query.const_score_query(_terms(classes), 0.0) if classes else Query.empty_query()


def _terms(classes: list[int]) -> Query:
    schema, terms = build_schema(), [class_term(number) for number in classes]
    # many terms: one automaton over the term dictionary; few terms: a union of single lookups
    if len(terms) > FEW_CLASSES:
        return Query.term_set_query(schema, "access", terms)
    return Query.boolean_query([(Occur.Should, Query.term_query(schema, "access", term)) for term in terms])


def cost_of_clause(access: AccessFilter) -> float:
    """Estimates what the clause of an access filter costs a query. Units: about microseconds."""
    table = table_of(access)
    if table is None:
        return 0.0
    shown = int(np.count_nonzero(table))
    # the clause names the smaller of both sets
    named = min(shown, table.size - shown)
    return named * COST_OF_A_TERM + min(named * COST_OF_A_WAY, table.size * COST_OF_A_CLASS)


def table_of(access: AccessFilter) -> Flags | None:
    """Returns the filter's table, 1 for each visible class by number, or None if the filter is a set of few classes."""
    return np.frombuffer(access.permitted.table, np.uint8) if isinstance(access.permitted, ClassMap) else None


def find_permitted(
    searcher: Searcher, unfiltered: Query, access: AccessFilter, *, start: int, num: int, exact_to: int = EXACT_TO
) -> PermittedMatches:
    """Returns the best matches that the user may see, from ``start`` on, and how many there are.

    The total is exact if the filter has few classes. For others it is exact up to ``exact_to`` or the end of the page.
    """
    if not _is_gone_through(searcher, access, exact_to):
        return _find_by_clause(searcher, unfiltered, access, start, num)
    wanted = start + num
    through = _go_through(searcher, unfiltered, access, start, num, exact_to)
    found = through or _find_by_clause(searcher, unfiltered, access, start, num)
    exact = max(wanted, exact_to)
    if found.is_exact and found.total <= exact:
        return found
    # More than ``exact`` are visible. Estimate even if their number is known: whether it is depends on how much is hidden, which the total
    # must not reveal.
    estimate = _estimate(searcher, unfiltered, access, max(found.total, 1), min(ENOUGH_DRAWN, exact_to))
    return replace(found, total=max(estimate, exact + 1), is_exact=False)


def _is_gone_through(searcher: Searcher, access: AccessFilter, exact_to: int) -> bool:
    """Returns whether matches are checked one by one instead of by a clause. This does not depend on the query."""
    return table_of(access) is not None and cost_of_clause(access) >= min(LEAST_TAKEN, 2 * exact_to) and not hides_nothing(searcher, access)


def _find_by_clause(searcher: Searcher, unfiltered: Query, access: AccessFilter, start: int, num: int) -> PermittedMatches:
    # the engine panics if it must return no hits at all
    found = searcher.search(filter_by_access(unfiltered, access, searcher), max(num, 1), count=True, offset=start)
    return PermittedMatches(pairs=found.hits[:num], total=_total(found))


def _go_through(
    searcher: Searcher, unfiltered: Query, access: AccessFilter, start: int, num: int, exact_to: int
) -> PermittedMatches | None:
    """Checks the best matches until the page is full and more than ``exact_to`` are known, or until no match is left.

    Returns None if so little is visible that too many matches would be read.
    """
    # Read at most as many matches as the clause would cost, since a match costs 1. ``least`` is the size of the short first read.
    limit, least = min(MOST_TAKEN, cost_of_clause(access)), min(LEAST_TAKEN, 2 * exact_to)
    needed = max(start + num, exact_to) + 1
    # expect the visible share of the matches to be the visible share of the classes, and read a little more than that
    depth = max(int(needed * MARGIN / _share_of(access)), least)
    depth = depth if depth <= limit else least
    # each read goes as deep as the one before suggests
    for _ in range(3):
        found = searcher.search(unfiltered, depth, count=True)
        total = _total(found)
        # ``hits`` builds a new list at each access
        hits = found.hits
        # one byte for each hit: 1 is visible, 0 is hidden
        permitted = _filter_pairs(searcher, hits, access)
        known = permitted.count(1)
        # these were all matches, so the total is exact
        if total <= len(hits):
            return PermittedMatches(pairs=_choose(hits, permitted, start, num), total=known)
        if known >= needed:
            # the total is a first guess, which ``find_permitted`` replaces by an estimate
            return PermittedMatches(
                pairs=_choose(hits, permitted, start, num), total=max(round(total * known / len(hits)), known), is_exact=False
            )
        # not enough visible ones yet: read as deep as the share found so far suggests
        depth = min(total, int(depth * needed * MARGIN / max(known, 1)))
        if depth > limit:
            return None
    return None


def _share_of(access: AccessFilter) -> float:
    table = table_of(access)
    return 1.0 if table is None else max(int(np.count_nonzero(table)), 1) / max(table.size, 1)


def _estimate(searcher: Searcher, unfiltered: Query, access: AccessFilter, about: int, enough: int) -> int:
    """Estimates how many matches the user may see, from a fixed random sample of the documents.

    The possible samples double in size. The smallest one with ``enough`` visible matches is used, so that the estimate depends on visible
    documents alone; an estimate from the number of all matches would reveal how many are hidden. ``about`` is a guess of the result. It
    only chooses which sample is tried first.
    """
    # A sample of ``part`` holds part/SAMPLES of all documents. Begin at a power of two that should hold about ``enough`` visible matches.
    part = min(1 << (SAMPLES * enough // about).bit_length(), SAMPLES)
    too_small, too_large = 0, 2 * SAMPLES
    # None: too many matches to read, so halve the sample; too few visible ones: double it
    while (seen := _see_drawn(searcher, unfiltered, access, part)) is None or (seen.size < enough and part < SAMPLES):
        if seen is None:
            too_large, part = part, part // 2
        else:
            too_small, part = part, part * 2
        # Feeds may leave documents in one half of the samples only. Between a sample that is too small and one that is too large there is
        # none, so the larger one is counted without being read.
        if part in (too_small, too_large):
            counted = searcher.search(filter_by_access(_draw(unfiltered, too_large), access, searcher), 1, count=True)
            return _total(counted) * SAMPLES // too_large
    # A smaller sample is a part of the larger one: halve as long as the lower half still has enough, so that the start makes no difference.
    while part > 1 and np.count_nonzero(seen < part // 2) >= enough:
        part //= 2
    return int(np.count_nonzero(seen < part)) * SAMPLES // part


def _see_drawn(searcher: Searcher, unfiltered: Query, access: AccessFilter, part: int) -> Places | None:
    """Returns the sample positions, below ``part``, of the matches that the user may see; None if there are too many."""
    drawn = _draw(unfiltered, part)
    # three times as many as should hold ``ENOUGH_DRAWN`` visible ones
    limit = int(min(MOST_TAKEN, LEAST_TAKEN + 3 * ENOUGH_DRAWN / _share_of(access)))
    # first without the clause, which is cheaper; with it only if there are too many matches to check one by one
    found = searcher.search(drawn, limit, count=True)
    if _total(found) > limit:
        found = searcher.search(filter_by_access(drawn, access, searcher), limit, count=True)
        if _total(found) > limit:
            return None
    hits = found.hits
    # ``compress`` leaves the addresses of hits whose byte is 1
    addresses = [address for _, address in compress(hits, _filter_pairs(searcher, hits, access))]
    return np.array(searcher.fast_field_values("sample", addresses) if addresses else [], np.int64)


def _draw(unfiltered: Query, part: int) -> Query:
    # each document has a random but fixed number in ``sample``; those below ``part`` are the sample
    lot = Query.range_query(build_schema(), "sample", FieldType.Unsigned, 0, part - 1)
    return Query.const_score_query(Query.boolean_query([(Occur.Must, unfiltered), (Occur.Must, lot)]), 0.0)


def _total(found: SearchResult) -> int:
    total: int = found.count  # type: ignore[attr-defined]  # the engine's stub leaves it out
    return total


def _filter_pairs(searcher: Searcher, pairs: Sequence[Pair], access: AccessFilter) -> bytes:
    """Returns 1 for each match that the user may see and 0 for any other, in the order of the matches."""
    if not pairs:
        return b""
    # the class number of each hit, read from the engine's column in one call
    numbers = searcher.fast_field_values("access_class", [address for _, address in pairs])
    if isinstance(access.permitted, ClassMap):
        try:
            # Looks up each number in the table of bytes, without a loop in Python.
            return bytes(map(access.permitted.table.__getitem__, numbers))  # type: ignore[arg-type]  # None is a TypeError
        except (IndexError, TypeError):
            pass  # one is newer than the table (IndexError), or without a class (TypeError)
    # a set of few classes, or a hit that the table does not know: tested one by one
    return bytes(number is not None and int(number) in access.permitted for number in numbers)


def _choose(pairs: Sequence[Pair], permitted: bytes, start: int, num: int) -> list[Pair]:
    # the visible hits, then the part of them that is the page
    return list(islice(compress(pairs, permitted), start, start + num))
