"""Answers searches: plans the query, searches the index, and makes results from the store's documents.

The index decides which documents match and their order; before a search it is refreshed to the last commit that the store knows. The
reference evaluator then decides about every result again from the store: a document that is gone, or that the user may not see, is dropped
even if the index still shows it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import NamedTuple

from feedmill.core.documents.presentation import has_robots_rule
from feedmill.core.query.matching import ENOUGH, loosen
from feedmill.core.query.nodes import parts_of
from feedmill.core.query.plan import QueryPlan
from feedmill.core.ranking.nearduplicates import GROUPED, GroupedPage, group_page
from feedmill.model.access import AccessFilter
from feedmill.model.authorization import LateAccess
from feedmill.model.document import Document
from feedmill.model.errors import OutOfTime, UpstreamFailure, find_message
from feedmill.model.facets import FacetCounts
from feedmill.model.lightdataclass import light_replace
from feedmill.model.messages import message
from feedmill.model.query import Info, Node
from feedmill.model.results import ResultPage
from feedmill.model.search import Cursor, Hits, Match, SearchRequest
from feedmill.ports import SearchIndex
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.searching.hybridlist import HybridList, find_hybrid_list
from feedmill.services.searching.likeness import resolve_urls
from feedmill.services.searching.missingwords import name_missing
from feedmill.services.searching.narrowing import Narrowing, count_facets, count_unselected, resolve_selections
from feedmill.services.searching.pagefilling import FilledPage, PageFiller, RunQuery, Window
from feedmill.services.searching.resultmaking import ResultBatch, ResultMaker, report_failed
from feedmill.services.searching.searchstate import PlannedSearch, SearchStates
from feedmill.services.searching.semanticranking import SemanticRanking
from feedmill.services.searching.spelling import BetterSpelling, find_spelling
from feedmill.services.searching.visibledocuments import VisibleDocuments

MAX_NUM = 1_000
WHOLE = Narrowing()
FACETS_FAILED = message("facets could not be counted")
SEMANTIC_FAILED = message("semantic ranking failed; results are found by their words alone")
SEMANTIC_STEP = "semantic"


def read_today() -> date:
    """Returns the current day in UTC, as dates of documents are compared."""
    return datetime.now(UTC).date()


class Searcher:
    """Runs all searches. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(
        self,
        states: SearchStates,
        documents: VisibleDocuments,
        maker: ResultMaker,
        filler: PageFiller | None = None,
        semantic: SemanticRanking | None = None,
        clock: Callable[[], float] = time.perf_counter,
        today: Callable[[], date] = read_today,
    ) -> None:
        self._states = states
        self._documents = documents
        self._maker = maker
        self._filler = filler
        self._semantic = semantic
        self._clock = clock
        self._today = today

    def prepare(self, request: SearchRequest, access: AccessFilter, deadline: Deadline | None = None) -> PlannedSearch:
        """Plans a search of a user, under the search config and over the index that are current now."""
        begun, deadline = self._clock(), deadline or Deadline()
        state = self._states.read_search_state(deadline)
        return PlannedSearch(plan=state.config.plan(request), state=state, access=access, deadline=deadline, begun=begun)

    def search(self, request: SearchRequest, access: AccessFilter, deadline: Deadline | None = None) -> ResultPage:
        """Plans and runs a search."""
        return self.find_page(self.prepare(request, access, deadline))

    def find_page(self, search: PlannedSearch) -> ResultPage:
        """Returns one page of matches that the user may see; at the deadline, the results found by then and a warning."""
        plan, deadline = search.plan, search.deadline
        page = ResultPage(
            query=plan.request.query,
            start=plan.request.start,
            facets=tuple(FacetCounts(facet=facet, values=()) for facet in plan.facets),
            keymatches=plan.keymatches,
            related=plan.related,
        )
        if search.state.index is not None and plan.root is not None and not plan.is_empty:
            try:
                page = self._find_hits(search.state.index, plan.root, search, page)
            except OutOfTime:
                page = replace(page, is_exact=False)
        return light_replace(
            page,
            warnings=(*search.state.notices, *plan.warnings, *page.warnings, *deadline.warnings, *deadline.missing, *plan.facet_warnings),
            deadline_warnings=deadline.warnings,
            seconds=self._clock() - search.begun,
        )

    def _find_hits(self, index: SearchIndex, root: Node, search: PlannedSearch, empty: ResultPage) -> ResultPage:
        """Finds the hits and makes results of them before anything else, so that these exist when the time is over. Errors: OutOfTime."""
        plan, request, access, deadline = search.plan, search.plan.request, search.access, search.deadline
        strict, next_cursor, whole_total = resolve_urls(index, root, search, self._documents, self._maker), None, None
        narrowing = resolve_selections(index, plan, access)
        # a grouped page is made of the beginning of the list, which all pages read in the same way
        is_grouped = request.groups_alike and request.num > 0 and request.cursor is None
        late = self._find_late(search)
        listed = plan.at(0, GROUPED) if is_grouped and late is None else plan
        if request.cursor is not None:
            searched, hits, next_cursor = list_onwards(index, strict, plan, request.cursor, access, narrowing)
        else:
            searched, hits, whole_total = find_hits(index, strict, listed, access, narrowing)
        is_loosened = request.cursor is None and searched != strict
        warnings, by_words = list(narrowing.warnings), hits
        listing = search if listed is plan else replace(search, plan=listed)
        hybrid, hits = self._find_hybrid(index, (strict, searched), by_words, listing, narrowing, warnings)
        run_query = self._list_query(index, narrowing.narrow(searched), search, hybrid)
        filled = None if late is None else _fill(*late, run_query, hits.total, search, is_grouped=is_grouped)
        chosen, granted = (hits.hits, frozenset[str]()) if filled is None else (filled.hits, filled.granted)
        grouped: GroupedPage | FilledPage | None = filled if is_grouped else None
        if is_grouped and filled is None:
            grouped = group_page(chosen, request.start, request.num, lambda start, num: run_query(access, start, num).hits)
            chosen = grouped.hits
        made = self._maker.make_results(search, index.make_highlighter(searched), chosen, granted) if chosen else ResultBatch()
        # Only if nothing was checked: otherwise the request has taken its time already.
        if filled is not None and not filled.checked and not made.results:
            self._imitate(root, access)
        dropped = made.dropped if filled is None else filled.dropped + made.failed
        warnings += [report_failed(made.failed)] if made.failed else []
        counted_root = searched if hybrid is None else hybrid.whole
        spelling, facets, unselected, results = None, empty.facets, None, made.results
        with suppress(OutOfTime):
            # words that are being typed are not named
            if is_loosened and hybrid is None and request.match is Match.AUTO and request.corrects:
                results = attempt(lambda: name_missing(index, strict, made.results, access), results, step="missing words")
            if plan.facets and (hits.total or narrowing.selections):
                today = self._today()
                counted = attempt(lambda: count_facets(index, counted_root, narrowing, access, plan.facets, today), None, step="facets")
                facets, warnings = counted or facets, warnings + ([FACETS_FAILED] if counted is None else [])
                if counted and narrowing.selections and request.counts_unselected:
                    unselected = attempt(lambda: count_unselected(index, counted_root, access, plan.facets, today), None, step="facets")
            if (
                request.corrects
                and request.start == 0
                and request.cursor is None
                and (is_loosened or self._is_short(index, strict, by_words, narrowing, access))
            ):
                spelling = attempt(lambda: self._find_spelling(index, strict, whole_total, search), None, step="spelling")
        return light_replace(
            empty,
            total=max(hits.total - dropped, 0),
            is_exact=hits.is_exact and not deadline.is_cut,
            results=results,
            facets=facets,
            selections=narrowing.selections,
            unselected=unselected,
            spelling=spelling.query if spelling is not None else None,
            is_misspelt=spelling is not None and spelling.replaces_nothing,
            warnings=tuple(warnings),
            next_cursor=next_cursor,
            late_length=filled.length if filled is not None else None,
            folded=grouped.folded if grouped is not None else 0,
            before=grouped.before if grouped is not None else None,
            # of a list that holds documents by their meaning it would be wrong that they match parts of the query
            is_loosened=is_loosened and hybrid is None,
        )

    def _is_short(self, index: SearchIndex, root: Node, hits: Hits, narrowing: Narrowing, access: AccessFilter) -> bool:
        """Whether few documents match what was typed, whatever was selected."""
        if hits.total >= ENOUGH or not narrowing.restrictions:
            return hits.total < ENOUGH
        return index.search(root, access, start=0, num=0).total < ENOUGH

    def _find_hybrid(
        self, index: SearchIndex, roots: tuple[Node, Node], hits: Hits, search: PlannedSearch, narrowing: Narrowing, warnings: list[str]
    ) -> tuple[HybridList | None, Hits]:
        """Returns the list in which semantic search has a part, with its hits; None and the hits by words if it has none.

        Shape: ``roots`` are the query as planned, and as it was run. A part that should be there and is not adds a warning.
        """
        request, semantic = search.plan.request, self._semantic
        if semantic is None:
            return None, hits

        def find() -> tuple[HybridList | None, Hits]:
            hybrid = find_hybrid_list(semantic, index, roots[0], roots[1], search, narrowing)
            if hybrid is None:
                return None, hits
            return hybrid, hybrid.list_hits(search.access, request.start, min(request.num, MAX_NUM))

        try:
            found = attempt(find, None, step=SEMANTIC_STEP)
        except UpstreamFailure as error:
            warnings.append(find_message(error))
        except OutOfTime:
            # what was found by words is shown, with the warning of the deadline
            return None, hits
        else:
            if found is not None:
                return found
            warnings.append(SEMANTIC_FAILED)
        return None, hits

    def _list_query(self, index: SearchIndex, root: Node, search: PlannedSearch, hybrid: HybridList | None) -> RunQuery:
        """Returns the function that runs the query for a page that other servers decide about."""
        plan, request = search.plan, search.plan.request

        def run_query(classes: AccessFilter, start: int, num: int) -> Hits:
            try:
                if hybrid is not None:
                    return hybrid.list_hits(classes, start, num)
                return index.search(root, classes, start=start, num=num, sort=request.sort, bias=plan.bias, explains=request.explains)
            except OutOfTime:
                return Hits(hits=(), total=0, is_exact=False)

        return run_query

    def _find_late(self, search: PlannedSearch) -> tuple[PageFiller, LateAccess] | None:
        """Returns how other servers decide about results, None if they do not.

        A list in the order of its keys holds only what ACLs permit.
        """
        late = search.access.late
        if self._filler is None or late is None or search.plan.request.cursor is not None:
            return None
        return self._filler, replace(late, until=min(late.until, search.deadline.until_results))

    def _imitate(self, root: Node, access: AccessFilter) -> None:
        """Takes as long for ``info:`` of a URL without a document as for a document that another server decides about."""
        urls = [part.url for part in parts_of(root) if isinstance(part, Info)]
        if urls:
            self._documents.imitate(urls[0], access)

    def _find_spelling(self, index: SearchIndex, root: Node, total: int | None, search: PlannedSearch) -> BetterSpelling | None:
        def read(keys: Sequence[int]) -> list[str]:
            return self._maker.read_titles_and_texts(self._documents.list_visible(keys, search.access, deadline=search.deadline))

        matching = index.search(root, search.access, start=0, num=0).total if total is None else total
        return find_spelling(index, search.plan.request.query, root, matching, search.access, read)


