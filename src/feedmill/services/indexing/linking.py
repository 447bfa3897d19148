"""Link texts: what documents say about the documents that they link to. They are stored per document and indexed with the link targets.

The indexer calls this module, so that none of it runs concurrently with its own reading and writing. After a document was indexed, its
links are queued to be read; they are read while the indexer is idle, some documents at a time. The targets are written only once all
links have been read, and only if their link texts have changed. A hub that is fed again with the same links therefore causes no writes, and
one that is fed with thousands of new links has each of its targets written once.

One case must not wait: the links of a document that is no longer public, or is gone, are withdrawn before the document itself is
indexed. Its targets get index tasks in the name of the same feed, which counts as obeyed only when they are written.

A crawled page is new because a document links to it. What documents say about it is stored before its first entry is written, or every
page of a crawl would be written twice. The links of a crawled page are added to the crawl queue as soon as its entry is written, so that
the crawl does not wait for a commit (``linksahead``).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

import structlog

from feedmill.core.documents.anchors import (
    MAX_SOURCES,
    NO_INCOMING_LINKS,
    IncomingLinks,
    combine_link_texts,
    list_link_texts,
    may_contribute,
)
from feedmill.core.text.textblob import decode_links
from feedmill.model.access import ANONYMOUS
from feedmill.model.document import Document, DocumentState, Origin
from feedmill.model.errors import Corrupt
from feedmill.model.extraction import Link
from feedmill.model.query import LinksTo
from feedmill.model.queue import QueueName
from feedmill.ports import BlobStore, IndexTask, LinkWork, SearchIndex, Store, UnitOfWork
from feedmill.services import keyvalues
from feedmill.services.crawling.linkfollowing import LinkFollowing, may_follow
from feedmill.services.indexing.linksahead import LinksAhead
from feedmill.services.isolation.attempts import Attempts, key_of, key_of_document, read_interruptions
from feedmill.services.isolation.batches import FailedItem, belongs_to_item, run_halved
from feedmill.services.isolation.faultpoints import fault_point
from feedmill.services.isolation.recording import FailureRecorder

READ = "links.read"
WRITE = "links.write"

FOLLOWED_BATCH = key_of("links.follow", "batch")
"""The note while the indexer adds the links of pages to the crawl queue whose entries were just written."""

READ_AT_ONCE = 200
WRITTEN_AT_ONCE = 400
WRITING_SECONDS = 0.6
"""About how long the indexer needs for that many documents."""

log = structlog.get_logger(__name__)

Pairs = Mapping[tuple[int, int], str]
"""Texts by source and target."""


class Linking:
    """The links of one store. ``find_index`` returns the index of a folder's name; ``following`` adds links to the crawl queue.

    Units: ``rest`` in multiples of the work's duration.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        find_index: Callable[[str], SearchIndex],
        *,
        rest: float,
        attempts: Attempts,
        recorder: FailureRecorder,
        following: LinkFollowing | None = None,
    ) -> None:
        self._rest = rest
        self._following = following
        self._attempts = attempts
        self._recorder = recorder
        self._rests_until = 0.0
        self._store = store
        self._blobs = blobs
        self._find_index = find_index
        self._index: tuple[str, SearchIndex] | None = None
        self._own: dict[int, int] = {}
        self._gathered: set[int] = set()
        self._searched: set[int] = set()
        self._ahead = LinksAhead()
        self._written: list[Document] = []

    def note_written(self, document: Document, links: Iterable[Link]) -> None:
        """Notes the links in the text of a document whose entry is written now."""
        if document.origin is Origin.WEB and (may_contribute(document) or (self._following is not None and may_follow(document))):
            self._ahead.put(document, [*links, *_list_stated_links(document)])
            self._written.append(document)

    def follow_written(self) -> None:
        """Adds the links of crawled pages to the crawl queue whose entries were written since the last call.

        Where this fails, or has ended the process, they are added when the links of the pages are read, which also records failures.
        """
        written, self._written = self._written, []
        if self._following is None or not written or self._attempts.count(FOLLOWED_BATCH):
            return
        pages = {document.id: document for document in written if self._ahead.find_links(document) is not None}
        try:
            with self._attempts.on(FOLLOWED_BATCH):
                self._following.follow((page, _list_urls(page, self._ahead.find_links(page) or ())) for page in pages.values())
        except Exception as error:
            if not belongs_to_item(error):
                raise
            return
        self._ahead.note_followed(pages.values())

    def gather(self, documents: Sequence[Document]) -> None:
        """Stores the texts of links to new crawled documents before their first entries, so that these need not be written again.

        Where this fails, the texts are stored when the links of the documents are read, which also records failures.
        """
        crawled = [document for document in documents if _is_new_page(document)]
        fresh = [document for document in crawled if document.id not in self._own and document.id not in self._gathered]
        if not fresh:
            return
        # a batch comes here again and again until all of it is written
        self._gathered.update(document.id for document in fresh if document.id is not None)
        try:
            with self._store.reading() as unit:
                found = self._list_sources_ahead(unit, fresh)
                told = {target for _, target in found}
                # those with texts are searched for when their own links are read
                others = [document for document in fresh if document.id not in told]
                found |= self._list_sources_of(unit, others, *_find_published(unit))
        except Exception as error:
            if not belongs_to_item(error):
                raise
            return
        self._searched.update(document.id for document in others if document.id is not None)
        if found:
            with self._store.writing() as unit:
                unit.processing.link_texts.put_many(found)

    def find_incoming_links(self, documents: Sequence[Document]) -> dict[int, IncomingLinks]:
        """Returns by id what incoming links say about documents; documents without such links are left out."""
        with self._store.reading() as unit:
            found = unit.processing.link_texts.find_by_target([document.id for document in documents if document.id is not None])
        return {target: combine_link_texts(list(texts.values())) for target, texts in found.items()}

    def requeue(self, documents: Mapping[int, Document], tasks: Sequence[IndexTask]) -> set[int]:
        """Withdraws links of documents that may no longer contribute them. Returns the targets, which get index tasks as well."""
        silenced = {task.document_id: task for task in tasks if not _may_contribute(documents.get(task.document_id))}
        if not silenced:
            return set()
        self._ahead.drop(silenced)
        with self._store.reading() as unit:
            if not unit.processing.link_texts.find_by_source(list(silenced)):
                return set()
        with self._store.writing() as unit:
            incoming = unit.processing.link_texts.find_by_source(list(silenced))
            unit.processing.link_texts.remove_many([(source, target) for source, texts in incoming.items() for target in texts])
            causes = {target: silenced[source] for source, texts in incoming.items() for target in texts}
            # if any source of a target revokes access, that cause wins: the target must not wait with a less urgent one
            causes |= {
                target: cause for source, texts in incoming.items() if (cause := silenced[source]).revokes_access for target in texts
            }
            _add_task(unit, causes)
        return set(causes)

    def note_indexed(self, unit: UnitOfWork, tasks: Iterable[IndexTask]) -> None:
        """Queues indexed documents for reading of their links, except those that were written only because of incoming links."""
        taken = [task.document_id for task in tasks if self._own.pop(task.document_id, 0) != task.version]
        unit.processing.link_queue.queue(LinkWork.READ, taken)
        self._gathered.difference_update(taken)

    def step(self) -> bool:
        """Reads some links; if none wait, adds tasks for some targets whose link texts have changed. Returns whether it did any work.

        It pauses between two steps, because the work is not urgent and others need the processor.
        """
        begun = time.monotonic()
        if begun < self._rests_until:
            return False
        with self._store.reading() as unit:
            waiting = [
                one for one in unit.processing.link_queue.list_queued(LinkWork.READ, READ_AT_ONCE) if self._attempts.is_due(_key_of(one))
            ]
            listed = [] if waiting else unit.processing.link_queue.list_queued(LinkWork.WRITE, WRITTEN_AT_ONCE)
            changed = [one for one in listed if self._attempts.is_due(_key_of(one, WRITE))]
        if waiting:
            self._isolate(waiting, self._update_link_texts, READ, LinkWork.READ)
        elif changed:
            self._isolate(changed, self._write, WRITE, LinkWork.WRITE)
        ended = time.monotonic()
        self._rests_until = ended + self._rest * (WRITING_SECONDS if changed else ended - begun)
        return bool(waiting or changed)

    def _isolate(self, ids: Sequence[int], work: Callable[[Sequence[int]], None], step: str, line: LinkWork) -> None:
        """Works on documents. One whose work fails is removed from the queue, and so is one that repeatedly ended the process."""
        hopeless = [one for one in ids if self._attempts.is_hopeless(_key_of(one, step))]
        failed = [FailedItem(one, step, read_interruptions(step, self._attempts.count(_key_of(one, step)))) for one in hopeless]
        failed += run_halved([one for one in ids if one not in hopeless], work, step=step)
        self._set_aside(failed, line)
        self._attempts.clear([_key_of(one, step) for one in ids])

    def _set_aside(self, failed: Sequence[FailedItem[int]], work: LinkWork) -> None:
        """Removes documents from the queue after a failed step; searches find them all the same."""
        if not failed:
            return
        with self._store.writing() as unit:
            unit.processing.link_queue.unqueue(work, [each.item for each in failed])
            documents = unit.documents.reader.find_by_id([each.item for each in failed])
            incoming = [FailedItem(documents[each.item], each.step, each.reason) for each in failed if each.item in documents]
            self._recorder.record(unit, incoming, is_found=True)

    def _write(self, ids: Sequence[int]) -> None:
        with self._store.writing() as unit:
            waiting = unit.processing.index_tasks.find_many(ids)
            documents = unit.documents.reader.find_by_id([one for one in ids if one not in waiting])
            for document in documents.values():
                with self._attempts.on(_key_of(document.id or 0, WRITE)):
                    fault_point(WRITE, document.url)
            live = [document for document in documents.values() if document.state is DocumentState.LIVE]
            unit.processing.index_tasks.put_many([_task_of(document) for document in live])
            unit.processing.link_queue.unqueue(LinkWork.WRITE, ids)
            unit.processing.queues.note_progress(QueueName.LINKS)
        # Their next index tasks come from here. ``note_indexed`` skips them, or each link text would lead to reading links again.
        self._own.update((document.id, document.version) for document in live if document.id is not None)
        log.info("links_written", documents=len(live))

    # --- reading links ---

    def _update_link_texts(self, ids: Sequence[int]) -> None:
        """Updates the stored link texts of some sources, and of new targets, from the links of the documents."""
        with self._store.reading() as unit:
            documents = unit.documents.reader.find_by_id(ids)
            old = unit.processing.link_texts.find_by_source(ids)
            earlier = unit.processing.link_texts.find_by_target(ids)
            links = self._read_all_links(documents)
            contributing = {key: links[key] for key, document in documents.items() if key in links and may_contribute(document)}
            wanted = self._list_texts_of(unit, documents, contributing)
            folder, token = _find_published(unit)
            fresh = [
                document
                for key, document in documents.items()
                if document.state is DocumentState.LIVE and (key not in earlier or (_is_new_page(document) and key not in self._searched))
            ]
            found = self._list_sources_of(unit, fresh, folder, token)
        if self._following is not None:
            # Before the transaction that removes the documents from the queue: adding a link again changes nothing.
            others = [(documents[key], read) for key, read in links.items() if not self._ahead.is_followed(documents[key])]
            self._following.follow((document, _list_urls(document, read)) for document, read in others)
        stored = {(source, target): text for source, texts in old.items() for target, text in texts.items()}
        gone = [(source, key) for key in ids if _is_gone(documents.get(key)) for source in earlier.get(key, ())]
        changed = {pair: text for pair, text in (found | wanted).items() if stored.get(pair) != text}
        removed = [pair for pair in stored if pair not in wanted] + gone
        with self._store.writing() as unit:
            self._change(unit, changed, removed)
            unit.processing.link_queue.unqueue(LinkWork.READ, ids)
            unit.processing.queues.note_progress(QueueName.LINKS)
        self._searched.difference_update(ids)

    def _change(self, unit: UnitOfWork, changed: Pairs, removed: Sequence[tuple[int, int]]) -> None:
        targets = sorted({target for _, target in (*changed, *removed)})
        before = unit.processing.link_texts.find_by_target(targets)
        after = {target: dict(before.get(target, {})) for target in targets}
        for source, target in removed:
            after[target].pop(source, None)
        put: dict[tuple[int, int], str] = {}
        for (source, target), text in changed.items():
            # A page with very many links to it has texts enough. Sources that are stored already may still change theirs.
            if source in after[target] or len(after[target]) < MAX_SOURCES:
                after[target][source] = put[source, target] = text
        unit.processing.link_texts.remove_many(removed)
        unit.processing.link_texts.put_many(put)
        waiting = unit.processing.link_queue.find_queued(LinkWork.WRITE, targets)
        others = [one for one in targets if one not in waiting and _gather(before.get(one)) != _gather(after[one])]
        unit.processing.link_queue.queue(LinkWork.WRITE, others)

    def _read_all_links(self, documents: Mapping[int, Document]) -> dict[int, Sequence[Link]]:
        """Reads the links of documents that contribute their texts, or whose links are crawled."""
        is_crawling = self._following is not None
        wanted = {key: one for key, one in documents.items() if may_contribute(one) or (is_crawling and may_follow(one))}
        return {key: self._read_links(document) for key, document in wanted.items()}

    def _list_texts_of(
        self, unit: UnitOfWork, sources: Mapping[int, Document], links: Mapping[int, Sequence[Link]]
    ) -> dict[tuple[int, int], str]:
        incoming = {key: self._list_link_texts(sources[key], read) for key, read in links.items()}
        targets = unit.documents.reader.find_ids(list(dict.fromkeys(url for urls in incoming.values() for url in urls)))
        return {
            (source, targets[url]): text
            for source, urls in incoming.items()
            for url, text in urls.items()
            if targets.get(url, source) != source
        }

    def _list_link_texts(self, source: Document, links: Sequence[Link]) -> Mapping[str, str]:
        texts = self._ahead.find_texts(source)
        return list_link_texts(source.url, links) if texts is None else texts

    def _list_sources_of(self, unit: UnitOfWork, fresh: Sequence[Document], folder: str, token: str) -> dict[tuple[int, int], str]:
        """Returns the link texts for new documents from sources whose links have been read; the others follow when theirs are read."""
        index = self._find_serving(folder) if fresh and folder else None
        if index is None or not index.reload_to(token):
            return {}
        telling = {
            document.id: [hit.key for hit in index.search(LinksTo(document.url), ANONYMOUS, start=0, num=MAX_SOURCES).hits]
            for document in fresh
            if document.id is not None
        }
        keys = list(dict.fromkeys(key for keys in telling.values() for key in keys))
        waiting = unit.processing.link_queue.find_queued(LinkWork.READ, keys)
        # a source whose links ended this process would end it again and again
        readable = [key for key in keys if key not in waiting and not self._attempts.count(_key_of(key))]
        sources = unit.documents.reader.find_by_id(readable)
        incoming = {
            key: self._list_link_texts(source, self._read_links(source)) for key, source in sources.items() if may_contribute(source)
        }
        return _pair_texts(fresh, telling, incoming)

    def _list_sources_ahead(self, unit: UnitOfWork, fresh: Sequence[Document]) -> dict[tuple[int, int], str]:
        """Returns the link texts for new documents from the pages whose entries were written last."""
        telling = {document.id: self._ahead.list_sources(document.url)[:MAX_SOURCES] for document in fresh if document.id is not None}
        sources = unit.documents.reader.find_by_id(list(dict.fromkeys(key for keys in telling.values() for key in keys)))
        incoming = {
            key: texts
            for key, source in sources.items()
            if may_contribute(source) and (texts := self._ahead.find_texts(source)) is not None
        }
        return _pair_texts(fresh, telling, incoming)

    def _find_serving(self, folder: str) -> SearchIndex:
        if self._index is None or self._index[0] != folder:
            self._index = folder, self._find_index(folder)
        return self._index[1]

    def _read_links(self, document: Document) -> Sequence[Link]:
        with self._attempts.on(_key_of(document.id or 0)):
            fault_point(READ, document.url)
            ahead = self._ahead.find_links(document)
            return [*self._list_links(document), *_list_stated_links(document)] if ahead is None else ahead

    def _list_links(self, document: Document) -> list[Link]:
        if document.text is None or document.text.blob is None:
            return []
        try:
            return decode_links(self._blobs.read(document.text.blob))
        except Corrupt:
            # the indexer reports this when it reads the same blob
            return []


