"""Returns a page of a result list with the paging of the old protocol: collapsed, at most the best thousand, and never beyond its end.

A collapsed list can only be counted from its beginning. It is walked from there in growing steps until the page is full and one more result
is known. A page that lies beyond the end becomes the last page. If a page shows a directory twice, the best ``LOOK_AHEAD`` results are
searched to find out whether they hold more of it.
"""

from dataclasses import dataclass, replace

from feedmill.core.collapsing import ResultCollapser
from feedmill.model.access import AccessFilter
from feedmill.model.facets import FacetCounts
from feedmill.model.results import Placed, ResultList, Thinning
from feedmill.model.search import ResultPage, SearchRequest
from feedmill.model.serving import KeyMatch
from feedmill.services.deadline import Deadline
from feedmill.services.searching.searcher import Searcher

MAX_REACH = 1_000
LOOK_AHEAD = 200
FIRST_MARGIN = 10
STEP = 100


@dataclass(slots=True)
class _Walk:
    """The state of a walk through the list. ``total`` counts all matches, collapsed or not."""

    searcher: Searcher
    request: SearchRequest
    access: AccessFilter
    thinner: ResultCollapser
    deadline: Deadline
    offset: int = 0
    total: int = 0
    is_exact: bool = True
    seconds: float = 0.0
    is_over: bool = False
    is_late: bool = False
    facets: tuple[FacetCounts, ...] = ()
    keymatches: tuple[KeyMatch, ...] = ()
    related: tuple[str, ...] = ()
    spelling: str | None = None

    def step(self, size: int) -> None:
        """Advances by up to ``size`` hits."""
        size = min(size, MAX_REACH - self.offset)
        facets = self.request.facets if self.offset == 0 else ()
        page = self.searcher.search(replace(self.request, start=self.offset, num=size, facets=facets), self.access, self.deadline)
        self.thinner.take(page.results)
        if self.offset == 0:
            self.total, self.is_exact, self.facets, self.spelling = page.total, page.is_exact, page.facets, page.spelling
            self.keymatches, self.related = page.keymatches, page.related
        self.seconds += page.seconds
        self.is_late = self.is_late or page.late_length is not None
        self.is_over = self.offset + len(page.results) >= page.length or self.offset + size >= MAX_REACH or self.deadline.is_cut
        self.offset += size


def list_results(
    searcher: Searcher, request: SearchRequest, access: AccessFilter, thinning: Thinning, deadline: Deadline | None = None
) -> ResultList:
    """Returns the requested page, or the last one if it lies beyond the end. Shape: ``request.num`` from 1 on."""
    deadline = deadline or Deadline()
    if thinning.snippets or thinning.directories:
        return _list_thinned(_Walk(searcher, request, access, ResultCollapser(thinning), deadline))
    return _list_whole(searcher, request, access, deadline)


def _list_whole(searcher: Searcher, request: SearchRequest, access: AccessFilter, deadline: Deadline) -> ResultList:
    start = min(request.start, MAX_REACH)
    page = searcher.search(replace(request, start=start, num=max(min(request.num, MAX_REACH - start), 0)), access, deadline)
    if not page.results and page.length and start:
        start = last_start(min(page.length, MAX_REACH), request.num)
        page = searcher.search(replace(request, start=start, num=min(request.num, MAX_REACH - start)), access, deadline)
    return _show_whole(page, deadline.warnings)


def _show_whole(page: ResultPage, warnings: tuple[str, ...]) -> ResultList:
    return ResultList(
        start=page.start,
        total=page.total,
        is_exact=page.is_exact,
        results=tuple(Placed(result=result) for result in page.results),
        is_thinned=False,
        has_more=page.start + len(page.results) < min(page.length, MAX_REACH),
        seconds=page.seconds,
        facets=page.facets,
        keymatches=page.keymatches,
        related=page.related,
        spelling=page.spelling,
        warnings=warnings,
    )


def _list_thinned(walk: _Walk) -> ResultList:
    start, num = walk.request.start, walk.request.num
    kept = walk.thinner.kept
    walk.step(min(start + num, MAX_REACH) + FIRST_MARGIN)
    while not walk.is_over and len(kept) <= start + num:
        walk.step(STEP)
    # if other servers decide about documents, they are only called for the page itself
    while not walk.is_over and not walk.is_late and walk.offset < LOOK_AHEAD and walk.thinner.may_hide_more(start, num):
        walk.step(STEP)
    if start and start >= len(kept):
        start = last_start(len(kept), num)
    is_last = walk.is_over and start + num >= len(kept)
    return ResultList(
        start=start,
        total=sum(not result.is_late for result in kept) if is_last else walk.total,
        is_exact=walk.is_exact,
        results=walk.thinner.page(start, num),
        is_thinned=walk.thinner.left_out > 0,
        has_more=start + num < len(kept),
        seconds=walk.seconds,
        facets=walk.facets,
        keymatches=walk.keymatches,
        related=walk.related,
        spelling=walk.spelling,
        warnings=walk.deadline.warnings,
    )


def last_start(count: int, num: int) -> int:
    """Returns the start of the last page of a list. Shape: pages of ``num`` from the first result on."""
    return (max(count, 1) - 1) // num * num
