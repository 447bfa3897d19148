"""Embeds documents in the background: splits their texts into passages, and stores the vectors that a model makes of them.

The indexer queues each document that it has written. A document whose texts and model are those of its embedding keeps it, without a
request to the model. Once after each start all documents are queued that have no embedding of this model for their version, so that a new
model, or semantic search that was off for a while, catches up.

A server that does not answer, or answers nothing right, costs no document: all wait, longer each time. A document that the server refuses
while it embeds a harmless text is tried again a few times, ever later, and then left without an embedding until it changes or the program
starts again.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from feedmill.core.documents.presentation import is_indexed, shown_title
from feedmill.core.ranking.vectors import Vectors, pack_vectors
from feedmill.core.text.passages import split_ranges
from feedmill.core.text.textblob import QuotableText, decode_whole
from feedmill.model.document import Document
from feedmill.model.errors import FeedmillError, Rejected, UpstreamFailure
from feedmill.model.queue import QueueName
from feedmill.model.semantic import Embedding, QueuedEmbedding
from feedmill.ports import BlobStore, Clock, Embedder, Notifier, Store
from feedmill.services.failurenote import FailureNote

DOCUMENTS_AT_ONCE = 50
TEXTS_AT_ONCE = 32
CHARACTERS_AT_ONCE = 40_000
MAX_PASSAGES = 200
"""The most passages of one document; the text behind them is found by its words alone."""
MAX_ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 10.0
RETRY_SECONDS = 60.0
"""How long a refused document waits at first. Each time it waits twice as long."""
REQUEST_SECONDS = 60.0
HARMLESS_TEXT = "Feedmill"
POLL_SECONDS = 2.0
OUTDATED_AT_ONCE = 500

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A document to embed. Shape: ``held`` is its present embedding, None for none; without ``texts`` it shall have none."""

    item: QueuedEmbedding
    version: int = 0
    url: str = ""
    texts: tuple[str, ...] = ()
    digest: bytes = b""
    held: Embedding | None = None

    def is_same(self, model: str) -> bool:
        """Whether its embedding was made of the same texts by the same model."""
        return self.held is not None and (self.held.model, self.held.digest) == (model, self.digest)


def _ignore(_outcome: str, _documents: int) -> None:
    return


