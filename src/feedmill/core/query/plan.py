"""The plan of one search: all that can be computed before the index is read.

A request is planned once, under one version of the search settings (``CompiledSearchConfig.plan``). Everything after it reads the plan: the
searcher, the collapsed list, the search page. No text of a request is parsed a second time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from feedmill.core.text.analysis import fold_value
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.facets import BuiltIn, Facet, FacetType, SelectionReadings
from feedmill.model.messages import message
from feedmill.model.query import Node
from feedmill.model.ranking import ScoreBias
from feedmill.model.search import SearchRequest
from feedmill.model.serving import KeyMatch

MAX_FACETS = 20
BUILT_IN_FACETS: Final = (
    Facet(name=BuiltIn.FILETYPE.value, label=message("File type")),
    Facet(name=BuiltIn.DATE.value, label=message("Date"), type=FacetType.DATE),
    Facet(name=BuiltIn.SOURCE.value, label=message("Source")),
    Facet(name=BuiltIn.LANGUAGE.value, label=message("Language")),
    Facet(name=BuiltIn.SITE.value, label=message("Site")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """A request under the search settings."""

    #: the parameters; their texts are parsed into the fields below
    request: SearchRequest
    #: the tree of the query as the user typed it
    typed: Node
    #: the restrictions that the user selected rather than typed
    selected: tuple[Node, ...] = ()
    #: the tree to search: query, form, filters, languages, collections, without removed URLs; None if no document can match
    root: Node | None
    #: what the user selected of facets; ``root`` is without it
    selections: tuple[SelectionReadings, ...] = ()
    #: the query holds nothing to search for, and finds nothing
    is_empty: bool
    facets: tuple[Facet, ...] = ()
    #: those and the ones of the front end: their names and ranges say how to read a selection, in every part of the list alike
    known_facets: tuple[Facet, ...] = ()
    #: the patterns of the URLs that the front end removes from its results
    removed: PatternSet
    #: shown above the results
    keymatches: tuple[KeyMatch, ...] = ()
    #: other queries to offer
    related: tuple[str, ...] = ()
    bias: ScoreBias | None = None
    warnings: tuple[str, ...] = ()
    #: shown below all other warnings
    facet_warnings: tuple[str, ...] = ()

    def at(self, start: int, num: int, *, counts_facets: bool = True) -> "QueryPlan":
        """Returns the plan of another part of the same result list."""
        return replace(self, request=replace(self.request, start=start, num=num), facets=self.facets if counts_facets else ())

    def removes(self, url: str) -> bool:
        """Whether the front end removes a URL from its results. Its patterns apply at once, even before the index knows them."""
        return not self.removed.is_empty and self.removed.match_url(url).passes


def select_facets(request: SearchRequest, configured: Sequence[Facet]) -> tuple[tuple[Facet, ...], tuple[str, ...]]:
    """Returns the facets to count, each once, and warnings.

    The named ones have the label, type and ranges of the front end, if it has that facet. Before them come all of the front end, and
    after them the built-in ones, if the request has these.
    """
    known = {fold_value(facet.name): _complete(facet) for facet in configured}
    chosen = dict(known) if request.has_frontend_facets else {}
    for name in request.facet_names:
        folded = fold_value(name)
        if folded:
            chosen.setdefault(folded, known.get(folded) or _complete(Facet(name=name.strip())))
    if request.has_built_in_facets:
        for facet in BUILT_IN_FACETS:
            chosen.setdefault(facet.name, facet)
    facets = list(chosen.values())
    warnings = (
        (message("only the first %(count)s facets were counted", count=MAX_FACETS),)
        if request.facet_names and len(facets) > MAX_FACETS
        else ()
    )
    return tuple(facets[:MAX_FACETS]), warnings


def _complete(facet: Facet) -> Facet:
    """Returns a facet with the name, the type and, if it has no label of its own, the label of the built-in one."""
    built_in = next((one for one in BUILT_IN_FACETS if one.name == fold_value(facet.name)), None)
    if built_in is None:
        return facet
    return replace(facet, name=built_in.name, label=facet.label or built_in.label, type=built_in.type)