class FoundHits(NamedTuple):
    """The tree that was run, and its hits; ``whole_total``: how many documents match all of the query, None if that was not asked."""

    searched: Node
    hits: Hits
    whole_total: int | None


def find_hits(index: SearchIndex, root: Node, plan: QueryPlan, access: AccessFilter, narrowing: Narrowing = WHOLE) -> FoundHits:
    """Runs the tree of a plan as written, or loosened if the request permits that.

    Whether it is loosened depends on the list before it is narrowed, so that a selection shows a part of the list that it was made in.
    """
    request = plan.request

    def run_query(query: Node) -> Hits:
        num = min(request.num, MAX_NUM)
        query = narrowing.narrow(query)
        return index.search(query, access, start=request.start, num=num, sort=request.sort, bias=plan.bias, explains=request.explains)

    loosened = loosen(root, request.match)
    if loosened is not None and request.match is Match.ANY:
        return FoundHits(loosened, run_query(loosened), None)
    hits = run_query(root)
    whole_total = None if narrowing.restrictions else hits.total
    if loosened is None or hits.total >= ENOUGH:
        return FoundHits(root, hits, whole_total)
    try:
        if whole_total is None:
            whole_total = index.search(root, access, start=0, num=0).total
        if whole_total >= ENOUGH:
            return FoundHits(root, hits, whole_total)
        return FoundHits(loosened, run_query(loosened), whole_total)
    except OutOfTime:
        # the hits that hold all of it were found in time
        return FoundHits(root, hits, whole_total)


