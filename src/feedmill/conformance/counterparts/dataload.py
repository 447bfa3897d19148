"""A server that takes dataloads: it replies as Thunderstone's appliance does, and stores nothing but the URLs that it was given.

It knows these URLs so that it can say how many documents a deletion found. ``RawData`` is not read, and nothing can be searched.
Source: docs/reference/dataload.md.
"""

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from feedmill.conformance.counterparts.script import DataloadScript
from feedmill.conformance.counterparts.server import Answer, Request
from feedmill.core.urls.wildcards import matches_wildcards
from feedmill.model.change import Change, Delete, DeleteMatching, InvalidRecord, PutDocument, UpdateDocument
from feedmill.model.errors import BadFeed, FeedmillError
from feedmill.model.feed import FeedType
from feedmill.ports.feedformats import FormatOptions
from feedmill.wire.dataload.format import DataloadFormat
from feedmill.wire.dataload.parse import read_types
from feedmill.wire.dataload.render import ItemResult, Status, render_refusal, render_reply
from feedmill.wire.dataload.schema import find_type
from feedmill.wire.upload.reader import DATALOAD_FORM, UploadReader

PATH_END: Final = "/recvdata.xml"
MAX_FEED_BYTES: Final = 1 << 28
MAX_INFLATION: Final = 1_000
_XML: Final = (("Content-Type", "text/xml"),)
_NOT_FOUND: Final = "Not found"


class DataloadServer:
    """Implements ``Counterpart``. ``folder`` gets every dataload as a file, if it is given."""

    server_header = "texis"

    def __init__(self, script: DataloadScript, folder: Path | None = None) -> None:
        self._script = script
        self._folder = folder
        self._urls: dict[str, set[str]] = {profile: set() for profile in script.profiles}
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer:
        """Returns the reply to a dataload."""
        if not request.path.endswith(PATH_END):
            return Answer(status=404)
        if request.method != "POST":
            return Answer(status=405)
        if not self._script.trusted:
            return _refuse(Status.NOT_ALLOWED)
        headers = request.headers
        reader = UploadReader(
            DATALOAD_FORM,
            content_type=headers.get("content-type", ""),
            content_encoding=headers.get("content-encoding", ""),
            max_feed_bytes=MAX_FEED_BYTES,
        )
        try:
            data = b"".join((*reader.read_chunk(request.body), *reader.finish()))
        except FeedmillError as exc:
            return _refuse(Status.NO_DATA, str(exc))
        profile = reader.values.get("profile", "").strip()
        if profile not in self._urls:
            return _refuse(Status.NO_PROFILE, f"there is no profile {profile[:80]!a}" if profile else "field profile is missing")
        if not data:
            return _refuse(Status.NO_DATA, "field data is missing or empty")
        if self._folder is not None:
            (self._folder / f"{request.number:06}.xml").write_bytes(data)
        try:
            results = self._apply(profile, data)
        except BadFeed as exc:
            return _refuse(Status.NO_DATA, f"line {exc.line}: {exc.reason}" if exc.line else exc.reason, profile=profile)
        shown = [{"type": result.type, "status": result.status.value, "info": result.info} for result in results]
        return Answer(headers=_XML, body=b"".join(render_reply(results)), note={"profile": profile, "items": shown})

    def _apply(self, profile: str, data: bytes) -> list[ItemResult]:
        """Returns what becomes of each item. Errors: BadFeed, before any item is applied."""
        # each item becomes one change
        pairs = list(zip(_iter_changes(data), read_types(iter((data,))), strict=True))
        with self._lock:
            return [_apply_change(change, text, self._urls[profile]) for change, text in pairs]


def _iter_changes(data: bytes) -> Iterator[Change]:
    options = FormatOptions(feedtype=FeedType.INCREMENTAL, spool=io.BytesIO, max_inflated_bytes=MAX_FEED_BYTES, max_inflation=MAX_INFLATION)
    opened = DataloadFormat(options)
    parser = opened.parse(0)
    try:
        yield from map(opened.convert, (*parser.feed(data), *parser.close()))
    finally:
        parser.discard()


def _apply_change(change: Change, text: str, urls: set[str]) -> ItemResult:
    remarks = [note.reason for note in change.notes]
    deleted = None
    match change:
        case InvalidRecord():
            status = Status.FAIL if find_type(text) is not None else Status.UNKNOWN_TYPE
            return ItemResult(status=status, type=text, info="; ".join([change.reason, *remarks]))
        case PutDocument():
            urls.add(change.url)
        case UpdateDocument() | Delete() if change.url not in urls:
            remarks.append(_NOT_FOUND)
        case Delete():
            urls.remove(change.url)
        case DeleteMatching():
            found = [url for url in urls if matches_wildcards(change.pattern, url)]
            urls.difference_update(found)
            deleted = len(found)
    return ItemResult(status=Status.OK, type=text, deleted=deleted, info="; ".join(remarks))


def _refuse(status: Status, info: str = "", **note: Any) -> Answer:
    return Answer(headers=_XML, body=render_refusal(status, info), note={**note, "refused": info or status.value})
