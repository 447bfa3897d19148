"""Reads files, folders and ACLs of one SMB share.

One connection serves all requests to a share; it is opened when it is needed, and again after it failed. It is signed, and a server that
makes the account a guest is refused. Symbolic links and junctions are not listed.
Source: MS-SMB2; MS-FSCC, 2.4.14 (FileFullDirectoryInformation).
"""

import logging
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from smbprotocol import connection as smb_connection
from smbprotocol.connection import Connection
from smbprotocol.exceptions import NoMoreFiles
from smbprotocol.file_info import FileInformationClass, InfoType
from smbprotocol.open import (
    CreateDisposition,
    FilePipePrinterAccessMask,
    ImpersonationLevel,
    Open,
    QueryDirectoryFlags,
    ShareAccess,
    SMB2QueryDirectoryResponse,
    SMB2QueryInfoRequest,
    SMB2QueryInfoResponse,
)
from smbprotocol.session import Session
from smbprotocol.transport import Tcp
from smbprotocol.tree import TreeConnect

from feedmill.adapters.crawling.smb.rpc import Account, look_up_accounts, read_share_descriptor

CONNECT_SECONDS: Final = 20
MAX_FRAME_BYTES: Final = 16_777_215
MAX_DESCRIPTOR_BYTES: Final = 65_536
_CHUNK_BYTES: Final = 65_536
_LISTING_BYTES: Final = 65_536

_DIRECTORY: Final = 0x10
_REPARSE_POINT: Final = 0x400
_LINKS: Final = frozenset({0xA000000C, 0xA0000003})
"""The tags of symbolic links and junctions."""
_FULL_ENTRY: Final = struct.Struct("<IIqqqqqqIII")
_SECURITY: Final = 0x4
_READ: Final = (
    FilePipePrinterAccessMask.FILE_READ_DATA | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES | FilePipePrinterAccessMask.READ_CONTROL
)
_SHARED: Final = ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE

T = TypeVar("T")

# What the library writes into the log names accounts and files.
logging.getLogger("smbprotocol").setLevel(logging.CRITICAL)


class _BoundedTcp(Tcp):  # type: ignore[misc]
    """The library's transport, which by itself allocates as many bytes as a server announces."""

    def _recv(self, length: int, timeout: float) -> tuple[bytes | None, float]:
        if length > MAX_FRAME_BYTES:
            raise ValueError("the server announces a message that is too long")
        received: tuple[bytes | None, float] = super()._recv(length, timeout)
        return received


smb_connection.Tcp = _BoundedTcp


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareAccount:
    """A share, and the account that reads it."""

    host: str
    port: int
    share: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """A file or a folder that is open. ``written_at`` is in units of 100 ns since 1601."""

    handle: Any = field(repr=False)
    is_folder: bool
    size: int
    written_at: int
    descriptor: bytes = field(repr=False)


class _Link:
    """A connection with its session and tree."""

    def __init__(self, account: ShareAccount) -> None:
        self.connection = Connection(uuid.uuid4(), account.host, account.port, require_signing=True)
        try:
            self.connection.connect(timeout=CONNECT_SECONDS)
            self.session = Session(self.connection, account.user, account.password, require_encryption=False)
            self.session.connect()
            self.tree = self.connect_tree(account, account.share)
        except BaseException:
            self.drop()
            raise

    def connect_tree(self, account: ShareAccount, share: str) -> Any:
        tree = TreeConnect(self.session, rf"\\{account.host}\{share}")
        tree.connect()
        return tree

    def drop(self) -> None:
        """Ends the connection at once; whoever waits for an answer gets an error."""
        if self.connection.transport is not None:
            with suppress(Exception):
                self.connection.transport.close()


