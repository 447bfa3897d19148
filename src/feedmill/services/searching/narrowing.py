"""Narrows a result list by what the user selected of facets, and counts each facet as if nothing of it were selected."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from feedmill.core.query.nodes import join_all
from feedmill.core.query.plan import QueryPlan
from feedmill.core.query.selections import choose, group_by_name
from feedmill.core.ranking.builtinfacets import drop_repeated
from feedmill.core.ranking.facets import counts_days
from feedmill.core.text.analysis import fold_value
from feedmill.model.access import AccessFilter
from feedmill.model.errors import BadRequest
from feedmill.model.facets import Facet, FacetCounts, Selection
from feedmill.model.query import MatchAll, Node, Not
from feedmill.model.results import UnselectedList
from feedmill.ports import SearchIndex

NOTHING = Not(MatchAll())


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What was selected. Shape: ``restrictions`` by the folded names, all of which must hold."""

    selections: tuple[Selection, ...] = ()
    restrictions: tuple[tuple[str, Node], ...] = ()
    warnings: tuple[str, ...] = ()

    def narrow(self, root: Node, *, but: str = "") -> Node:
        """Returns a query with all restrictions, but for that of a folded name."""
        held = [node for name, node in self.restrictions if name != but]
        return join_all([root, *held]) if held else root


def resolve_selections(index: SearchIndex, plan: QueryPlan, access: AccessFilter) -> Narrowing:
    """Decides what each selection means by the documents that the user may see.

    Errors: OutOfTime, and BadRequest for a range that holds nothing, if the request is strict.
    """

    def has_match(node: Node) -> bool:
        return index.search(node, access, start=0, num=0).total > 0

    chosen, warnings = [], []
    for readings in plan.selections:
        try:
            chosen.append(choose(readings, plan.known_facets, has_match))
        except BadRequest as error:
            if plan.request.is_strict:
                raise
            chosen.append(replace(readings.values[0], node=NOTHING))
            warnings.append(error.args[0])
    return Narrowing(tuple(chosen), tuple(group_by_name(chosen).items()), tuple(warnings))


def count_facets(
    index: SearchIndex, root: Node, narrowing: Narrowing, access: AccessFilter, facets: Sequence[Facet], today: date
) -> tuple[FacetCounts, ...]:
    """Counts facets over a list, each without the restriction of its own name. Shape: in the order of the facets."""
    selected = {name for name, _ in narrowing.restrictions}
    together: dict[str, list[int]] = {}
    for place, facet in enumerate(facets):
        name = fold_value(facet.name)
        together.setdefault(name if name in selected else "", []).append(place)
    counted: dict[int, FacetCounts] = {}
    for name, places in together.items():
        counts = _count(index, narrowing.narrow(root, but=name), access, [facets[place] for place in places], today)
        counted |= zip(places, counts, strict=True)
    return tuple(counted[place] for place in range(len(facets)))


def count_unselected(index: SearchIndex, root: Node, access: AccessFilter, facets: Sequence[Facet], today: date) -> UnselectedList:
    """Counts a list and its facets without any selection. A user who selects something has just seen it, so an index may have it cached."""
    total = index.search(root, access, start=0, num=0).total
    return UnselectedList(total=total, facets=_count(index, root, access, facets, today))


def _count(index: SearchIndex, query: Node, access: AccessFilter, facets: Sequence[Facet], today: date) -> tuple[FacetCounts, ...]:
    counted = index.count_facets(query, access, [_as_of(facet, today) for facet in facets])
    return tuple(_without_repeated(one, today) for one in counted)


def _as_of(facet: Facet, today: date) -> Facet:
    return replace(facet, as_of=today) if counts_days(facet) and not facet.ranges else facet


def _without_repeated(counts: FacetCounts, today: date) -> FacetCounts:
    return counts if counts.facet.as_of is None else replace(counts, values=drop_repeated(counts.values, today))
