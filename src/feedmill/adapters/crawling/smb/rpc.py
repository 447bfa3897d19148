"""Asks a file server for names of accounts and for the ACL of a share: DCE/RPC over named pipes.

Only the three calls that the crawler needs. All numbers in answers are bounded by the bytes that are there.
Source: C706, 12 (PDUs) and 14 (NDR); MS-LSAT, 3.1.4.9 (LsarLookupSids), MS-LSAD, 3.1.4.4.1 (LsarOpenPolicy2);
MS-SRVS, 3.1.4.10 (NetrShareGetInfo).
"""

import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from feedmill.adapters.crawling.smb.descriptors import write_sid

Exchange = Callable[[bytes], bytes]
"""Writes to a pipe, and returns what the server then writes."""

_NDR: Final = uuid.UUID("8a885d04-1ceb-11c9-9fe8-08002b104860").bytes_le + struct.pack("<I", 2)
_LSA: Final = uuid.UUID("12345778-1234-abcd-ef00-0123456789ab").bytes_le + struct.pack("<HH", 0, 0)
_SRVSVC: Final = uuid.UUID("4b324fc8-1670-01d3-1278-5a47bf6ee188").bytes_le + struct.pack("<HH", 3, 0)
_FRAGMENT: Final = 4_280
_HEADER: Final = struct.Struct("<BBBBIHHI")
_REQUEST, _RESPONSE, _BIND, _BIND_ACK = 0, 2, 11, 12
_LAST: Final = 0x02
MAX_ANSWER_BYTES: Final = 4_194_304
_OPEN_POLICY, _LOOK_UP_SIDS, _GET_SHARE = 44, 15, 16
_LOOK_UP_NAMES: Final = 0x800
_SHARE_INFO: Final = 502
_SOME_NOT_MAPPED: Final = 0x00000107
_NONE_MAPPED: Final = 0xC0000073


class RpcFailure(Exception):
    """A call that the server refuses, or whose answer cannot be read."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account. ``kind`` is that of ``SID_NAME_USE``: 1 a user, 2 a group, 4 an alias, 5 a well-known group."""

    domain: str
    name: str
    kind: int


class Pipe:
    """One interface behind a named pipe."""

    def __init__(self, exchange: Exchange, interface: bytes) -> None:
        self._exchange = exchange
        body = struct.pack("<HHIBxxx", _FRAGMENT, _FRAGMENT, 0, 1) + struct.pack("<HBx", 0, 1) + interface + _NDR
        kind, answer = self._read(self._exchange(_make_fragment(_BIND, 1, body)))
        if kind != _BIND_ACK or len(answer) < 10:
            raise RpcFailure("the server does not offer the interface")

    def call(self, number: int, stub: bytes) -> "Answer":
        """Returns the answer to a call. Errors: RpcFailure."""
        free = _FRAGMENT - 24
        if len(stub) > free:
            raise RpcFailure("the question is too long")
        kind, answer = self._read(self._exchange(_make_fragment(_REQUEST, 2, struct.pack("<IHH", len(stub), 0, number) + stub)))
        if kind != _RESPONSE:
            raise RpcFailure("the server refuses the call")
        return Answer(answer)

    def _read(self, raw: bytes) -> tuple[int, bytes]:
        """Returns the kind of an answer, and its bytes without the headers of its fragments."""
        whole = b""
        while True:
            while len(raw) < _HEADER.size or len(raw) < _HEADER.unpack_from(raw)[5]:
                more = self._exchange(b"")
                if not more:
                    raise RpcFailure("the answer ends too early")
                raw += more
            _, _, kind, flags, _, size, _, _ = _HEADER.unpack_from(raw)
            skipped = 24 if kind == _RESPONSE else _HEADER.size
            if size < skipped:
                raise RpcFailure("the answer is no fragment")
            whole += raw[skipped:size]
            raw = raw[size:]
            if flags & _LAST or kind != _RESPONSE:
                return kind, whole
            if len(whole) > MAX_ANSWER_BYTES:
                raise RpcFailure("the answer is too long")


def _make_fragment(kind: int, number: int, body: bytes) -> bytes:
    return _HEADER.pack(5, 0, kind, 0x03, 0x00000010, _HEADER.size + len(body), 0, number) + body