def _find_published(unit: UnitOfWork) -> tuple[str, str]:
    """Returns the serving folder of the index, and the token of its last commit."""
    return unit.state.key_values.get(keyvalues.INDEX_FOLDER) or "", unit.state.key_values.get(keyvalues.INDEX_TOKEN) or ""


def _pair_texts(
    fresh: Sequence[Document], telling: Mapping[int, Sequence[int]], incoming: Mapping[int, Mapping[str, str]]
) -> dict[tuple[int, int], str]:
    """Returns link texts for new documents. Shape: sources by target; texts by source and URL."""
    urls = {document.id: document.url for document in fresh}
    pairs = ((source, target) for target, keys in telling.items() for source in keys if source in incoming and source != target)
    return {(source, target): incoming[source][urls[target]] for source, target in pairs if urls[target] in incoming[source]}


def _is_new_page(document: Document) -> bool:
    """Returns whether a document is in the index for the first time because a page links to it."""
    return document.origin is Origin.WEB and document.version == 1


def _list_urls(document: Document, links: Sequence[Link]) -> list[str]:
    return list(dict.fromkeys([*(link.url for link in links), *document.attributes.links]))


def _list_stated_links(document: Document) -> list[Link]:
    """Returns the links that a record or an adaptor states besides those in the document's text."""
    attributes = document.attributes
    return [Link(url, text) for url, text in zip_longest(attributes.links, attributes.link_texts[: len(attributes.links)], fillvalue="")]


