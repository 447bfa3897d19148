"""Answers searches: parses the query, searches the index, and makes results from the store's documents.

The index decides which documents match and their order; before a search it is refreshed to the last commit that the store knows. The
reference evaluator then decides about every result again from the store: a document that is gone, or that the user may not see, is dropped
even if the index still shows it.
"""

import time
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from feedmill.core.documents.visibility import has_robots_rule
from feedmill.core.query.matching import ENOUGH
from feedmill.core.query.nodes import parts_of
from feedmill.core.queryplan import QueryPlan
from feedmill.core.ranking.indexterms import complete_scheme, complete_url
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.authorization import Login
from feedmill.model.document import Document, Origin
from feedmill.model.errors import FeedmillError, NotFound, OutOfTime
from feedmill.model.facets import FacetCounts
from feedmill.model.identity import Identity
from feedmill.model.query import Info, Node
from feedmill.model.results import Result, ResultPage
from feedmill.model.search import Hit, Hits, SearchRequest
from feedmill.model.serving import Serving
from feedmill.ports import BlobStore, SearchIndex, Store
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.access.resulttrimming import ResultTrimmer, may_name
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.deadline import Deadline
from feedmill.services.isolation.batches import attempt
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.keyvalues import INDEX_FOLDER, INDEX_PARTIAL, INDEX_TOKEN, SETTINGS_GENERATION
from feedmill.services.searchconfigprovider import SearchConfigProvider, nothing_set
from feedmill.services.searching.enginethreads import EngineThreads
from feedmill.services.searching.hitfinding import MAX_NUM, find_hits, list_onwards
from feedmill.services.searching.likeness import READ_CHARACTERS, find_like, list_infos, list_related, resolve_urls
from feedmill.services.searching.pagefilling import Filled, PageFiller, Window
from feedmill.services.searching.resultmaking import RESULT_STEP, ResultMaker
from feedmill.services.searching.spelling import find_spelling
from feedmill.services.searching.timedindex import TimedIndex

REBUILDING = "the index is being built anew; until it is done some documents are not found"
MAX_RELATED = 3
DECIDED_AT_ONCE = 100

FACETS_FAILED = "facets could not be counted"
DECISION_STEP = "decision"

