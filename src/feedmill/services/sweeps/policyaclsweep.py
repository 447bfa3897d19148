"""Puts documents into the classes of the policy ACLs that apply to them now.

The sweep goes through documents by id and stores a cursor, so that it resumes after its process is killed. It writes only documents whose
class names another policy than the one that applies. Other writers of documents use the policies of their own transaction, so one round
is enough. When the index shows all that was written, the classes that were closed meanwhile count again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from feedmill.core.access.policyacls import PolicySet
from feedmill.core.documents.urlstate import ApplyContext, Rules
from feedmill.model.provenance import MAINTENANCE
from feedmill.model.queue import QueueName
from feedmill.model.topic import Topic
from feedmill.ports import Clock, Lane, LiveUrl, Notifier, Store, UnitOfWork
from feedmill.services.access.policykeeping import open_again, read_closed
from feedmill.services.feeds.feeding import ChangeBatch
from feedmill.services.feeds.recordwatch import Caution, watch_documents
from feedmill.services.isolation.batches import belongs_to_item, describe
from feedmill.services.isolation.documentwatch import DocumentWatch
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.keyvalues import POLICIES_CURSOR, POLICIES_SWEPT

POLICIES_STEP = "sweep.policies"
DOCUMENTS_AT_ONCE = 500

_NO_POLICIES = PolicySet().digest()

log = structlog.get_logger(__name__)


class PolicyAclSweep:
    """The sweep of one process; call ``step`` from its loop. ``rules`` are those of the settings, as for any change of a document."""

    def __init__(
        self,
        store: Store,
        rules: Callable[[], Rules],
        notifier: Notifier,
        clock: Clock,
        *,
        caution: Caution | None = None,
        at_once: int = DOCUMENTS_AT_ONCE,
    ) -> None:
        self._store = store
        self._watch = watch_documents(POLICIES_STEP, caution)
        self._rules = rules
        self._notifier = notifier
        self._clock = clock
        self._at_once = at_once

    def step(self) -> bool:
        """Does the next bounded piece of work. Returns whether there is more to do now. Errors: Busy, Corrupt."""
        with self._store.reading() as unit:
            policies = unit.access.policies.current()
            if is_swept(unit):
                is_to_open = bool(read_closed(unit)) and not _has_waiting(unit)
                piece = None
            else:
                is_to_open = False
                piece = _Piece.read(unit, policies, self._watch.find_limit(self._at_once), self._watch)
                self._watch.end()
        try:
            if piece is not None:
                return not piece.is_waiting and self._work(piece)
        finally:
            self._watch.end()
        if is_to_open:
            self._open()
        return False

    def _work(self, piece: "_Piece") -> bool:
        """Puts documents into their classes, by the policies in force in its own transaction."""
        with self._store.writing() as unit:
            if piece.misplaced:
                self._classify(unit, {document.url: document.document_id for document in piece.misplaced})
            if unit.state.key_values.get(POLICIES_CURSOR):
                unit.processing.queues.note_progress(QueueName.POLICIES)
            else:
                unit.processing.queues.begin(QueueName.POLICIES)
            is_end = False
            if piece.reached is not None:
                unit.state.key_values.put(POLICIES_CURSOR, f"{piece.digest}:{piece.reached}")
            # If the policies changed since the piece was read, the cursor is that of other policies, and the sweep begins again.
            elif unit.access.policies.current().digest() == piece.digest:
                unit.state.key_values.put(POLICIES_SWEPT, piece.digest)
                unit.state.key_values.put(POLICIES_CURSOR, "")
                is_end = True
                log.info("policies_swept", digest=piece.digest)
        if is_end:
            self._watch.clear()
        if piece.misplaced:
            self._notifier.notify(Topic.INDEXING)
        return True

    def _classify(self, unit: UnitOfWork, ids: Mapping[str, int]) -> None:
        """Puts documents into their classes; one that repeatedly ended the process becomes invisible to all users."""
        context = ApplyContext(provenance=MAINTENANCE, now=self._clock(), rules=self._rules())
        batch = ChangeBatch(unit, context, Lane.BULK, closes=True, begin=lambda _, url: self._watch.begin(ids[url]))
        self._watch.begin_many(list(ids.values()))
        batch.load(ids)
        for url, document_id in ids.items():
            if self._watch.is_hopeless(document_id):
                log.error("document_closed", url=url, step=POLICIES_STEP, reason=self._watch.reason_of(document_id))
                batch.close(url)
            else:
                batch.classify(url)
        batch.finish()
        self._watch.begin_many(list(ids.values()))

    def _open(self) -> None:
        with self._store.writing() as unit:
            if is_swept(unit) and not _has_waiting(unit):
                open_again(unit)
                log.info("policies_obeyed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """The next documents: those in the wrong class, and the id of the last one, None at the end.

    Shape: ``is_waiting`` says that the first one ended the process and is not due yet.
    """

    digest: str
    misplaced: list[LiveUrl]
    reached: int | None
    is_waiting: bool = False

    @classmethod
    def read(cls, unit: UnitOfWork, policies: PolicySet, limit: int, watch: DocumentWatch) -> "_Piece":
        digest = policies.digest()
        cursor, _, after = (unit.state.key_values.get(POLICIES_CURSOR) or "").partition(":")
        documents = unit.documents.scan.list_live_urls(after=int(after) if cursor == digest else 0, limit=limit)
        due = documents[: watch.count_due(document.document_id for document in documents)]
        reached = due[-1].document_id if due else None
        misplaced = _list_misplaced(unit, policies, due, watch)
        return cls(digest=digest, misplaced=misplaced, reached=reached, is_waiting=bool(documents) and not due)


def _list_misplaced(unit: UnitOfWork, policies: PolicySet, documents: Sequence[LiveUrl], watch: DocumentWatch) -> list[LiveUrl]:
    """Lists the documents whose class names another policy than the one that applies; public documents have none."""
    guarded = [document for document in documents if document.secure]
    rules = unit.access.classes.find_policies(list({document.access_class for document in guarded}))
    return [one for one in guarded if _is_misplaced(policies, one, rules.get(one.access_class, 0), watch)]


def _is_misplaced(policies: PolicySet, document: LiveUrl, number: int, watch: DocumentWatch) -> bool:
    """Whether a document's class names another policy than the one that applies. If that is unknown: true, and the class is closed."""
    if watch.is_suspected(document.document_id):
        return True
    watch.begin(document.document_id)
    try:
        fault_point(POLICIES_STEP, document.url)
        policy = policies.find_policy(document.url)
    except BaseException as error:
        if not belongs_to_item(error):
            raise
        log.warning("document_failed", url=document.url, step=POLICIES_STEP, reason=describe(POLICIES_STEP, error))
        return True
    return number != (0 if policy is None else policy.number)


def is_swept(unit: UnitOfWork) -> bool:
    """Whether every document is in the class of the policy that applies to it."""
    return (unit.state.key_values.get(POLICIES_SWEPT) or _NO_POLICIES) == unit.access.policies.current().digest()


def is_obeyed(unit: UnitOfWork) -> bool:
    """Whether searches obey the policies completely, counts included: all documents are in their classes, also in the index."""
    return is_swept(unit) and not read_closed(unit)


def _has_waiting(unit: UnitOfWork) -> bool:
    """Whether the index may still show documents in classes from which a sweep has removed them."""
    return bool(unit.processing.index_tasks.list_open_feeds([0])[1])
