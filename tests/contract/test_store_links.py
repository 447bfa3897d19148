"""Links between documents in a store; one suite for every database."""

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.document import DocumentState
from feedmill.ports import LinkWork
from tests.builders.documents import make_document


def test_texts_are_found_by_both_ends_and_replaced(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.processing.link_texts.put_many({(1, 2): "one", (1, 3): "", (4, 2): "nul\0"})
        unit.processing.link_texts.put_many({(1, 2): "other"})
        unit.processing.link_texts.put_many({})
    with store.reading() as unit:
        assert unit.processing.link_texts.find_by_source([1, 2]) == {1: {2: "other", 3: ""}}
        assert unit.processing.link_texts.find_by_target([2, 9]) == {2: {1: "other", 4: "nul\N{SYMBOL FOR NULL}"}}
    with store.writing() as unit:
        unit.processing.link_texts.remove_many([])
        unit.processing.link_texts.remove_many([(1, 2), (2, 1), (9, 9)])
        assert unit.processing.link_texts.find_by_target([2, 3]) == {2: {4: "nul\N{SYMBOL FOR NULL}"}, 3: {1: ""}}


def test_queue_holds_a_document_once_for_each_work(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.processing.link_queue.queue(LinkWork.READ, [3, 1, 2**40])
        unit.processing.link_queue.queue(LinkWork.READ, [1])
        unit.processing.link_queue.queue(LinkWork.WRITE, [3])
        unit.processing.link_queue.queue(LinkWork.WRITE, [])
        assert unit.processing.link_queue.list_queued(LinkWork.READ, 10) == [1, 3, 2**40]
        assert unit.processing.link_queue.list_queued(LinkWork.READ, 2) == [1, 3]
        unit.processing.link_queue.unqueue(LinkWork.READ, [3, 9])
        assert unit.processing.link_queue.list_queued(LinkWork.READ, 10) == [1, 2**40]
        assert unit.processing.link_queue.list_queued(LinkWork.WRITE, 10) == [3]
        assert unit.processing.link_queue.find_queued(LinkWork.READ, [1, 2, 3]) == {1}


def test_find_ids_returns_live_documents_alone(store: SqlStore) -> None:
    with store.writing() as unit:
        live, gone = make_document("http://h/a"), make_document("http://h/gone", state=DocumentState.GONE)
        ids = unit.documents.writer.save_many([live, gone])
        assert unit.documents.reader.find_ids(["http://h/a", "http://h/gone", "http://h/none"]) == {"http://h/a": ids["http://h/a"]}
        assert unit.documents.reader.find_ids([]) == {}