IndexProvider = Callable[[str], SearchIndex]
"""Opens the index of a folder's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document that the user may see, and whether the index shows its newest version."""

    document: Document
    is_searchable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    """The state that one request is answered from.

    It has the index that the store names, refreshed to the last commit, None before there is one; the search config; and notices about
    the index.
    """

    index: SearchIndex | None
    book: CompiledSearchConfig
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSearch:
    """One search: its plan, and what it runs with."""

    plan: QueryPlan
    #: None before there is an index
    index: SearchIndex | None
    access: AccessFilter
    deadline: Deadline
    #: what the user should know about the index
    notices: tuple[str, ...] = ()
    #: by the searcher's clock
    begun: float

    def at(self, start: int, num: int, *, counts_facets: bool = True) -> "PlannedSearch":
        """Returns the search for another part of the same result list."""
        return replace(self, plan=self.plan.at(start, num, counts_facets=counts_facets))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The results of hits, the number of those hits, and how many visible hits failed to become a result."""

    results: tuple[Result, ...] = ()
    tried: int = 0
    failed: int = 0


class Searcher:
    """Runs all searches. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(
        self,
        store: Store,
        index_provider: IndexProvider,
        blobs: BlobStore,
        clock: Callable[[], float] = time.perf_counter,
        search_config: SearchConfigProvider | None = None,
        directory: PermissionCache | None = None,
        late: LateBinding | None = None,
        threads: EngineThreads | None = None,
    ) -> None:
        self._threads = threads or EngineThreads()
        self._directory = directory or PermissionCache(store)
        self._decider = ResultTrimmer(self._directory)
        self._late = late
        self._filler = PageFiller(store, self._decider, late) if late is not None else None
        self._store = store
        self._index_provider = index_provider
        self._maker = ResultMaker(blobs)
        self._clock = clock
        self._search_config = search_config or SearchConfigProvider(nothing_set)
        self._opened: tuple[str, SearchIndex] | None = None

    def classes_of(self, identity: Identity, login: Login | None = None, deadline: Deadline | None = None) -> AccessFilter:
        """Returns the classes that the user may see now, and those that other servers may decide about, for one request only.

        If they are not known at ``until_access`` of the deadline, they are those of anonymous users, and the deadline records that.
        Errors: Denied for a user in too many groups; Busy.
        """
        try:
            access = self._directory.classes_of(identity, deadline)
            return access if self._late is None else self._late.allow(access, partial(self._directory.undecided, deadline), login)
        except OutOfTime:
            if deadline is not None:
                deadline.leave_out_secure()
            return ANONYMOUS

    @property
    def directory(self) -> PermissionCache:
        """The permission cache, which knows what each user may see."""
        return self._directory

    def prepare(self, request: SearchRequest, access: AccessFilter, deadline: Deadline | None = None) -> PlannedSearch:
        """Plans a search of a user, under the search config and over the index that are current now."""
        begun, deadline = self._clock(), deadline or Deadline()
        now = self._look(deadline)
        plan = now.book.plan(request)
        return PlannedSearch(plan=plan, index=now.index, access=access, deadline=deadline, notices=now.notices, begun=begun)

    def search(self, request: SearchRequest, access: AccessFilter, deadline: Deadline | None = None) -> ResultPage:
        """Plans and runs a search."""
        return self.run(self.prepare(request, access, deadline))

    def run(self, search: PlannedSearch) -> ResultPage:
        """Returns one page of matches that the user may see; at the deadline, the results found by then and a warning."""
        plan, deadline = search.plan, search.deadline
        page = ResultPage(
            query=plan.request.query,
            start=plan.request.start,
            facets=tuple(FacetCounts(facet=facet, values=()) for facet in plan.facets),
            keymatches=plan.keymatches,
            related=plan.related,
        )
        if search.index is not None and plan.root is not None and not plan.is_empty:
            try:
                page = self._find(search.index, plan.root, search, page)
            except OutOfTime:
                page = replace(page, is_exact=False)
        return replace(
            page,
            warnings=(*search.notices, *plan.warnings, *page.warnings, *deadline.warnings, *plan.facet_warnings),
            deadline_warnings=deadline.warnings,
            seconds=self._clock() - search.begun,
        )

    def _find(self, index: SearchIndex, root: Node, search: PlannedSearch, empty: ResultPage) -> ResultPage:
        """Finds the hits and makes results of them before anything else, so that these exist when the time is over. Errors: OutOfTime."""
        plan, request, access, deadline = search.plan, search.plan.request, search.access, search.deadline
        strict, next_cursor = self._resolve(index, root, access, deadline), None
        if request.cursor is not None:
            meant, hits, next_cursor = list_onwards(index, strict, plan, request.cursor, access)
        else:
            meant, hits = find_hits(index, strict, plan, access)
        is_loosened = request.cursor is None and meant != strict
        filled = self._fill(index, meant, hits.total, search)
        chosen, granted = (hits.hits, frozenset[str]()) if filled is None else (filled.hits, filled.granted)
        made = self._make_results(index, meant, chosen, search, granted) if chosen else _Made()
        if filled is not None and not filled.asked and not made.results:
            self._imitate(root, access)
        dropped = made.tried - len(made.results) if filled is None else filled.dropped + made.failed
        warnings = [report_failed(made.failed)] if made.failed else []
        spelling, facets = None, empty.facets
        with suppress(OutOfTime):
            if hits.total and plan.facets:
                counted = attempt(lambda: index.count_facets(meant, access, plan.facets), None, step="facets")
                facets, warnings = counted or facets, warnings + ([FACETS_FAILED] if counted is None else [])
            if request.start == 0 and request.cursor is None and (hits.total < ENOUGH or is_loosened):
                read = self._read_titles_and_texts(access, deadline)
                spelling = attempt(lambda: find_spelling(index, request.query, strict, access, read), None, step="spelling")
        return replace(
            empty,
            total=max(hits.total - dropped, 0),
            is_exact=hits.is_exact and not deadline.is_cut,
            results=made.results,
            facets=facets,
            spelling=spelling,
            warnings=tuple(warnings),
            next_cursor=next_cursor,
            late_length=filled.length if filled is not None else None,
            is_loosened=is_loosened,
        )

    def _fill(self, index: SearchIndex, root: Node, total: int, search: PlannedSearch) -> Filled | None:
        """Fills the page if other servers may decide about results. A list in the order of its keys holds only what ACLs permit."""
        plan, request, access = search.plan, search.plan.request, search.access
        if self._filler is None or access.late is None or request.cursor is not None:
            return None
        late = replace(access.late, until=min(access.late.until, search.deadline.until_results))
        access = replace(access, late=late)

        def ask(classes: AccessFilter, start: int, num: int) -> Hits:
            try:
                return index.search(root, classes, start=start, num=num, sort=request.sort, bias=plan.bias, explains=request.explains)
            except OutOfTime:
                return Hits(hits=(), total=0, is_exact=False)

        def keeps(document: Document) -> bool:
            return not has_robots_rule(document, "noindex") and not plan.removes(document.url)

        window = Window(start=request.start, num=min(request.num, MAX_NUM), total=total, keeps=keeps, deadline=search.deadline)
        return self._filler.fill(ask, window, access, late)

    def find_urls_by_digest(self, start: bytes) -> list[str]:
        """Finds the URLs whose digest has this beginning, without an access check: use the result only for ``get_document``."""
        with self._store.reading() as unit:
            return unit.documents.reader.find_urls_by_digest(start)

    def get_document(self, url: str, access: AccessFilter, deadline: Deadline | None = None) -> FoundDocument:
        """Returns a document by URL.

        Errors: NotFound, also if the user may not see it; OutOfTime instead if the user's access could not be determined in time.
        """
        found, is_open = self._find_document(url, access, frozenset(), deadline)
        if found is None and is_open and self._late is not None:
            # The other server is called outside of any transaction; then the document is read and decided about again.
            found, _ = self._find_document(url, access, self._late.select([url], access), deadline)
        elif found is None and self._late is not None:
            self._late.imitate(url, access)
        if found is None:
            if deadline is not None and deadline.is_cut:
                raise deadline.give_up()
            raise NotFound(f"no document {url}")
        return found

    def _find_document(
        self, url: str, access: AccessFilter, granted: Set[str], deadline: Deadline | None
    ) -> tuple[FoundDocument | None, bool]:
        """Finds a document that ACLs or another server permit. Also returns whether another server may be called about it."""
        with self._store.reading() as unit:
            number = unit.documents.reader.find_class(url)
            # a hidden document takes the same path as a missing one, so that the response time does not tell them apart
            if number is None or not may_name(access, number):
                return None, False
            document = unit.documents.reader.find_many([url]).get(url)
            if document is None or document.damage:
                return None, False
            judgement = self._decider.judge(unit, [document], access, deadline)
            if not judgement.shown and not (judgement.undecided and url in granted):
                return None, bool(judgement.undecided)
            marks = unit.index_tasks.find_many([document.id]) if document.id is not None else {}
            waits = any(not mark.is_refresh for mark in marks.values())
        return FoundDocument(document=document, is_searchable=not waits and _belongs_in_index(document)), False

    def serving(self) -> Serving:
        """Returns the search settings that are in force now."""
        with self._store.reading() as unit:
            return self._search_config.current(unit).serving

    def find_index(self, deadline: Deadline | None = None) -> SearchIndex | None:
        """Returns the current index, bound to a deadline; None before there is one."""
        return self._look(deadline).index

    def find_scope(self, site: str, client: str) -> Node | None:
        """Returns the query for the documents that collections and a front end leave, None if they leave none."""
        return self._look().book.find_scope(site, client)

    def list_visible(
        self, keys: Sequence[int], access: AccessFilter, granted: Set[str] = frozenset(), deadline: Deadline | None = None
    ) -> list[Document]:
        """Lists documents by id, in the order given, if ACLs or another server (``granted``) permit them to the user.

        A document that cannot be read or decided about, also for lack of time, is left out.
        """
        found = attempt(lambda: self._list_visible(keys, access, granted, deadline), None, step=DECISION_STEP)
        if found is not None:
            return found
        nothing: list[Document] = []
        each = (attempt(partial(self._list_visible, [key], access, granted, deadline), nothing, step=DECISION_STEP) for key in keys)
        return [document for documents in each for document in documents]

    def _list_visible(self, keys: Sequence[int], access: AccessFilter, granted: Set[str], deadline: Deadline | None) -> list[Document]:
        with self._store.reading() as unit:
            documents = unit.documents.reader.find_by_id(keys)
            found = [document for key in keys if (document := documents.get(key)) is not None]
            for document in found:
                fault_point(DECISION_STEP, document.url)
            judgement = self._decider.judge(unit, found, access, deadline)
        allowed = {one.url for one in judgement.shown} | {one.url for one in judgement.undecided if one.url in granted}
        return [one for one in found if one.url in allowed and not has_robots_rule(one, "noindex")]

    def find_problems(self) -> list[str]:
        """Lists the problems that prevent searches; empty if there are none. Errors: those of store and index, which name them."""
        self._look()
        return []

    def _look(self, deadline: Deadline | None = None) -> _Now:
        with self._store.reading() as unit:
            facts = unit.key_values.find_many((INDEX_FOLDER, INDEX_TOKEN, INDEX_PARTIAL, SETTINGS_GENERATION))
            book = self._search_config.current_at(unit, facts.get(SETTINGS_GENERATION))
        folder = facts.get(INDEX_FOLDER)
        try:
            index = None if folder is None else self._open(folder, facts.get(INDEX_TOKEN, ""))
        except FeedmillError:
            # the folder was removed at the end of a rebuild
            if not self._has_moved(folder):
                raise
            return self._look(deadline)
        return _Now(
            index=index if index is None or deadline is None else TimedIndex(index, deadline, self._threads),
            book=book,
            notices=(REBUILDING,) if facts.get(INDEX_PARTIAL) else (),
        )

    def _has_moved(self, folder: str | None) -> bool:
        with self._store.reading() as unit:
            return unit.key_values.get(INDEX_FOLDER) != folder

    def _open(self, folder: str, token: str) -> SearchIndex:
        opened = self._opened
        if opened is None or opened[0] != folder:
            opened = (folder, self._index_provider(folder))
            self._opened = opened
        opened[1].is_visible(token)
        return opened[1]

    def _resolve(self, index: SearchIndex, root: Node, access: AccessFilter, deadline: Deadline) -> Node:
        """Replaces ``related:`` by a query for similar documents, and ``info:`` of a document that the user may not see by nothing.

        The engine therefore never searches for the URL of a hidden document: its response time would reveal whether it holds that URL.
        """
        infos, urls = dict.fromkeys(list_infos(root)), list_related(root)[:MAX_RELATED]
        if not urls and not infos:
            return root
        absent = self._find_absent(list(infos), access)
        found: dict[str, Node] = {}
        for url in urls:
            document = self._find_typed(url, access, deadline)
            if document is not None:
                title = document.text.title if document.text is not None else None
                found[url] = find_like(index, document.url, title or "", self._maker.read_text(document), access)
        return resolve_urls(root, found, absent)

    def _find_absent(self, typed: Sequence[str], access: AccessFilter) -> set[str]:
        """Returns the typed URLs that cannot belong to a document that the user may see."""
        if not typed:
            return set()
        with self._store.reading() as unit:
            classes = {url: [unit.documents.reader.find_class(form) for form in complete_url(url)] for url in typed}
        return {url for url, numbers in classes.items() if not any(number is not None and may_name(access, number) for number in numbers)}

    def _imitate(self, root: Node, access: AccessFilter) -> None:
        """Takes as long for ``info:`` of a URL without a document as for a document that another server decides about."""
        urls = [part.url for part in parts_of(root) if isinstance(part, Info)]
        if urls and self._late is not None:
            self._late.imitate(urls[0], access)

    def _find_typed(self, typed: str, access: AccessFilter, deadline: Deadline) -> Document | None:
        """Finds the document for a typed URL, with or without its scheme and a slash at its end."""
        for url in (form for each in complete_scheme(typed) for form in (each, f"{each}/")):
            try:
                return self.get_document(url, access, deadline).document
            except (NotFound, OutOfTime):
                continue
        return None

    def _read_titles_and_texts(self, access: AccessFilter, deadline: Deadline) -> Callable[[Sequence[int]], list[str]]:
        def read(keys: Sequence[int]) -> list[str]:
            documents = self.list_visible(keys, access, deadline=deadline)
            titles = [document.text.title or "" for document in documents if document.text is not None]
            return titles + [self._maker.read_text(document)[:READ_CHARACTERS] for document in documents]

        return read

    def _make_results(self, index: SearchIndex, root: Node, hits: Sequence[Hit], search: PlannedSearch, granted: Set[str]) -> _Made:
        """Makes results from hits while there is time; a result that fails is left out."""
        sought, results, tried, failed = index.seek(root), list[Result](), 0, 0
        for first in range(0, len(hits), DECIDED_AT_ONCE):
            batch = hits[first : first + DECIDED_AT_ONCE]
            visible = self.list_visible([hit.key for hit in batch], search.access, granted, search.deadline)
            documents = {document.id: document for document in visible}
            for hit in batch:
                if search.deadline.is_over:
                    search.deadline.give_up()
                    return _Made(results=tuple(results), tried=tried, failed=failed)
                tried += 1
                document = documents.get(hit.key)
                if document is None or search.plan.removes(document.url):
                    continue
                make = partial(self._maker.make, document, hit, sought, search.plan.request.getfields, is_late=document.url in granted)
                result = attempt(make, None, step=RESULT_STEP, url=document.url)
                failed += result is None
                results += [] if result is None else [result]
        return _Made(results=tuple(results), tried=tried, failed=failed)


def _belongs_in_index(document: Document) -> bool:
    is_awaited = document.awaits_extraction or (document.origin is Origin.WEB and document.content is None)
    return not is_awaited and not has_robots_rule(document, "noindex")


def report_failed(count: int) -> str:
    """Returns the warning for results that could not be made."""
    return (
        "one result is left out, since it could not be shown"
        if count == 1
        else f"{count} results are left out, since they could not be shown"
    )
