"""Feeds, documents and data sources as JSON. Shapes: docs/reference/feed-port.md. Times are ISO 8601 in UTC, ids are strings."""

from collections.abc import Sequence
from typing import Any

from feedmill.core.documents.presentation import shown_title
from feedmill.model.access import Acl
from feedmill.model.document import Event
from feedmill.model.feed import DataSource, Feed, FeedTarget, LogEntry
from feedmill.model.queue import StuckQueue
from feedmill.services.inspection import Inspection, UrlHistory
from feedmill.services.queues import describe_stuck
from feedmill.wire.jsonvalues import group_metadata, render_time, write_code

Json = dict[str, Any]


def render_feed(feed: Feed, log: Sequence[LogEntry], stuck: StuckQueue | None = None) -> Json:
    """Returns a feed's receipt; ``stuck`` is the queue that delays it."""
    return {
        "id": str(feed.id),
        "datasource": feed.datasource,
        "feedtype": feed.kind.operation.value,
        "feedtype_code": feed.kind.operation.name.lower(),
        "groups": feed.kind.target is FeedTarget.GROUPS,
        "state": feed.state.value,
        "state_code": feed.state.name.lower(),
        "received_at": render_time(feed.received_at),
        "size_bytes": feed.size_bytes,
        "client": feed.client,
        "records": feed.records,
        "included": feed.included,
        "errors": feed.errors,
        "finished_at": render_time(feed.finished_at),
        "searchable_at": render_time(feed.searchable_at),
        "stuck": describe_stuck(stuck),
        "log": [render_entry(entry) for entry in log],
    }


def render_document(inspection: Inspection) -> Json:
    """Returns a document's JSON."""
    document, status = inspection.document, inspection.status
    attributes, text = document.attributes, document.text
    mimetype = text.mimetype if text is not None else None
    return {
        "url": document.url,
        "display_url": attributes.display_url or document.url,
        "datasource": document.datasource,
        "state": status.state,
        "state_code": write_code(status.state),
        "searchable": status.searchable,
        "reason": status.reason,
        "title": shown_title(document),
        "mimetype": mimetype or attributes.mimetype,
        "last_modified": render_time(attributes.last_modified),
        "metadata": group_metadata(document.metadata),
        "acl": _render_acl(inspection.acl.acl) if inspection.acl is not None else None,
        "locked": attributes.lock,
        "pagerank": attributes.pagerank,
        "crawl_once": attributes.crawl_once,
        "crawl_immediately": attributes.crawl_immediately,
        "history": [render_event(event) for event in inspection.history],
    }


def render_past(past: UrlHistory) -> Json:
    """Returns the JSON of a URL that has no document now; its last event says why."""
    last = past.history[-1]
    reason = f"{last.kind.value}: {last.detail}" if last.detail else last.kind.value
    history = [render_event(event) for event in past.history]
    return {"url": past.url, "state": "gone", "state_code": "gone", "searchable": False, "reason": reason, "history": history}


def render_source(source: DataSource) -> Json:
    """Returns a data source with its counts."""
    return {"name": source.name, "kind": source.kind, "documents": source.documents, "feeds": source.feeds}


def render_event(event: Event) -> Json:
    """Returns an event of a URL as JSON."""
    return {
        "at": render_time(event.at),
        "event": event.kind.value,
        "event_code": event.kind.name.lower(),
        "feed": None if event.feed_id is None else str(event.feed_id),
        "line": event.line,
        "detail": event.detail,
    }


def render_entry(entry: LogEntry) -> Json:
    """Renders an entry of a feed's log."""
    return {"record": entry.record, "line": entry.line, "url": entry.url, "level": entry.level.value, "reason": entry.reason}


def _render_acl(acl: Acl) -> Json:
    return {
        "inheritance_type": acl.inheritance_type.value,
        "inherit_from": acl.inherit_from,
        "principals": [
            {
                "scope": entry.principal.scope.value,
                "access": entry.access.value,
                "namespace": entry.principal.namespace,
                "name": entry.principal.name,
                "case_sensitive": entry.principal.case_sensitive,
            }
            for entry in acl.entries
        ],
    }
