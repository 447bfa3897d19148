"""Reads a seedlist as a pull source: each entry is a document.

Rules:

1. The pages follow the ``next`` links. A page that cannot be fetched or read ends the run; the next run of the same mode goes on with it.
   If the server does not know that page any more, the run after it begins with the first page.
2. An incremental run sends the timestamp of the last page as it was received. Where such a run gets 404, nothing has changed: servers
   answer so if a list has no entries.
3. A list of ``Action=GetChildren`` has only the nearest entries, so the lists of its containers are read too, each once. Every other
   list, as the documents list of a container, has all documents, and containers are passed over.
4. User and password go to the host of the seedlist only, on any port, and never from https to http. Nothing else is fetched from special-
   purpose addresses. A source that signs in by a form sends no password with its requests; ``fetch`` has the session.
5. A content is fetched when its entry differs from that of the last run, never otherwise. So are the files at ``related`` links on the host
   of the seedlist, which are part of the document. A related file that is gone is left out, and so is every file for which the limit of
   the document has no space: an error would keep the timestamp, and fetch the file in each run again.

Source: HCL Connections, "Crawling data for the first time", "Subsequently crawling data"; docs/howto/pull-a-seedlist.md.
"""

import hashlib
import io
import json
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from feedmill.model.change import Content, Delete, InvalidRecord, Note, PutDocument
from feedmill.model.errors import BadFeed, BadRequest, UpstreamFailure
from feedmill.model.feed import LogLevel
from feedmill.model.pulling import RunMode
from feedmill.ports import DeletedItem, FailedItem, ListedItem, PulledItem, PullPage, SkippedItem
from feedmill.wire.seedlist.adapt import RelatedFile, SeedlistAdapter
from feedmill.wire.seedlist.parse import iter_entries, scan_page
from feedmill.wire.seedlist.schema import ATOM_TYPE, Action, InvalidEntry, Link, SeedlistEntry, SeedlistPage

MAX_PAGE_BYTES: Final = 268_435_456
PAGE_SECONDS: Final = 150.0
CONTENT_SECONDS: Final = 300.0
ITEMS_AT_ONCE: Final = 100
"""How many entries one page of the source has: the contents of these are read before they are applied in one transaction."""
MAX_RELATED: Final = 50
_NOT_FOUND: Final = 404
_UNKNOWN_PAGE: Final = (400, _NOT_FOUND, 410)
"""How servers answer to the link of a page of which they have lost the ``State``."""
_PIECE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedBody:
    """The response for a URL, after all redirects. Shape: ``media_type`` in lower case, without parameters."""

    url: str
    status: int
    media_type: str
    body: bytes


class Oversized(UpstreamFailure):
    """The response has more bytes than the call permits."""


