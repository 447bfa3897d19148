"""An appliance that takes feeds: it says what a real one says, checks what it gets, and stores nothing but the recorded requests."""

import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from feedmill.conformance.counterparts.script import ApplianceScript
from feedmill.conformance.counterparts.server import Answer, Request
from feedmill.core.documents.submission import read_groups_submission, read_submission
from feedmill.model.change import Change, GroupChange, InvalidRecord
from feedmill.model.errors import BadFeed, BadRequest, FeedmillError
from feedmill.model.feed import FeedType
from feedmill.ports.feedformats import FeedFormat, FormatOptions
from feedmill.wire.gsafeed.dtd import DTD
from feedmill.wire.gsafeed.format import GsaFeedFormat
from feedmill.wire.gsagroups.format import GsaGroupsFormat
from feedmill.wire.upload.reader import FEED_FORM, GROUPS_FORM, UploadReader

MAX_FEED_BYTES: Final = 1 << 28
MAX_INFLATION: Final = 1_000
PIECE_BYTES: Final = 65_536
MAX_PROBLEMS: Final = 100
_PLAIN: Final = (("Content-Type", "text/plain"),)
_XML: Final = (("Content-Type", "text/xml"),)


class Appliance:
    """Implements ``Counterpart``. ``folder`` gets every feed as a file, if it is given."""

    server_header = "feedergate_1.0"

    def __init__(self, script: ApplianceScript, folder: Path | None = None) -> None:
        self._script = script
        self._folder = folder

    def answer(self, request: Request) -> Answer:
        """Returns the answer of an appliance."""
        path = request.path.rstrip("/")
        if path in ("/xmlfeed", "/xmlgroups"):
            return self._take_feed(request, is_groups=path == "/xmlgroups") if request.method == "POST" else Answer(status=405)
        texts = {
            "/getbacklogcount": (_PLAIN, str(self._script.backlog)),
            "/sw_version.txt": (_PLAIN, self._script.version),
            "/getdtd": (_XML, DTD),
            "/gsafeed.dtd": (_XML, DTD),
        }
        if path in texts:
            headers, text = texts[path]
            return Answer(headers=headers, body=text.encode())
        return Answer(status=404, headers=_PLAIN, body=b"Error 404: Not Found")

    def _take_feed(self, request: Request, *, is_groups: bool) -> Answer:
        if not self._script.trusted:
            return Answer(headers=_PLAIN, body=b"Error - Unauthorized Request")
        reader = UploadReader(
            GROUPS_FORM if is_groups else FEED_FORM,
            content_type=request.headers.get("content-type", ""),
            content_encoding=request.headers.get("content-encoding", ""),
            max_feed_bytes=MAX_FEED_BYTES,
        )
        try:
            feed = b"".join((*reader.read_chunk(request.body), *reader.finish()))
            _check_fields(reader.values, is_groups=is_groups, has_data=bool(feed))
        except FeedmillError as exc:
            return Answer(status=400, headers=_PLAIN, body=str(exc).encode(), note={"fields": reader.values, "refused": str(exc)})
        if self._folder is not None and feed:
            (self._folder / f"{request.number:06}.xml").write_bytes(feed)
        note = {"fields": reader.values, "feed": check_feed(feed, reader.values, is_groups=is_groups) if feed else None}
        return Answer(headers=_PLAIN, body=b"Success", note=note)


def _check_fields(values: Mapping[str, str], *, is_groups: bool, has_data: bool) -> None:
    """Raises BadRequest for fields that the feed port refuses."""
    if is_groups:
        read_groups_submission(values, has_data=has_data)
        return
    read_submission(values)
    if not has_data:
        raise BadRequest("field data is missing or empty")


def check_feed(feed: bytes, values: Mapping[str, str], *, is_groups: bool) -> dict[str, Any]:
    """Reads a feed as the server would. Returns the number of its items and what is wrong with it, the first hundred faults."""
    feedtype = FeedType.INCREMENTAL
    with suppress(ValueError):
        feedtype = FeedType(values.get("feedtype", "").strip().lower())
    options = FormatOptions(feedtype=feedtype, spool=io.BytesIO, max_inflated_bytes=MAX_FEED_BYTES, max_inflation=MAX_INFLATION)
    opened: FeedFormat[Any, Change | GroupChange] = GsaGroupsFormat(options) if is_groups else GsaFeedFormat(options)
    try:
        return _check_items(opened, feed, is_repaired=False)
    except BadFeed as exc:
        if exc.repairable:
            with suppress(BadFeed):
                return _check_items(opened, feed, is_repaired=True)
        return {"items": 0, "repaired": False, "faults": [{"line": exc.line or None, "url": None, "reason": exc.reason}]}


def _check_items(opened: FeedFormat[Any, Change | GroupChange], feed: bytes, *, is_repaired: bool) -> dict[str, Any]:
    parser, repairer = opened.parse(0), opened.make_repairer() if is_repaired else None
    faults: list[dict[str, Any]] = []
    pieces: Iterator[bytes] = (feed[at : at + PIECE_BYTES] for at in range(0, len(feed), PIECE_BYTES))
    try:
        for piece in pieces:
            _collect(opened, parser.feed(piece if repairer is None else repairer.feed(piece)), faults)
        if repairer is not None:
            _collect(opened, parser.feed(repairer.close()), faults)
        _collect(opened, parser.close(), faults)
    finally:
        parser.discard()
    return {"items": parser.items, "repaired": is_repaired, "faults": faults}


def _collect(opened: FeedFormat[Any, Change | GroupChange], items: list[Any], faults: list[dict[str, Any]]) -> None:
    for item in items:
        change = opened.convert(item)
        if isinstance(change, InvalidRecord) and len(faults) < MAX_PROBLEMS:
            faults.append({"line": change.place.line, "url": change.url, "reason": change.reason})
