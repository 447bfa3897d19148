"""The tables of both databases.

Rules: a URL is found by its digest, since no database indexes texts of any length. Times are microseconds since the epoch in UTC,
so that both databases order and compare them alike. Enumerations are stored as their wire texts. Values that are always read whole
(metadata, principals, extracted text) are one JSON text. The ``migrations`` add up to exactly this schema; a test checks it.
"""

from feedmill.adapters.store.schema.access import access_classes, acl_versions, acls, policies, policy_versions
from feedmill.adapters.store.schema.conventions import metadata
from feedmill.adapters.store.schema.crawling import crawl_entries, crawl_sites
from feedmill.adapters.store.schema.documents import (
    CLASSED,
    LIVE,
    documents,
    events,
    index_tasks,
    link_queue,
    link_texts,
    past_classes,
    replaced_tasks,
)
from feedmill.adapters.store.schema.feeds import UNAPPLIED, UNSETTLED, datasources, feed_log, feeds
from feedmill.adapters.store.schema.groups import (
    group_changes,
    group_definitions,
    group_members,
    group_names,
    group_publications,
    group_snapshots,
    group_sources,
)
from feedmill.adapters.store.schema.processing import document_failures, interruptions, queues
from feedmill.adapters.store.schema.pulling import pull_dry_items, pull_items, pull_runs, pull_sources
from feedmill.adapters.store.schema.semantic import embedding_changes, embedding_queue, embeddings
from feedmill.adapters.store.schema.settings import key_values, stored_settings
from feedmill.adapters.store.schema.signins import accounts, api_tokens, one_time_values, session_digests, sessions

__all__ = [
    "CLASSED",
    "LIVE",
    "UNAPPLIED",
    "UNSETTLED",
    "access_classes",
    "accounts",
    "acl_versions",
    "acls",
    "api_tokens",
    "crawl_entries",
    "crawl_sites",
    "datasources",
    "document_failures",
    "documents",
    "embedding_changes",
    "embedding_queue",
    "embeddings",
    "events",
    "feed_log",
    "feeds",
    "group_changes",
    "group_definitions",
    "group_members",
    "group_names",
    "group_publications",
    "group_snapshots",
    "group_sources",
    "index_tasks",
    "interruptions",
    "key_values",
    "link_queue",
    "link_texts",
    "metadata",
    "one_time_values",
    "past_classes",
    "policies",
    "policy_versions",
    "pull_dry_items",
    "pull_items",
    "pull_runs",
    "pull_sources",
    "queues",
    "replaced_tasks",
    "session_digests",
    "sessions",
    "stored_settings",
]
