"""Documents are embedded in the background: each once for its text and its model, and none is lost."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.model.document import DocumentState
from feedmill.model.errors import UpstreamFailure
from feedmill.model.queue import QueueName
from feedmill.services.indexing.embedding import MAX_ATTEMPTS, TEXTS_AT_ONCE, EmbeddingWork
from feedmill.services.queues import QueueWatch
from feedmill.services.searching.semanticranking import SemanticRanking
from tests.conceptembedder import ConceptEmbedder
from tests.contract.searchharness import SearchHarness, open_harness
from tests.fakes import SilentNotifier


class Work:
    """The work on one store, at a time that tests set."""

    def __init__(self, harness: SearchHarness) -> None:
        self.harness = harness
        self.embedder = ConceptEmbedder()
        self.later = timedelta()
        self.outcomes: dict[str, int] = {}
        self.work = self.restart()

    def restart(self) -> EmbeddingWork:
        def count(outcome: str, documents: int) -> None:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + documents

        self.work = EmbeddingWork(
            self.harness.store,
            self.harness.blobs,
            self.embedder,
            SilentNotifier(),
            lambda: datetime.now(UTC) + self.later,
            on_embedded=count,
        )
        return self.work

    def finish(self) -> None:
        while self.work.turn():
            pass

    def count(self) -> int:
        with self.harness.store.reading() as unit:
            return unit.documents.embeddings.count(self.embedder.model)

    def queue(self, *ids: int) -> None:
        with self.harness.store.writing() as unit:
            unit.processing.embedding_queue.put_many(ids)

    def count_queued(self) -> int:
        with self.harness.store.reading() as unit:
            return len(unit.processing.embedding_queue.list_due(datetime.now(UTC) + timedelta(days=9), 1_000))

    def find(self, text: str) -> list[int]:
        ranking = SemanticRanking(self.harness.store, self.embedder, ExactVectorSearch())
        return [found.document_id for found in ranking.find_neighbours(text, {0}, 10, 60.0)]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    harness = open_harness(tmp_path)
    yield Work(harness)
    harness.store.close()


def test_documents_that_are_there_at_the_start_are_embedded(work: Work) -> None:
    ids = work.harness.add([work.harness.make(f"http://a.test/{number}", "an automobile", title=f"T{number}") for number in range(120)])
    work.finish()
    assert (work.count(), work.count_queued()) == (120, 0)
    assert max(map(len, work.embedder.batches)) <= TEXTS_AT_ONCE
    assert work.outcomes["embedded"] == 120
    assert set(work.find("car")) < set(ids)


def test_passages_are_embedded_under_their_title(work: Work) -> None:
    work.harness.add([work.harness.make("http://a.test/", "word " * 500, title="Fleet")])
    work.finish()
    (batch,) = work.embedder.batches
    assert len(batch) == 3
    assert all(text.startswith("Fleet\nword word") for text in batch)


def test_same_text_is_not_embedded_again_but_another_model_is(work: Work) -> None:
    (key,) = work.harness.add([work.harness.make("http://a.test/", "an automobile")])
    work.finish()
    work.queue(key)
    work.finish()
    assert (len(work.embedder.batches), work.outcomes["unchanged"]) == (1, 1)
    work.embedder.model = "others"
    work.restart()
    assert work.count() == 0
    work.finish()
    assert (len(work.embedder.batches), work.count()) == (2, 1)


def test_same_text_needs_no_server(work: Work) -> None:
    document = work.harness.make("http://a.test/", "an automobile")
    (key,) = work.harness.add([document])
    work.finish()
    (new,) = work.harness.add([work.harness.make("http://a.test/new", "a bicycle")])
    work.harness.add([replace(document, id=key, version=document.version + 1)])
    work.queue(new, key)
    assert work.find("car") == []
    work.embedder.is_gone = True
    with pytest.raises(UpstreamFailure):
        work.finish()
    work.embedder.is_gone = False
    assert work.find("car") == [key]


def test_changed_document_is_out_of_force_until_it_is_embedded_again(work: Work) -> None:
    document = work.harness.make("http://a.test/", "an automobile")
    (key,) = work.harness.add([document])
    work.finish()
    changed = work.harness.make("http://a.test/", "the physician")
    work.harness.add([replace(changed, id=key, version=document.version + 1)])
    work.queue(key)
    assert work.find("car") == []
    work.finish()
    assert work.find("car") == []
    assert work.find("doctor") == [key]


def test_deleted_document_loses_its_embedding(work: Work) -> None:
    document = work.harness.make("http://a.test/", "an automobile")
    (key,) = work.harness.add([document])
    work.finish()
    work.harness.add([replace(document, id=key, state=DocumentState.GONE)], into_index=False)
    work.queue(key)
    assert work.find("car") == []
    work.finish()
    with work.harness.store.reading() as unit:
        assert unit.documents.embeddings.find_many([key]) == {}
    assert work.count_queued() == 0


def test_document_without_words_is_not_embedded(work: Work) -> None:
    work.harness.add([work.harness.make("http://a.test/", "")])
    work.finish()
    assert (work.embedder.batches, work.count_queued()) == ([], 0)


def test_server_that_is_gone_costs_no_document(work: Work) -> None:
    work.harness.add([work.harness.make(f"http://a.test/{number}", "an automobile") for number in range(3)])
    work.embedder.is_gone = True
    with pytest.raises(UpstreamFailure):
        work.finish()
    assert (work.count(), work.count_queued()) == (0, 3)
    work.embedder.is_gone = False
    work.finish()
    assert work.count() == 3


def test_refused_document_costs_only_itself_and_is_given_up_after_a_while(work: Work) -> None:
    work.harness.add([work.harness.make(f"http://a.test/{number}", f"text {number}") for number in range(5)])
    work.embedder.refused = "text 3"
    work.finish()
    assert (work.count(), work.count_queued()) == (4, 1)
    for attempt in range(1, MAX_ATTEMPTS):
        assert work.outcomes["refused"] == attempt
        work.later += timedelta(hours=1)
        work.finish()
    assert (work.count_queued(), work.outcomes["refused"]) == (0, MAX_ATTEMPTS)
    work.embedder.refused = ""
    work.restart()
    work.finish()
    assert work.count() == 5


def test_server_that_refuses_every_text_costs_no_document(work: Work) -> None:
    work.harness.add([work.harness.make(f"http://a.test/{number}", f"text {number}") for number in range(3)])
    work.embedder.refused = "e"
    with pytest.raises(UpstreamFailure):
        work.finish()
    assert (work.count_queued(), work.outcomes) == (3, {})
    work.embedder.refused = ""
    work.finish()
    assert work.count() == 3


def test_vectors_of_another_length_than_before_are_not_stored(work: Work) -> None:
    work.harness.add([work.harness.make("http://a.test/1", "an automobile")])
    work.finish()
    work.queue(*work.harness.add([work.harness.make("http://a.test/2", "a vehicle")]))
    work.embedder.dimensions = 255
    with pytest.raises(UpstreamFailure, match="255 dimensions, and those of this model have 256"):
        work.finish()
    work.embedder.dimensions = 256
    work.finish()
    assert len(work.find("car")) == 2


def test_work_waits_for_a_server_that_is_gone_and_says_why(work: Work) -> None:
    work.harness.add([work.harness.make("http://a.test/", "an automobile")])
    work.embedder.is_gone = True
    turns = iter([False, False, True])
    work.work.work(lambda: next(turns))
    with work.harness.store.reading() as unit:
        reasons = {queue.name.value: queue.reason for queue in unit.processing.queues.list()}
    assert reasons["embed"] == "no server answers"
    later = datetime.now(UTC) + timedelta(seconds=59)
    assert QueueWatch(store=work.harness.store, clock=lambda: later, stuck_seconds=60).find_stuck() == []


def test_worker_that_does_not_move_makes_the_queue_stuck_unless_no_role_works_on_it(work: Work) -> None:
    work.queue(*work.harness.add([work.harness.make("http://a.test/", "an automobile")]))
    later = datetime.now(UTC) + timedelta(hours=1)
    watches = [
        QueueWatch(store=work.harness.store, clock=lambda: later, stuck_seconds=60, unused=unused)
        for unused in (frozenset[QueueName](), frozenset({QueueName.EMBED}))
    ]
    assert [[stuck.name for stuck in watch.find_stuck()] for watch in watches] == [[QueueName.EMBED], []]
