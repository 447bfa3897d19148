"""The indexer brings the index up to date with the store.

Index tasks are processed in batches: documents go to the engine, and the engine commits. Only then one transaction removes the tasks of
exactly these versions and publishes the commit's token. If a process dies in between, the work is repeated, and repeating it changes
nothing. Small changes commit at once; a large feed commits every two seconds, and so does a crawl. The engine also commits when a failed
commit is retried without some documents (``_can_commit``), when segments of the separate process are adopted (``IndexWriter.adopt``
commits too), and when a rebuild ends.

A failing document costs only itself (``entrywriting``). A document that is large, or that ended the indexer before, is prepared in a
separate process (``isolatedbuild``), so that no other document waits for it. If the engine fails to commit a batch, the next batch is half
as long, down to one document, which is set aside if the engine commits without it.

A rebuild (``rebuilding``) writes every live document to a new folder next to the serving one. While it runs, tasks are applied to both
folders; at its end the pointer moves to the new folder.
"""

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain

import structlog

from feedmill import __version__
from feedmill.core.documents.presentation import is_indexed
from feedmill.model.document import Document, DocumentState
from feedmill.model.entrybuild import BuildFailure
from feedmill.model.errors import Corrupt, FeedmillError
from feedmill.model.queue import QueueName
from feedmill.model.search import IndexDocument
from feedmill.model.topic import Topic
from feedmill.ports import BuiltEntries, IndexGenerations, IndexTask, IndexWriter, Lane, Stage, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.failurenote import FailureNote
from feedmill.services.feeds.progress import ended
from feedmill.services.indexing.entrywriting import COPY, LINK_TEXTS_BATCH, WATCHED, EntryWriting, UncommittedBatch, record_build_failures
from feedmill.services.indexing.extracting import STEPS as EXTRACTION
from feedmill.services.indexing.indextools import IndexDependencies
from feedmill.services.indexing.isolatedbuild import EndedBuild, IsolatedBuildQueue
from feedmill.services.indexing.linking import FOLLOWED_BATCH, Linking
from feedmill.services.indexing.preparing import BUILD, COMMIT
from feedmill.services.indexing.rebuilding import Rebuild, choose_folder
from feedmill.services.isolation.attempts import Attempts, key_of, key_of_document
from feedmill.services.isolation.batches import describe
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.sweeps.patternsweep import PatternSweep

__all__ = ["IndexDependencies", "Indexing"]

POLL_SECONDS = 0.5
BATCH = 250
LEAST_READ = 32
COMMIT_SECONDS = 2.0
BUILDING_NOTED_SECONDS = 5.0
"""How often the queues learn that a document is still being built in the separate process."""
COMMIT_DOCUMENTS = 20_000
SETTLED_AT_ONCE = 200
RETRIED_AT_ONCE = 500

LONGEST_SECONDS = 60.0
"""After this time with one document the indexer ends; its successor has the document built in the separate process."""

log = structlog.get_logger(__name__)


def _ignore(_documents: int) -> None:
    return


