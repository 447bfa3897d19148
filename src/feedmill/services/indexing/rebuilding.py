"""Writes every live document to an index folder next to the serving one.

A folder of an older schema is served and written until the new one is complete, if this program can do both; the index adapter decides
that. Otherwise a new folder serves at once with what it holds so far.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from feedmill.core.documents.presentation import is_indexed
from feedmill.model.document import Document
from feedmill.model.queue import QueueName
from feedmill.ports import IndexGenerations, IndexWriter, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.indexing.entrywriting import COPY, SLICE_SECONDS, EntryWriting
from feedmill.services.isolation.attempts import Attempts, key_of_document

DOCUMENTS_AT_ONCE = 250
NOTED_EVERY_SECONDS = 2.0


def choose_folder(unit: UnitOfWork, generations: IndexGenerations) -> str:
    """Returns the folder to serve. Requests a rebuild if its schema is another one, or if the folder is lost. Shape: ``SCHEMA-NUMBER``."""
    values, schema = unit.state.key_values, generations.schema
    folder, requested = values.get(keyvalues.INDEX_FOLDER), values.get(keyvalues.INDEX_REBUILD) or ""
    if folder is not None and folder.startswith(f"{schema}-"):
        if values.get(keyvalues.INDEX_TOKEN) and not generations.exists(folder):
            # as after a restore without the index
            _serve_partial(unit, _next_of(folder))
        return folder
    if folder is not None and generations.can_serve(folder):
        if not requested.startswith(f"{schema}-"):
            _request(unit, f"{schema}-1")
        return folder
    if folder is not None:
        _serve_partial(unit, f"{schema}-2")
    folder = f"{schema}-1"
    values.put(keyvalues.INDEX_FOLDER, folder)
    return folder


def has_lost_index(store: Store, generations: IndexGenerations) -> bool:
    """Returns whether the folder in force has been removed, or is one of another release that this program cannot read.

    The next start of the indexer builds a new one.
    """
    with store.reading() as unit:
        folder = unit.state.key_values.get(keyvalues.INDEX_FOLDER)
        token = unit.state.key_values.get(keyvalues.INDEX_TOKEN)
    if folder is None or not token:
        return False
    return not generations.exists(folder) or not (folder.startswith(f"{generations.schema}-") or generations.can_serve(folder))


def _serve_partial(unit: UnitOfWork, rebuild: str) -> None:
    """Requests a rebuild; until its end, responses say that the index is incomplete. What was committed before no longer counts."""
    _request(unit, rebuild)
    unit.state.key_values.put(keyvalues.INDEX_PARTIAL, "1")
    unit.state.key_values.put(keyvalues.INDEX_TOKEN, "")


def _request(unit: UnitOfWork, folder: str) -> None:
    unit.state.key_values.put(keyvalues.INDEX_REBUILD, folder)
    unit.processing.queues.begin(QueueName.REBUILD)


def _next_of(folder: str) -> str:
    schema, _, number = folder.partition("-")
    return f"{schema}-{int(number) + 1}"


@dataclass(slots=True)
class Rebuild:
    """A folder that is being filled with every live document, by id; ``reached`` is the last one.

    Shape: ``pending_ids`` are left to their index tasks, and must be written before the folder is complete.
    """

    folder: str
    writer: IndexWriter
    reached: int = 0
    written: int = 0
    total: int = 0
    pending_ids: set[int] = field(default_factory=set)
    begun_at_seconds: float = field(default_factory=time.monotonic)
    noted_at_seconds: float = 0.0
    written_at_once: int = DOCUMENTS_AT_ONCE

    def copy_some(self, store: Store, entry_writing: EntryWriting, attempts: Attempts) -> list[int] | None:
        """Copies the next documents for a bounded time; returns those that are left to their tasks, None after the last document.

        Large documents and ones that fail are left. Documents are read and copied in one call: between two calls a task may write a newer
        state of a document, which an older one must not replace.
        """
        begun = time.monotonic()
        # A document that is read but not written now is read again in the next call, since it may change until then. So the limit is twice
        # what the last call wrote.
        limit = min(2 * self.written_at_once, DOCUMENTS_AT_ONCE)
        with store.reading() as unit:
            documents = unit.documents.scan.list_live(after=self.reached, limit=limit)
            if not self.reached:
                self.total = unit.documents.scan.count_live()
            failed = unit.processing.failures.find_many(_ids_of(documents)).keys()
        if not documents:
            return None
        wanted = {document.id or 0: document for document in documents if is_indexed(document)}
        # each restart of the process begins the folder again, so a document with failures or interruptions is not tried here
        fit = {key: document for key, document in wanted.items() if key not in failed and not _is_suspected(key, entry_writing, attempts)}
        link_texts = entry_writing.find_incoming_links(list(fit.values()))
        left: list[int] = []
        written_before = self.written
        for document, document_id in zip(documents, _ids_of(documents), strict=True):
            is_written = False
            if document_id in fit:
                with attempts.on(key_of_document(COPY, document_id)):
                    is_written = entry_writing.copy(self.writer, document, link_texts)
            # documents with damaged rows are left to their index tasks, which report why they are not found
            if not is_written and (document_id in wanted or document.damage):
                left.append(document_id)
            self.reached = document_id
            self.written += 1
            if time.monotonic() - begun > SLICE_SECONDS:
                break
        self.written_at_once = self.written - written_before
        return left

    def note_progress(self, store: Store) -> None:
        """Stores how far the rebuild is, now and then."""
        if time.monotonic() - self.noted_at_seconds >= NOTED_EVERY_SECONDS:
            self.noted_at_seconds = time.monotonic()
            with store.writing() as unit:
                unit.state.key_values.put(keyvalues.INDEX_PROGRESS, self._report_progress())
                unit.processing.queues.note_progress(QueueName.REBUILD, reached=self.reached)

    def _report_progress(self) -> str:
        taken = time.monotonic() - self.begun_at_seconds
        total = max(self.total, self.written)
        # At the speed so far. Before the first document nothing is reported, so this divides by at least 1.
        remaining = round(taken * (total - self.written) / self.written)
        return json.dumps({"written": self.written, "total": total, "remaining_seconds": remaining})


def _ids_of(documents: Sequence[Document]) -> list[int]:
    return [document.id or 0 for document in documents]


def _is_suspected(document_id: int, entry_writing: EntryWriting, attempts: Attempts) -> bool:
    return attempts.count(key_of_document(COPY, document_id)) > 0 or entry_writing.is_suspected(document_id)


def request_rebuild(store: Store) -> str:
    """Requests a rebuild and returns the name of its folder; a rebuild that is requested already is returned again."""
    with store.writing() as unit:
        requested = unit.state.key_values.get(keyvalues.INDEX_REBUILD)
        if not requested:
            requested = _next_of(unit.state.key_values.get(keyvalues.INDEX_FOLDER) or "0-0")
            _request(unit, requested)
    return requested
