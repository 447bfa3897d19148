"""The store's embeddings, their log of changes and their queue; one suite for every database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.access import AccessClass
from feedmill.model.document import DocumentState
from feedmill.model.semantic import Embedding, EmbeddingChange, QueuedEmbedding
from tests.builders.documents import make_document

MODEL = "concepts"


def add(store: SqlStore, *urls: str, version: int = 1) -> list[int]:
    with store.writing() as unit:
        ids = unit.documents.writer.save_many([make_document(url, version=version) for url in urls])
    return [ids[url] for url in urls]


def make_embedding(document_id: int, *, version: int = 1, model: str = MODEL, vectors: bytes = b"\0<\0\0") -> Embedding:
    return Embedding(document_id=document_id, version=version, model=model, digest=b"digest", dimensions=2, vectors=vectors)


def save(store: SqlStore, *embeddings: Embedding) -> None:
    with store.writing() as unit:
        unit.documents.embeddings.save_many(embeddings)


def queue(store: SqlStore, *ids: int) -> None:
    with store.writing() as unit:
        unit.processing.embedding_queue.put_many(ids)


def list_due(store: SqlStore, later: timedelta = timedelta(seconds=1)) -> list[QueuedEmbedding]:
    with store.reading() as unit:
        return unit.processing.embedding_queue.list_due(datetime.now(UTC) + later, 10)


def list_changed(store: SqlStore, after: int = 0, model: str = MODEL) -> list[EmbeddingChange]:
    with store.reading() as unit:
        return unit.documents.embeddings.list_changed(model, after=after, limit=10)


def list_outdated(store: SqlStore, model: str = MODEL, after: int = 0) -> list[int]:
    with store.reading() as unit:
        return unit.documents.embeddings.list_outdated(model, after=after, limit=10)


def test_save_many_replaces_and_is_found(store: SqlStore) -> None:
    first, second = add(store, "http://a.test/1", "http://a.test/2")
    save(store, make_embedding(first), make_embedding(second))
    save(store, make_embedding(first, vectors=b"\0\0\0<"))
    save(store)
    with store.reading() as unit:
        found = unit.documents.embeddings.find_many([first, second, 99])
        assert unit.documents.embeddings.count(MODEL) == 2
        assert unit.documents.embeddings.count("other") == 0
        assert [unit.documents.embeddings.find_dimensions(model) for model in (MODEL, "other")] == [2, None]
    assert found == {first: make_embedding(first, vectors=b"\0\0\0<"), second: make_embedding(second)}


def test_each_change_of_a_document_has_a_higher_number(store: SqlStore) -> None:
    first, second = add(store, "http://a.test/1", "http://a.test/2")
    save(store, make_embedding(first), make_embedding(second))
    numbers = {change.document_id: change.number for change in list_changed(store)}
    save(store, make_embedding(first))
    (changed,) = list_changed(store, after=max(numbers.values()))
    assert (changed.document_id, changed.dimensions, changed.vectors) == (first, 2, b"\0<\0\0")
    assert changed.access_class == int(AccessClass.PUBLIC)
    with store.writing() as unit:
        unit.documents.embeddings.remove_many([first])
    (removed,) = list_changed(store, after=changed.number)
    assert (removed.document_id, removed.vectors) == (first, b"")


def test_embedding_of_another_model_or_version_is_not_in_force(store: SqlStore) -> None:
    first, second, third = add(store, "http://a.test/1", "http://a.test/2", "http://a.test/3", version=2)
    save(store, make_embedding(first, version=2), make_embedding(second), make_embedding(third, version=2, model="other"))
    assert {change.document_id: bool(change.vectors) for change in list_changed(store)} == {first: True, second: False, third: False}


def test_embedding_of_a_deleted_document_is_not_in_force(store: SqlStore) -> None:
    (first,) = add(store, "http://a.test/1")
    save(store, make_embedding(first))
    with store.writing() as unit:
        unit.documents.writer.save_many([make_document("http://a.test/1", id=first, version=1, state=DocumentState.GONE)])
    assert [change.vectors for change in list_changed(store)] == [b""]
    assert list_outdated(store) == [first]
    with store.reading() as unit:
        assert unit.documents.embeddings.count(MODEL) == 0


def test_embedding_is_removed_with_its_document(store: SqlStore) -> None:
    first, second = add(store, "http://a.test/1", "http://a.test/2")
    save(store, make_embedding(first), make_embedding(second))
    queue(store, first, second)
    with store.writing() as unit:
        unit.documents.writer.save_many([make_document("http://a.test/1", id=first, state=DocumentState.GONE)])
    with store.writing() as unit:
        unit.documents.upkeep.forget_old(datetime.now(UTC) + timedelta(days=999), after=0, limit=100)
    with store.reading() as unit:
        assert unit.documents.embeddings.find_many([first, second]).keys() == {second}
    assert [item.document_id for item in list_due(store)] == [second]
    assert [change.document_id for change in list_changed(store)] == [second]


def test_list_outdated_names_what_a_model_has_not_embedded(store: SqlStore) -> None:
    ids = add(store, *(f"http://a.test/{number}" for number in range(4)))
    save(store, make_embedding(ids[0]), make_embedding(ids[1], version=0), make_embedding(ids[2], model="other"))
    assert list_outdated(store) == ids[1:]
    assert list_outdated(store, after=ids[2]) == [ids[3]]
    assert list_outdated(store, model="other") == [ids[0], ids[1], ids[3]]


def test_queued_documents_are_due_until_they_are_removed(store: SqlStore) -> None:
    queue(store, 1, 2)
    queue(store)
    items = list_due(store)
    assert [(item.document_id, item.attempts) for item in items] == [(1, 0), (2, 0)]
    with store.writing() as unit:
        unit.processing.embedding_queue.remove_many(items[:1])
    assert [item.document_id for item in list_due(store)] == [2]
    assert [change.document_id for change in list_changed(store)] == [1, 2]


def test_document_that_was_queued_again_stays_queued(store: SqlStore) -> None:
    queue(store, 1)
    (item,) = list_due(store)
    earlier = replace(item, queued_at=item.queued_at - timedelta(seconds=1))
    with store.writing() as unit:
        unit.processing.embedding_queue.remove_many([earlier])
        unit.processing.embedding_queue.postpone([earlier], datetime.now(UTC) + timedelta(hours=1))
    assert list_due(store) == [item]


def test_postponed_document_waits_and_counts_its_attempts(store: SqlStore) -> None:
    queue(store, 1)
    (item,) = list_due(store)
    with store.writing() as unit:
        unit.processing.embedding_queue.postpone([item], datetime.now(UTC) + timedelta(hours=1))
    assert list_due(store) == []
    assert list_due(store, timedelta(hours=2)) == [replace(item, attempts=1)]
    queue(store, 1)
    assert [item.attempts for item in list_due(store)] == [0]
