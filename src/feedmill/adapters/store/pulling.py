"""Pull sources, their runs and their items, in SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.schema import datasources, pull_dry_items, pull_items, pull_runs, pull_sources
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import dumps, from_micros, loads, plain, to_micros
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.errors import NotFound
from feedmill.model.pulling import PullRun, PullState, RunCounts, RunMode, RunRequest, RunState, StoredItem

_COUNTS = ("added", "changed", "deleted", "unchanged", "errors")
_SAME = ("id", "source", "held", "known", "listing", "first_listing", "unnamed", "checkpoint", "since", "restarts", "reason")
"""The columns of a run that hold its values as they are."""


class SqlPullStates:
    """Implements ``ports.PullStates``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def list(self) -> list[PullState]:
        """Lists the states by name."""
        return [_state_from_row(row) for row in self._connection.execute(sa.select(pull_sources).order_by("source")).mappings()]

    def get(self, source: str, now: datetime) -> PullState:
        """Returns the state of a source, which becomes known now if it is new."""
        row = self._connection.execute(sa.select(pull_sources).where(pull_sources.c.source == source)).mappings().first()
        if row is not None:
            return _state_from_row(row)
        state = PullState(source=source, seen_at=now)
        self.save(state)
        return state

    def save(self, state: PullState) -> None:
        """Stores a state."""
        values = {name: getattr(state, name) for name in pull_sources.c.keys()}  # noqa: SIM118 - not a dict
        values = {name: to_micros(value) if isinstance(value, datetime) else value for name, value in values.items()}
        self._connection.execute(upsert(self._connection, pull_sources, ["source"]), values)

    def renew(self, source: str, owner: str, until: datetime) -> bool:
        """Extends a lease."""
        held = sa.update(pull_sources).where(pull_sources.c.source == source, pull_sources.c.lease_owner == owner)
        return self._connection.execute(held.values(lease_expires_at=to_micros(until))).rowcount == 1


class SqlPullRuns:
    """Implements ``ports.PullRuns``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, source: str, request: RunRequest, now: datetime) -> PullRun:
        """Stores a request, and the name of the data source whose documents the run brings."""
        named = insert(self._connection, datasources).values(name=source, kind="content")
        self._connection.execute(named.on_conflict_do_update(index_elements=["name"], set_={"kind": "content"}))
        run = PullRun(id=0, source=source, request=request, requested_at=now)
        values = _row_from_run(run)
        del values["id"]
        run_id = self._connection.execute(sa.insert(pull_runs).values(values).returning(pull_runs.c.id)).scalar_one()
        return self.get(int(run_id))

    def get(self, run_id: int) -> PullRun:
        """Returns a run."""
        row = self._connection.execute(sa.select(pull_runs).where(pull_runs.c.id == run_id)).mappings().first()
        if row is None:
            raise NotFound(f"there is no run {run_id}")
        return _run_from_row(row)

    def save(self, run: PullRun) -> None:
        """Stores the progress of a run."""
        self._connection.execute(sa.update(pull_runs).where(pull_runs.c.id == run.id).values(_row_from_run(run)))

    def list_newest(self, source: str | None, limit: int) -> list[PullRun]:
        """Lists runs, newest first."""
        query = sa.select(pull_runs).order_by(pull_runs.c.id.desc()).limit(limit)
        if source is not None:
            query = query.where(pull_runs.c.source == source)
        return [_run_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_open(self) -> list[PullRun]:
        """Lists the runs that are requested or in progress."""
        states = [state.value for state in RunState if not state.is_final]
        query = sa.select(pull_runs).where(pull_runs.c.state.in_(states)).order_by(pull_runs.c.id)
        return [_run_from_row(row) for row in self._connection.execute(query).mappings()]

    def prune(self, source: str, keep: int) -> None:
        """Removes old finished runs."""
        final = [state.value for state in RunState if state.is_final]
        newest = sa.select(pull_runs.c.id).where(pull_runs.c.source == source).order_by(pull_runs.c.id.desc()).limit(1).offset(keep)
        oldest = newest.scalar_subquery()
        own = (pull_runs.c.source == source, pull_runs.c.state.in_(final))
        self._connection.execute(sa.delete(pull_runs).where(*own, pull_runs.c.id <= oldest))


class SqlPullItems:
    """Implements ``ports.PullItems``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_many(self, source: str, urls: Sequence[str]) -> dict[str, StoredItem]:
        """Finds items by URL."""
        found = {}
        for batch in batches([digest_of_url(url) for url in urls]):
            query = sa.select(pull_items).where(pull_items.c.source == source, pull_items.c.url_digest.in_(batch))
            for row in self._connection.execute(query):
                found[row.url] = StoredItem(url=row.url, digest=bytes(row.digest), listing=row.listing, is_deleted=row.is_deleted)
        return found

    def put_many(self, source: str, items: Sequence[StoredItem]) -> None:
        """Stores items."""
        if items:
            rows = [
                {
                    "source": source,
                    "url_digest": digest_of_url(item.url),
                    "url": item.url,
                    "digest": item.digest,
                    "listing": item.listing,
                    "is_deleted": item.is_deleted,
                }
                for item in items
            ]
            self._connection.execute(upsert(self._connection, pull_items, ["source", "url_digest"], keep=["url"]), rows)

    def remove_many(self, source: str, urls: Sequence[str]) -> None:
        """Removes items."""
        for batch in batches([digest_of_url(url) for url in urls]):
            self._connection.execute(sa.delete(pull_items).where(pull_items.c.source == source, pull_items.c.url_digest.in_(batch)))

    def count(self, source: str) -> int:
        """Counts the items of a source."""
        query = sa.select(sa.func.count()).select_from(pull_items).where(pull_items.c.source == source)
        return int(self._connection.execute(query).scalar_one())

    def count_to_delete(self, source: str, listing: int, mode: RunMode) -> int:
        """Counts what ``list_to_delete`` lists."""
        query = sa.select(sa.func.count()).select_from(pull_items).where(pull_items.c.source == source, _is_to_delete(listing, mode))
        return int(self._connection.execute(query).scalar_one())

    def list_to_delete(self, source: str, listing: int, mode: RunMode, *, after: bytes, limit: int) -> list[tuple[bytes, str]]:
        """Lists items that are to be deleted."""
        own = (pull_items.c.source == source, pull_items.c.url_digest > after, _is_to_delete(listing, mode))
        query = sa.select(pull_items.c.url_digest, pull_items.c.url).where(*own).order_by(pull_items.c.url_digest).limit(limit)
        return [(bytes(row.url_digest), row.url) for row in self._connection.execute(query)]


