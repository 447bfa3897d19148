"""The services behind the search port, wired to one store and one index."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from feedmill.ports import BlobStore, Store
from feedmill.services.access.permissioncache import AccessFilters, PermissionCache
from feedmill.services.access.resulttrimming import ResultTrimmer
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.authorization.usertokens import UserTokens
from feedmill.services.documentlisting import DocumentListing
from feedmill.services.searchconfigprovider import SearchConfigProvider, nothing_set
from feedmill.services.searching.enginethreads import EngineThreads
from feedmill.services.searching.pagefilling import PageFiller
from feedmill.services.searching.resultmaking import ResultMaker
from feedmill.services.searching.retrieval import Retrieval
from feedmill.services.searching.searcher import Searcher
from feedmill.services.searching.searchstate import IndexProvider, SearchStates
from feedmill.services.searching.semanticranking import SemanticRanking
from feedmill.services.searching.visibledocuments import VisibleDocuments


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchServices:
    """What answers searches, each service with the others that it needs."""

    searcher: Searcher
    documents: VisibleDocuments
    maker: ResultMaker
    filters: AccessFilters
    states: SearchStates
    permissions: PermissionCache
    listing: DocumentListing
    retrieval: Retrieval
    semantic: SemanticRanking | None = None


def wire_search_services(
    store: Store,
    open_index: IndexProvider,
    blobs: BlobStore,
    *,
    clock: Callable[[], float] = time.perf_counter,
    search_config: SearchConfigProvider | None = None,
    permissions: PermissionCache | None = None,
    late: LateBinding | None = None,
    tokens: UserTokens | None = None,
    threads: EngineThreads | None = None,
    semantic: SemanticRanking | None = None,
) -> SearchServices:
    """Returns the services.

    Without ``search_config`` nothing is set, without ``late`` no other server decides about documents, without ``tokens`` none lists
    the ACL tokens of users, and without ``semantic`` documents are found by their words alone.
    """
    permissions = permissions or PermissionCache(store)
    trimmer = ResultTrimmer(permissions)
    documents = VisibleDocuments(store, trimmer, late)
    states = SearchStates(store, open_index, search_config or SearchConfigProvider(nothing_set), threads or EngineThreads())
    filler = PageFiller(store, trimmer, late) if late is not None else None
    maker = ResultMaker(documents, blobs)
    searcher = Searcher(states, documents, maker, filler, semantic, clock)
    return SearchServices(
        searcher=searcher,
        documents=documents,
        maker=maker,
        filters=AccessFilters(permissions, late, tokens),
        states=states,
        permissions=permissions,
        listing=DocumentListing(store, blobs),
        retrieval=Retrieval(searcher, documents, blobs),
        semantic=semantic,
    )
