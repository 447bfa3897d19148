"""How the asker's classes are applied to what the engine matches.

A clause of the query serves where the classes are few, and wherever everything that matches must be gone through: one term a class, or,
where less is hidden than shown, one term a hidden class and the newest class that the set knows as a bound, lest a newer one gets in.

With thousands of classes such a clause costs more than the query itself. There the best matches are taken without it, and each is kept or
dropped by its class, until the page is full and a thousand more are known; a longer list is not counted to its end but estimated by lot.
Where so little is visible that too much would have to be taken, a first look still finds out whether all that matches is few.

Which number is told, and whether as exact, depends on what the asker may see alone, never on how much else matches.

Where the index holds nothing but public documents, whoever may see those needs no clause at all: one that every document fulfils still
costs the engine several times what a word does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, islice

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, FieldType, Occur, Order, Query, Searcher, SearchResult

from feedmill.adapters.index.schema import SAMPLES, build_schema, class_term
from feedmill.model.access import AccessClass, AccessFilter, ClassMap

FEW_CLASSES = 8
COST_OF_A_TERM = 0.9
COST_OF_A_WAY = 4.0
COST_OF_A_CLASS = 0.1
"""What a clause costs: for each class that is asked, the opening of its list and the way to it in the dictionary, of which no more can be
walked than there is, so much for each class. A match that is taken and decided costs 1, about a microsecond."""

_KEPT_CLAUSES = 16
EXACT_TO = 1_000
LEAST_TAKEN = 1_150
MOST_TAKEN = 25_000
MARGIN = 1.1
ENOUGH_DRAWN = 400
"""How many visible matches an estimate goes by, which is then 4 % off in the mean."""

Pair = tuple[float, DocAddress]
Flags = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """The best matches that the asker may see. ``total`` is exact while ``is_exact``, else an estimate."""

    pairs: Sequence[Pair]
    total: int
    is_exact: bool = True


def guarded(query: Query, access: AccessFilter, searcher: Searcher) -> Query:
    """Builds the query of what matches and is of the asker's classes; what is asked about these adds nothing to a score."""
    return query if hides_nothing(searcher, access) else Query.boolean_query([(Occur.Must, query), (Occur.Must, _permitted(access))])


def hides_nothing(searcher: Searcher, access: AccessFilter) -> bool:
    """Whether every document that the searcher shows is one of everybody's, and the asker may see those."""
    return AccessClass.PUBLIC in access.permitted and _is_all_public(searcher)


# a searcher shows one commit for ever
@lru_cache(maxsize=1)
def _is_all_public(searcher: Searcher) -> bool:
    # the terms of documents that are gone count too, so that this alone proves nothing; it spares most indexes the look at every document
    if searcher.doc_freq("access", class_term(AccessClass.PUBLIC)) < searcher.num_docs:
        return False
    highest = searcher.search(Query.all_query(), 1, count=False, order_by_field="access_class", order=Order.Desc).hits
    return all(number == AccessClass.PUBLIC for number, _ in highest)


def _permitted(access: AccessFilter) -> Query:
    if isinstance(access.permitted, ClassMap):
        return _permitted_of(access.permitted.table)
    return _shown(sorted(access.permitted))


@lru_cache(maxsize=_KEPT_CLAUSES)
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
    schema, terms = build_schema(), [class_term(number) for number in classes]
    if len(terms) > FEW_CLASSES:
        return Query.term_set_query(schema, "access", terms)
    return Query.boolean_query([(Occur.Should, Query.term_query(schema, "access", term)) for term in terms])


def cost_of_clause(access: AccessFilter) -> float:
    """Estimates what the clause of a set costs a query. Units: about microseconds."""
    table = table_of(access)
    if table is None:
        return 0.0
    shown = int(np.count_nonzero(table))
    asked = min(shown, table.size - shown)
    return asked * COST_OF_A_TERM + min(asked * COST_OF_A_WAY, table.size * COST_OF_A_CLASS)


def table_of(access: AccessFilter) -> Flags | None:
    """Returns 1 for each class in the set by its number, None for a set of a few classes."""
    return np.frombuffer(access.permitted.table, np.uint8) if isinstance(access.permitted, ClassMap) else None


def find_permitted(
    searcher: Searcher, unguarded: Query, access: AccessFilter, *, start: int, num: int, exact_to: int = EXACT_TO
) -> Permitted:
    """Returns the best matches that the asker may see, from ``start`` on, and how many there are.

    The number is exact for sets of few classes, and up to ``exact_to`` or the end of the page for others.
    """
    if not _is_gone_through(searcher, access, exact_to):
        return _find_by_clause(searcher, unguarded, access, start, num)
    wanted = start + num
    through = _go_through(searcher, unguarded, access, start, num, exact_to)
    found = through or _find_by_clause(searcher, unguarded, access, start, num)
    exact = max(wanted, exact_to)
    if found.is_exact and found.total <= exact:
        return found
    # also where the number is known, since that depends on how much is hidden
    estimate = _estimate(searcher, unguarded, access, max(found.total, 1), min(ENOUGH_DRAWN, exact_to))
    return replace(found, total=max(estimate, exact + 1), is_exact=False)


