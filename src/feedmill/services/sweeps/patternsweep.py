"""Matches all documents against URL patterns of the settings that the index does not know yet.

For each pattern that matches a document, the index stores a term when the document is written. When patterns are added, the matching
documents get index tasks to be written again. No other document changes, and removed patterns leave terms behind that no query uses.

The indexer calls this between its batches, so that what it writes and what is swept never use different patterns: it has nothing
uncommitted when it adopts new ones. Documents that have index tasks already are written with the new patterns anyhow and are skipped.
The set of known patterns shrinks before the new patterns take effect and grows when the sweep has ended, so that a process may be killed
at any time.
"""

import hashlib
import json
from collections.abc import Sequence

import structlog

from feedmill.core.query.patternsets import CompiledPatterns, list_patterns
from feedmill.model.queue import QueueName
from feedmill.model.serving import Serving
from feedmill.ports import IndexTask, LiveUrl, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.isolation.attempts import Attempts, key_of_document
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.searchconfigprovider import SearchConfigProvider

STEP = "sweep.patterns"
DOCUMENTS_AT_ONCE = 2_000

log = structlog.get_logger(__name__)


class PatternSweep:
    """The patterns that one indexer writes with, and the sweep towards them."""

    def __init__(self, store: Store, search_config: SearchConfigProvider, attempts: Attempts) -> None:
        self._store = store
        self._attempts = attempts
        self._search_config = search_config
        self._serving = Serving()
        self._wanted: tuple[str, ...] = ()
        self._missing = CompiledPatterns()
        self.book = CompiledPatterns()
        self.adopt()

    def has_news(self) -> bool:
        """Whether the patterns of the settings differ from those of the book. Errors: Busy, Corrupt."""
        with self._store.reading() as unit:
            serving = self._search_config.current(unit).serving
        if serving is self._serving:
            return False
        self._serving = serving
        return list_patterns(serving) != self._wanted

    def adopt(self) -> None:
        """Adopts the patterns of the settings; the caller must have nothing uncommitted that was made with the old ones."""
        with self._store.writing() as unit:
            wanted = list_patterns(self._search_config.current(unit).serving)
            # A pattern that was removed is unknown from now on: documents that are written without it lack its term if it returns.
            known = set(json.loads(unit.state.key_values.get(keyvalues.PATTERNS_KNOWN) or "[]")) & set(wanted)
            unit.state.key_values.put(keyvalues.PATTERNS_KNOWN, json.dumps(sorted(known)))
            missing = tuple(text for text in wanted if text not in known)
            cursor = self._find_cursor(unit, missing) if missing else ""
            # The same cursor means that this sweep began before a restart and goes on.
            if cursor and cursor != unit.state.key_values.get(keyvalues.PATTERNS_CURSOR):
                unit.processing.queues.begin(QueueName.PATTERNS)
            unit.state.key_values.put(keyvalues.PATTERNS_CURSOR, cursor)
        self._wanted, self.book, self._missing = wanted, CompiledPatterns(wanted), CompiledPatterns(missing)

    def _find_cursor(self, unit: UnitOfWork, missing: Sequence[str]) -> str:
        """Returns where a sweep to the same patterns stopped, else the beginning."""
        digest = _digest_of(missing)
        stored = unit.state.key_values.get(keyvalues.PATTERNS_CURSOR) or ""
        return stored if stored.startswith(f"{digest}:") else f"{digest}:0"

    def step(self) -> bool:
        """Adds index tasks for the next documents that a missing pattern matches. Returns whether there is more to do."""
        if not self._missing.texts:
            return False
        with self._store.reading() as unit:
            digest, _, reached = (unit.state.key_values.get(keyvalues.PATTERNS_CURSOR) or "").partition(":")
            documents = unit.documents.scan.list_live_urls(after=int(reached or 0), limit=DOCUMENTS_AT_ONCE)
        if not documents:
            self._end_sweep()
            return False
        # Compared before the transaction, because others would wait for it; a document that changes meanwhile has a task by then.
        meant = [document for document in documents if self._is_meant(document)]
        with self._store.writing() as unit:
            _add_tasks(unit, meant)
            unit.state.key_values.put(keyvalues.PATTERNS_CURSOR, f"{digest}:{documents[-1].document_id}")
            unit.processing.queues.note_progress(QueueName.PATTERNS)
        return True

    def _is_meant(self, document: LiveUrl) -> bool:
        """Whether a missing pattern matches a document; if that is unknown the document is written again, which is always correct."""
        key = key_of_document(STEP, document.document_id)
        if self._attempts.count(key):
            return True
        try:
            with self._attempts.on(key):
                fault_point(STEP, document.url)
                return self._missing.covers(document.url)
        except BaseException as error:
            if not belongs_to_item(error):
                raise
            log.warning("document_failed", url=document.url, step=STEP, reason=describe(STEP, error))
            return True

    def _end_sweep(self) -> None:
        with self._store.writing() as unit:
            unit.state.key_values.put(keyvalues.PATTERNS_KNOWN, json.dumps(self._wanted))
            unit.state.key_values.put(keyvalues.PATTERNS_CURSOR, "")
        self._attempts.clear_steps(STEP)
        log.info("patterns_swept", patterns=len(self._missing.texts))
        self._missing = CompiledPatterns()


def _digest_of(patterns: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(patterns)).encode("ascii")).hexdigest()[:16]


def _add_tasks(unit: UnitOfWork, documents: Sequence[LiveUrl]) -> None:
    """Adds index tasks for documents, except those that have one: a new task would lose what the old one waits for."""
    waiting = unit.processing.index_tasks.find_many([document.document_id for document in documents])
    unit.processing.index_tasks.put_many(
        [
            IndexTask.refresh(document.document_id, document.version, document.datasource)
            for document in documents
            if document.document_id not in waiting
        ]
    )
