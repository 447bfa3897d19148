"""Lists all documents for another search engine: those there are, or what has changed since an earlier listing.

Rules:

1. A full listing has the live documents by id. A document that is added or changed meanwhile is in the next incremental one.
2. An incremental listing begins ``OVERLAP`` before the time at which the earlier listing began, because a transaction may be committed
   after the time that its documents hold. A document that is named twice does no harm.
3. It names deleted documents as long as the store holds their rows. A listing since an earlier time is refused, since the other engine
   would keep what was deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from feedmill.model.document import Document
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.feed import DataSource
from feedmill.ports import BlobStore, Store

OVERLAP: Final = timedelta(minutes=5)
DOCUMENTS_AT_ONCE: Final = 20
PASSED_AT_ONCE: Final = 10_000
"""How many documents an incremental listing goes through at once, and how many a listing that begins further on passes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPart:
    """What is listed: the documents of one source or of all (""), those changed since a time or all live ones (None)."""

    datasource: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContent:
    """The bytes of a document, with its type and encoding as far as they are known."""

    url: str
    data: bytes
    mimetype: str
    charset: str | None


class DocumentListing:
    """Lists documents of one store, secure ones too: only administrators may see the result. May be used from several threads."""

    def __init__(self, store: Store, blobs: BlobStore) -> None:
        self._store = store
        self._blobs = blobs

    def list_sources(self) -> list[DataSource]:
        """Lists the data sources that have documents."""
        with self._store.reading() as unit:
            return [source for source in unit.feeds.sources.list() if source.documents]

    def check_part(self, part: ListedPart, now: datetime, history: timedelta) -> None:
        """Checks that a part can be listed. Errors: NotFound for an unknown data source; BadRequest for a time too long ago."""
        if part.datasource:
            with self._store.reading() as unit:
                known = {source.name for source in unit.feeds.sources.list()}
            if part.datasource not in known:
                raise NotFound(f"there is no data source '{part.datasource}'")
        if part.since is not None and part.since < now - history:
            raise BadRequest(
                f"deletions are known for {history.days} days ([history] days), and the last crawl was earlier; crawl without Timestamp"
            )

    def find_position(self, part: ListedPart, start: int) -> int:
        """Returns the position behind the first ``start`` documents."""
        after, left = 0, start
        while left > 0:
            with self._store.reading() as unit:
                if part.since is None:
                    live = unit.documents.scan.list_live_urls(
                        after=after, limit=min(left, PASSED_AT_ONCE), datasource=part.datasource or None
                    )
                    if not live:
                        return after
                    after, left = live[-1].document_id, left - len(live)
                else:
                    changed = unit.documents.scan.list_changed(
                        part.since,
                        after=after,
                        limit=min(left, DOCUMENTS_AT_ONCE),
                        within=PASSED_AT_ONCE,
                        datasource=part.datasource or None,
                    )
                    if changed.reached is None:
                        return after
                    after, left = changed.reached, left - len(changed.documents)
        return after

    def iter_documents(self, part: ListedPart, after: int) -> Iterator[tuple[int, Document | None]]:
        """Yields the documents behind a position, each with the position behind it; None where only the position moves on."""
        position: int | None = after
        while position is not None:
            documents, following = self._read_some(part, position)
            for document in documents:
                assert document.id is not None
                yield document.id, document
                position = document.id
            if following is not None and following != position:
                yield following, None
            position = following

    def _read_some(self, part: ListedPart, after: int) -> tuple[list[Document], int | None]:
        """Returns documents behind a position, and the position behind them; None after the last ones."""
        with self._store.reading() as unit:
            if part.since is None:
                live = unit.documents.scan.list_live(after=after, limit=DOCUMENTS_AT_ONCE, datasource=part.datasource or None)
                return live, live[-1].id if live else None
            changed = unit.documents.scan.list_changed(
                part.since, after=after, limit=DOCUMENTS_AT_ONCE, within=PASSED_AT_ONCE, datasource=part.datasource or None
            )
            return changed.documents, changed.reached

    def count(self, part: ListedPart) -> int:
        """Counts the documents of a part."""
        if part.since is not None:
            return sum(document is not None for _, document in self.iter_documents(part, 0))
        return sum(source.documents for source in self.list_sources() if part.datasource in ("", source.name))

    def read_content(self, document_id: int, attachment: int = 0) -> FoundContent:
        """Returns the content of a live document by its id, or one of its attachments, counted from 1. Errors: NotFound; Corrupt."""
        with self._store.reading() as unit:
            document = unit.documents.reader.find_by_id([document_id]).get(document_id)
        if document is None or document.content is None or document.damage:
            raise NotFound("there is no such document, or it has no content")
        attachments = document.attributes.attachments
        if attachment > len(attachments):
            raise NotFound("the document has no such attachment")
        data = self._blobs.read(document.content)
        if attachment:
            file = attachments[attachment - 1]
            inside = data[file.start : file.start + file.size_bytes]
            return FoundContent(url=document.url, data=inside, mimetype=file.mimetype or "application/octet-stream", charset=None)
        if document.attributes.text_bytes:
            return FoundContent(url=document.url, data=data[: document.attributes.text_bytes], mimetype="text/plain", charset="utf-8")
        if attachments:
            data = data[: attachments[0].start]
        return FoundContent(
            url=document.url, data=data, mimetype=document.attributes.mimetype or "application/octet-stream", charset=document.charset
        )
