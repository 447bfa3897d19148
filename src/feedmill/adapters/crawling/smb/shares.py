"""Fetches URLs of the scheme ``smb``: files and folders of SMB shares, with who may read them.

- A file is closed to all but the users that its own ACL permits and, if set, the ACL of the share too. The latter is the ACL
  of the share's first folder, from which all others inherit (and-both-permit).
- A file that is absent is gone only if the share is not empty; an empty one may have lost its disk.
- A password that the server rejects is not sent again for some minutes, so that the account is not locked.
- Without the library smbprotocol (the extra ``smb``) nothing is fetched, and the state of each URL says so.
"""

import hashlib
import json
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from mimetypes import MimeTypes
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from feedmill.adapters.crawling.blockingreads import BlockingReads, fail
from feedmill.adapters.crawling.folderpages import FolderPlace, render_folder_page, split_piece
from feedmill.adapters.crawling.options import SmbShareRule
from feedmill.adapters.crawling.smb.accounts import Accounts
from feedmill.adapters.crawling.smb.descriptors import UnreadableDescriptor, parse_readers
from feedmill.adapters.crawling.smb.rpc import RpcFailure
from feedmill.adapters.crawling.transport import CUT_TYPES
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest

try:
    from smbprotocol.exceptions import SMBAuthenticationError, SMBException, SMBResponseException
    from spnego.exceptions import SpnegoError

    from feedmill.adapters.crawling.smb.client import OpenedFile, ShareAccount, SmbShare
except ImportError:  # pragma: no cover
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

NOT_INSTALLED: Final = "it needs the extra smb (the package smbprotocol), which is not installed"
REJECTED_SECONDS: Final = 300.0
SHARE_ACL_SECONDS: Final = 300.0

_SEPARATED: Final = frozenset('\\/:*?"<>|\0')
"""Characters that no name in a share can have; a colon would name a stream of a file."""
_ABSENT: Final = frozenset({0xC0000034, 0xC000003A, 0xC0000033, 0xC000000F, 0xC0000103, 0xC0000039, 0xC000003B})
_FORBIDDEN: Final = frozenset({0xC0000022, 0xC000006D, 0xC000006E, 0xC0000064, 0xC0000071, 0xC0000072, 0xC0000193, 0xC0000234, 0xC000015B})
_LOGON: Final = _FORBIDDEN - {0xC0000022}
_BUSY: Final = frozenset({0xC0000043, 0xC0000056})
_EPOCH: Final = datetime(1601, 1, 1, tzinfo=UTC)
_TYPES: Final = MimeTypes()


