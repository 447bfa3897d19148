"""Writes every live document to an index folder next to the serving one.

A folder of an older schema is served and written until the new one is complete, if this program can do both; the index adapter decides
that. Otherwise a new folder serves at once with what it holds so far.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import islice

from feedmill.core.shown import is_indexed
from feedmill.model.document import Document
from feedmill.model.queue import QueueName
from feedmill.ports import IndexWriter, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.indexing.filling import COPY, SLICE_SECONDS, Filling
from feedmill.services.isolation.attempts import Attempts, key_of_document

DOCUMENTS_AT_ONCE = 250
TOLD_EVERY_SECONDS = 2.0


def choose_folder(unit: UnitOfWork, schema: str, can_serve: Callable[[str], bool]) -> str:
    """Returns the folder to serve, and requests a rebuild if its schema is another one. Shape: ``SCHEMA-NUMBER``."""
    folder, asked = unit.key_values.get(keyvalues.INDEX_FOLDER), unit.key_values.get(keyvalues.INDEX_REBUILD) or ""
    if folder is not None and folder.startswith(f"{schema}-"):
        return folder
    if folder is not None and can_serve(folder):
        if not asked.startswith(f"{schema}-"):
            unit.key_values.put(keyvalues.INDEX_REBUILD, f"{schema}-1")
            unit.queues.begin(QueueName.REBUILD)
        return folder
    if folder is not None:
        unit.key_values.put(keyvalues.INDEX_REBUILD, f"{schema}-2")
        unit.queues.begin(QueueName.REBUILD)
        unit.key_values.put(keyvalues.INDEX_PARTIAL, "1")
    folder = f"{schema}-1"
    unit.key_values.put(keyvalues.INDEX_FOLDER, folder)
    unit.key_values.put(keyvalues.INDEX_TOKEN, "")
    return folder


@dataclass(slots=True)
class Rebuild:
    """A folder that is being filled with every live document, by id; ``reached`` is the last one.

    Shape: ``waiting`` were found and are not written; ``failed`` are those of them that have a failure; ``apart`` are left to their
    index tasks, and must be written before the folder is complete.
    """

    folder: str
    writer: IndexWriter
    reached: int = 0
    written: int = 0
    total: int = 0
    waiting: deque[Document] = field(default_factory=deque)
    failed: Collection[int] = ()
    apart: set[int] = field(default_factory=set)
    begun_at_seconds: float = field(default_factory=time.monotonic)
    told_at_seconds: float = 0.0

    def find_next(self, store: Store) -> bool:
        """Finds the next documents to copy and returns whether there are any. Stores its progress now and then."""
        with store.reading() as unit:
            documents = unit.documents.list_live(after=self.reached, limit=DOCUMENTS_AT_ONCE)
            if not self.reached:
                self.total = unit.documents.count_live()
            self.failed = unit.failures.find_many([document.id for document in documents if document.id is not None]).keys()
        if not documents:
            return False
        self.reached = documents[-1].id or 0
        self.written += len(documents)
        # documents with damaged rows are left to their index tasks, which report why they are not found
        self.waiting.extend(document for document in documents if is_indexed(document) or document.damage)
        if time.monotonic() - self.told_at_seconds >= TOLD_EVERY_SECONDS:
            self.told_at_seconds = time.monotonic()
            with store.writing() as unit:
                unit.key_values.put(keyvalues.INDEX_PROGRESS, self._report_progress())
                unit.queues.note_progress(QueueName.REBUILD, reached=self.reached)
        return True

    def write_some(self, store: Store, filling: Filling, attempts: Attempts) -> list[int]:
        """Writes waiting documents for a bounded time; returns those that are left to their tasks: large ones and ones that fail."""
        begun = time.monotonic()
        left: list[int] = []
        # read again: a task may have written a newer state of a waiting document meanwhile, which an older one must not replace
        found = list(islice(self.waiting, DOCUMENTS_AT_ONCE))
        with store.reading() as unit:
            current = unit.documents.find_by_id([document.id for document in found if document.id is not None])
        batch = [current.get(document.id or 0, document) for document in found]
        told = filling.find_told([document for document in batch if self._may_copy(document.id or 0, filling, attempts)])
        for document in batch:
            self.waiting.popleft()
            if document.id not in current or not (is_indexed(document) or document.damage):
                continue
            is_written = False
            if self._may_copy(document.id or 0, filling, attempts):
                with attempts.on(key_of_document(COPY, document.id or 0)):
                    is_written = filling.copy(self.writer, document, told)
            if not is_written:
                left.append(document.id or 0)
            if time.monotonic() - begun > SLICE_SECONDS:
                break
        return left

    def _may_copy(self, document_id: int, filling: Filling, attempts: Attempts) -> bool:
        """Returns whether a document has no failures or interruptions; each restart of the process begins the folder again."""
        is_known = document_id in self.failed or attempts.count(key_of_document(COPY, document_id))
        return not is_known and not filling.is_suspected(document_id)

    def _report_progress(self) -> str:
        taken = time.monotonic() - self.begun_at_seconds
        total = max(self.total, self.written)
        remaining = round(taken * (total - self.written) / self.written)
        return json.dumps({"written": self.written, "total": total, "remaining_seconds": remaining})


def request_rebuild(store: Store) -> str:
    """Requests a rebuild and returns the name of its folder; a rebuild that is requested already is returned again."""
    with store.writing() as unit:
        asked = unit.key_values.get(keyvalues.INDEX_REBUILD)
        if not asked:
            schema, _, number = (unit.key_values.get(keyvalues.INDEX_FOLDER) or "0-0").partition("-")
            asked = f"{schema}-{int(number) + 1}"
            unit.key_values.put(keyvalues.INDEX_REBUILD, asked)
            unit.queues.begin(QueueName.REBUILD)
    return asked
