"""Frees the disk space of blobs that no document refers to any more.

A round is mark and sweep: it reads all documents once and sums up how many bytes of each stored object are still in use. Rules:

- A round considers only objects that no process writes to and that have not changed for a while: a blob whose transaction is not
  committed yet is younger. No new reference is made to an old object, so what a round finds unused stays unused.
- An unused object is removed in the next round: a reader may still hold a reference that was just dropped.
- If little of a pack is in use, the blobs in use are copied to where new blobs are written. The documents' references are changed only if
  they are still as they were read, so that a feed or an extractor that came first wins. The pack is then unused.
- Blobs of a document that waits for its extraction are not moved, since the extracted text names the content by its reference.

Each ``yield`` ends one bounded piece of work.
"""

from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import replace

import structlog

from feedmill.model.document import BlobRef
from feedmill.model.errors import Conflict, Corrupt
from feedmill.ports import BlobGarbage, BlobObject, BlobStore, Store, StoredRefs

PACK_MIN_AGE_SECONDS = 3600.0
FILE_MIN_AGE_SECONDS = 86400.0
DOCUMENTS_AT_ONCE = 500
COPIED_BYTES_AT_ONCE = 4_000_000

log = structlog.get_logger(__name__)


class BlobCleaning:
    """The rounds of one process. Each round passes the names of its unused objects to the next."""

    def __init__(self, store: Store, blobs: BlobStore, garbage: BlobGarbage) -> None:
        self._store = store
        self._blobs = blobs
        self._garbage = garbage
        self._unused: set[str] = set()

    def round(self) -> Iterator[None]:
        """Runs one round over all documents and all stored objects."""
        sizes = {each.name: each.size_bytes for each in self._garbage.list_objects() if _is_settled(each)}
        yield
        live_bytes = dict.fromkeys(sizes, 0)
        if sizes:
            for refs in self._documents():
                self._add_up(refs, live_bytes)
                yield
        yield from self._remove({name for name, size_bytes in live_bytes.items() if size_bytes == 0})
        # an object of one blob is live as a whole or not at all, so these are packs
        sparse = {name for name, size_bytes in live_bytes.items() if 0 < 2 * size_bytes < sizes[name]}
        if sparse:
            yield from self._compact(sparse)

    def _documents(self) -> Iterator[list[StoredRefs]]:
        reached = 0
        while True:
            with self._store.reading() as unit:
                refs = unit.documents.upkeep.list_refs(after=reached, limit=DOCUMENTS_AT_ONCE)
            if not refs:
                return
            reached = refs[-1].document_id
            yield refs

    def _add_up(self, refs: list[StoredRefs], live_bytes: dict[str, int]) -> None:
        for ref in (ref for stored in refs for ref in _refs_of(stored)):
            with suppress(Corrupt):
                name = self._garbage.find_object(ref)
                if name in live_bytes:
                    # an empty blob also counts as a use of its object
                    live_bytes[name] += max(1, self._blobs.size(ref))

    def _remove(self, unused: set[str]) -> Iterator[None]:
        """Removes the objects that the round before found unused too."""
        found, self._unused = self._unused, unused
        for name in sorted(unused & found):
            with suppress(Conflict):
                self._garbage.remove_object(name)
                self._unused.discard(name)
                log.info("blobs_removed", name=name)
            yield

    # --- packs of which little is in use ---

    def _compact(self, sparse: Set[str]) -> Iterator[None]:
        for refs in self._documents():
            moving: list[StoredRefs] = []
            size_bytes = 0
            for stored in refs:
                if not self._is_to_move(stored, sparse):
                    continue
                moving.append(stored)
                size_bytes += sum(self._blobs.size(ref) for ref in _refs_of(stored))
                if size_bytes >= COPIED_BYTES_AT_ONCE:
                    self._move(moving, sparse)
                    yield
                    moving, size_bytes = [], 0
            self._move(moving, sparse)
            yield

    def _is_to_move(self, stored: StoredRefs, sparse: Set[str]) -> bool:
        if stored.content is not None and (stored.text is None or stored.text.source != stored.content):
            return False
        try:
            return any(self._garbage.find_object(ref) in sparse for ref in _refs_of(stored))
        except Corrupt:
            return False

    def _move(self, moving: list[StoredRefs], sparse: Set[str]) -> None:
        """Copies blobs, makes the copies durable, and only then changes the references."""
        moves = [(stored, copied) for stored in moving if (copied := self._copy(stored, sparse)) is not None]
        if not moves:
            return
        self._blobs.sync()
        with self._store.writing() as unit:
            moved = unit.documents.upkeep.move_refs(moves)
        log.info("blobs_moved", documents=moved, of=len(moves))

    def _copy(self, stored: StoredRefs, sparse: Set[str]) -> StoredRefs | None:
        """Returns references to copies, None if the bytes cannot be read: they stay where they may still be repaired."""
        try:
            content = None if stored.content is None else self._copy_blob(stored.content, sparse)
            text = stored.text
            if text is not None and text.blob is not None:
                text = replace(text, blob=self._copy_blob(text.blob, sparse))
        except Corrupt as error:
            log.error("blob_lost", document=stored.document_id, reason=str(error))
            return None
        if text is not None and content is not None:
            text = replace(text, source=content)
        return replace(stored, content=content, text=text)

    def _copy_blob(self, ref: BlobRef, sparse: Set[str]) -> BlobRef:
        if self._garbage.find_object(ref) not in sparse:
            return ref
        data = self._blobs.read(ref)
        return self._garbage.put_copy(data)


def _refs_of(stored: StoredRefs) -> list[BlobRef]:
    refs = [stored.content, None if stored.text is None else stored.text.blob]
    return [ref for ref in refs if ref is not None]


def _is_settled(found: BlobObject) -> bool:
    min_age_seconds = PACK_MIN_AGE_SECONDS if found.is_pack else FILE_MIN_AGE_SECONDS
    return not found.is_in_use and found.age_seconds >= min_age_seconds
