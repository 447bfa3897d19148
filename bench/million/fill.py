"""Puts documents straight into a store and its index, by the server's own adapters, in a third of the time that feeds take.

What lies in the folder afterwards is what feeds would have left: contents, texts, documents with an event each, ACLs with their classes and
versions, index entries. Each step may be done again, so that a filling that was stopped goes on.
"""

import io
import time
from collections.abc import Sequence
from multiprocessing import Process, Queue
from pathlib import Path

from bench.million.data import CurrentUser, Page, Shape, current_users, make_page, owner_and_folder, url_of
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.bootstrap.context import AppContext, open_context, utc_now
from feedmill.core.access.classes import in_one_order
from feedmill.core.text.textblob import encode_text
from feedmill.model.access import AccessKey, Acl, AclOrigin, Scope, StoredAcl
from feedmill.model.document import Attributes, BlobRef, Document, DocumentState, Event, EventKind, Origin, Text
from feedmill.model.search import IndexDocument
from feedmill.services.keyvalues import INDEX_FOLDER, INDEX_TOKEN
from feedmill.settings import read_snapshot
from tests.builders.access import permit

AT_ONCE = 5_000
SOURCE = "million"

Batch = list[tuple[int, int, int]]
"""Documents of which the store knows: number, id, class."""


def fill(data: Path, shape: Shape, feed_id: int) -> None:
    """Adds all documents that are not there yet, as if a feed had brought them. A process of its own writes the index meanwhile."""
    done = data.with_suffix(".filled")
    first = int(done.read_text()) if done.exists() else 0
    batches: Queue[Batch | None] = Queue(maxsize=4)
    indexing = Process(target=fill_index, args=(data, batches, done))
    indexing.start()
    with open_context(data, read_snapshot(data).settings, "bench") as context:
        filling = _Filling(context, shape, feed_id)
        while first < shape.documents and indexing.is_alive():
            last = min(first + AT_ONCE, shape.documents)
            batches.put(filling.put([make_page(number) for number in range(first, last)]))
            first = last
    batches.put(None)
    indexing.join()
    assert indexing.exitcode == 0


def fill_index(data: Path, batches: "Queue[Batch | None]", done: Path) -> None:
    """Writes index entries of what the store was given, until there is no more, and keeps how far it came."""
    began, used, count = time.monotonic(), time.process_time(), 0
    with open_context(data, read_snapshot(data).settings, "bench-index") as context:
        with context.store.reading() as unit:
            folder = unit.state.key_values.get(INDEX_FOLDER)
        assert folder is not None
        writer = TantivyWriter(data / "index" / folder)
        while batch := batches.get():
            writer.put_many(entry(*each) for each in batch)
            count += len(batch)
            if count % 20_000 == 0:
                keep_commit(context, writer, done, batch)
                seconds, processor = time.monotonic() - began, time.process_time() - used
                print(f"  {count:,} in {seconds:,.0f} s, indexed with {processor:,.0f} s of processor time", flush=True)
        keep_commit(context, writer, done, None)
        writer.wait_for_merges()
        writer.close()


def keep_commit(context: AppContext, writer: TantivyWriter, done: Path, batch: Batch | None) -> None:
    """Commits, and lets the store and a later filling know."""
    token = writer.commit()
    with context.store.writing() as unit:
        unit.state.key_values.put(INDEX_TOKEN, token)
    if batch is not None:
        done.write_text(str(batch[-1][0] + 1))


def entry(number: int, key: int, access_class: int) -> IndexDocument:
    """Returns what the index takes of a document."""
    page = make_page(number)
    return IndexDocument(
        key=key,
        url=url_of(number),
        display_url=None,
        access_class=access_class,
        title=page.title,
        body=page.text,
        metadata=page.metadata,
        datasource=SOURCE,
        mimetype="text/html",
        language="en",
        last_modified=None,
        pagerank=96,
    )


class _Filling:
    """Puts documents into a store."""

    def __init__(self, context: AppContext, shape: Shape, feed_id: int) -> None:
        self._context = context
        self._shape = shape
        self._feed_id = feed_id
        self._askers = current_users(shape)

    def put(self, pages: Sequence[Page]) -> Batch:
        """Puts documents into the store, with contents and ACLs."""
        blobs = [self._keep(page) for page in pages]
        self._context.blobs.sync()
        now = utc_now()
        acls = [acl_of(self._shape.acl_of(page.number), self._askers) for page in pages]
        keys = [AccessKey(acl=in_one_order(acl)) for acl in acls]
        event = Event(kind=EventKind.FED, at=now, feed_id=self._feed_id)
        with self._context.store.writing() as unit:
            numbers = unit.access.classes.number_many(keys)
            found = [self._document(page, *refs, numbers[key]) for page, refs, key in zip(pages, blobs, keys, strict=True)]
            ids = unit.documents.writer.save_many(found)
            unit.documents.writer.add_events([(ids[each.url], 0, event) for each in found])
            unit.access.acls.save_many([self._stored(url_of(page.number), acl) for page, acl in zip(pages, acls, strict=True)], at=now)
        return [(page.number, ids[document.url], document.access_class) for page, document in zip(pages, found, strict=True)]

    def _keep(self, page: Page) -> tuple[BlobRef, BlobRef]:
        contents = (page.html.encode(), encode_text(page.text, ()))
        content, text = (self._context.blobs.put(io.BytesIO(each), len(each)) for each in contents)
        return content, text

    def _document(self, page: Page, content: BlobRef, text: BlobRef, access_class: int) -> Document:
        return Document(
            id=None,
            url=url_of(page.number),
            state=DocumentState.LIVE,
            origin=Origin.CONTENT,
            datasource=SOURCE,
            version=1,
            feed_id=self._feed_id,
            seen_feed_id=self._feed_id,
            attributes=Attributes(mimetype="text/html"),
            metadata=page.metadata,
            secure=True,
            content=content,
            content_bytes=len(page.html),
            charset="utf-8",
            text=Text(source=content, blob=text, title=page.title, mimetype="text/html", language="en"),
            updated_at=utc_now(),
            events=1,
            access_class=access_class,
        )

    def _stored(self, url: str, acl: Acl) -> StoredAcl:
        return StoredAcl(url=url, acl=acl, origin=AclOrigin.ELEMENT, datasource=SOURCE, feed_id=self._feed_id, seen_feed_id=self._feed_id)


def acl_of(number: int, known: Sequence[CurrentUser]) -> Acl:
    """Returns an ACL as the feed of its documents writes it."""
    owner, folder = owner_and_folder(number)
    names = [(Scope.USER, owner), *((Scope.GROUP, current_user.group_for(number)) for current_user in known if current_user.sees(number))]
    entries = (permit(name, scope=scope) for scope, name in names)
    return Acl(entries=tuple(entries), inherit_from=folder)