class Answer:
    """Reads the values of an answer in their order. Errors: RpcFailure if it ends too early."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def read(self, form: str) -> tuple[int, ...]:
        """Returns numbers, each aligned to its size."""
        found: list[int] = []
        for letter in form:
            size = struct.calcsize("<" + letter)
            self._align(size)
            found.extend(struct.unpack("<" + letter, self.take(size)))
        return tuple(found)

    def take(self, size: int) -> bytes:
        """Returns the next bytes."""
        if size < 0 or self._at + size > len(self._raw):
            raise RpcFailure("the answer ends too early")
        self._at += size
        return self._raw[self._at - size : self._at]

    def read_text(self) -> str:
        """Returns a conformant and varying text."""
        _, offset, count = self.read("III")
        if offset:
            raise RpcFailure("the answer has a text that does not begin at its beginning")
        return self.take(2 * count).decode("utf-16-le", "replace").rstrip("\0")

    def skip_sid(self) -> None:
        """Skips a security identifier."""
        (count,) = self.read("I")
        self.take(8 + 4 * count)

    def _align(self, size: int) -> None:
        self._at += -self._at % size


def look_up_accounts(exchange: Exchange, sids: Sequence[str]) -> list[Account | None]:
    """Returns the account of each security identifier, None where the server knows none. Errors: RpcFailure."""
    pipe = Pipe(exchange, _LSA)
    opened = pipe.call(_OPEN_POLICY, struct.pack("<IIIIIIII", 0, 24, 0, 0, 0, 0, 0, _LOOK_UP_NAMES))
    policy = opened.take(20)
    _check(opened)
    stub = (
        policy + struct.pack("<III", len(sids), 0x20000, len(sids)) + b"".join(struct.pack("<I", 0x20004 + 4 * n) for n in range(len(sids)))
    )
    for sid in sids:
        raw = write_sid(sid)
        stub += struct.pack("<I", raw[1]) + raw
    answer = pipe.call(_LOOK_UP_SIDS, stub + struct.pack("<IIHxxI", 0, 0, 1, 0))
    domains = _read_domains(answer)
    count, has_names = answer.read("II")
    found: list[tuple[int, int, int]] = []
    if has_names:
        (listed,) = answer.read("I")
        for _ in range(listed):
            kind, _, _, pointer, domain = answer.read("IHHIi")
            found.append((kind, pointer, domain))
    names = [answer.read_text() if pointer else "" for _, pointer, _ in found]
    answer.read("I")
    _check(answer, _SOME_NOT_MAPPED, _NONE_MAPPED)
    if len(found) != count or count != len(sids):
        if not found:
            return [None] * len(sids)
        raise RpcFailure("the server names other accounts than those of the request")
    return [_make_account(domains, name, kind, domain) for name, (kind, _, domain) in zip(names, found, strict=True)]


def _make_account(domains: list[str], name: str, kind: int, domain: int) -> Account | None:
    if kind not in (1, 2, 4, 5) or not name:
        return None
    return Account(domains[domain] if 0 <= domain < len(domains) else "", name, kind)


def _read_domains(answer: Answer) -> list[str]:
    (pointer,) = answer.read("I")
    if not pointer:
        return []
    _, listed, _ = answer.read("III")
    if not listed:
        return []
    (count,) = answer.read("I")
    heads = [answer.read("HHII") for _ in range(min(count, MAX_ANSWER_BYTES))]
    names: list[str] = []
    for _, _, name, sid in heads:
        names.append(answer.read_text() if name else "")
        if sid:
            answer.skip_sid()
    return names


def read_share_descriptor(exchange: Exchange, share: str) -> bytes:
    """Returns the security descriptor of a share. Errors: RpcFailure, also if the server does not show it to the account."""
    pipe = Pipe(exchange, _SRVSVC)
    name = (share + "\0").encode("utf-16-le")
    count = len(name) // 2
    stub = struct.pack("<IIII", 0, count, 0, count) + name
    stub += b"\0" * (-len(stub) % 4) + struct.pack("<I", _SHARE_INFO)
    answer = pipe.call(_GET_SHARE, stub)
    _, pointer = answer.read("II")
    if not pointer:
        (status,) = answer.read("I")
        raise RpcFailure(f"the server does not say who may use the share (error {status})")
    netname, _, remark, _, _, _, path, password, size, descriptor = answer.read("IIIIIIIIII")
    for text in (netname, remark, path, password):
        if text:
            answer.read_text()
    if not descriptor:
        # Windows always has one. Samba shows none to accounts that may not open its database.
        raise RpcFailure("the server does not show the ACL of the share to this account")
    (size,) = answer.read("I")
    raw = answer.take(size)
    _check(answer)
    return raw


def _check(answer: Answer, *accepted: int) -> None:
    (status,) = answer.read("I")
    if status and status not in accepted:
        raise RpcFailure(f"the server answers with error 0x{status:08x}")
