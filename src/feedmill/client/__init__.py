"""Feedmill from Python: search, go through all results, look at documents, build feeds, push them and wait for their receipts.

Example::

    from feedmill.client import Client, FeedBuilder

    client = Client(search="http://127.0.0.1:8080", feeds="http://127.0.0.1:19900")
    with FeedBuilder() as feed:
        feed.add("http://intranet.example.com/1", "<title>One</title>words", metadata={"department": ["Sales"]})
        receipt = client.wait(client.push(feed, datasource="hr"))
    for result in client.iter_results("words"):
        print(result.url, result.title)
"""

from feedmill.client.adminanswers import CrawlEntryShown, CrawlShown, Diagnosis, FetchShown, PullSourceShown, RunShown
from feedmill.client.administration import Administration
from feedmill.client.answers import (
    AclShown,
    DataSourceShown,
    DocumentDetails,
    DocumentSummary,
    EventShown,
    FacetShown,
    FacetValueShown,
    KeyMatchShown,
    LogLine,
    PrincipalShown,
    Problem,
    Receipt,
    ResultShown,
    SearchAnswer,
    StuckShown,
    Suggestions,
)
from feedmill.client.connection import Client
from feedmill.client.dataloads import DataloadBuilder
from feedmill.client.documents import AclPush, DocumentPush, PrincipalPush
from feedmill.client.feeds import AclEntry, FeedBuilder, GroupsBuilder
from feedmill.client.replies import ItemReply
from feedmill.client.seedlists import SeedlistItem, SeedlistReader
from feedmill.model.errors import BadRequest, Busy, Conflict, Denied, FeedmillError, NotFound, Stuck, Unreachable

__all__ = [
    "AclEntry",
    "AclPush",
    "AclShown",
    "Administration",
    "BadRequest",
    "Busy",
    "Client",
    "Conflict",
    "CrawlEntryShown",
    "CrawlShown",
    "DataSourceShown",
    "DataloadBuilder",
    "Denied",
    "Diagnosis",
    "DocumentDetails",
    "DocumentPush",
    "DocumentSummary",
    "EventShown",
    "FacetShown",
    "FacetValueShown",
    "FeedBuilder",
    "FeedmillError",
    "FetchShown",
    "GroupsBuilder",
    "ItemReply",
    "KeyMatchShown",
    "LogLine",
    "NotFound",
    "PrincipalPush",
    "PrincipalShown",
    "Problem",
    "PullSourceShown",
    "Receipt",
    "ResultShown",
    "RunShown",
    "SearchAnswer",
    "SeedlistItem",
    "SeedlistReader",
    "Stuck",
    "StuckShown",
    "Suggestions",
    "Unreachable",
]
