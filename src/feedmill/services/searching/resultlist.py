"""Returns a page of a result list with the paging of the old protocol: collapsed, at most the best thousand, and never beyond its end.

A collapsed list can only be counted from its beginning. It is walked from there in growing steps until the page is full and one more result
is known. A page that lies beyond the end becomes the last page. If a page shows a directory twice, the best ``LOOK_AHEAD`` results are
searched to find out whether they hold more of it.
"""

from dataclasses import dataclass, replace

from feedmill.core.ranking.collapsing import ResultCollapser
from feedmill.model.access import AccessFilter
from feedmill.model.results import Collapsing, ResultPage
from feedmill.model.search import SearchRequest
from feedmill.services.deadline import Deadline
from feedmill.services.searching.searcher import Searcher

MAX_REACH = 1_000
LOOK_AHEAD = 200
FIRST_MARGIN = 10
STEP = 100


@dataclass(slots=True)
class _Walk:
    """The state of a walk through the list. ``first`` is the page of the first step, which says what the whole list holds."""

    searcher: Searcher
    request: SearchRequest
    access: AccessFilter
    collapser: ResultCollapser
    deadline: Deadline
    first: ResultPage
    offset: int = 0
    seconds: float = 0.0
    is_over: bool = False
    is_late: bool = False

    def take(self, page: ResultPage, size: int) -> None:
        """Takes the results of a page that was requested with ``size`` hits."""
        self.collapser.take(page.results)
        self.seconds += page.seconds
        self.is_late = self.is_late or page.late_length is not None
        self.is_over = self.offset + len(page.results) >= page.length or self.offset + size >= MAX_REACH or self.deadline.is_cut
        self.offset += size

    def step(self) -> None:
        """Advances by up to ``STEP`` hits."""
        size = min(STEP, MAX_REACH - self.offset)
        self.take(self.searcher.search(replace(self.request, start=self.offset, num=size, facets=()), self.access, self.deadline), size)


def list_results(
    searcher: Searcher, request: SearchRequest, access: AccessFilter, collapsing: Collapsing, deadline: Deadline | None = None
) -> ResultPage:
    """Returns the requested page, or the last one if it lies beyond the end. Shape: ``request.num`` from 1 on."""
    deadline = deadline or Deadline()
    if collapsing.is_off:
        return _list_whole(searcher, request, access, deadline)
    return _list_collapsed(searcher, request, access, ResultCollapser(collapsing), deadline)


def _list_whole(searcher: Searcher, request: SearchRequest, access: AccessFilter, deadline: Deadline) -> ResultPage:
    start = min(request.start, MAX_REACH)
    page = searcher.search(replace(request, start=start, num=max(min(request.num, MAX_REACH - start), 0)), access, deadline)
    if not page.results and page.length and start:
        start = last_start(min(page.length, MAX_REACH), request.num)
        page = searcher.search(replace(request, start=start, num=min(request.num, MAX_REACH - start)), access, deadline)
    return replace(page, has_more=page.start + len(page.results) < min(page.length, MAX_REACH))


def _list_collapsed(
    searcher: Searcher, request: SearchRequest, access: AccessFilter, collapser: ResultCollapser, deadline: Deadline
) -> ResultPage:
    start, num, kept = request.start, request.num, collapser.kept
    size = min(min(start + num, MAX_REACH) + FIRST_MARGIN, MAX_REACH)
    first = searcher.search(replace(request, start=0, num=size), access, deadline)
    walk = _Walk(searcher, request, access, collapser, deadline, first)
    walk.take(first, size)
    while not walk.is_over and len(kept) <= start + num:
        walk.step()
    # if other servers decide about documents, they are only called for the page itself
    while not walk.is_over and not walk.is_late and walk.offset < LOOK_AHEAD and collapser.may_hide_more(start, num):
        walk.step()
    if start and start >= len(kept):
        start = last_start(len(kept), num)
    is_last = walk.is_over and start + num >= len(kept)
    return replace(
        first,
        start=start,
        total=sum(not result.is_late for result in kept) if is_last else first.total,
        results=collapser.page(start, num),
        is_collapsed=collapser.left_out > 0,
        has_more=start + num < len(kept),
        seconds=walk.seconds,
        warnings=tuple(dict.fromkeys((*first.warnings, *deadline.warnings))),
        deadline_warnings=deadline.warnings,
    )


def last_start(count: int, num: int) -> int:
    """Returns the start of the last page of a list. Shape: pages of ``num`` from the first result on."""
    return (max(count, 1) - 1) // num * num
