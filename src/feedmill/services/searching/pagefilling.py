"""Fills a page with results that the user may see if other servers decide about some of the matches.

The user pages through one list. It holds the documents that ACLs permit and those that another server permitted, ordered by rank. Each
request walks the list from its beginning, so that no page repeats or omits a result of another page. It walks in small steps, so that it
checks few more documents than the page needs. Decisions for an earlier page are cached.

The checks stop after ``CHECKS_A_RESULT`` documents for each result up to the end of the page, or when the time of the request is over.
From there on, the list holds only what ACLs permit. So the number of checks depends on how deep the page is, and hardly on how many
documents are hidden.

Documents that other servers permit are never counted: totals are those of what ACLs permit.

Results whose texts are nearly the same may be grouped. Only what the user may see is in a group or stands for it, because documents are
grouped after they were decided.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from feedmill.core.access.classes import class_of
from feedmill.core.ranking.nearduplicates import GroupedWalk
from feedmill.model.access import AccessFilter
from feedmill.model.authorization import LateAccess
from feedmill.model.document import Document
from feedmill.model.search import Hit, Hits
from feedmill.ports import Store
from feedmill.services.access.resulttrimming import ResultTrimmer
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.deadline import Deadline

MAX_REACH = 1_000
MIN_STEP = 20
MAX_STEP = 200
CHECKS_A_RESULT = 3
"""How many documents may be checked for each result up to the end of the page, whatever the decisions are."""

RunQuery = Callable[[AccessFilter, int, int], Hits]
"""Runs the query for the documents of some classes. Parameters: access filter, first position, number of hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The requested part of a list. ``total`` counts the matches that ACLs permit; ``may_list`` says whether a document may be listed.

    ``is_grouped`` if documents with nearly the same text are one result, which counts as one of ``num``.
    """

    start: int
    num: int
    total: int
    may_list: Callable[[Document], bool]
    deadline: Deadline | None = None
    is_grouped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPage:
    """A page.

    ``granted`` are the URLs on it that another server permitted. ``length`` is the known length of the list. ``dropped`` counts documents
    that are still in the index's count although the user may no longer see them. ``checked`` counts documents that another server had to
    decide about, ``folded`` those below others, and ``before`` the documents of the pages before.
    """

    hits: tuple[Hit, ...]
    granted: frozenset[str]
    length: int
    dropped: int
    before: int
    checked: int = 0
    folded: int = 0


@dataclass(slots=True)
class _Walk:
    """The state of a walk through the list. ``wanted`` is one more than the page needs, to learn whether another page follows."""

    wanted: int
    list: GroupedWalk
    granted: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    checked: int = 0
    dropped: int = 0

    @property
    def missing(self) -> int:
        return self.wanted - len(self.list.rows)


class PageFiller:
    """Fills pages. May be used from several threads."""

    def __init__(self, store: Store, decider: ResultTrimmer, late: LateBinding) -> None:
        self._store = store
        self._decider = decider
        self._late = late

    def fill_page(self, run_query: RunQuery, window: Window, access: AccessFilter, late: LateAccess) -> FilledPage:
        """Returns the page of a window. Shape: ``late`` is that of ``access``."""
        # One more than the page, which shows whether another page follows.
        grouped = GroupedWalk(window.start, window.num, is_grouped=window.is_grouped)
        walk = _Walk(wanted=min(window.start + window.num, MAX_REACH) + 1, list=grouped)
        is_over = self._walk_candidates(walk, run_query, window, access, late)
        if not is_over and walk.missing > 0:
            is_over = self._walk_on(walk, run_query, window, access.without_late())
        return FilledPage(
            hits=tuple(grouped.rows[window.start : window.start + window.num]),
            granted=frozenset(walk.granted),
            length=len(grouped.rows) if is_over else max(len(grouped.rows), window.total - grouped.folded),
            dropped=walk.dropped,
            before=sum(1 + len(row.alike) for row in grouped.rows[: window.start]),
            checked=walk.checked,
            folded=grouped.folded,
        )

    def _walk_candidates(self, walk: _Walk, run_query: RunQuery, window: Window, access: AccessFilter, late: LateAccess) -> bool:
        """Walks over all candidates, including those that other servers decide about. Returns whether the end of the list was reached."""
        candidates, offset = access.candidates(), 0
        while walk.missing > 0:
            left = min(self._late.limits.candidates, max(CHECKS_A_RESULT * walk.wanted, MIN_STEP)) - walk.checked
            size = min(max(walk.missing, MIN_STEP), MAX_STEP, MAX_REACH - offset, left)
            if size <= 0 or self._late.is_over(late):
                return False
            hits = run_query(candidates, offset, size).hits
            self._trim_hits(walk, hits, window, access)
            offset += size
            if len(hits) < size:
                return True
        return False

    def _walk_on(self, walk: _Walk, run_query: RunQuery, window: Window, early: AccessFilter) -> bool:
        """Walks over what ACLs permit, after what is listed already. Returns whether the end of the list was reached."""
        offset = 0
        while walk.missing > 0 and offset < MAX_REACH:
            size = min(MAX_STEP, MAX_REACH - offset)
            # From the beginning of another list: this one lacks the candidates, so positions differ. Hits seen before are left out.
            hits = run_query(early, offset, size).hits
            self._trim_hits(walk, [hit for hit in hits if hit.key not in walk.seen], window, early)
            offset += size
            if len(hits) < size:
                return True
        return walk.missing > 0

    def _trim_hits(self, walk: _Walk, hits: Sequence[Hit], window: Window, access: AccessFilter) -> None:
        """Decides about hits and lists those that the user may see."""
        with self._store.reading() as unit:
            documents = unit.documents.reader.find_by_id([hit.key for hit in hits])
            trimmed = self._decider.decide_each(unit, documents.values(), access, window.deadline)
        shown = {each.url for each in trimmed.shown if window.may_list(each)}
        open_urls = [each.url for each in trimmed.undecided if window.may_list(each)]
        # Outside the transaction, since it may wait for other servers.
        granted = self._late.select(open_urls, access)
        walk.checked += len(open_urls)
        walk.granted |= granted
        for hit in hits:
            walk.seen.add(hit.key)
            document = documents.get(hit.key)
            if document is None:
                continue
            if document.url in shown or document.url in granted:
                walk.list.add(hit)
            # Counted by the index as visible. A candidate that was refused was never counted.
            elif class_of(document) in access.permitted:
                walk.dropped += 1