class SmbShareFetcher:
    """Fetches URLs of the scheme ``smb``."""

    def __init__(self, rules: tuple[SmbShareRule, ...]) -> None:
        self._readers = tuple(_ShareReader(rule) for rule in rules) if IS_INSTALLED else ()
        self._rules = rules
        self._reads = BlockingReads()

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a file or a folder. Every failure is a ``FetchedPage`` with its state. Errors: Busy if there is no memory for it."""
        if not any(request.url.startswith(rule.prefix) for rule in self._rules):
            return fail(request, CrawlState.UNHANDLED_PROTOCOL, "no share of [[crawl.smb_shares]] has this URL")
        reader = next((each for each in self._readers if request.url.startswith(each.rule.prefix)), None)
        if reader is None:
            return fail(request, CrawlState.UNHANDLED_PROTOCOL, NOT_INSTALLED)
        return await self._reads.run(request, lambda: reader.read(request), reader.share.drop)

    def close(self) -> None:
        """Closes all connections."""
        for reader in self._readers:
            reader.share.drop()


class _ShareReader:
    def __init__(self, rule: SmbShareRule) -> None:
        self.rule = rule
        account = ShareAccount(host=rule.host, port=rule.port, share=rule.share, user=rule.user, password=rule.password)
        self.share = SmbShare(account)
        self._accounts = Accounts()
        self._paused_until = 0.0
        self._share_acl: tuple[float, bytes] | None = None

    def read(self, request: FetchRequest) -> FetchedPage:
        """Reads a file or a folder. Errors: none."""
        piece = split_piece(request.url.partition("#")[0])
        names = _split_path(piece.url[len(self.rule.prefix) :])
        if names is None:
            return fail(request, CrawlState.NOT_FOUND, "the URL has a name that no file can have")
        if self._paused_until > time.monotonic():
            return fail(
                request, CrawlState.AUTHENTICATION_FAILED, "it rejects the account of [[crawl.smb_shares]]; tried again in some minutes"
            )
        try:
            with self.share.opening("\\".join(names)) as opened:
                return self._make_page(request, piece, names, opened)
        except (UnreadableDescriptor, RpcFailure) as exc:
            return fail(request, CrawlState.OTHER_ERROR, f"who may read it is not known: {exc}")
        except SMBResponseException as exc:
            return self._fail_with_status(request, exc.status & 0xFFFFFFFF)
        except (SMBAuthenticationError, SpnegoError):
            self._paused_until = time.monotonic() + REJECTED_SECONDS
            return fail(request, CrawlState.AUTHENTICATION_FAILED, "it rejects the account of [[crawl.smb_shares]], or makes it a guest")
        except (SMBException, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error) as exc:
            # What the library raises when a connection ends, and for answers that are none.
            self.share.drop()
            return fail(request, CrawlState.CONNECTION_FAILED, f"the file server does not answer as expected: {type(exc).__name__}")

    def _fail_with_status(self, request: FetchRequest, status: int) -> FetchedPage:
        if status in _ABSENT:
            return self._find_absent(request)
        if status in _LOGON:
            self._paused_until = time.monotonic() + REJECTED_SECONDS
        if status in _FORBIDDEN:
            return fail(request, CrawlState.AUTHENTICATION_FAILED, f"the file server refuses it (status 0x{status:08x})")
        if status in _BUSY:
            return fail(request, CrawlState.OTHER_ERROR, "another program has it open, or deletes it")
        return fail(request, CrawlState.CONNECTION_FAILED, f"the file server answers with status 0x{status:08x}")

    def _find_absent(self, request: FetchRequest) -> FetchedPage:
        """Returns that a file is gone, unless the whole share seems to be."""
        try:
            with self.share.opening("") as root:
                is_empty = next(self.share.list_names(root), None) is None
        except (SMBException, OSError, ValueError, struct.error):
            return fail(request, CrawlState.CONNECTION_FAILED, "the share cannot be read")
        if is_empty:
            return fail(request, CrawlState.CONNECTION_FAILED, "the share is empty; its disk may be missing")
        return fail(request, CrawlState.NOT_FOUND, "there is no such file in the share")

    def _make_page(self, request: FetchRequest, piece: FolderPlace, names: list[str], opened: "OpenedFile") -> FetchedPage:
        if not opened.is_folder and (piece.url.endswith("/") or piece.after):
            return fail(request, CrawlState.NOT_FOUND, "it is no folder")
        is_root = not names
        protected = self._read_share_acl() if is_root and self.rule.reads_share_acl else opened.descriptor
        digest = hashlib.blake2b(protected, digest_size=8).hexdigest()
        etag = f'"{opened.written_at:x}-{opened.size:x}-{digest}"'
        page = FetchedPage(
            state=CrawlState.CRAWLED_FROM_CACHE if etag == request.etag else CrawlState.CRAWLED,
            url=request.url if not opened.is_folder or piece.url.endswith("/") else request.url + "/",
            etag=etag,
            modified=format_datetime(_EPOCH + timedelta(microseconds=opened.written_at // 10), usegmt=True),
            used_access=True,
            make_public=self.rule.is_public,
        )
        if page.state is CrawlState.CRAWLED_FROM_CACHE:
            return page
        headers = [("last-modified", page.modified)]
        if not self.rule.is_public:
            headers.append(("x-gsa-doc-controls", "acl=" + quote(self._make_acl(protected, is_root=is_root), safe="")))
        if opened.is_folder:
            return self._add_folder(replace(page, headers=tuple(headers)), piece, opened, request)
        return self._add_file(replace(page, headers=tuple(headers)), names[-1], opened, request)

    def _read_share_acl(self) -> bytes:
        if self._share_acl is None or self._share_acl[0] < time.monotonic():
            self._share_acl = time.monotonic() + SHARE_ACL_SECONDS, self.share.read_share_descriptor()
        return self._share_acl[1]

    def _make_acl(self, descriptor: bytes, *, is_root: bool) -> str:
        """Returns the ACL of a file or folder, as JSON."""
        rule = self.rule
        look_up: Callable[..., object] = self.share.look_up_accounts
        readers = parse_readers(descriptor)
        acl: dict[str, object] = {"entries": self._accounts.list_entries(readers, rule.everyone, rule.namespace, look_up)}  # type: ignore[arg-type]
        if is_root:
            acl["inheritance_type"] = "AND_BOTH_PERMIT"
        elif rule.reads_share_acl:
            acl["inherit_from"] = rule.prefix
        return json.dumps(acl)

    def _add_folder(self, page: FetchedPage, piece: FolderPlace, opened: "OpenedFile", request: FetchRequest) -> FetchedPage:
        names = ((name.encode("utf-8", "replace"), is_folder) for name, is_folder in self.share.list_names(opened))
        body = render_folder_page(piece._replace(url=piece.url.removesuffix("/") + "/"), names, request.max_bytes)
        headers = (
            *page.headers,
            ("content-type", "text/html; charset=utf-8"),
            ("x-robots-tag", "noindex"),
            ("x-gsa-external-anchor", quote(self.rule.prefix, safe="")),
        )
        return replace(page, headers=headers, body=body)

    def _add_file(self, page: FetchedPage, name: str, opened: "OpenedFile", request: FetchRequest) -> FetchedPage:
        kind = _TYPES.guess_type(name, strict=False)[0] or "application/octet-stream"
        page = replace(page, headers=(*page.headers, ("content-type", kind)), is_cut=opened.size > request.max_bytes)
        if page.is_cut and not kind.startswith(CUT_TYPES):
            return page
        body = self.share.read(opened, request.max_bytes)
        if len(body) < min(opened.size, request.max_bytes):
            return fail(request, CrawlState.OTHER_ERROR, "it changed while it was read")
        return replace(page, body=body)


def _split_path(path: str) -> list[str] | None:
    """Returns the names of a path, None if one of them is none."""
    if path in ("", "/"):
        return []
    try:
        names = [unquote_to_bytes(name).decode("utf-8") for name in path.removesuffix("/").split("/")]
    except UnicodeDecodeError:
        return None
    return None if any(name in ("", ".", "..") or _SEPARATED & set(name) for name in names) else names