def _key_of(document_id: int, step: str = READ) -> str:
    return key_of_document(step, document_id)


def _may_contribute(document: Document | None) -> bool:
    return document is not None and may_contribute(document)


def _is_gone(document: Document | None) -> bool:
    return document is None or document.state is not DocumentState.LIVE


def _gather(texts: Mapping[int, str] | None) -> IncomingLinks:
    return combine_link_texts(list(texts.values())) if texts else NO_INCOMING_LINKS


def _add_task(unit: UnitOfWork, causes: Mapping[int, IndexTask]) -> None:
    """Adds tasks for documents because of other documents. An existing task stays in its place and serves both reasons."""
    waiting = unit.processing.index_tasks.find_many(list(causes))
    documents = unit.documents.reader.find_by_id(list(causes))
    live = [document for document in documents.values() if document.state is DocumentState.LIVE]
    unit.processing.index_tasks.put_many(
        [
            replace(
                waiting.get(document.id) or _task_of(document),
                lane=causes[document.id].lane,
                feed_id=causes[document.id].feed_id,
                revokes_access=causes[document.id].revokes_access,
            )
            for document in live
            if document.id is not None
        ]
    )


def _task_of(document: Document) -> IndexTask:
    assert document.id is not None
    return IndexTask.refresh(document.id, document.version, document.datasource)