class SmbShare:
    """Reads one share. Its methods may be called by several threads; they raise the library's exceptions, and OSError."""

    def __init__(self, account: ShareAccount) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._link: _Link | None = None

    def drop(self) -> None:
        """Ends the connection, so that nothing waits for the server any longer."""
        link, self._link = self._link, None
        if link is not None:
            link.drop()

    @contextmanager
    def opening(self, path: str) -> Iterator[OpenedFile]:
        """Opens a file or a folder, with its descriptor. Shape: names separated by backslashes, "" for the root."""
        handle = Open(self._find_link().tree, path)
        _create(handle, _READ)
        try:
            yield OpenedFile(
                handle=handle,
                is_folder=bool(handle.file_attributes & _DIRECTORY),
                size=int(handle.end_of_file),
                written_at=_to_ticks(handle.last_write_time),
                descriptor=_query_descriptor(handle),
            )
        finally:
            with suppress(Exception):
                handle.close()

    def read(self, opened: OpenedFile, max_bytes: int) -> bytes:
        """Returns the beginning of a file."""
        parts, at = [], 0
        while at < min(max_bytes, opened.size):
            part = opened.handle.read(at, min(_CHUNK_BYTES, min(max_bytes, opened.size) - at))
            if not part:
                break
            parts.append(bytes(part))
            at += len(part)
        return b"".join(parts)

    def list_names(self, opened: OpenedFile) -> Iterator[tuple[str, bool]]:
        """Lists the names in a folder, each with whether it is a folder."""
        flags = QueryDirectoryFlags.SMB2_RESTART_SCANS
        while True:
            try:
                raw = _query_directory(opened.handle, flags)
            except NoMoreFiles:
                return
            yield from _parse_entries(raw)
            flags = 0

    def look_up_accounts(self, sids: list[str]) -> list[Account | None]:
        """Returns the accounts of security identifiers."""
        return self._ask("lsarpc", lambda exchange: look_up_accounts(exchange, sids))

    def read_share_descriptor(self) -> bytes:
        """Returns the descriptor of the share itself."""
        return self._ask("srvsvc", lambda exchange: read_share_descriptor(exchange, self._account.share))

    def _ask(self, name: str, question: Callable[[Callable[[bytes], bytes]], T]) -> T:
        tree = self._find_link().connect_tree(self._account, "IPC$")
        try:
            pipe = Open(tree, name)
            _create(pipe, FilePipePrinterAccessMask.FILE_READ_DATA | FilePipePrinterAccessMask.FILE_WRITE_DATA)

            def exchange(data: bytes) -> bytes:
                if data:
                    pipe.write(data)
                return bytes(pipe.read(0, _CHUNK_BYTES))

            try:
                return question(exchange)
            finally:
                with suppress(Exception):
                    pipe.close()
        finally:
            with suppress(Exception):
                tree.disconnect()

    def _find_link(self) -> _Link:
        with self._lock:
            if self._link is None or not self._link.connection.transport.connected:
                self._link = None
                self._link = _Link(self._account)
            return self._link


def _create(handle: Any, access: int) -> None:
    handle.create(ImpersonationLevel.Impersonation, access, 0, _SHARED, CreateDisposition.FILE_OPEN, 0)


def _to_ticks(moment: Any) -> int:
    return int(moment.timestamp() * 10_000_000) + 116_444_736_000_000_000


def _query_descriptor(handle: Any) -> bytes:
    request = SMB2QueryInfoRequest()
    request["info_type"] = InfoType.SMB2_0_INFO_SECURITY
    request["file_info_class"] = FileInformationClass.FILE_NONE
    request["output_buffer_length"] = MAX_DESCRIPTOR_BYTES
    request["additional_information"] = _SECURITY
    request["file_id"] = handle.file_id
    response = _send(handle, request, SMB2QueryInfoResponse())
    return bytes(response["buffer"].get_value())


def _query_directory(handle: Any, flags: int) -> bytes:
    request, _ = handle.query_directory(
        "*", FileInformationClass.FILE_FULL_DIRECTORY_INFORMATION, flags, max_output=_LISTING_BYTES, send=False
    )
    return bytes(_send(handle, request, SMB2QueryDirectoryResponse())["buffer"].get_value())


def _send(handle: Any, message: Any, response: Any) -> Any:
    sent = handle.connection.send(message, handle.tree_connect.session.session_id, handle.tree_connect.tree_connect_id)
    response.unpack(handle.connection.receive(sent)["data"].get_value())
    return response


def _parse_entries(raw: bytes) -> Iterator[tuple[str, bool]]:
    at = 0
    while True:
        fields = _FULL_ENTRY.unpack_from(raw, at)
        following, attributes, length, tag = fields[0], fields[8], fields[9], fields[10]
        begin = at + _FULL_ENTRY.size
        name = raw[begin : begin + length].decode("utf-16-le", "replace")
        if name not in (".", "..") and not (attributes & _REPARSE_POINT and tag in _LINKS):
            yield name, bool(attributes & _DIRECTORY)
        if following < _FULL_ENTRY.size:
            return
        at += following
