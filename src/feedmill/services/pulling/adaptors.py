"""Reads a command line adaptor as a pull source: a lister names documents, and a retriever prints each of them.

Rules:

1. What a lister prints is written to a listing first. The listing is read page by page, and the checkpoint is the place in it. So a run
   that is interrupted goes on without another call of the lister, and documents that were retrieved are not retrieved again.
2. A lister that fails ends the run as failed after the documents that it listed were applied, so nothing is deleted. The next run calls it
   again.
3. A document is retrieved if the last-modified of its listing differs from the one before. Without last-modified, or with
   crawl-immediately, it is retrieved in each run, and has changed if what the retriever prints differs.
4. A document that is listed with crawl-once is retrieved once.
5. The retriever gets the time of the last run that listed the document unless what the store holds must be replaced, then 0.
6. An incremental run calls the incremental command instead of the lister. It finds the time of the last run, in milliseconds, in the
   variable ``FEEDMILL_SINCE``.

Source: googlegsa/library, ``CommandLineAdaptor``, ``CommandLineTransform``; docs/howto/move-command-line-adaptors.md.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, BinaryIO, Final

from feedmill.core.urls.validation import find_url_fault
from feedmill.model.change import Content
from feedmill.model.errors import BadRequest, BadStream, NotFound, UpstreamFailure
from feedmill.model.pulling import RunMode
from feedmill.ports import (
    DeletedItem,
    EarlierRetrieval,
    FailedItem,
    NothingRetrieved,
    PulledItem,
    PullPage,
    RetrievableItem,
    RetrievedItem,
)
from feedmill.ports.commands import CommandLine, Commands, Listings
from feedmill.services.pulling.transforming import MetadataTransforms
from feedmill.wire.adaptorconfig.keys import AdaptorConfig
from feedmill.wire.commandstream.adapt import DocumentIds, adapt_document
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.retriever import RetrieverReader
from feedmill.wire.commandstream.schema import ListedDocument, RetrievedDocument

ITEMS_A_PAGE: Final = 500
SINCE: Final = "FEEDMILL_SINCE"
CLOCK_MARGIN: Final = timedelta(seconds=2)
"""How far the next incremental run looks back before the listing of this one began."""
_SHAPE_BYTES: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptorPlace:
    """Where an adaptor works: the folder of its commands, and the beginning of the URLs of its documents."""

    folder: str
    base_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptorTools:
    """What an adaptor works with. ``open_spool`` opens a temporary file for a content."""

    commands: Commands
    listings: Listings
    open_spool: Callable[[], BinaryIO]
    clock: Callable[[], datetime]
    max_content_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedContent:
    """What a retriever has printed. ``content`` is None without content."""

    document: RetrievedDocument
    content: BinaryIO | None
    content_bytes: int
    digest: bytes


class AdaptorSource:
    """Implements ``ports.PullSource``."""

    def __init__(self, config: AdaptorConfig, place: AdaptorPlace, tools: AdaptorTools) -> None:
        self._config = config
        self._folder = place.folder
        self._tools = tools
        self._ids = DocumentIds(base="" if config.ids_are_urls else place.base_url)
        self._transforms = MetadataTransforms(config, place.folder, tools.commands)
        shape = (config.retriever, config.transforms, config.is_public, place.base_url)
        # what changes how every document looks
        self._shape = hashlib.sha256(repr(shape).encode()).digest()[:_SHAPE_BYTES]

    def iter_pages(self, mode: RunMode, *, since: str, checkpoint: str) -> Iterator[PullPage]:
        """Reads the listing of an interrupted run from its checkpoint, or calls a lister."""
        name, _, position = checkpoint.partition(":")
        lines = self._resume(name, int(position or 0)) if name else None
        if lines is None:
            name = self._list(mode, since)
            lines = self._tools.listings.iter_lines(name, 0)
            # before anything is applied, so that a run that is killed finds the listing
            yield PullPage(checkpoint=f"{name}:0")
        began, failure, reached = "", "", 0
        items: list[PulledItem] = []
        for line, after in lines:
            entry = json.loads(line)
            if isinstance(entry, dict):
                began, failure = entry["began"], entry["failure"]
                continue
            items.append(self._read_item(ListedDocument(*entry)))
            reached = after
            if len(items) >= ITEMS_A_PAGE:
                yield PullPage(items=tuple(items), checkpoint=f"{name}:{reached}")
                items = []
        if failure:
            # without a checkpoint the next run calls the lister again
            yield PullPage(items=tuple(items))
            raise UpstreamFailure(failure)
        end = f"{name}:{reached}" if reached else checkpoint
        yield PullPage(items=tuple(items), checkpoint=end, since=began)

    def iter_listing(self, mode: RunMode, since: str = "") -> Iterator[ListedDocument]:
        """Calls a lister and yields what it names. Errors: UpstreamFailure, after that."""
        failure = ""
        for line, _ in self._tools.listings.iter_lines(self._list(mode, since), 0):
            entry = json.loads(line)
            if isinstance(entry, dict):
                failure = entry["failure"]
            else:
                yield ListedDocument(*entry)
        if failure:
            raise UpstreamFailure(failure)

    def read_document(self, identifier: str, at: datetime | None = None) -> RetrievedContent:
        """Calls the retriever. ``at`` is when the document was last retrieved. Errors: BadRequest."""
        try:
            return self._call_retriever(identifier, at)
        except UpstreamFailure as exc:
            # the retriever may fail for one document and not for others
            raise BadRequest(str(exc)) from exc

    def close(self) -> None:
        """Ends all commands that run."""
        self._tools.commands.stop()

    # --- listing ---

    def _resume(self, name: str, position: int) -> Iterator[tuple[bytes, int]] | None:
        """Returns the rest of a listing, None if it is not on this machine."""
        lines = self._tools.listings.iter_lines(name, position)
        try:
            first = next(lines, None)
        except NotFound:
            return None
        return _chain(first, lines) if first is not None else iter(())

    def _list(self, mode: RunMode, since: str) -> str:
        """Calls a lister and returns the name of the listing. A failure is the last line of the listing."""
        is_full = mode is RunMode.FULL
        line = CommandLine(
            label="lister" if is_full else "incremental command",
            arguments=self._config.lister if is_full else self._config.incremental,
            folder=self._folder,
            seconds=self._config.limits.lister_seconds,
            max_bytes=self._config.limits.output_bytes,
            variables={SINCE: since or "0"},
        )
        began = str(max((self._tools.clock() - CLOCK_MARGIN - _EPOCH) // _MILLISECOND, 0))

        def fill(add: Callable[[bytes], object]) -> None:
            failure = self._fill(line, add)
            add(json.dumps({"began": began, "failure": failure}).encode())

        return self._tools.listings.write(fill)

    def _fill(self, line: CommandLine, add: Callable[[bytes], object]) -> str:
        """Writes what a lister names, and returns why it failed, "" if it did not."""
        reader = ListerReader()

        def take(data: bytes) -> None:
            for document in reader.feed(data):
                add(json.dumps(document).encode())

        try:
            self._tools.commands.run(line, take)
            for document in reader.close():
                add(json.dumps(document).encode())
        except BadStream as exc:
            return f"the output of the {line.label} cannot be read at byte {exc.offset}, command {exc.command}: {exc}"
        except UpstreamFailure as exc:
            return str(exc)
        return ""

    def _read_item(self, listed: ListedDocument) -> PulledItem:
        if not listed.id:
            return FailedItem(url=None, reason="the lister names a document with an empty id")
        url = self._ids.find_url(listed.id)
        if listed.delete:
            return DeletedItem(url=url)
        if not self._ids.base and (fault := find_url_fault(url)):
            return FailedItem(url=url, reason=fault)
        return RetrievableItem(url=url, digest=self._digest_listed(listed), retrieve=partial(self._retrieve, listed))

    def _digest_listed(self, listed: ListedDocument) -> bytes:
        """Returns the digest of the values that change with a document, b"" if nothing does (rules 3 and 4)."""
        if listed.crawl_once:
            return self._shape + b"once"
        if listed.last_modified is None or listed.crawl_immediately:
            return b""
        compared: tuple[Any, ...] = (listed.last_modified, listed.result_link, listed.lock)
        return self._shape + hashlib.sha256(json.dumps(compared).encode()).digest()

    # --- retrieving ---

    def _retrieve(self, listed: ListedDocument, earlier: EarlierRetrieval | None) -> RetrievedItem | NothingRetrieved:
        is_usable = earlier is not None and earlier.digest.startswith(self._shape)
        found = self.read_document(listed.id, earlier.at if earlier is not None and is_usable else None)
        try:
            return self._adapt(listed, found)
        except BaseException:
            if found.content is not None:
                found.content.close()
            raise

    def _adapt(self, listed: ListedDocument, found: RetrievedContent) -> RetrievedItem | NothingRetrieved:
        document = found.document
        if document.not_found:
            return NothingRetrieved.NOT_FOUND
        if document.up_to_date:
            return NothingRetrieved.UP_TO_DATE
        if found.content is None:
            raise BadRequest("the retriever prints no content, up-to-date or not-found")
        try:
            document, decision = self._transforms.apply(document)
        except UpstreamFailure as exc:
            raise BadRequest(str(exc)) from exc
        if decision.removes_document:
            found.content.close()
            return NothingRetrieved.NOT_FOUND
        content: Content | None = Content(stream=found.content, size_bytes=found.content_bytes)
        if decision.removes_content:
            found.content.close()
            content = None
        change = adapt_document(self._ids, listed, document, content, is_public=self._config.is_public)
        compared = repr((replace(change, content=None), decision.removes_content)).encode()
        return RetrievedItem(change=change, digest=self._shape + hashlib.sha256(compared + found.digest).digest())

    def _call_retriever(self, identifier: str, at: datetime | None) -> RetrievedContent:
        limits = self._config.limits
        milliseconds = 0 if at is None else max((at - _EPOCH) // _MILLISECOND, 0)
        if "\0" in identifier:
            raise BadRequest("the id contains the character NUL, which no argument of a command can contain")
        line = CommandLine(
            label="retriever",
            arguments=(*self._config.retriever, identifier, str(milliseconds)),
            folder=self._folder,
            seconds=limits.retriever_seconds,
            max_bytes=limits.output_bytes,
        )
        reader = RetrieverReader(identifier)
        received = _Received(self._tools.open_spool, self._tools.max_content_bytes)
        try:
            self._tools.commands.run(line, lambda data: received.add(reader.feed(data)))
            document = reader.close()
        except BadStream as exc:
            received.close()
            raise BadRequest(f"the output of the retriever cannot be read at byte {exc.offset}, command {exc.command}: {exc}") from exc
        except BaseException:
            received.close()
            raise
        content = received.finish() if document.has_content else None
        if content is None:
            received.close()
        return RetrievedContent(document=document, content=content, content_bytes=received.size_bytes, digest=received.digest.digest())


class _Received:
    """The content that has arrived so far, whose stream is opened with its first bytes.

    Of one that is too large the beginning is kept, with one byte too many: by it extraction knows that the content is too large, cuts a
    text or reads nothing, and the document says so.
    """

    def __init__(self, open_spool: Callable[[], BinaryIO], max_bytes: int) -> None:
        self._open_spool = open_spool
        self._max_bytes = max_bytes
        self._stream: BinaryIO | None = None
        self.size_bytes = 0
        self.digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.digest.update(data)
        kept = data[: self._max_bytes + 1 - self.size_bytes]
        if not kept:
            return
        self.size_bytes += len(kept)
        if self._stream is None:
            self._stream = self._open_spool()
        self._stream.write(kept)

    def finish(self) -> BinaryIO:
        """Returns the content, from its beginning."""
        stream = self._stream if self._stream is not None else self._open_spool()
        stream.seek(0)
        return stream

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


def _chain(first: tuple[bytes, int], others: Iterator[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
    yield first
    yield from others
