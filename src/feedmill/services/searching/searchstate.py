"""The state that searches run in: the index and the search config that the store names now.

Both are read in one transaction, so that a search sees an index and a search config of the same moment.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from feedmill.core.query.plan import QueryPlan
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.access import AccessFilter
from feedmill.model.errors import FeedmillError, UpstreamFailure
from feedmill.model.messages import message
from feedmill.model.semantic import Neighbour
from feedmill.ports import SearchIndex, Store
from feedmill.services.deadline import Deadline
from feedmill.services.keyvalues import INDEX_FOLDER, INDEX_PARTIAL, INDEX_TOKEN, SETTINGS_GENERATION
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.services.searching.enginethreads import EngineThreads
from feedmill.services.searching.timedindex import TimedIndex

REBUILDING = message("the index is being rebuilt; until it is complete, some documents are not found")

IndexProvider = Callable[[str], SearchIndex]
"""Opens the index of a folder's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """The state that one request is answered from."""

    #: refreshed to the last commit; None before there is an index
    index: SearchIndex | None
    config: CompiledSearchConfig
    #: what the user should know about the index
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSearch:
    """One search: its plan, and what it runs with."""

    plan: QueryPlan
    state: SearchState
    access: AccessFilter
    deadline: Deadline
    #: by the searcher's clock
    begun: float
    #: what semantic search found, or why it found nothing, for all parts of the result list
    nearest: list[list[Neighbour] | UpstreamFailure] = field(default_factory=list)

    def at(self, start: int, num: int, *, counts_facets: bool = True) -> "PlannedSearch":
        """Returns the search for another part of the same result list."""
        return replace(self, plan=self.plan.at(start, num, counts_facets=counts_facets))


class SearchStates:
    """Reads the state for requests. May be used from several threads; all share one opened index."""

    def __init__(self, store: Store, open_index: IndexProvider, search_config: SearchConfigProvider, threads: EngineThreads) -> None:
        self._store = store
        self._open_index = open_index
        self._search_config = search_config
        self._threads = threads
        self._opened: tuple[str, SearchIndex] | None = None

    def read_search_state(self, deadline: Deadline | None = None) -> SearchState:
        """Returns the current state, with an index that observes the deadline. Errors: those of store and index, which name them."""
        with self._store.reading() as unit:
            values = unit.state.key_values.find_many((INDEX_FOLDER, INDEX_TOKEN, INDEX_PARTIAL, SETTINGS_GENERATION))
            config = self._search_config.current_at(unit, values.get(SETTINGS_GENERATION))
        folder = values.get(INDEX_FOLDER)
        try:
            index = None if folder is None else self._open(folder, values.get(INDEX_TOKEN, ""))
        except FeedmillError:
            # the folder was removed at the end of a rebuild
            # Only then: an error of the folder in force is real, and trying again would not end.
            if not self._has_moved(folder):
                raise
            return self.read_search_state(deadline)
        return SearchState(
            index=index if index is None or deadline is None else TimedIndex(index, deadline, self._threads),
            config=config,
            notices=(REBUILDING,) if values.get(INDEX_PARTIAL) else (),
        )

    def read_config(self) -> CompiledSearchConfig:
        """Returns the search config in force, without the index."""
        with self._store.reading() as unit:
            return self._search_config.current(unit)

    def find_problems(self) -> list[str]:
        """Lists the problems that prevent searches; empty if there are none. Errors: those of store and index, which name them."""
        self.read_search_state()
        return []

    def _has_moved(self, folder: str | None) -> bool:
        with self._store.reading() as unit:
            return unit.state.key_values.get(INDEX_FOLDER) != folder

    def _open(self, folder: str, token: str) -> SearchIndex:
        opened = self._opened
        if opened is None or opened[0] != folder:
            opened = (folder, self._open_index(folder))
            self._opened = opened
        # so that a search finds what "searchable" promised
        opened[1].reload_to(token)
        return opened[1]
