"""Reads files and folders of mounted shares as documents.

- A path is opened name by name below the folder of the share. Symbolic links are not followed, so nothing leads out of the folder.
- A folder is a page of links to what is in it, which is not indexed itself.
- A share whose folder is missing or empty is not mounted: its URLs fail, which removes none at once.
"""

import errno
import os
import stat
from email.utils import formatdate
from mimetypes import MimeTypes
from typing import Final
from urllib.parse import unquote_to_bytes

from feedmill.adapters.crawling.blockingreads import BlockingReads
from feedmill.adapters.crawling.blockingreads import fail as _fail
from feedmill.adapters.crawling.folderpages import FolderPlace, render_folder_page, split_piece
from feedmill.adapters.crawling.options import ShareRule
from feedmill.adapters.crawling.transport import CUT_TYPES
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest

_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO, errno.EINVAL})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
_TYPES: Final = MimeTypes()


class ShareFetcher:
    """Fetches URLs of the scheme ``file``."""

    def __init__(self, shares: tuple[ShareRule, ...]) -> None:
        self._shares = shares
        self._reads = BlockingReads()

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a file or a folder. Every failure is a ``FetchedPage`` with its state. Errors: Busy if there is no memory for it."""
        share = next((each for each in self._shares if request.url.startswith(each.prefix)), None)
        if share is None:
            return _fail(request, CrawlState.UNHANDLED_PROTOCOL, "no share of [[crawl.shares]] has this URL")
        return await self._reads.run(request, lambda: read_share(share, request))


def read_share(share: ShareRule, request: FetchRequest) -> FetchedPage:
    """Reads a file or a folder of a share. Errors: none."""
    piece = split_piece(request.url.partition("#")[0])
    path = piece.url[len(share.prefix) :]
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
        return _read_below(root, names, piece, share, request)
    except OSError as exc:
        return _fail(request, _state_of(exc), f"it cannot be read: {exc.strerror}")
    finally:
        os.close(root)


def _read_below(root: int, names: list[bytes], piece: FolderPlace, share: ShareRule, request: FetchRequest) -> FetchedPage:
    place = os.dup(root)
    try:
        for name in names:
            # Without blocking: a pipe would wait for its writer.
            below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
            os.close(place)
            place = below
        status = os.fstat(place)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and (not stat.S_ISREG(status.st_mode) or piece.url.endswith("/")):
            return _fail(request, CrawlState.NOT_FOUND, "it is neither a file nor a folder")
        etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'
        url = request.url if not is_folder or piece.url.endswith("/") else request.url + "/"
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
        return (
            _add_folder(page, piece._replace(url=piece.url.removesuffix("/") + "/"), place, request)
            if is_folder
            else _add_file(page, place, names[-1], status, request)
        )
    finally:
        os.close(place)


def _add_folder(page: FetchedPage, piece: FolderPlace, folder: int, request: FetchRequest) -> FetchedPage:
    with os.scandir(folder) as entries:
        names = ((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries if not entry.is_symlink())
        body = render_folder_page(piece, names, request.max_bytes)
    headers = (("content-type", "text/html; charset=utf-8"), ("x-robots-tag", "noindex"), ("last-modified", page.modified))
    return _fill(page, headers, body, False)


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