class EmbeddingWork:
    """Embeds queued documents; ``work`` runs until it is stopped.

    ``on_embedded`` receives how many documents were embedded, unchanged, removed or refused.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        embedder: Embedder,
        notifier: Notifier,
        clock: Clock,
        *,
        on_embedded: Callable[[str, int], None] = _ignore,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._embedder = embedder
        self._notifier = notifier
        self._clock = clock
        self._on_embedded = on_embedded
        self._trouble = FailureNote(store, QueueName.EMBED)
        self._swept: int | None = 0
        self._failures = 0

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped; what is not stored then is embedded again after the next start."""
        while not is_stopped():
            try:
                if not self.turn():
                    self._notifier.wait(POLL_SECONDS)
                self._failures = 0
            except FeedmillError as error:
                log.warning("embedder_waits", reason=str(error))
                self._note_trouble(error)
                self._notifier.wait(min(FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures, 10), LONGEST_PAUSE_SECONDS))
                self._failures += 1

    def _note_trouble(self, error: FeedmillError) -> None:
        """Stores why documents wait. A server that is gone does not make the queue stuck: searches go on without it."""
        if not isinstance(error, UpstreamFailure):
            self._trouble.note(str(error))
            return
        with suppress(FeedmillError), self._store.writing() as unit:
            unit.processing.queues.note_progress(QueueName.EMBED)
            unit.processing.queues.note_failure(QueueName.EMBED, str(error))

    def turn(self) -> bool:
        """Embeds the next documents. Returns whether there was anything to do. Errors: UpstreamFailure if the server does not answer."""
        is_sweeping = self._queue_outdated()
        jobs = self._list_jobs()
        # first those that need no model, which wait neither for its server nor behind others
        self._finish([job for job in jobs if not job.texts or job.is_same(self._embedder.model)])
        for batch in _split_jobs([job for job in jobs if job.texts and not job.is_same(self._embedder.model)]):
            self._embed(batch)
        return bool(jobs) or is_sweeping

    def _queue_outdated(self) -> bool:
        """Queues the next documents without an embedding of their version. Returns whether there may be more of them."""
        if self._swept is None:
            return False
        with self._store.writing() as unit:
            outdated = unit.documents.embeddings.list_outdated(self._embedder.model, after=self._swept, limit=OUTDATED_AT_ONCE)
            unit.processing.embedding_queue.put_many(outdated)
        self._swept = outdated[-1] if outdated else None
        return bool(outdated)

    def _list_jobs(self) -> list[_Job]:
        with self._store.reading() as unit:
            items = unit.processing.embedding_queue.list_due(self._clock(), DOCUMENTS_AT_ONCE)
            ids = [item.document_id for item in items]
            documents, held = unit.documents.reader.find_by_id(ids), unit.documents.embeddings.find_many(ids)
        jobs = []
        for item in items:
            document = documents.get(item.document_id)
            if document is None or not is_indexed(document):
                jobs.append(_Job(item=item, held=held.get(item.document_id)))
            else:
                texts = self._list_texts(document)
                digest = _digest(self._embedder.model, texts)
                jobs.append(
                    _Job(
                        item=item,
                        version=document.version,
                        url=document.url,
                        texts=texts,
                        digest=digest,
                        held=held.get(item.document_id),
                    )
                )
        return jobs

    def _list_texts(self, document: Document) -> tuple[str, ...]:
        """Lists what is embedded of a document: each passage under its title, or the title alone."""
        title = (shown_title(document) or "").strip()
        body = QuotableText(text="")
        if document.text is not None and document.text.blob is not None:
            try:
                body = decode_whole(self._blobs.read(document.text.blob))
            except FeedmillError as error:
                log.warning("text_unreadable", url=document.url, reason=str(error))
        passages = [passage.text for passage in split_ranges(body.text, body.main, MAX_PASSAGES)]
        if not passages:
            return (title,) if title else ()
        return tuple(f"{title}\n{passage}" if title else passage for passage in passages)

    def _embed(self, batch: Sequence[_Job]) -> None:
        """Embeds documents in as few requests as their texts need. A batch that the server refuses is halved, down to one document."""
        try:
            rows, dimensions = self._embed_texts([text for job in batch for text in job.texts])
        except Rejected as error:
            if len(batch) > 1:
                self._embed(batch[: len(batch) // 2])
                self._embed(batch[len(batch) // 2 :])
            else:
                self._check_server()
                self._postpone(batch[0], str(error))
            return
        self._save(batch, rows, dimensions)

    def _embed_texts(self, texts: Sequence[str]) -> tuple[list[Vectors], int]:
        """Returns the vectors of texts and their length.

        Errors: Rejected; UpstreamFailure, also for vectors of another length than those that the store has of this model.
        """
        parts = [self._embedder.embed_passages(part, REQUEST_SECONDS) for part in _split_texts(texts)]
        lengths = {part.shape[1] for part in parts}
        with self._store.reading() as unit:
            known = unit.documents.embeddings.find_dimensions(self._embedder.model)
        if len(lengths | ({known} if known else set())) != 1:
            listed = ", ".join(map(str, sorted(lengths)))
            raise UpstreamFailure(
                f"the embeddings server answers with vectors of {listed} dimensions, and those of this model have {known}"
            )
        return [vector for part in parts for vector in part], lengths.pop()

    def _check_server(self) -> None:
        """Embeds a text that no server refuses, to tell a server that answers nothing right from one that refuses one document.

        Errors: UpstreamFailure if it refuses this text too.
        """
        try:
            self._embed_texts([HARMLESS_TEXT])
        except Rejected as error:
            raise UpstreamFailure(str(error)) from error

    def _save(self, batch: Sequence[_Job], rows: Sequence[Vectors], dimensions: int) -> None:
        made, place = [], 0
        for job in batch:
            vectors = b"".join(pack_vectors(row) for row in rows[place : place + len(job.texts)])
            place += len(job.texts)
            made.append(
                Embedding(
                    document_id=job.item.document_id,
                    version=job.version,
                    model=self._embedder.model,
                    digest=job.digest,
                    dimensions=dimensions,
                    vectors=vectors,
                )
            )
        with self._store.writing() as unit:
            unit.documents.embeddings.save_many(made)
            unit.processing.embedding_queue.remove_many([job.item for job in batch])
            unit.processing.queues.note_progress(QueueName.EMBED)
        self._on_embedded("embedded", len(batch))

    def _finish(self, jobs: Sequence[_Job]) -> None:
        """Ends the wait of documents for which the model is not needed: their texts are the same, or they shall have no embedding."""
        if not jobs:
            return
        same = [replace(job.held, version=job.version) for job in jobs if job.texts and job.held is not None]
        gone = [job.item.document_id for job in jobs if not job.texts and job.held is not None]
        with self._store.writing() as unit:
            unit.documents.embeddings.save_many(same)
            unit.documents.embeddings.remove_many(gone)
            unit.processing.embedding_queue.remove_many([job.item for job in jobs])
            unit.processing.queues.note_progress(QueueName.EMBED)
        self._on_embedded("unchanged", len(same))
        self._on_embedded("removed", len(gone))

    def _postpone(self, job: _Job, reason: str) -> None:
        """Has a refused document wait, or gives it up after several attempts."""
        is_over = job.item.attempts + 1 >= MAX_ATTEMPTS
        log.warning("document_not_embedded", url=job.url, reason=reason, attempts=job.item.attempts + 1, is_over=is_over)
        until = self._clock() + timedelta(seconds=RETRY_SECONDS * 2**job.item.attempts)
        with self._store.writing() as unit:
            if is_over:
                unit.processing.embedding_queue.remove_many([job.item])
            else:
                unit.processing.embedding_queue.postpone([job.item], until)
            unit.processing.queues.note_failure(QueueName.EMBED, reason, job.url)
        self._on_embedded("refused", 1)


def _digest(model: str, texts: Sequence[str]) -> bytes:
    """Returns a digest of a model and of texts; no other texts, however split, have the same one."""
    digest = hashlib.blake2b(digest_size=32)
    for text in (model, *texts):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()


def _split_jobs(jobs: Sequence[_Job]) -> list[list[_Job]]:
    """Splits documents into batches with about as many texts as one request may have; a larger document is a batch of its own."""
    batches: list[list[_Job]] = []
    texts = characters = 0
    for job in jobs:
        of_job = sum(map(len, job.texts))
        if not batches or texts + len(job.texts) > TEXTS_AT_ONCE or characters + of_job > CHARACTERS_AT_ONCE:
            batches.append([])
            texts = characters = 0
        batches[-1].append(job)
        texts, characters = texts + len(job.texts), characters + of_job
    return batches


def _split_texts(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + TEXTS_AT_ONCE] for start in range(0, len(texts), TEXTS_AT_ONCE)]