def _is_gone_through(searcher: Searcher, access: AccessFilter, exact_to: int) -> bool:
    """Whether matches are gone through instead of being asked for by a clause, whatever the query is."""
    return table_of(access) is not None and cost_of_clause(access) >= min(LEAST_TAKEN, 2 * exact_to) and not hides_nothing(searcher, access)


def _find_by_clause(searcher: Searcher, unguarded: Query, access: AccessFilter, start: int, num: int) -> Permitted:
    # the engine panics when asked for no hits at all
    found = searcher.search(guarded(unguarded, access, searcher), max(num, 1), count=True, offset=start)
    return Permitted(pairs=found.hits[:num], total=_total(found))


def _go_through(searcher: Searcher, unguarded: Query, access: AccessFilter, start: int, num: int, exact_to: int) -> Permitted | None:
    """Goes through the best matches until the page is full and more than ``exact_to`` are known, or nothing is left.

    None where so little is visible that too much would be gone through.
    """
    limit, least = min(MOST_TAKEN, cost_of_clause(access)), min(LEAST_TAKEN, 2 * exact_to)
    needed = max(start + num, exact_to) + 1
    depth = max(int(needed * MARGIN / _share_of(access)), least)
    depth = depth if depth <= limit else least
    for _ in range(3):
        found = searcher.search(unguarded, depth, count=True)
        total = _total(found)
        # the engine makes the list anew whenever it is asked for it
        hits = found.hits
        kept = _keep(searcher, hits, access)
        known = kept.count(1)
        if total <= len(hits):
            return Permitted(pairs=_choose(hits, kept, start, num), total=known)
        if known >= needed:
            return Permitted(pairs=_choose(hits, kept, start, num), total=max(round(total * known / len(hits)), known), is_exact=False)
        depth = min(total, int(depth * needed * MARGIN / max(known, 1)))
        if depth > limit:
            return None
    return None


def _share_of(access: AccessFilter) -> float:
    table = table_of(access)
    return 1.0 if table is None else max(int(np.count_nonzero(table)), 1) / max(table.size, 1)


def _estimate(searcher: Searcher, unguarded: Query, access: AccessFilter, about: int, enough: int) -> int:
    """Estimates how many matches the asker may see, from those among the documents drawn by lot.

    The smallest lot counts, of those that double, in which ``enough`` are visible, so that the estimate depends on visible documents alone:
    one that went by the number of all matches would tell how many are hidden. ``about`` says which lot to look at first.
    """
    part = min(1 << (SAMPLES * enough // about).bit_length(), SAMPLES)
    while True:
        seen = _see_drawn(searcher, unguarded, access, part)
        if seen is None:
            part //= 2
        elif seen.size < enough and part < SAMPLES:
            part *= 2
        else:
            break
    while part > 1 and np.count_nonzero(seen < part // 2) >= enough:
        part //= 2
    return int(np.count_nonzero(seen < part)) * SAMPLES // part


def _see_drawn(searcher: Searcher, unguarded: Query, access: AccessFilter, part: int) -> Places | None:
    """Returns the places in the lot, below ``part``, of the matches that the asker may see; None where they are too many."""
    lot = Query.range_query(build_schema(), "sample", FieldType.Unsigned, 0, part - 1)
    drawn = Query.const_score_query(Query.boolean_query([(Occur.Must, unguarded), (Occur.Must, lot)]), 0.0)
    limit = int(min(MOST_TAKEN, LEAST_TAKEN + 3 * ENOUGH_DRAWN / _share_of(access)))
    found = searcher.search(drawn, limit, count=True)
    if _total(found) > limit:
        found = searcher.search(guarded(drawn, access, searcher), limit, count=True)
        if _total(found) > limit:
            return None
    hits = found.hits
    addresses = [address for _, address in compress(hits, _keep(searcher, hits, access))]
    return np.array(searcher.fast_field_values("sample", addresses) if addresses else [], np.int64)


def _total(found: SearchResult) -> int:
    total: int = found.count  # type: ignore[attr-defined]  # the engine's stub leaves it out
    return total


def _keep(searcher: Searcher, pairs: Sequence[Pair], access: AccessFilter) -> bytes:
    """Returns 1 for each match that the asker may see, 0 for any other, in the order of the matches."""
    if not pairs:
        return b""
    numbers = searcher.fast_field_values("access_class", [address for _, address in pairs])
    if isinstance(access.permitted, ClassMap):
        try:
            return bytes(map(access.permitted.table.__getitem__, numbers))  # type: ignore[arg-type]  # None is a TypeError
        except (IndexError, TypeError):
            pass  # one is newer than the set
    return bytes(number is not None and int(number) in access.permitted for number in numbers)


def _choose(pairs: Sequence[Pair], kept: bytes, start: int, num: int) -> list[Pair]:
    return list(islice(compress(pairs, kept), start, start + num))
