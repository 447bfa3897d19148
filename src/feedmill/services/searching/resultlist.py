"""Returns a page of a result list with the paging of the old protocol: collapsed, at most the best thousand, and never beyond its end.

How many results collapse before a page is known only after reading all results before it. So the list is walked from its beginning, in
growing steps, until the page is full and one more result is known. A page that lies beyond the end becomes the last page. If a page shows
a directory twice, the best ``LOOK_AHEAD`` results are searched to find out whether they hold more of it.
"""

from dataclasses import dataclass, replace

from feedmill.core.ranking.collapsing import ResultCollapser
from feedmill.model.results import Collapsing, ResultPage
from feedmill.services.searching.searcher import Searcher
from feedmill.services.searching.searchstate import PlannedSearch

MAX_REACH = 1_000
LOOK_AHEAD = 200
FIRST_MARGIN = 10
STEP = 100


@dataclass(slots=True)
class _Walk:
    """The state of a walk through the list."""

    searcher: Searcher
    search: PlannedSearch
    collapser: ResultCollapser
    offset: int = 0
    seconds: float = 0.0
    is_over: bool = False
    is_late: bool = False

    def step(self, size: int) -> ResultPage:
        """Advances by up to ``size`` hits. Returns what was found there; facets are counted once, by the first step."""
        size = min(size, MAX_REACH - self.offset)
        page = self.searcher.find_page(self.search.at(self.offset, size, counts_facets=self.offset == 0))
        self.collapser.add_results(page.results)
        self.seconds = page.seconds
        self.is_late = self.is_late or page.late_length is not None
        is_cut = self.search.deadline.is_cut
        self.is_over = self.offset + len(page.results) >= page.length or self.offset + size >= MAX_REACH or is_cut
        self.offset += size
        return page


def list_results(searcher: Searcher, search: PlannedSearch, collapsing: Collapsing) -> ResultPage:
    """Returns the requested page, or the last one if it lies beyond the end. Shape: at least one result is requested."""
    return _list_whole(searcher, search) if collapsing.is_off else _list_collapsed(_Walk(searcher, search, ResultCollapser(collapsing)))


def _list_whole(searcher: Searcher, search: PlannedSearch) -> ResultPage:
    request = search.plan.request
    start = min(request.start, MAX_REACH)
    page = searcher.find_page(search.at(start, max(min(request.num, MAX_REACH - start), 0)))
    if not page.results and page.length and start:
        start = last_start(min(page.length, MAX_REACH), request.num)
        page = searcher.find_page(search.at(start, min(request.num, MAX_REACH - start)))
    return replace(page, has_more=page.start + len(page.results) < min(page.length, MAX_REACH))


def _list_collapsed(walk: _Walk) -> ResultPage:
    request, collapser = walk.search.plan.request, walk.collapser
    start, num, shown = request.start, request.num, collapser.shown
    first = walk.step(min(start + num, MAX_REACH) + FIRST_MARGIN)
    # Until one result more than the page is known.
    while not walk.is_over and len(shown) <= start + num:
        walk.step(STEP)
    # if other servers decide about documents, they are only called for the page itself
    while not walk.is_over and not walk.is_late and walk.offset < LOOK_AHEAD and collapser.may_hide_more(start, num):
        walk.step(STEP)
    if start and start >= len(shown):
        start = last_start(len(shown), num)
    is_last = walk.is_over and start + num >= len(shown)
    late_warnings = walk.search.deadline.warnings
    return replace(
        first,
        start=start,
        total=sum(not result.is_late for result in shown) if is_last else first.total,
        results=collapser.page(start, num),
        is_collapsed=collapser.left_out > 0,
        has_more=start + num < len(shown),
        seconds=walk.seconds,
        warnings=tuple(dict.fromkeys((*first.warnings, *late_warnings))),
        deadline_warnings=late_warnings,
    )


def last_start(count: int, num: int) -> int:
    """Returns the start of the last page of a list. Shape: pages of ``num`` from the first result on."""
    return (max(count, 1) - 1) // num * num
