"""One run of a pull source: reads it page by page, compares each page with the store, and applies what differs.

Each page is one transaction with its checkpoint. Deletions come last, once the source was read to its end, and under the guard. So a run
that fails or is killed has deleted nothing, and the next run repeats at most one page of work: an item whose digest the store holds
already changes nothing.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from feedmill.core.documents.urlstate import ApplyContext, ReceiptCount
from feedmill.model.change import Delete, SourcePosition
from feedmill.model.errors import Broken, Conflict, FeedmillError, UpstreamFailure
from feedmill.model.feed import LogLevel
from feedmill.model.provenance import from_run
from feedmill.model.pulling import PullRun, PullState, RunCounts, RunMode, RunState
from feedmill.model.topic import Topic
from feedmill.ports import (
    Lane,
    PullPage,
    PullSource,
    UnitOfWork,
)
from feedmill.services.feeds.feeding import ChangeBatch, evict_isolated
from feedmill.services.isolation.batches import belongs_to_item, describe, run_halved
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.pulling.itemwatch import MAX_SET_ASIDE, ItemWatch
from feedmill.services.pulling.pageplan import PagePlan, PlannedItem, PullDependencies, Retrieving, is_owned, plan_failure

LEASE = timedelta(seconds=60)
RENEW_SECONDS = 20.0
DELETED_AT_ONCE = 500
FORGOTTEN_AT_ONCE = 5_000
QUICK_CHANGES = 200
"""A run uses the quick lane of extractor and indexer until it has changed this many documents."""
LOGGED = 100
"""How many errors and notices the store holds of a run."""
MAX_RUNS = 1_000

PULL_STEP = "pull"
DELETE_STEP = "delete"

log = structlog.get_logger(__name__)


class Stopped(Exception):
    """The process is to end; the run continues when the next one begins."""


class PullRunner:
    """Works on one run whose lease this process holds."""

    def __init__(
        self,
        run: PullRun,
        source: PullSource,
        tools: PullDependencies,
        watch: ItemWatch,
        *,
        guard: float,
        parallel: int = 1,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        assert run.mode is not None
        self.run = run
        self._mode = run.mode
        self._source = source
        self._tools = tools
        self._watch = watch
        self._guard = guard
        self._parallel = parallel
        self._is_stopped = is_stopped
        self._is_lost = threading.Event()
        self._listed_at: dict[int, datetime] | None = None

    def work(self) -> PullRun:
        """Works until the run ends, and returns it. A source that fails ends the run as failed.

        Errors: Stopped; Broken; Conflict if another process took the run over; those of the store.
        """
        log.info("pull_run_begins", source=self.run.source, run=self.run.id, mode=self._mode.value, dry=self.run.request.is_dry)
        with self._renewing():
            try:
                self._forget_dry_items()
                self._read_pages()
                state = self._delete()
                self._forget_dry_items()
            except (Stopped, Broken, Conflict):
                raise
            except FeedmillError as error:
                self._fail(str(error))
            except Exception as error:
                log.exception("pull_run_fails", source=self.run.source, run=self.run.id)
                self._fail(describe(PULL_STEP, error))
            else:
                self._end_run(state)
        self._watch.clear_all()
        log.info("pull_run_ends", source=self.run.source, run=self.run.id, state=self.run.state.value, errors=self.run.counts.errors)
        return self.run

    # --- the lease ---

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        """Renews the lease while the source is slow."""
        is_over = threading.Event()

        def renew() -> None:
            while not is_over.wait(RENEW_SECONDS):
                try:
                    with self._tools.store.writing() as unit:
                        self._hold(unit)
                except Conflict:
                    self._is_lost.set()
                    return
                except FeedmillError as error:
                    log.warning("lease_not_renewed", source=self.run.source, reason=str(error))

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _hold(self, unit: UnitOfWork) -> None:
        """Extends the lease. Errors: Conflict if another process has taken the source over."""
        if not unit.feeds.pulling.states.renew(self.run.source, self._tools.owner, self._tools.clock() + LEASE):
            raise Conflict(f"another process runs the source {self.run.source}")

    def _check_stopped(self) -> None:
        if self._is_stopped():
            raise Stopped
        if self._is_lost.is_set():
            raise Conflict(f"another process runs the source {self.run.source}")

    # --- reading ---

    def _read_pages(self) -> None:
        if self._watch.is_exhausted:
            raise UpstreamFailure(f"more than {MAX_SET_ASIDE} items of this run ended the process that worked on them")
        pages = self._source.iter_pages(self._mode, since=self.run.since, checkpoint=self.run.checkpoint)
        while True:
            with self._watch.on_page():
                page = next(pages, None)
            if page is None:
                break
            self._check_stopped()
            self._apply_page(page)
            # a page may hold much, and the source reads the next one only now
            page = None
        self._check_stopped()

    def _apply_page(self, page: PullPage) -> None:
        retrieving = Retrieving(parallel=self._parallel, check=self._check_stopped, find_listed_at=self._find_listed_at)
        plan = PagePlan(page, self.run, self._tools, self._watch, retrieving)
        for reached, planned in plan.iter_parts():
            if self.run.request.is_dry:
                self._store_dry_items(plan.named_deleted)
                self.run = replace(_counted(self.run, planned), since=page.since or self.run.since)
            else:
                self._apply_part(reached, planned)
                self._tools.notifier.notify(Topic.EXTRACTION)
                self._tools.notifier.notify(Topic.INDEXING)

    def _find_listed_at(self, listing: int) -> datetime | None:
        """Returns when the run of a listing began, None if it is not known any more."""
        if self._listed_at is None:
            with self._tools.store.reading() as unit:
                runs = unit.feeds.pulling.runs.list_newest(self.run.source, MAX_RUNS)
            begun = ((run.started_at, run) for run in runs if run.listing and not run.request.is_dry)
            # a run whose reading began again has several numbers
            self._listed_at = {
                number: at for at, run in begun if at is not None for number in range(run.first_listing or run.listing, run.listing + 1)
            }
        return self._listed_at.get(listing)

    # --- applying ---

    def _apply_part(self, page: PullPage, planned: Sequence[PlannedItem]) -> None:
        """Applies a part of a page in one transaction; if that fails, in smaller ones, until the item that fails alone is in error."""
        reached: dict[str, str | int] = {"checkpoint": page.checkpoint, "since": page.since or self.run.since}
        if page.checkpoint and page.checkpoint != self.run.checkpoint:
            # only what ends the process again and again at one place ends the run
            reached["restarts"] = 0
        try:
            self._put_items(planned, reached)
        except Exception as error:
            if not belongs_to_item(error):
                raise
            failed = run_halved(planned, lambda part: self._put_items(part, {}), step=PULL_STEP)
            reasons = {each.item.stored.url: each.reason for each in failed if each.item.stored is not None}
            with self._tools.store.reading() as unit:
                known = unit.feeds.pulling.items.find_many(self.run.source, list(reasons))
            self._put_items([plan_failure(url, reason, known.get(url), self.run.listing) for url, reason in reasons.items()], reached)

    def _put_items(self, planned: Sequence[PlannedItem], reached: Mapping[str, str | int]) -> None:
        with self._tools.store.writing() as unit:
            self._hold(unit)
            messages, refused = self._put_changes(unit, planned)
            stored = {each.stored.url: each.stored for each in planned if each.stored is not None}
            for url in refused:
                stored[url] = replace(stored[url], digest=b"")
            unit.feeds.pulling.items.put_many(self.run.source, list(stored.values()))
            counted = [_as_error(each) if each.stored is not None and each.stored.url in refused else each for each in planned]
            run = replace(_counted(self.run, counted, messages), **reached)  # type: ignore[arg-type]  # values by the names of fields
            unit.feeds.pulling.runs.save(run)
        self.run = run
        self._watch.clear(each.stored.url for each in planned if each.stored is not None)

    def _put_changes(self, unit: UnitOfWork, planned: Sequence[PlannedItem]) -> tuple[list[str], set[str]]:
        """Applies the changes. Returns messages, and the URLs whose changes were refused."""
        changes = [(each.change, each.content) for each in planned if each.change is not None]
        if not changes:
            return [], set()
        batch = ChangeBatch(unit, self._context(), self._lane, begin=lambda _step, url: self._watch.begin(url))
        batch.load(change.url for change, _ in changes if change.url is not None)
        try:
            for change, content in changes:
                self._watch.begin(change.url or "")
                fault_point(PULL_STEP, change.url or "")
                batch.apply(change, content)
            result = batch.finish()
        finally:
            self._watch.end()
        refused = {entry.url for entry in result.log if entry.level is LogLevel.ERROR and entry.url is not None}
        assert len(refused) <= result.counts[ReceiptCount.ERROR]
        return [f"{entry.url}: {entry.reason}" for entry in result.log if entry.level is not LogLevel.NOTICE], refused

    def _context(self) -> ApplyContext:
        rules = self._tools.admission().rules
        return ApplyContext(provenance=from_run(self.run.source, self.run.id), now=self._tools.clock(), rules=rules)

    @property
    def _lane(self) -> Lane:
        counts = self.run.counts
        return Lane.QUICK if counts.added + counts.changed + counts.deleted <= QUICK_CHANGES else Lane.BULK

    # --- deleting ---

    def _delete(self) -> RunState:
        """Deletes what the source no longer has, and returns the state in which the run ends."""
        run = self.run
        if self._mode is RunMode.FULL and run.unnamed:
            self.run = _logged(run, ["nothing is deleted, because it is not known which items are in error"])
        else:
            count = self._count_to_delete()
            if count > self._guard * run.known and not run.request.is_forced:
                reason = f"{count} of {run.known} documents would be deleted, more than the guard of {self._guard:g} permits"
                self.run = replace(run, held=count, reason=reason)
                return RunState.HELD
            self._delete_all(count)
        self._evict()
        return RunState.COMPLETED_WITH_ERRORS if self.run.counts.errors else RunState.COMPLETED

    def _count_to_delete(self) -> int:
        run = self.run
        with self._tools.store.reading() as unit:
            if run.request.is_dry:
                return unit.feeds.pulling.dry_items.count_to_delete(run.source, self._mode)
            return unit.feeds.pulling.items.count_to_delete(run.source, run.listing, self._mode)

    def _store_dry_items(self, named_deleted: Mapping[str, bool]) -> None:
        with self._tools.store.writing() as unit:
            self._hold(unit)
            unit.feeds.pulling.dry_items.put_many(self.run.source, named_deleted)

    def _forget_dry_items(self) -> None:
        """Removes what this dry run, or one that did not reach its end, has stored."""
        while self.run.request.is_dry:
            with self._tools.store.writing() as unit:
                self._hold(unit)
                if not unit.feeds.pulling.dry_items.remove_some(self.run.source, FORGOTTEN_AT_ONCE):
                    return

    def _delete_all(self, count: int) -> None:
        if self.run.request.is_dry:
            self.run = replace(self.run, counts=replace(self.run.counts, deleted=count))
            return
        after = b""
        while True:
            self._check_stopped()
            with self._tools.store.reading() as unit:
                items, run = unit.feeds.pulling.items, self.run
                found = items.list_to_delete(run.source, run.listing, self._mode, after=after, limit=DELETED_AT_ONCE)
            if not found:
                return
            after = found[-1][0]
            set_aside = {url: reason for _, url in found if (reason := self._watch.find_refusal(url))}
            for url, reason in set_aside.items():
                self.run = _counted(self.run, [PlannedItem(counted="errors", messages=[f"{url}: {reason}; it stays"])])
            for failed in run_halved([url for _, url in found if url not in set_aside], self._delete_some, step=DELETE_STEP):
                self.run = _counted(self.run, [PlannedItem(counted="errors", messages=[f"{failed.item}: {failed.reason}; it stays"])])
            self._tools.notifier.notify(Topic.INDEXING)

    def _delete_some(self, urls: Sequence[str]) -> None:
        with self._tools.store.writing() as unit:
            self._hold(unit)
            documents = unit.documents.reader.find_many(urls)
            own = [url for url in urls if url in documents and is_owned(documents[url], self.run.source)]
            batch = ChangeBatch(unit, self._context(), self._lane, begin=lambda _step, url: self._watch.begin(url))
            batch.load(urls)
            try:
                for url in urls:
                    self._watch.begin(url)
                    fault_point(DELETE_STEP, url)
                    if url in own:
                        batch.apply(Delete(place=SourcePosition(record=0), url=url), None)
                batch.finish()
            finally:
                self._watch.end()
            unit.feeds.pulling.items.remove_many(self.run.source, urls)
            run = replace(self.run, counts=replace(self.run.counts, deleted=self.run.counts.deleted + len(own)))
            unit.feeds.pulling.runs.save(run)
        self.run = run

    def _evict(self) -> None:
        """Removes documents beyond the licence limit, after the deletions: otherwise new documents could replace those that stay."""
        admission = self._tools.admission()
        if self.run.request.is_dry or not admission.max_documents:
            return
        while evict_isolated(self._tools.store, admission.max_documents, self._context(), Lane.BULK):
            self._check_stopped()

    # --- the end ---

    def _fail(self, reason: str) -> None:
        counts = replace(self.run.counts, errors=self.run.counts.errors + 1)
        self.run = _logged(replace(self.run, counts=counts, reason=reason), [reason])
        self._end_run(RunState.FAILED)

    def _end_run(self, state: RunState) -> None:
        """Ends the run and releases the source, in one transaction."""
        now = self._tools.clock()
        self.run = replace(self.run, state=state, finished_at=now)
        run = self.run
        with self._tools.store.writing() as unit:
            self._hold(unit)
            unit.feeds.pulling.runs.save(run)
            stored = release_lease(unit.feeds.pulling.states.get(run.source, now))
            if state is RunState.FAILED:
                stored = add_failure(stored, run, now)
            elif not run.request.is_dry:
                stored = replace(stored, failures=0, failed_at=None)
            if state.is_complete and not run.request.is_dry:
                stored = replace(stored, completed_at=run.started_at)
                if self._mode is RunMode.FULL:
                    stored = replace(stored, full_at=run.started_at, since=run.since)
                elif not run.counts.errors:
                    # after an error the next run reads the same changes again
                    stored = replace(stored, since=run.since)
            unit.feeds.pulling.states.save(stored)
            unit.feeds.pulling.runs.prune(run.source, MAX_RUNS)


def release_lease(state: PullState) -> PullState:
    """Returns the state of a source that no process runs any more."""
    return replace(state, lease_owner="", lease_expires_at=None)


def add_failure(state: PullState, run: PullRun, now: datetime) -> PullState:
    """Returns the state of a source after one more failed run. A dry run that fails repeats nothing and delays nothing."""
    return state if run.request.is_dry else replace(state, failures=state.failures + 1, failed_at=now)


def _as_error(planned: PlannedItem) -> PlannedItem:
    return replace(planned, counted="errors")


def _counted(run: PullRun, planned: Sequence[PlannedItem], messages: Sequence[str] = ()) -> PullRun:
    """Returns a run with the counts and messages of items."""
    added = dict.fromkeys(("added", "changed", "deleted", "unchanged", "errors"), 0)
    for each in planned:
        if each.counted:
            added[each.counted] += 1
    counts = RunCounts(**{name: getattr(run.counts, name) + count for name, count in added.items()})
    run = replace(run, counts=counts, unnamed=run.unnamed + sum(each.is_unnamed for each in planned))
    return _logged(run, [*(message for each in planned for message in each.messages), *messages])


def _logged(run: PullRun, messages: Sequence[str]) -> PullRun:
    free = LOGGED - len(run.log)
    return replace(run, log=(*run.log, *(message[:1_000] for message in messages[:free]))) if messages and free > 0 else run