class Indexing:
    """Processes INDEX tasks; ``work`` runs until it is stopped. ``on_committed`` receives how many documents each commit changed."""

    def __init__(self, tools: IndexDependencies, generations: IndexGenerations, *, on_committed: Callable[[int], None] = _ignore) -> None:
        self._store = tools.store
        self._notifier = tools.notifier
        self._clock = tools.clock
        self._embeds = tools.embeds
        self._generations = generations
        self._on_committed = on_committed
        with tools.store.writing() as unit:
            self._folder = choose_folder(unit, generations)
        self._remove_others()
        self._writer = generations.open_writer(self._folder)
        self._attempts = Attempts(tools.store, tools.in_flight, tools.clock)
        self._recorder = tools.recorder or FailureRecorder(tools.clock, __version__)
        self._patterns = PatternSweep(tools.store, tools.search_config, self._attempts)
        self._links = Linking(
            tools.store,
            tools.blobs,
            generations.open_index,
            rest=tools.rest,
            attempts=self._attempts,
            recorder=self._recorder,
            following=tools.following,
        )
        self._isolated_builds = IsolatedBuildQueue(tools.builder) if tools.builder is not None else None
        self._entry_writing = EntryWriting(tools.blobs, self._links, self._patterns, self._attempts, self._isolated_builds)
        self._entry_writing.suspected_feeds = self._attempts.find_feeds(BUILD)
        self._lacking: dict[int, BuildFailure] = {}
        self._uncommitted = UncommittedBatch()
        self._reached: IndexTask | None = None
        # A batch that ended the process is a quarter as long after each such end: 250, 62, 15, 3, 1.
        self._at_once = max(1, BATCH >> 2 * self._attempts.count(key_of(COMMIT, "batch")))
        self._read_at_once = BATCH
        self._has_refused = False
        self._noted_at_seconds = 0.0
        self._committed_at = 0.0
        self._rebuild: Rebuild | None = None
        self._trouble = FailureNote(tools.store, QueueName.INDEX)
        self._retry_failed()

    def _remove_others(self) -> None:
        """Removes all folders but the serving one: those of interrupted or unfinished rebuilds, and of separate builds."""
        for name in self._generations.list_names():
            if name != self._folder:
                self._generations.remove(name)

    def _retry_failed(self) -> None:
        """Adds index tasks for documents for which a step of another program version failed."""
        after = 0
        while True:
            with self._store.writing() as unit:
                failures = unit.processing.failures.list_of_others(self._recorder.program, after=after, limit=RETRIED_AT_ONCE)
                ids = [failure.document_id for failure in failures]
                _add_tasks_again(unit, ids)
            if not ids:
                return
            after = ids[-1]

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped; what is not committed then is done again after the next start."""
        while not is_stopped():
            try:
                if not self.turn():
                    self._notifier.wait(POLL_SECONDS)
            except FeedmillError as error:
                log.warning("indexer_waits", reason=str(error))
                self._trouble.note(str(error))
                self._handle_error(error)
                self._notifier.wait(POLL_SECONDS)
        self.close()

    def turn(self) -> bool:
        """Takes the next batch and commits when it is time. Returns whether there is more to do."""
        is_rebuilding = self._continue_rebuild()
        is_sweeping = self._follow_patterns()
        self._continue_isolated_build()
        tasks, documents, failed = self._next_batch()
        if tasks:
            self._requeue_links(documents, tasks)
            with self._attempts.bounded(LONGEST_SECONDS):
                taken = self._entry_writing.write_entries(self._writers, tasks, documents, failed, self._uncommitted)
                self._links.follow_written()
            self._note_reached(tasks[:taken])
            # what was read and is not reached within the time is read again
            fits = taken if taken < len(tasks) else self._read_at_once
            self._read_at_once = min(BATCH, max(LEAST_READ, 2 * fits))
        if self._uncommitted and self._is_time_to_commit(tasks):
            self._commit()
            return True
        if not tasks:
            self._settle_only()
            self._note_building()
            if not (self._uncommitted or is_sweeping or is_rebuilding):
                return self._links.step()
        return bool(tasks) or is_sweeping or is_rebuilding

    @property
    def _writers(self) -> list[IndexWriter]:
        return [self._writer] if self._rebuild is None else [self._writer, self._rebuild.writer]

    def _requeue_links(self, documents: dict[int, Document], tasks: Sequence[IndexTask]) -> None:
        targets = self._links.requeue(documents, tasks)
        for target in targets:
            # what was written of it is out of date already, so its task has to stay
            self._uncommitted.forget(target)
        if targets and self._isolated_builds is not None:
            self._isolated_builds.cancel(targets)

    def _follow_patterns(self) -> bool:
        """Adopts the URL patterns of the settings; returns whether documents are still being matched against new ones."""
        if self._patterns.has_news():
            if self._uncommitted:
                self._commit()
            if self._isolated_builds is not None:
                self._isolated_builds.cancel()
            # Only with nothing pending: an entry with older patterns must not be written after the sweep for the new ones.
            self._patterns.adopt()
        return self._patterns.step()

    def close(self) -> None:
        """Closes the writers, and ends the separate process."""
        if self._isolated_builds is not None:
            self._isolated_builds.close()
        self._writer.close()

    def _next_batch(self) -> tuple[list[IndexTask], dict[int, Document], Set[int]]:
        """Returns the next tasks with their documents, and which of these failed to build before."""
        # Tasks that are written and not yet committed are still at the head
        # of the list. They are skipped below, so as many more are listed.
        held = len(self._uncommitted.tasks) + (len(self._isolated_builds) if self._isolated_builds is not None else 0)
        with self._store.reading() as unit:
            listed = unit.processing.index_tasks
            quick = listed.list(Stage.INDEX, self._read_at_once + held, lane=Lane.QUICK)
            bulk = listed.list(Stage.INDEX, self._read_at_once, lane=Lane.BULK, after=self._reached)
            tasks = self._list_free((*quick, *bulk))
            # Tasks of earlier places come late: of documents that took longer to extract, and of the targets of links. The next commit
            # leads back to the beginning of the list. Going through all that is written before it pays only if nothing else is coming.
            if not tasks and not (self._uncommitted and self._expects_more(unit)):
                bulk = listed.list(Stage.INDEX, self._read_at_once + held, lane=Lane.BULK)
                tasks = self._list_free(bulk)
            # All tasks of this part of the list are in progress. The next call goes on behind it.
            if bulk and not tasks:
                self._reached = bulk[-1]
            ids = [task.document_id for task in tasks]
            failures = unit.processing.failures.find_many(ids).values()
            failed = {failure.document_id for failure in failures if failure.step == BUILD}
            return tasks, unit.documents.reader.find_by_id(ids), failed

    def _list_free(self, tasks: Sequence[IndexTask]) -> list[IndexTask]:
        """Lists tasks that are not in progress, as many as are processed at once."""
        return [task for task in tasks if not self._is_held(task)][: min(self._at_once, self._read_at_once)]

    def _is_held(self, task: IndexTask) -> bool:
        return self._uncommitted.tasks.get(task.document_id) == task or (
            self._isolated_builds is not None and self._isolated_builds.holds(task)
        )

    def _note_reached(self, taken: Sequence[IndexTask]) -> None:
        # never back to an earlier place: all between both are in progress
        bulk = [task for task in (self._reached, *taken) if task is not None and task.lane is Lane.BULK]
        self._reached = max(bulk, key=lambda task: (task.feed_id or 0, task.document_id), default=None)

    def _is_time_to_commit(self, tasks: Sequence[IndexTask]) -> bool:
        """Whether an urgent small change waits, enough has gathered, or nothing more is on its way."""
        if any(task.lane is Lane.QUICK for task in tasks):
            return True
        if len(self._uncommitted.tasks) >= min(COMMIT_DOCUMENTS, self._at_once if self._at_once < BATCH else COMMIT_DOCUMENTS):
            return True
        if time.monotonic() - self._uncommitted.since >= COMMIT_SECONDS:
            return True
        if tasks:
            return False
        with self._store.reading() as unit:
            return not self._expects_more(unit)

    def _expects_more(self, unit: UnitOfWork) -> bool:
        """Whether further tasks are on their way."""
        return self._is_crawling() or bool(unit.processing.index_tasks.list(Stage.EXTRACT, 1))

    def _is_crawling(self) -> bool:
        """Whether the last commit is a moment ago and no feed waits for the next: further pages of a crawl are probably on their way."""
        if time.monotonic() - self._committed_at >= COMMIT_SECONDS:
            return False
        waiting = self._uncommitted.tasks.values()
        return all(task.feed_id is None and not task.is_refresh and not task.revokes_access for task in waiting)

    def _commit(self) -> None:
        """Commits, then removes the tasks and makes the commit known to searchers."""
        tasks = dict(self._uncommitted.tasks)
        key = key_of_document(COMMIT, next(iter(tasks))) if len(tasks) == 1 else key_of(COMMIT, "batch")
        try:
            with self._attempts.on(key):
                # Before the transaction that removes the tasks: if the process ends between both, the same documents are written again.
                token = self._writer.commit()
        except Corrupt:
            self._has_refused = True
            raise
        self._publish_commit(token, tasks, self._uncommitted.build_failures)
        self._clear_pending()
        self._committed_at = time.monotonic()
        # Twice as many after each success, up to the usual number.
        self._at_once = min(BATCH, 2 * self._at_once)
        self._attempts.clear([key])

    def _publish_commit(
        self, token: str, tasks: Mapping[int, IndexTask], build_failures: Mapping[int, tuple[Document, BuildFailure]]
    ) -> None:
        with self._store.writing() as unit:
            unit.processing.index_tasks.remove(list(tasks.values()))
            unit.processing.queues.note_progress(QueueName.INDEX)
            self._links.note_indexed(unit, tasks.values())
            self._queue_embeddings(unit, tasks)
            record_build_failures(unit, self._recorder, tasks, build_failures)
            unit.state.key_values.put(keyvalues.INDEX_TOKEN, token)
            unit.state.key_values.put(keyvalues.INDEX_COMMITS, str(int(unit.state.key_values.get(keyvalues.INDEX_COMMITS) or 0) + 1))
            self._end_feeds(unit)
        if self._embeds:
            self._notifier.notify(Topic.EMBEDDING)
        if self._rebuild is not None:
            # The interruptions of a document are retained until the rebuild ends, because a rebuild restarts whenever the process ends.
            self._rebuild.pending_ids.difference_update(tasks)
        finished = [key for key in tasks if self._rebuild is None or key not in build_failures]
        batch = [LINK_TEXTS_BATCH, FOLLOWED_BATCH] if self._rebuild is None else []
        self._attempts.clear(chain(batch, (key_of_document(step, key) for step in WATCHED for key in finished)))
        self._on_committed(len(tasks))
        log.info("index_committed", documents=len(tasks), token=token)

    def _queue_embeddings(self, unit: UnitOfWork, tasks: Mapping[int, IndexTask]) -> None:
        """Has documents embedded again, from the moment when searches find their new version."""
        if self._embeds:
            unit.processing.embedding_queue.put_many(list(tasks))

    def _clear_pending(self) -> None:
        self._uncommitted.clear()
        self._reached = None

    # --- errors of the engine ---

    def _handle_error(self, error: FeedmillError) -> None:
        """Reacts to a failure: nothing of the batch is in the engine, its tasks still exist and are taken again in smaller batches."""
        tasks = list(self._uncommitted.tasks.values())
        self._forget_pending()
        has_refused, self._has_refused = self._has_refused, False
        if not has_refused or not tasks:
            return
        if len(tasks) > 1:
            self._at_once = max(1, min(len(tasks), self._at_once) // 2)
        elif self._can_commit():
            self._set_aside(tasks[0], BuildFailure(COMMIT, describe(COMMIT, error)))

    def _can_commit(self) -> bool:
        try:
            self._writer.commit()
        except FeedmillError:
            return False
        return True

    def _set_aside(self, task: IndexTask, build_failure: BuildFailure) -> None:
        """Removes the document of a task from the index, with the reason, at the next commit."""
        with self._store.reading() as unit:
            document = unit.documents.reader.find_by_id([task.document_id]).get(task.document_id)
        if document is None:
            self._entry_writing.remove(self._writers, task, self._uncommitted)
        else:
            self._entry_writing.set_aside(self._writers, task, document, build_failure, self._uncommitted)

    def _forget_pending(self) -> None:
        self._clear_pending()
        self._writer.close()
        if self._rebuild is not None:
            self._rebuild.writer.close()
            self._rebuild = None
        self._writer = self._generations.open_writer(self._folder)

    # --- documents in the separate process ---

    def _continue_isolated_build(self) -> None:
        """Takes over what the separate process has built, and passes it the next documents."""
        if self._isolated_builds is None:
            return
        ended_build = self._isolated_builds.find_ended()
        if ended_build is not None:
            for task, _, build_failure in ended_build.failed:
                self._set_aside(task, build_failure)
            if ended_build.work:
                self._take_over(self._isolated_builds, ended_build)
        if self._isolated_builds.is_free:
            self._start_isolated_build(self._isolated_builds)

    def _note_building(self) -> None:
        """Notes that the queues move while the separate process, which has a time limit of its own, builds all that is left."""
        if (
            self._isolated_builds is None
            or not self._isolated_builds.is_building
            or time.monotonic() < self._noted_at_seconds + BUILDING_NOTED_SECONDS
        ):
            return
        self._noted_at_seconds = time.monotonic()
        with self._store.writing() as unit:
            unit.processing.queues.note_progress(QueueName.INDEX)
            if self._rebuild is not None:
                unit.processing.queues.note_progress(QueueName.REBUILD)

    def _start_isolated_build(self, queue: IsolatedBuildQueue) -> None:
        waiting = queue.list_next(self._entry_writing.is_due)
        if not waiting:
            return
        with self._store.reading() as unit:
            current = unit.processing.index_tasks.find_many([task.document_id for task in waiting])
            documents = unit.documents.reader.find_by_id([task.document_id for task in waiting])
        work: dict[int, tuple[IndexTask, Document]] = {}
        for task in waiting:
            document = documents.get(task.document_id)
            now = current.get(task.document_id)
            if now is None or now.version != task.version or document is None or not is_indexed(document):
                # the task that exists now is processed in the usual way
                queue.drop([task.document_id])
            else:
                work[task.document_id] = now, document
        made: list[IndexDocument] = []
        started: dict[int, tuple[IndexTask, Document]] = {}
        self._lacking = {}
        for document_id, entry, build_failure in self._entry_writing.assemble_isolated(work):
            task, document = work[document_id]
            if entry is None:
                assert build_failure is not None
                queue.drop([document_id])
                self._entry_writing.set_aside(self._writers, task, document, build_failure, self._uncommitted)
            else:
                made.append(entry)
                started[document_id] = task, document
                if build_failure is not None:
                    self._lacking[document_id] = build_failure
        if made:
            queue.start(started, made)

    def _take_over(self, queue: IsolatedBuildQueue, built: EndedBuild) -> None:
        """Makes a build part of the index, unless one of its documents has changed meanwhile: then it is built again."""
        with self._store.reading() as unit:
            current = unit.processing.index_tasks.find_many(list(built.work))
        if any(key not in current or current[key].version != task.version for key, (task, _) in built.work.items()):
            queue.requeue(built.work)
            return
        if self._uncommitted:
            self._commit()
        tasks = {key: current[key] for key in built.work}
        build_failures = {**self._lacking, **built.outcome.build_failures}
        failed = {key: (built.work[key][1], build_failure) for key, build_failure in build_failures.items()}
        entries = BuiltEntries(frozenset(tasks), built.outcome.payload)
        if self._rebuild is not None:
            # ``adopt`` requires that nothing is uncommitted. The new folder
            # first: if the process ends in between, the rebuild begins again.
            self._rebuild.writer.commit()
            self._rebuild.writer.adopt(entries)
        self._publish_commit(self._writer.adopt(entries), tasks, failed)

    # --- feeds ---

    def _settle_only(self) -> None:
        with self._store.reading() as unit:
            has_unsettled = bool(unit.feeds.reader.list_unsettled())
        if has_unsettled:
            with self._store.writing() as unit:
                self._end_feeds(unit)

    def _end_feeds(self, unit: UnitOfWork) -> None:
        """Ends feeds that the index obeys now, and stores when all of a feed became searchable."""
        feeds = unit.feeds.reader.list_unsettled()[:SETTLED_AT_ONCE]
        waiting, revoking = unit.processing.index_tasks.list_open_feeds([feed.id for feed in feeds])
        for feed in feeds:
            searchable_at = None if feed.id in waiting else self._clock()
            settled = ended(feed, is_obeyed=feed.id not in revoking, searchable_at=searchable_at)
            if settled != feed:
                unit.feeds.queue.save(settled)

    # --- rebuild ---

    def _continue_rebuild(self) -> bool:
        """Writes the next documents to the new folder. Returns whether there is work other than waiting for the separate process."""
        if self._rebuild is None:
            self._begin_rebuild()
            return self._rebuild is not None
        with self._attempts.bounded(LONGEST_SECONDS):
            left_out = self._rebuild.copy_some(self._store, self._entry_writing, self._attempts)
        if left_out is not None:
            self._rebuild.note_progress(self._store)
            if left_out:
                with self._store.writing() as unit:
                    self._rebuild.pending_ids.update(_add_tasks_again(unit, left_out))
        # All documents are copied. Those that were left out still have index tasks, and the folder is complete without these tasks only.
        elif self._rebuild.pending_ids:
            with self._store.reading() as unit:
                self._rebuild.pending_ids &= unit.processing.index_tasks.find_many(sorted(self._rebuild.pending_ids)).keys()
            return False
        else:
            self._switch_generation(self._rebuild)
        return self._rebuild is not None

    def _begin_rebuild(self) -> None:
        with self._store.reading() as unit:
            requested = unit.state.key_values.get(keyvalues.INDEX_REBUILD)
        if requested:
            self._generations.remove(requested)
            self._rebuild = Rebuild(folder=requested, writer=self._generations.open_writer(requested))
            log.info("rebuild_begun", folder=requested)

    def _switch_generation(self, rebuild: Rebuild) -> None:
        """Commits both folders with all that is pending, then points searchers to the new one."""
        # Both folders first, then the transaction that moves the pointer. If the
        # process ends before it, the earlier folder still serves, and has everything.
        token = rebuild.writer.commit()
        self._writer.commit()
        tasks = dict(self._uncommitted.tasks)
        with self._store.writing() as unit:
            unit.processing.index_tasks.remove(list(tasks.values()))
            unit.processing.queues.note_progress(QueueName.INDEX)
            unit.processing.queues.note_progress(QueueName.REBUILD)
            self._links.note_indexed(unit, tasks.values())
            self._queue_embeddings(unit, tasks)
            record_build_failures(unit, self._recorder, tasks, self._uncommitted.build_failures)
            unit.state.key_values.put(keyvalues.INDEX_FOLDER, rebuild.folder)
            unit.state.key_values.put(keyvalues.INDEX_TOKEN, token)
            unit.state.key_values.put(keyvalues.INDEX_REBUILD, "")
            unit.state.key_values.put(keyvalues.INDEX_PARTIAL, "")
            unit.state.key_values.put(keyvalues.INDEX_PROGRESS, "")
            self._end_feeds(unit)
        self._attempts.clear_steps(*WATCHED, COPY)
        self._clear_pending()
        self._writer.close()
        old, self._folder, self._writer, self._rebuild = self._folder, rebuild.folder, rebuild.writer, None
        # After the transaction: until then, searchers open the old folder.
        self._generations.remove(old)
        log.info("rebuild_ended", folder=self._folder)


def _add_tasks_again(unit: UnitOfWork, document_ids: Sequence[int]) -> list[int]:
    """Adds tasks for live documents that have none, and returns all ids that have a task now. Failed extractions are repeated."""
    waiting = unit.processing.index_tasks.find_many(document_ids)
    documents = unit.documents.reader.find_by_id([key for key in document_ids if key not in waiting])
    live = {key: document for key, document in documents.items() if document.state is DocumentState.LIVE}
    failures = unit.processing.failures.find_many(list(live))
    textless = [
        replace(live[key], text=None) for key, failure in failures.items() if failure.step.startswith(EXTRACTION) and not live[key].damage
    ]
    unit.documents.writer.save_many(textless, moved=())
    live.update((document.id, document) for document in textless if document.id is not None)
    unit.processing.index_tasks.put_many([_make_refresh(document) for document in live.values()])
    return [*waiting, *live]


def _make_refresh(document: Document) -> IndexTask:
    assert document.id is not None
    task = IndexTask.refresh(document.id, document.version, document.datasource)
    return replace(task, stage=Stage.EXTRACT) if document.awaits_extraction else task