Fetch = Callable[[str, Mapping[str, str], int, float], FetchedBody]
"""Gets a URL with headers, within a number of bytes and seconds. Errors: BadRequest for a URL that is none; UpstreamFailure, as Oversized
for a longer response.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedlistAddress:
    """Where a seedlist is, and as which user it is read."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    uses_basic: bool = True

    @property
    def host(self) -> str:
        """The host of the seedlist."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """The URL of a page that waits. ``has_all``: its list has all documents of a container, those of inner containers too."""

    url: str
    has_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    """Where a reading continues: the pages that wait, the next one first; ``is_root`` while that belongs to the first list."""

    pending: tuple[_Waiting, ...]
    is_root: bool = True

    def write(self) -> str:
        return json.dumps([self.is_root, *([each.url] if each.has_all else each.url for each in self.pending)])

    @staticmethod
    def read(text: str) -> "_Position":
        is_root, *pending = json.loads(text)
        waiting = (_Waiting(url=each) if isinstance(each, str) else _Waiting(url=each[0], has_all=True) for each in pending)
        return _Position(pending=tuple(waiting), is_root=is_root)


class SeedlistSource:
    """Implements ``ports.PullSource``."""

    def __init__(
        self, name: str, address: SeedlistAddress, fetch: Fetch, *, max_content_bytes: int, close: Callable[[], None] = lambda: None
    ) -> None:
        self._address = address
        self._close = close
        self._fetch = fetch
        self._max_content_bytes = max_content_bytes
        self._adapter = SeedlistAdapter(host=address.host, name=name)
        self._follows_containers = _read_parameter(address.url, "action").lower() == "getchildren"

    def iter_pages(self, mode: RunMode, *, since: str, checkpoint: str) -> Iterator[PullPage]:
        """Reads the seedlist page by page."""
        timestamp = since if mode is RunMode.INCREMENTAL else ""
        first = _Position(pending=(_Waiting(url=_with_timestamp(self._address.url, timestamp)),))
        position = _Position.read(checkpoint) if checkpoint else first
        visited: set[str] = set()
        if not position.pending:
            yield PullPage(checkpoint=checkpoint, since=since)
        while position.pending:
            url = position.pending[0].url
            if url in visited:
                raise BadRequest(f"the pages of the seedlist lead to {url} twice")
            visited.add(url)
            fetched = self._get_page(url)
            if fetched.status == _NOT_FOUND and timestamp and not checkpoint and len(visited) == 1:
                yield PullPage(items=(SkippedItem(reason="the server answers 404: nothing has changed"),), since=since)
                return
            if fetched.status in _UNKNOWN_PAGE and checkpoint and len(visited) == 1:
                # without a checkpoint the next run begins again
                yield PullPage()
                raise UpstreamFailure(f"{url}: the server answers {fetched.status}, so the next run begins with the first page")
            if fetched.status != 200:
                raise UpstreamFailure(f"{url}: {_describe_status(fetched.status)}")
            try:
                page = scan_page(_cut(fetched.body), fetched.url)
            except BadFeed as exc:
                raise BadFeed(f"{url}: {exc.placed_reason}") from exc
            position = yield from self._iter_items(fetched, page, position, timestamp, visited)

    def close(self) -> None:
        """Ends the session at the server, if there is one."""
        self._close()

    def _iter_items(
        self, fetched: FetchedBody, page: SeedlistPage, here: _Position, timestamp: str, visited: Set[str]
    ) -> Generator[PullPage, None, _Position]:
        """Yields the items of a page and returns where the reading continues."""
        current, *others = here.pending
        lists: list[_Waiting] | None = [] if self._follows_containers and not current.has_all else None
        numbered = enumerate(iter_entries(_cut(fetched.body), fetched.url, page), 1)
        items = self._list_items(numbered, page, lists)
        notes = tuple(SkippedItem(reason=f"{fetched.url}: {remark.reason}") for remark in page.remarks)
        chunk = notes + tuple(islice(items, ITEMS_AT_ONCE))
        while following := tuple(islice(items, ITEMS_AT_ONCE)):
            # the page is read again from its beginning if the run ends here
            yield PullPage(items=chunk, checkpoint=here.write())
            chunk = following
        pending = [replace(current, url=page.next_url)] if page.next_url else []
        pending += others
        for found in lists or ():
            waiting = replace(found, url=_with_timestamp(found.url, timestamp))
            # several containers may lead to one list, and a list to itself
            if waiting.url not in visited and all(each.url != waiting.url for each in pending):
                pending.append(waiting)
        after = _Position(pending=tuple(pending), is_root=here.is_root and bool(page.next_url))
        # the timestamps of later lists are later than what the first list has shown
        yield PullPage(items=chunk, checkpoint=after.write(), since=page.timestamp if here.is_root else "")
        return after

    def _list_items(
        self, entries: Iterable[tuple[int, SeedlistEntry | InvalidEntry]], page: SeedlistPage, lists: list[_Waiting] | None
    ) -> Iterator[PulledItem]:
        """Yields the items of entries; ``lists`` grows by the lists of containers that are to be read, None passes containers over."""
        for number, entry in entries:
            if isinstance(entry, InvalidEntry):
                yield FailedItem(url=self._adapter.find_url(entry.id) if entry.id else None, reason=f"line {entry.line}: {entry.reason}")
            elif entry.action is Action.DELETE:
                yield DeletedItem(url=self._adapter.find_url(entry.id))
            elif not entry.is_container:
                yield ListedItem(
                    url=self._adapter.find_url(entry.id), digest=_digest(entry, page), load=partial(self._load, number, entry, page)
                )
            elif lists is not None:
                lists.append(_Waiting(url=entry.documents_url or entry.children_url, has_all=bool(entry.documents_url)))
            else:
                yield SkippedItem(reason=f"the container {entry.id}")

    def _load(self, number: int, entry: SeedlistEntry, page: SeedlistPage) -> PutDocument:
        content, reports = None, []
        if entry.content is not None and entry.content.url:
            fetched = self._fetch_content(entry.content.url)
            if fetched is None:
                reports.append(self._describe_oversized(entry.content.url))
            else:
                content = Content(stream=io.BytesIO(fetched.body), size_bytes=len(fetched.body))
                if not entry.content.media_type:
                    entry = replace(entry, content=replace(entry.content, media_type=fetched.media_type))
        files, reasons = self._fetch_related(entry, content.size_bytes if content is not None else 0)
        change = self._adapter.adapt(number, entry, page, content, files)
        if isinstance(change, InvalidRecord):
            raise BadRequest(change.reason)
        assert not isinstance(change, Delete)
        return replace(change, notes=(*change.notes, *map(_warn, (*reports, *reasons))), reports=tuple(reports))

    def _fetch_content(self, url: str) -> FetchedBody | None:
        """Returns the file of an entry, None if it is too large. Errors: BadRequest, because the files of other entries may be there."""
        try:
            fetched = self._get(url, self._max_content_bytes, CONTENT_SECONDS)
        except Oversized:
            return None
        except UpstreamFailure as exc:
            raise BadRequest(f"{url}: {exc}") from exc
        if fetched.status != 200:
            raise BadRequest(f"{url}: {_describe_status(fetched.status)}")
        return fetched

    def _describe_oversized(self, url: str) -> str:
        return f"{url} was left out: with it the document has more than {self._max_content_bytes} bytes"

    def _fetch_related(self, entry: SeedlistEntry, size_bytes: int) -> tuple[list[RelatedFile], list[str]]:
        """Fetches the related files of an entry whose content has so many bytes, and says which ones were left out.

        Errors: BadRequest for one that can be fetched later.
        """
        files: list[RelatedFile] = []
        reasons: list[str] = []
        for link in self._list_related(entry):
            free = self._max_content_bytes - size_bytes - sum(len(file.data) for file in files)
            try:
                fetched = self._get(link.url, free, CONTENT_SECONDS) if free > 0 else None
            except UpstreamFailure as exc:
                if not isinstance(exc, Oversized):
                    raise BadRequest(f"{link.url}: {exc}") from exc
                fetched = None
            if fetched is None:
                reasons.append(self._describe_oversized(link.url))
            elif fetched.status in (403, _NOT_FOUND, 410):
                reasons.append(f"{link.url} was left out: the server answers {fetched.status}")
            elif fetched.status != 200:
                raise BadRequest(f"{link.url}: the server answers {fetched.status}")
            else:
                files.append(RelatedFile(data=fetched.body, media_type=link.media_type or fetched.media_type, name=link.title))
        return files, reasons

    def _list_related(self, entry: SeedlistEntry) -> list[Link]:
        """Lists the related links that lead to files on the host of the seedlist, each once."""
        own = entry.content.url if entry.content is not None else ""
        links = {link.url: link for link in entry.related if link.media_type != ATOM_TYPE and link.url != own}
        return [link for link in links.values() if urlsplit(link.url).hostname == self._address.host][:MAX_RELATED]

    def _get_page(self, url: str) -> FetchedBody:
        """Returns the response for a page. Errors: UpstreamFailure, which names the page."""
        try:
            return self._get(url, MAX_PAGE_BYTES, PAGE_SECONDS)
        except UpstreamFailure as exc:
            raise UpstreamFailure(f"{url}: {exc}") from exc

    def _get(self, url: str, max_bytes: int, seconds: float) -> FetchedBody:
        headers = {"Accept-Encoding": "gzip"}
        if self._address.uses_basic and self._address.user and self._may_know_user(url):
            proof = f"{self._address.user}:{self._address.password}".encode()
            headers["Authorization"] = f"Basic {b64encode(proof).decode()}"
        return self._fetch(url, headers, max_bytes, seconds)

    def _may_know_user(self, url: str) -> bool:
        own, target = urlsplit(self._address.url), urlsplit(url)
        return target.hostname == own.hostname and (target.scheme.lower() == "https" or own.scheme.lower() == "http")


def _describe_status(status: int) -> str:
    return f"the server answers {status}{'; check user and password' if status in (401, 403) else ''}"


def _warn(reason: str) -> Note:
    return Note(level=LogLevel.WARNING, reason=reason)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))


def _read_parameter(url: str, name: str) -> str:
    return next((value for key, value in parse_qsl(urlsplit(url).query) if key.lower() == name), "")


def _with_timestamp(url: str, timestamp: str) -> str:
    """Returns a URL with this timestamp in place of any other. The other parameters stay as they are written."""
    if not timestamp:
        return url
    parts = urlsplit(url)
    others = [part for part in parts.query.split("&") if part and part.partition("=")[0].lower() != "timestamp"]
    return urlunsplit(parts._replace(query="&".join([*others, f"Timestamp={quote(timestamp, safe='')}"])))


def _digest(entry: SeedlistEntry, page: SeedlistPage) -> bytes:
    """Returns the digest of what an entry says, wherever it is in its page."""
    # earlier versions did not fetch related files
    version = ("files",) if entry.related else ()
    return hashlib.sha256(repr((replace(entry, line=0), page.categories, *version)).encode("utf-8", "surrogatepass")).digest()
