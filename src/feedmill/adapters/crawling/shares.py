"""Reads files and folders of mounted shares as documents.

- A path is opened name by name below the folder of the share. Symbolic links are not followed, so nothing leads out of the folder.
- A folder is a page of links to what is in it, which is not indexed itself.
- A share whose folder is missing or empty is not mounted: its URLs fail, which removes none at once.
- A file server that does not answer holds a thread of its own; neither the fetch nor the end of the process waits for it.
"""

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from html import escape
from mimetypes import MimeTypes
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from feedmill.adapters.crawling.options import ShareRule
from feedmill.adapters.crawling.transport import CUT_TYPES
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest

MAX_THREADS: Final = 16
MAX_NAMES: Final = 200_000

_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO, errno.EINVAL})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
_TYPES: Final = MimeTypes()


class ShareFetcher:
    """Fetches URLs of the scheme ``file``."""

    def __init__(self, shares: tuple[ShareRule, ...]) -> None:
        self._shares = shares
        self._places = threading.BoundedSemaphore(MAX_THREADS)

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a file or a folder. Every failure is a ``FetchedPage`` with its state; does not raise."""
        share = next((each for each in self._shares if request.url.startswith(each.prefix)), None)
        if share is None:
            return _fail(request, CrawlState.UNHANDLED_PROTOCOL, "no share of [[crawl.shares]] has this URL")
        if not self._places.acquire(blocking=False):
            return _fail(request, CrawlState.CONNECTION_TIMED_OUT, "the file server does not answer other requests")
        try:
            async with asyncio.timeout(request.seconds):
                return await self._run(lambda: read_share(share, request))
        except TimeoutError:
            return _fail(request, CrawlState.CONNECTION_TIMED_OUT, "the file server does not answer in time")

    async def _run(self, work: Callable[[], FetchedPage]) -> FetchedPage:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[FetchedPage] = loop.create_future()

        def settle(page: FetchedPage) -> None:
            if not future.done():
                future.set_result(page)

        def run() -> None:
            try:
                page = work()
            finally:
                self._places.release()
            with suppress(RuntimeError):
                # the loop may be closed by now
                loop.call_soon_threadsafe(settle, page)

        threading.Thread(target=run, name="share", daemon=True).start()
        return await future


def read_share(share: ShareRule, request: FetchRequest) -> FetchedPage:
    """Reads a file or a folder of a share. Errors: none."""
    path = request.url[len(share.prefix) :].partition("#")[0]
    names = [unquote_to_bytes(name) for name in path.removesuffix("/").split("/")] if path not in ("", "/") else []
    if any(name in (b"", b".", b"..") or b"/" in name or b"\0" in name for name in names):
        return _fail(request, CrawlState.NOT_FOUND, "the URL has a name that no file can have")
    try:
        root = os.open(share.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as exc:
        return _fail(request, CrawlState.CONNECTION_FAILED, f"the folder of the share cannot be opened: {exc.strerror}")
    try:
        if not _has_entries(root):
            return _fail(request, CrawlState.CONNECTION_FAILED, "the folder of the share is empty; it may not be mounted")
        return _read_below(root, names, share, request)
    except OSError as exc:
        return _fail(request, _state_of(exc), f"it cannot be read: {exc.strerror}")
    finally:
        os.close(root)


def _read_below(root: int, names: list[bytes], share: ShareRule, request: FetchRequest) -> FetchedPage:
    place = os.dup(root)
    try:
        for name in names:
            # Without blocking: a pipe would wait for its writer.
            below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
            os.close(place)
            place = below
        status = os.fstat(place)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and (not stat.S_ISREG(status.st_mode) or request.url.endswith("/")):
            return _fail(request, CrawlState.NOT_FOUND, "it is neither a file nor a folder")
        etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'
        url = request.url if not is_folder or request.url.endswith("/") else request.url + "/"
        page = FetchedPage(
            state=CrawlState.CRAWLED_FROM_CACHE if etag == request.etag else CrawlState.CRAWLED,
            url=url,
            etag=etag,
            modified=formatdate(status.st_mtime, usegmt=True),
            used_access=True,
            make_public=share.is_public,
        )
        if page.state is CrawlState.CRAWLED_FROM_CACHE:
            return page
        return _add_folder(page, place, request) if is_folder else _add_file(page, place, names[-1], status, request)
    finally:
        os.close(place)


def _add_folder(page: FetchedPage, place: int, request: FetchRequest) -> FetchedPage:
    lines, size, is_cut = ["<!DOCTYPE html><meta charset=utf-8><title>", escape(page.url), "</title>"], 0, False
    with os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if entry.is_symlink():
                continue
            name = os.fsencode(entry.name)
            slash = "/" if entry.is_dir(follow_symlinks=False) else ""
            line = f'<a href="{page.url}{quote(name, safe="")}{slash}">{escape(name.decode("utf-8", "replace"))}</a>\n'
            size += len(line.encode("utf-8", "replace"))
            is_cut = size > request.max_bytes or number == MAX_NAMES
            if is_cut:
                break
            lines.append(line)
    headers = (("content-type", "text/html; charset=utf-8"), ("x-robots-tag", "noindex"), ("last-modified", page.modified))
    return _fill(page, headers, "".join(lines).encode("utf-8", "replace"), is_cut)


def _add_file(page: FetchedPage, place: int, name: bytes, status: os.stat_result, request: FetchRequest) -> FetchedPage:
    kind = _TYPES.guess_type(name.decode("utf-8", "replace"), strict=False)[0] or "application/octet-stream"
    is_cut = status.st_size > request.max_bytes
    headers = (("content-type", kind), ("last-modified", page.modified))
    if is_cut and not kind.startswith(CUT_TYPES):
        return _fill(page, headers, b"", True)
    with os.fdopen(os.dup(place), "rb") as stream:
        body = stream.read(min(request.max_bytes, status.st_size))
    after = os.fstat(place)
    if (after.st_mtime_ns, after.st_size) != (status.st_mtime_ns, status.st_size):
        return _fail(request, CrawlState.OTHER_ERROR, "it changed while it was read")
    return _fill(page, headers, body, is_cut)


def _fill(page: FetchedPage, headers: tuple[tuple[str, str], ...], body: bytes, is_cut: bool) -> FetchedPage:
    return FetchedPage(
        state=page.state,
        url=page.url,
        headers=headers,
        body=body,
        is_cut=is_cut,
        etag=page.etag,
        modified=page.modified,
        used_access=page.used_access,
        make_public=page.make_public,
    )


def _has_entries(folder: int) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is not None


def _state_of(failure: OSError) -> CrawlState:
    if failure.errno in _ABSENT:
        return CrawlState.NOT_FOUND
    return CrawlState.AUTHENTICATION_FAILED if failure.errno in _FORBIDDEN else CrawlState.CONNECTION_FAILED


def _fail(request: FetchRequest, state: CrawlState, reason: str) -> FetchedPage:
    return FetchedPage(state=state, url=request.url, reason=reason)