def list_onwards(
    index: SearchIndex, root: Node, plan: QueryPlan, cursor: Cursor, access: AccessFilter, narrowing: Narrowing = WHOLE
) -> tuple[Node, Hits, Cursor | None]:
    """Lists the hits after a cursor, and returns where to continue, None at the end. The first page's decision to loosen holds for all."""
    request = plan.request
    loosened = loosen(root, request.match)
    is_loosened = cursor.is_loosened
    if is_loosened is None:
        is_few = request.match is Match.ANY or (loosened is not None and index.search(root, access, start=0, num=0).total < ENOUGH)
        is_loosened = loosened is not None and is_few
    searched = loosened if is_loosened and loosened is not None else root
    num = min(max(request.num, 1), MAX_NUM)
    hits = index.list_by_key(narrowing.narrow(searched), access, after=cursor.after, num=num)
    next_cursor = Cursor(after=hits.hits[-1].key, is_loosened=is_loosened) if len(hits.hits) == num else None
    return searched, hits, next_cursor


def _fill(filler: PageFiller, late: LateAccess, run_query: RunQuery, total: int, search: PlannedSearch, *, is_grouped: bool) -> FilledPage:
    """Returns the page for which other servers decide about results."""
    plan, request = search.plan, search.plan.request

    def may_list(document: Document) -> bool:
        return not has_robots_rule(document, "noindex") and not plan.removes(document.url)

    num = min(request.num, MAX_NUM)
    window = Window(start=request.start, num=num, total=total, may_list=may_list, deadline=search.deadline, is_grouped=is_grouped)
    return filler.fill_page(run_query, window, replace(search.access, late=late), late)
