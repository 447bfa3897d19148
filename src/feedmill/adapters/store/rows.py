"""Converts rows of feeds, ACLs and index tasks to model objects and back."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.schema import index_tasks
from feedmill.adapters.store.values import dumps, from_micros, loads, plain, to_micros
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.access import Access, Acl, AclOrigin, Entry, InheritanceType, Principal, Scope, StoredAcl
from feedmill.model.feed import Feed, FeedKind, FeedState, LogEntry, LogLevel, Phase
from feedmill.ports import IndexTask, Lane, Stage

Row = sa.RowMapping


# --- feeds ----------------------------------------------------------------------------------------------------------------------


def feed_from_row(row: Row) -> Feed:
    """Returns the feed of a row."""
    return Feed(
        id=row["id"],
        datasource=row["datasource"],
        kind=FeedKind(row["kind"]),
        format=row["format"],
        file=row["file"],
        repaired_file=row["repaired_file"],
        size_bytes=row["size_bytes"],
        received_at=from_micros(row["received_at"]),
        client=row["client"],
        state=FeedState(row["state"]),
        phase=Phase(row["phase"]),
        records=row["records"],
        applied=row["applied"],
        included=row["included"],
        errors=row["errors"],
        acls=row["acls"],
        logged=row["logged"],
        late_logged=row["late_logged"],
        finished_at=from_micros(row["finished_at"]),
        searchable_at=from_micros(row["searchable_at"]),
    )


def feed_progress(feed: Feed) -> dict[str, Any]:
    """Returns the columns of a feed that change while it is processed."""
    return {
        "repaired_file": feed.repaired_file,
        "state": feed.state.value,
        "phase": feed.phase.value,
        "records": feed.records,
        "applied": feed.applied,
        "included": feed.included,
        "errors": feed.errors,
        "acls": feed.acls,
        "logged": feed.logged,
        "finished_at": to_micros(feed.finished_at),
        "searchable_at": to_micros(feed.searchable_at),
    }


def log_from_row(row: Row) -> LogEntry:
    """Returns the log entry of a row."""
    return LogEntry(level=LogLevel(row["level"]), record=row["record"], line=row["line"], url=row["url"], reason=row["reason"])


# --- acls -----------------------------------------------------------------------------------------------------------------------


def entries_to_json(entries: Sequence[Entry]) -> str:
    """Returns the stored form of an ACL's entries."""
    return dumps([_entry_to_list(entry) for entry in entries])


def entries_from_json(text: str) -> tuple[Entry, ...]:
    """Returns the entries of a stored ACL."""
    return tuple(_entry_from_list(stored) for stored in loads(text))


def _entry_to_list(entry: Entry) -> list[object]:
    who = entry.principal
    return [entry.access.value, who.scope.value, who.name, who.namespace, who.case_sensitive, who.unqualified]


def _entry_from_list(stored: list[Any]) -> Entry:
    access, scope, name, namespace, case_sensitive, unqualified = stored
    principal = Principal(scope=Scope(scope), name=name, namespace=namespace, case_sensitive=case_sensitive, unqualified=unqualified)
    return Entry(access=Access(access), principal=principal)


def acl_from_row(row: Row) -> StoredAcl:
    """Returns the ACL of a row."""
    return StoredAcl(
        url=row["url"],
        acl=Acl(
            entries=entries_from_json(row["entries"]),
            inheritance_type=InheritanceType(row["inheritance_type"]),
            inherit_from=row["inherit_from"],
        ),
        origin=AclOrigin(row["origin"]),
        datasource=row["datasource"],
        feed_id=row["feed_id"] or None,
        seen_feed_id=row["seen_feed_id"] or None,
    )


def acl_to_row(stored: StoredAcl) -> dict[str, Any]:
    """Returns the columns of an ACL."""
    return {
        "url_digest": digest_of_url(stored.url),
        "url": stored.url,
        "datasource": stored.datasource,
        "feed_id": stored.feed_id or 0,
        "seen_feed_id": stored.seen_feed_id or 0,
        "origin": stored.origin.value,
        "inheritance_type": stored.acl.inheritance_type.value,
        "inherit_from": None if stored.acl.inherit_from is None else plain(stored.acl.inherit_from),
        "entries": entries_to_json(stored.acl.entries),
    }


# --- index tasks ----------------------------------------------------------------------------------------------------------------------


TASK = tuple(
    index_tasks.c[name] for name in ("document_id", "version", "stage", "lane", "feed_id", "datasource", "revokes_access", "is_refresh")
)
"""The columns of an index task, in the order in which they are read."""


_STAGES = {stage.value: stage for stage in Stage}
_LANES = {lane.value: lane for lane in Lane}


def task_from_row(row: Sequence[Any]) -> IndexTask:
    """Returns the index task of a row with the columns above."""
    document_id, version, stage, lane, feed_id, datasource, revokes_access, is_refresh = row
    return IndexTask(
        document_id=document_id,
        version=version,
        stage=_STAGES[stage],
        lane=_LANES[lane],
        feed_id=feed_id or None,
        datasource=datasource,
        revokes_access=bool(revokes_access),
        is_refresh=bool(is_refresh),
    )


def task_to_row(task: IndexTask) -> dict[str, Any]:
    """Returns the columns of an index task."""
    return {
        "document_id": task.document_id,
        "version": task.version,
        "stage": task.stage.value,
        "lane": task.lane.value,
        "feed_id": task.feed_id or 0,
        "datasource": task.datasource,
        "revokes_access": task.revokes_access,
        "is_refresh": task.is_refresh,
    }
