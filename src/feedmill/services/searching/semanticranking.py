"""Finds documents that are near to a query by a model's vectors, whatever words they hold.

``SemanticRanking`` has the model embed the query and searches the vectors of the documents that the user may see. Before each search it
reads which embeddings have changed in the store. While more of them are unread than it can read at once, and while the model does not
answer, there is no semantic result, and the search goes on by words alone.
"""

import math
import threading
import time
from collections.abc import Callable, Set
from dataclasses import dataclass

import structlog

from feedmill.core.ranking.vectors import Vectors
from feedmill.model.authorization import LateLimits
from feedmill.model.errors import FeedmillError, Rejected, UpstreamFailure
from feedmill.model.messages import message
from feedmill.model.semantic import Neighbour
from feedmill.ports import Embedder, Store, VectorSearch
from feedmill.services.authorization.circuitbreaker import CircuitBreaker, ReportCircuits
from feedmill.services.authorization.circuitnote import read_open_circuits
from feedmill.services.keyvalues import SEMANTIC_CIRCUITS
from feedmill.services.waiting import waiting

READ_AT_ONCE = 500
READ_SECONDS = 0.2
"""How long a search reads changed embeddings before it goes on without them."""
FOLLOW_SECONDS = 1.0
SHARE_OF_TIME = 0.5
"""The share of the remaining time of a search that the model may take."""
NEAR_ENOUGH = 0.25
"""The share of the greatest similarity below which a document is not near to the query."""
CIRCUIT = LateLimits(open_after_failures=3, open_seconds=0.5)

_NAME = "semantic"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticLimits:
    """The limits of semantic search. Units: seconds for the vector of a query; cosine of the least similarity that counts as near."""

    seconds: float = 1.0
    least_similarity: float = 0.0


ABSENT = message("semantic ranking is left out, since its model does not answer; results are found by their words alone")


def _keep_quiet(_circuits: object) -> None:
    return


class SemanticRanking:
    """Finds the nearest documents. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        vectors: VectorSearch,
        limits: SemanticLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        report: ReportCircuits = _keep_quiet,
    ) -> None:
        """``report`` receives whether the circuit of the model is open, for ``list_warnings`` and the status."""
        self._store = store
        self._embedder = embedder
        self._vectors = vectors
        self._limits = limits or SemanticLimits()
        self._clock = clock
        self._breaker = CircuitBreaker(clock, CIRCUIT, report)
        self._reading = threading.Lock()

    def find_neighbours(self, text: str, classes: Set[int], limit: int, seconds: float) -> list[Neighbour]:
        """Returns the documents of these classes that are nearest to a query, nearest first.

        Units: ``seconds`` that are left for the search. Errors: UpstreamFailure, with a text for users, if they are not known now.
        """
        until = self._clock() + seconds * SHARE_OF_TIME
        # a search without a deadline is that of a command, which nothing has read before
        if not self._read_changes(min(READ_SECONDS, until - self._clock()) if math.isfinite(seconds) else seconds):
            raise UpstreamFailure(message("semantic ranking is being prepared; until then, results are found by their words alone"))
        query = self._embed(text, until)
        least = self._limits.least_similarity
        return [found for found in self._vectors.find_nearest(query, classes, limit) if found.similarity > least]

    def list_warnings(self) -> list[str]:
        """Lists what anyone may know about a model that does not answer, whichever process noticed it. Errors: Busy, Corrupt."""
        with self._store.reading() as unit:
            circuits = read_open_circuits(unit.state.key_values.get(SEMANTIC_CIRCUITS))
        return [ABSENT] if circuits else []

    def load(self) -> None:
        """Reads all changed embeddings, however many, so that the first search need not. Errors: Busy."""
        self._read_changes(math.inf)

    def follow(self, is_over: threading.Event, every_seconds: float = FOLLOW_SECONDS) -> None:
        """Follows the store until ``is_over`` is set, so that no search waits for changes that were committed long before it."""
        is_done = False
        while not is_done:
            try:
                # in pieces of the time that a search would wait for
                while not self._read_changes(READ_SECONDS) and not is_over.is_set():
                    pass
            except FeedmillError as error:
                # the next search meets the same error if it persists
                log.warning("embeddings_wait", reason=str(error))
            is_done = is_over.wait(every_seconds)

    def _read_changes(self, seconds: float) -> bool:
        """Applies what has changed. Returns whether the vectors are up to date; False if that takes longer."""
        until = self._clock() + seconds
        if not self._reading.acquire(timeout=max(seconds, 0.0) if math.isfinite(seconds) else -1):
            return False
        try:
            while True:
                # a transaction for each part: what changes meanwhile has a higher number, and is read next
                with self._store.reading() as unit:
                    changes = unit.documents.embeddings.list_changed(self._embedder.model, after=self._vectors.reached, limit=READ_AT_ONCE)
                self._vectors.apply(changes)
                if len(changes) < READ_AT_ONCE:
                    return True
                if self._clock() >= until:
                    return False
        finally:
            self._reading.release()

    def _embed(self, text: str, until: float) -> Vectors:
        """Returns the vector of a query. Errors: UpstreamFailure, with a text for users."""
        seconds = min(self._limits.seconds, until - self._clock())
        absent = UpstreamFailure(ABSENT)
        if seconds <= 0 or not self._breaker.allows_request(_NAME, self._embedder.model):
            raise absent
        try:
            with waiting():
                vector = self._embedder.embed_query(text, seconds)
            if not self._vectors.has_length(vector.shape[1]):
                raise Rejected(f"the vector of a query has {vector.shape[1]} dimensions, and no passage has as many")
        except UpstreamFailure as error:
            self._breaker.fail(_NAME, self._embedder.model, str(error))
            log.warning("query_not_embedded", reason=str(error))
            raise absent from error
        except BaseException:
            self._breaker.release_trial(_NAME, self._embedder.model)
            raise
        self._breaker.succeed(_NAME, self._embedder.model)
        return vector