class SqlDryRunItems:
    """Implements ``ports.DryRunItems``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_many(self, source: str, urls: Sequence[str]) -> dict[str, bool]:
        """Finds items by URL."""
        named = {digest_of_url(url): url for url in urls}
        found: dict[str, bool] = {}
        for batch in batches(list(named)):
            query = sa.select(pull_dry_items).where(pull_dry_items.c.source == source, pull_dry_items.c.url_digest.in_(batch))
            found |= {named[bytes(row.url_digest)]: bool(row.is_deleted) for row in self._connection.execute(query)}
        return found

    def put_many(self, source: str, items: Mapping[str, bool]) -> None:
        """Stores items."""
        if items:
            rows = [{"source": source, "url_digest": digest_of_url(url), "is_deleted": is_deleted} for url, is_deleted in items.items()]
            self._connection.execute(upsert(self._connection, pull_dry_items, ["source", "url_digest"]), rows)

    def count_to_delete(self, source: str, mode: RunMode) -> int:
        """Counts what a run would delete."""
        dry = pull_dry_items.c
        deleted = sa.select(sa.func.count()).select_from(pull_dry_items).where(dry.source == source, dry.is_deleted)
        if mode is not RunMode.FULL:
            return int(self._connection.execute(deleted).scalar_one())
        same = (dry.source == pull_items.c.source, dry.url_digest == pull_items.c.url_digest)
        is_listed = sa.exists().where(*same, sa.not_(dry.is_deleted))
        gone = sa.select(sa.func.count()).select_from(pull_items).where(pull_items.c.source == source, ~is_listed)
        unknown = deleted.where(~sa.exists().where(*same).correlate(pull_dry_items))
        return sum(int(self._connection.execute(query).scalar_one()) for query in (gone, unknown))

    def remove_some(self, source: str, limit: int) -> bool:
        """Removes items."""
        dry = pull_dry_items.c
        query = sa.select(dry.url_digest).where(dry.source == source).order_by(dry.url_digest).limit(limit)
        digests = self._connection.execute(query).scalars().all()
        if digests:
            self._connection.execute(sa.delete(pull_dry_items).where(dry.source == source, dry.url_digest <= digests[-1]))
        return bool(digests)


def forget_items(connection: sa.Connection, source: str) -> None:
    """Forgets what runs have applied, after the documents of a source were deleted. The next run reads the whole source."""
    connection.execute(sa.delete(pull_items).where(pull_items.c.source == source))
    connection.execute(sa.update(pull_sources).where(pull_sources.c.source == source).values(since="", full_at=None))


def _is_to_delete(listing: int, mode: RunMode) -> sa.ColumnElement[bool]:
    named = sa.and_(pull_items.c.is_deleted, pull_items.c.listing == listing)
    return sa.or_(named, pull_items.c.listing < listing) if mode is RunMode.FULL else named


def _state_from_row(row: sa.RowMapping) -> PullState:
    times = ("seen_at", "lease_expires_at", "completed_at", "full_at", "tried_at", "failed_at")
    return PullState(**{**row, **{name: from_micros(row[name]) for name in times}})


def _row_from_run(run: PullRun) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in _SAME},
        **{name: getattr(run.counts, name) for name in _COUNTS},
        "is_full": run.request.is_full,
        "is_dry": run.request.is_dry,
        "is_forced": run.request.is_forced,
        "mode": None if run.mode is None else run.mode.value,
        "state": run.state.value,
        "requested_at": to_micros(run.requested_at),
        "started_at": to_micros(run.started_at),
        "finished_at": to_micros(run.finished_at),
        "reason": plain(run.reason),
        "log": dumps([plain(line) for line in run.log]),
    }


def _run_from_row(row: sa.RowMapping) -> PullRun:
    return PullRun(
        **{name: row[name] for name in _SAME},
        request=RunRequest(is_full=row["is_full"], is_dry=row["is_dry"], is_forced=row["is_forced"]),
        counts=RunCounts(**{name: row[name] for name in _COUNTS}),
        mode=None if row["mode"] is None else RunMode(row["mode"]),
        state=RunState(row["state"]),
        requested_at=from_micros(row["requested_at"]),
        started_at=from_micros(row["started_at"]),
        finished_at=from_micros(row["finished_at"]),
        log=tuple(loads(row["log"])),
    )
