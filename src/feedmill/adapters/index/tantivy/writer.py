"""The write side of the Tantivy index.

A batch becomes visible completely or not at all. After any error the batch is discarded and the writer is usable. Tantivy alone does not
guarantee the second: after a failed commit it accepts documents and silently loses them until it is rolled back. So every error ends in
a rollback, and if the rollback fails, in a new writer.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import tantivy

from feedmill.adapters.index.tantivy.failures import translated
from feedmill.adapters.index.tantivy.schema import build_schema, make_entry, register_analyzer
from feedmill.adapters.index.tantivy.segments import adopt_segments
from feedmill.model.errors import Conflict
from feedmill.model.search import IndexDocument
from feedmill.ports import BuiltEntries, PreparedEntry

MIN_HEAP_BYTES = 15_000_000


class TantivyWriter:
    """The only writer of an index folder; creates the folder if there is none. Errors: Conflict when another process holds it."""

    def __init__(self, folder: Path, heap_bytes: int = 64_000_000, threads: int = 1) -> None:
        self._folder = folder
        self._heap_bytes = max(heap_bytes, MIN_HEAP_BYTES * threads)
        self._threads = threads
        with translated(f"opening index {folder.name}"):
            folder.mkdir(parents=True, exist_ok=True)
            self._index = tantivy.Index(build_schema(), path=str(folder), reuse=True)
            register_analyzer(self._index)
        self._writer: tantivy.IndexWriter | None = self._open()

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        """Adds documents. Each replaces the earlier one of its key. Errors: Corrupt, with the whole uncommitted batch gone."""
        with self._rolled_back("adding to the index"):
            for document in documents:
                entry = make_entry(document)
                self._open_writer.delete_documents_by_term("key", document.key)
                self._open_writer.add_document(entry)

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        """Builds a document's entry. Errors: any, untranslated: an error about a document's values says nothing about the engine."""
        return PreparedEntry(document.key, make_entry(document))

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        """Adds prepared entries. Errors: Corrupt, with the whole uncommitted batch gone."""
        # entered after an error only: the block itself takes a sixth of the time of a document
        try:
            for entry in entries:
                assert isinstance(entry.entry, tantivy.Document)
                self._open_writer.delete_documents_by_term("key", entry.key)
                self._open_writer.add_document(entry.entry)
        except BaseException:
            with self._rolled_back("adding to the index"):
                raise

    def adopt(self, built: BuiltEntries) -> str:
        """Adds built segments while the writer is closed. Errors: DiskFull, Corrupt; the earlier entries may be gone then."""
        assert isinstance(built.payload, Path)
        # The earlier entries of these documents, in a commit of their own:
        # the new segments may hold the same keys, which must not be removed.
        self.remove_many(built.keys)
        self.commit()
        self.close()
        try:
            return adopt_segments(self._folder, built.payload)
        finally:
            self._writer = self._open()

    def remove_many(self, keys: Iterable[int]) -> None:
        """Removes documents by key."""
        with self._rolled_back("removing from the index"):
            for key in keys:
                self._open_writer.delete_documents_by_term("key", key)

    def commit(self) -> str:
        """Makes all writes durable and returns the number of the commit, which grows."""
        with self._rolled_back("committing the index"):
            return str(self._open_writer.commit())

    def wait_for_merges(self) -> None:
        """Waits until the engine's own merges are finished, and releases the folder."""
        writer, self._writer = self._open_writer, None
        with translated("merging the index"):
            writer.wait_merging_threads()

    def close(self) -> None:
        """Releases the folder and discards uncommitted writes."""
        self._writer = None

    @property
    def _open_writer(self) -> tantivy.IndexWriter:
        # never stored in a local variable: the frames of an error would hold the writer, and its lock, beyond ``close``
        if self._writer is None:
            raise Conflict("the index writer is closed")
        return self._writer

    def _open(self) -> tantivy.IndexWriter:
        with translated(f"opening index {self._folder.name} for writing"):
            return self._index.writer(self._heap_bytes, self._threads)

    @contextlib.contextmanager
    def _rolled_back(self, doing: str) -> Iterator[None]:
        try:
            with translated(doing):
                yield
        except BaseException:
            self._recover()
            raise

    def _recover(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            with translated("rolling back"):
                writer.rollback()
            self._writer = writer
        except Exception:  # noqa: BLE001
            # a writer that cannot even roll back is dropped, which releases its lock, and a new one replaces it
            del writer
            self._writer = self._open()
