"""The indexer: brings the index up to the store.

Marks are worked off in batches: documents go to the engine, the engine commits, and only then are the marks of exactly these versions
removed and the commit's token made known, in one transaction. Whatever dies in between is done again, and doing it again changes nothing.
Small changes commit at once; a large feed commits every two seconds.

A rebuild (``rebuilding``) writes every live document to a new folder beside the serving one. While it runs, marks go to both; at its end
the pointer flips.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import structlog

from feedmill.core.anchors import NOTHING_TOLD
from feedmill.core.shown import is_indexed
from feedmill.model.document import Document
from feedmill.model.errors import FeedmillError
from feedmill.model.queue import QueueName
from feedmill.model.search import IndexDocument
from feedmill.ports import Bell, BlobStore, Clock, IndexWriter, Lane, Mark, SearchIndex, Stage, Store, UnitOfWork
from feedmill.services import facts
from feedmill.services.failurenote import FailureNote
from feedmill.services.feeds.progress import ended
from feedmill.services.indexing.entries import entry_of, read_kept_text
from feedmill.services.indexing.linking import Linking
from feedmill.services.indexing.rebuilding import Rebuild, choose_folder
from feedmill.services.servingdesk import ServingDesk, nothing_set
from feedmill.services.sweeps.patternsweep import PatternSweep

POLL_SECONDS = 0.5
BATCH = 250
COMMIT_SECONDS = 2.0
COMMIT_DOCUMENTS = 20_000
SETTLED_AT_ONCE = 200

log = structlog.get_logger(__name__)


def _serves_none(_folder: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFolders:
    """Lists index folders, opens writers on them, reads them and removes those that are served no more.

    ``can_serve`` says of a folder of another schema whether this program may read and write it all the same.
    """

    list: Callable[[], Sequence[str]]
    open: Callable[[str], IndexWriter]
    read: Callable[[str], SearchIndex]
    remove: Callable[[str], None]
    can_serve: Callable[[str], bool] = _serves_none


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTools:
    """What the indexer works with. Units: ``rest`` between two pieces of what nobody waits for, in times of the one before."""

    store: Store
    blobs: BlobStore
    bell: Bell
    clock: Clock
    desk: ServingDesk = field(default_factory=lambda: ServingDesk(nothing_set))
    rest: float = 3.0


def _tell_nobody(_documents: int) -> None:
    return


class Indexing:
    """Works INDEX marks off; ``work`` until told to stop. ``on_committed`` hears how many documents each commit changed."""

    def __init__(
        self, tools: IndexTools, folders: IndexFolders, *, schema: str, on_committed: Callable[[int], None] = _tell_nobody
    ) -> None:
        self._store = tools.store
        self._blobs = tools.blobs
        self._bell = tools.bell
        self._clock = tools.clock
        self._folders = folders
        self._on_committed = on_committed
        with tools.store.writing() as unit:
            self._folder = choose_folder(unit, schema, folders.can_serve)
        self._remove_others()
        self._writer = folders.open(self._folder)
        self._patterns = PatternSweep(tools.store, tools.desk)
        self._links = Linking(tools.store, tools.blobs, folders.read, rest=tools.rest)
        self._pending: dict[int, Mark] = {}
        self._pending_since = 0.0
        self._reached: Mark | None = None
        self._rebuild: Rebuild | None = None
        self._trouble = FailureNote(tools.store, QueueName.INDEX)

    def _remove_others(self) -> None:
        """Removes what a rebuild left that was cut short, or that had ended but for this."""
        for name in self._folders.list():
            if name != self._folder:
                self._folders.remove(name)

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped; what is not committed then is done again at the next start."""
        while not is_stopped():
            try:
                if not self.turn():
                    self._bell.wait(POLL_SECONDS)
            except FeedmillError as error:
                log.warning("indexer_waits", reason=str(error))
                self._trouble.note(str(error))
                self._forget_pending()
                self._bell.wait(POLL_SECONDS)
        self._writer.close()

    def turn(self) -> bool:
        """Takes the next batch, commits when it is time. Whether there is more to do."""
        self._continue_rebuild()
        is_sweeping = self._follow_patterns()
        marks, documents = self._next_batch()
        if marks:
            if not self._pending:
                self._pending_since = time.monotonic()
            for target in self._links.take_back(documents, marks):
                # what is written of it already is out of date, so that its mark has to stay
                self._pending.pop(target, None)
            self._put(self._writer, documents, marks)
            if self._rebuild is not None:
                self._put(self._rebuild.writer, documents, marks)
            self._pending.update({mark.document_id: mark for mark in marks})
        if self._pending and self._is_time_to_commit(marks):
            self._commit()
        elif not marks:
            self._settle_only()
            if not (self._pending or is_sweeping or self._rebuild is not None):
                return self._links.step()
        return bool(marks) or is_sweeping or self._rebuild is not None

    def _follow_patterns(self) -> bool:
        """Goes by the URL patterns of the settings; whether documents are still held against new ones."""
        if self._patterns.has_news():
            if self._pending:
                self._commit()
            self._patterns.adopt()
        return self._patterns.step()

    def close(self) -> None:
        """Closes the writers."""
        self._writer.close()

    def _next_batch(self) -> tuple[list[Mark], dict[int, Document]]:
        with self._store.reading() as unit:
            quick = unit.marks.list(Stage.INDEX, BATCH + len(self._pending), lane=Lane.QUICK)
            bulk = unit.marks.list(Stage.INDEX, BATCH, lane=Lane.BULK, after=self._reached)
            self._reached = bulk[-1] if bulk else self._reached
            marks = [mark for mark in (*quick, *bulk) if self._pending.get(mark.document_id) != mark]
            return marks, unit.documents.find_by_id([mark.document_id for mark in marks])

    def _is_time_to_commit(self, marks: Sequence[Mark]) -> bool:
        """Whether somebody waits for a small change, enough has gathered, or nothing more is on its way."""
        if any(mark.lane is Lane.QUICK for mark in marks):
            return True
        if len(self._pending) >= COMMIT_DOCUMENTS or time.monotonic() - self._pending_since >= COMMIT_SECONDS:
            return True
        return not marks and not self._awaits_extraction()

    def _awaits_extraction(self) -> bool:
        with self._store.reading() as unit:
            return bool(unit.marks.list(Stage.EXTRACT, 1))

    def _put(self, writer: IndexWriter, documents: dict[int, Document], marks: Sequence[Mark]) -> None:
        found = [documents.get(mark.document_id) for mark in marks]
        writer.put_many(self._entries([document for document in found if document is not None and is_indexed(document)]))
        writer.remove_many(
            mark.document_id for mark, document in zip(marks, found, strict=True) if document is None or not is_indexed(document)
        )

    def _entries(self, documents: Sequence[Document]) -> Iterator[IndexDocument]:
        told = self._links.find_told(documents) if documents else {}
        for document in documents:
            patterns = self._patterns.book.terms_of(document.url)
            yield entry_of(document, read_kept_text(self._blobs, document), told.get(document.id or 0, NOTHING_TOLD), patterns)

    def _commit(self) -> None:
        """Commits, then takes the marks off and lets searchers know."""
        token = self._writer.commit()
        marks = list(self._pending.values())
        with self._store.writing() as unit:
            unit.marks.remove(marks)
            unit.queues.note_progress(QueueName.INDEX)
            self._links.note_indexed(unit, marks)
            unit.facts.put(facts.INDEX_TOKEN, token)
            unit.facts.put(facts.INDEX_GENERATION, str(int(unit.facts.get(facts.INDEX_GENERATION) or 0) + 1))
            self._settle(unit)
        self._clear_pending()
        self._on_committed(len(marks))
        log.info("index_committed", documents=len(marks), token=token)

    def _clear_pending(self) -> None:
        self._pending.clear()
        self._reached = None

    def _forget_pending(self) -> None:
        """After a failure nothing of the batch is in the engine: its marks are still there and are taken again."""
        self._clear_pending()
        self._writer.close()
        if self._rebuild is not None:
            self._rebuild.writer.close()
            self._rebuild = None
        self._writer = self._folders.open(self._folder)

    # --- feeds ---

    def _settle_only(self) -> None:
        with self._store.reading() as unit:
            has_unsettled = bool(unit.feeds.list_unsettled())
        if has_unsettled:
            with self._store.writing() as unit:
                self._settle(unit)

    def _settle(self, unit: UnitOfWork) -> None:
        """Ends feeds that the index obeys now, and says when all of a feed could be found."""
        feeds = unit.feeds.list_unsettled()[:SETTLED_AT_ONCE]
        marked, tightening = unit.marks.list_open_feeds([feed.id for feed in feeds])
        for feed in feeds:
            searchable_at = None if feed.id in marked else self._clock()
            settled = ended(feed, is_obeyed=feed.id not in tightening, searchable_at=searchable_at)
            if settled != feed:
                unit.feeds.save(settled)

    # --- rebuild ---

    def _continue_rebuild(self) -> None:
        if self._rebuild is None:
            self._begin_rebuild()
        elif (documents := self._rebuild.next_documents(self._store)) is not None:
            self._rebuild.writer.put_many(self._entries([document for document in documents if is_indexed(document)]))
        else:
            self._flip(self._rebuild)

    def _begin_rebuild(self) -> None:
        with self._store.reading() as unit:
            asked = unit.facts.get(facts.INDEX_REBUILD)
        if asked:
            self._folders.remove(asked)
            self._rebuild = Rebuild(folder=asked, writer=self._folders.open(asked))
            log.info("rebuild_begun", folder=asked)

    def _flip(self, rebuild: Rebuild) -> None:
        """Commits both folders with all that is pending, then points searchers to the new one."""
        token = rebuild.writer.commit()
        self._writer.commit()
        with self._store.writing() as unit:
            unit.marks.remove(list(self._pending.values()))
            unit.queues.note_progress(QueueName.INDEX)
            unit.queues.note_progress(QueueName.REBUILD)
            self._links.note_indexed(unit, self._pending.values())
            unit.facts.put(facts.INDEX_FOLDER, rebuild.folder)
            unit.facts.put(facts.INDEX_TOKEN, token)
            unit.facts.put(facts.INDEX_REBUILD, "")
            unit.facts.put(facts.INDEX_PARTIAL, "")
            unit.facts.put(facts.INDEX_PROGRESS, "")
            self._settle(unit)
        self._clear_pending()
        self._writer.close()
        old, self._folder, self._writer, self._rebuild = self._folder, rebuild.folder, rebuild.writer, None
        self._folders.remove(old)
        log.info("rebuild_ended", folder=self._folder)
