"""Frees the disk space of blobs that no document refers to any more.

A round reads all documents once and sums up how many bytes of each pack are still in use. Rules:

- A round considers only packs and files that no process writes to and that have not changed for a while: a blob whose transaction is not
  committed yet is younger. No new reference is made to an old pack or file, so what a round finds unused stays unused.
- An unused pack or file is removed in the next round: a reader may still hold a reference that was just dropped.
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
from feedmill.ports import BlobGarbage, BlobStore, Store, StoredRefs

PACK_REST_SECONDS = 3600.0
FILE_REST_SECONDS = 86400.0
DOCUMENTS_AT_ONCE = 500
COPIED_BYTES_AT_ONCE = 4_000_000

log = structlog.get_logger(__name__)


class BlobCleaning:
    """The rounds of one process. Each round passes its unused packs and files to the next."""

    def __init__(self, store: Store, blobs: BlobStore, garbage: BlobGarbage) -> None:
        self._store = store
        self._blobs = blobs
        self._garbage = garbage
        self._unkept: set[str] = set()

    def round(self) -> Iterator[None]:
        """Runs one round over all documents, packs and files."""
        packs = {
            pack.name: pack.size_bytes for pack in self._garbage.list_packs() if _rests(pack.is_in_use, pack.age_seconds, PACK_REST_SECONDS)
        }
        files = {file.name for file in self._garbage.list_files() if _rests(file.is_in_use, file.age_seconds, FILE_REST_SECONDS)}
        yield
        kept_bytes = dict.fromkeys(packs, 0)
        unkept_files = set(files)
        if packs or files:
            for refs in self._documents():
                self._add_up(refs, kept_bytes, unkept_files)
                yield
        unkept_packs = {name for name, size_bytes in kept_bytes.items() if size_bytes == 0}
        yield from self._remove(unkept_packs, unkept_files)
        thin = {name for name, size_bytes in kept_bytes.items() if 0 < 2 * size_bytes < packs[name]}
        if thin:
            yield from self._thin_out(thin)

    def _documents(self) -> Iterator[list[StoredRefs]]:
        reached = 0
        while True:
            with self._store.reading() as unit:
                refs = unit.documents.upkeep.list_refs(after=reached, limit=DOCUMENTS_AT_ONCE)
            if not refs:
                return
            reached = refs[-1].document_id
            yield refs

    def _add_up(self, refs: list[StoredRefs], kept_bytes: dict[str, int], unkept_files: set[str]) -> None:
        for ref in (ref for stored in refs for ref in _refs_of(stored)):
            with suppress(Corrupt):
                name = self._garbage.home(ref)
                unkept_files.discard(name)
                if name in kept_bytes:
                    # an empty blob also counts as a use of its pack
                    kept_bytes[name] += max(1, self._blobs.size(ref))

    def _remove(self, packs: set[str], files: set[str]) -> Iterator[None]:
        """Removes what the round before found unused too."""
        found, self._unkept = self._unkept, packs | files
        for name in sorted(self._unkept & found):
            with suppress(Conflict):
                if name in packs:
                    self._garbage.remove_pack(name)
                else:
                    self._garbage.remove_file(name)
                self._unkept.discard(name)
                log.info("blobs_removed", name=name)
            yield

    # --- packs of which little is in use ---

    def _thin_out(self, thin: Set[str]) -> Iterator[None]:
        for refs in self._documents():
            moving: list[StoredRefs] = []
            size_bytes = 0
            for stored in refs:
                if not self._is_to_move(stored, thin):
                    continue
                moving.append(stored)
                size_bytes += sum(self._blobs.size(ref) for ref in _refs_of(stored))
                if size_bytes >= COPIED_BYTES_AT_ONCE:
                    self._move(moving, thin)
                    yield
                    moving, size_bytes = [], 0
            self._move(moving, thin)
            yield

    def _is_to_move(self, stored: StoredRefs, thin: Set[str]) -> bool:
        if stored.content is not None and (stored.text is None or stored.text.source != stored.content):
            return False
        try:
            return any(self._garbage.home(ref) in thin for ref in _refs_of(stored))
        except Corrupt:
            return False

    def _move(self, moving: list[StoredRefs], thin: Set[str]) -> None:
        """Copies blobs, makes the copies durable, and only then changes the references."""
        moves = [(stored, copied) for stored in moving if (copied := self._copy(stored, thin)) is not None]
        if not moves:
            return
        self._blobs.sync()
        with self._store.writing() as unit:
            moved = unit.documents.upkeep.move_refs(moves)
        log.info("blobs_moved", documents=moved, of=len(moves))

    def _copy(self, stored: StoredRefs, thin: Set[str]) -> StoredRefs | None:
        """Returns references to copies, None if the bytes cannot be read: they stay where they may still be repaired."""
        try:
            content = None if stored.content is None else self._copy_blob(stored.content, thin)
            text = stored.text
            if text is not None and text.blob is not None:
                text = replace(text, blob=self._copy_blob(text.blob, thin))
        except Corrupt as error:
            log.error("blob_lost", document=stored.document_id, reason=str(error))
            return None
        if text is not None and content is not None:
            text = replace(text, source=content)
        return replace(stored, content=content, text=text)

    def _copy_blob(self, ref: BlobRef, thin: Set[str]) -> BlobRef:
        if self._garbage.home(ref) not in thin:
            return ref
        data = self._blobs.read(ref)
        return self._garbage.put_copy(data)


def _refs_of(stored: StoredRefs) -> list[BlobRef]:
    refs = [stored.content, None if stored.text is None else stored.text.blob]
    return [ref for ref in refs if ref is not None]


def _rests(is_in_use: bool, age_seconds: float, rest_seconds: float) -> bool:
    return not is_in_use and age_seconds >= rest_seconds
