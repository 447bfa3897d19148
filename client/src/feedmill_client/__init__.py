"""Feedmill from Python: search, go through all results, look at documents, build feeds, push them and wait for their receipts.

Example::

    from feedmill_client import Client, FeedBuilder

    with Client(search="http://127.0.0.1:8080", feeds="http://127.0.0.1:19900") as client:
        with FeedBuilder() as feed:
            feed.add("http://intranet.example.com/1", "<title>One</title>words", metadata={"department": ["Sales"]})
            receipt = client.wait(client.push(feed, datasource="hr"))
        for result in client.iter_results("words"):
            print(result.url, result.title)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedmill_client._bodies import Progress
    from feedmill_client.adminanswers import (
        CrawlEntryShown,
        CrawlShown,
        DecisionShown,
        Diagnosis,
        FailingSiteShown,
        FetchShown,
        MatchShown,
        PolicyDecisionShown,
        PullSourceShown,
        QueryMatchShown,
        RunShown,
        StepShown,
    )
    from feedmill_client.answers import (
        AclShown,
        DataSourceShown,
        DocumentDetails,
        DocumentSummary,
        EventShown,
        FacetShown,
        FacetValueShown,
        KeyMatchShown,
        LogLine,
        Passages,
        PassageShown,
        PrincipalShown,
        Problem,
        Receipt,
        ResultShown,
        SearchAnswer,
        StuckShown,
        Suggestions,
    )
    from feedmill_client.asyncclients import AsyncAdministration, AsyncClient, AsyncPort, AsyncSeedlistReader
    from feedmill_client.clients import Administration, Client
    from feedmill_client.dataloads import DataloadBuilder
    from feedmill_client.documents import AclPush, DocumentPush, PrincipalPush
    from feedmill_client.errors import (
        BadAnswer,
        BadRequest,
        Busy,
        Conflict,
        Denied,
        DiskFull,
        FeedmillError,
        NotDone,
        NotFound,
        Overtaken,
        ServerFault,
        Stuck,
        TooLarge,
        Unreachable,
    )
    from feedmill_client.feeds import AclEntry, FeedBuilder, GroupsBuilder
    from feedmill_client.options import Options, Retries, Timeouts, __version__
    from feedmill_client.port import Port
    from feedmill_client.replies import ItemReply, SeedlistItem
    from feedmill_client.seedlists import SeedlistReader

_MODULES = {
    "_bodies": "Progress",
    "adminanswers": "CrawlEntryShown CrawlShown DecisionShown Diagnosis FailingSiteShown FetchShown MatchShown PolicyDecisionShown"
    " PullSourceShown QueryMatchShown RunShown StepShown",
    "answers": "AclShown DataSourceShown DocumentDetails DocumentSummary EventShown FacetShown FacetValueShown KeyMatchShown LogLine"
    " Passages PassageShown PrincipalShown Problem Receipt ResultShown SearchAnswer StuckShown Suggestions",
    "asyncclients": "AsyncAdministration AsyncClient AsyncPort AsyncSeedlistReader",
    "clients": "Administration Client",
    "dataloads": "DataloadBuilder",
    "documents": "AclPush DocumentPush PrincipalPush",
    "errors": "BadAnswer BadRequest Busy Conflict Denied DiskFull FeedmillError NotDone NotFound Overtaken ServerFault Stuck TooLarge"
    " Unreachable",
    "feeds": "AclEntry FeedBuilder GroupsBuilder",
    "options": "Options Retries Timeouts __version__",
    "port": "Port",
    "replies": "ItemReply SeedlistItem",
    "seedlists": "SeedlistReader",
}
"""Where each name is. Its module is loaded when it is used first, so that importing this package takes no time."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "AclEntry",
    "AclPush",
    "AclShown",
    "Administration",
    "AsyncAdministration",
    "AsyncClient",
    "AsyncPort",
    "AsyncSeedlistReader",
    "BadAnswer",
    "BadRequest",
    "Busy",
    "Client",
    "Conflict",
    "CrawlEntryShown",
    "CrawlShown",
    "DataSourceShown",
    "DataloadBuilder",
    "DecisionShown",
    "Denied",
    "Diagnosis",
    "DiskFull",
    "DocumentDetails",
    "DocumentPush",
    "DocumentSummary",
    "EventShown",
    "FacetShown",
    "FacetValueShown",
    "FailingSiteShown",
    "FeedBuilder",
    "FeedmillError",
    "FetchShown",
    "GroupsBuilder",
    "ItemReply",
    "KeyMatchShown",
    "LogLine",
    "MatchShown",
    "NotDone",
    "NotFound",
    "Options",
    "Overtaken",
    "PassageShown",
    "Passages",
    "PolicyDecisionShown",
    "Port",
    "PrincipalPush",
    "PrincipalShown",
    "Problem",
    "Progress",
    "PullSourceShown",
    "QueryMatchShown",
    "Receipt",
    "ResultShown",
    "Retries",
    "RunShown",
    "SearchAnswer",
    "SeedlistItem",
    "SeedlistReader",
    "ServerFault",
    "StepShown",
    "Stuck",
    "StuckShown",
    "Suggestions",
    "Timeouts",
    "TooLarge",
    "Unreachable",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Loads a name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
