from dataclasses import replace

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.document import BlobRef, DocumentState, Text
from feedmill.model.feed import Phase
from feedmill.ports import FileUse, StoredRefs
from tests.builders.documents import make_document
from tests.builders.feeds import add_feed
from tests.builders.times import NOW


def test_list_refs_returns_the_refs_of_live_documents_by_id(store: SqlStore) -> None:
    text = Text(source=BlobRef("c1"), blob=BlobRef("t1"), metadata=(("k", "v"),), robots=frozenset({"noindex"}))
    with store.writing() as unit:
        ids = unit.documents.writer.save_many(
            [
                make_document("http://a/", content=BlobRef("c1"), text=text),
                make_document("http://b/", content=BlobRef("c2")),
                make_document("http://nothing/"),
                make_document("http://gone/", content=BlobRef("c3"), state=DocumentState.GONE),
            ]
        )
    both = StoredRefs(document_id=ids["http://a/"], content=BlobRef("c1"), text=text)
    one = StoredRefs(document_id=ids["http://b/"], content=BlobRef("c2"), text=None)

    with store.reading() as unit:
        found = unit.documents.upkeep.list_refs(after=0, limit=10)
        assert sorted(found, key=lambda refs: refs.content or "") == [both, one]
        assert [refs.document_id for refs in found] == sorted(refs.document_id for refs in found)
        assert unit.documents.upkeep.list_refs(after=found[0].document_id, limit=10) == found[1:]
        assert unit.documents.upkeep.list_refs(after=0, limit=1) == found[:1]


def test_move_refs_changes_only_what_is_still_as_it_was_read(store: SqlStore) -> None:
    with store.writing() as unit:
        names = [f"http://{number}/" for number in range(5)]
        text = Text(source=BlobRef("old"), blob=BlobRef("t"))
        unit.documents.writer.save_many([make_document(name, content=BlobRef("old"), text=text) for name in names])
        read = unit.documents.upkeep.list_refs(after=0, limit=10)
    moves = [(refs, replace(refs, content=BlobRef("new"), text=replace(text, source=BlobRef("new")))) for refs in read]

    with store.writing() as unit:
        documents = unit.documents.reader.find_many(names)
        unit.documents.writer.save_many(
            [
                replace(documents[names[0]], content=BlobRef("fed")),
                replace(documents[names[1]], text=None),
                replace(documents[names[2]], state=DocumentState.GONE),
            ]
        )
    with store.writing() as unit:
        assert unit.documents.upkeep.move_refs(moves) == 2
        assert unit.documents.upkeep.move_refs(moves) == 0
        assert unit.documents.upkeep.move_refs([]) == 0

    with store.reading() as unit:
        current = {name: (document.content, document.text) for name, document in unit.documents.reader.find_many(names).items()}
        unchanged = unit.documents.reader.find_many(names)[names[3]]
    assert [current[name][0] for name in names] == ["fed", "old", "old", "new", "new"]
    assert current[names[3]][1] == replace(text, source=BlobRef("new"))
    assert current[names[1]][1] is None
    assert (unchanged.version, unchanged.updated_at) == (1, NOW)


def test_move_refs_of_a_text_alone_keeps_the_content_none(store: SqlStore) -> None:
    text = Text(source=BlobRef("c"), blob=BlobRef("t"))
    with store.writing() as unit:
        unit.documents.writer.save_many([make_document("http://a/", text=text)])
        (read,) = unit.documents.upkeep.list_refs(after=0, limit=10)
        assert unit.documents.upkeep.move_refs([(read, replace(read, text=replace(text, blob=BlobRef("n"))))]) == 1

    with store.reading() as unit:
        document = unit.documents.reader.find_many(["http://a/"])["http://a/"]
    assert (document.content, document.text) == (None, replace(text, blob=BlobRef("n")))


def test_find_files_says_what_feeds_use_them_for(store: SqlStore) -> None:
    waiting, applied = add_feed(store, file="w"), add_feed(store, file="a")
    with store.writing() as unit:
        unit.feeds.queue.save(replace(waiting, repaired_file="w-copy", phase=Phase.APPLY))
        unit.feeds.queue.save(replace(applied, repaired_file="a-copy", phase=Phase.SETTLE))

    with store.reading() as unit:
        assert unit.feeds.upkeep.find_files(["w", "w-copy", "a", "a-copy", "none"]) == {
            "w": FileUse.NEEDED,
            "w-copy": FileUse.NEEDED,
            "a": FileUse.RECEIVED,
            "a-copy": FileUse.SPENT,
        }
        assert unit.feeds.upkeep.find_files([]) == {}
