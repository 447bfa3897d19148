"""Translates what can go wrong in an exchange. Nothing of sockets, TLS or h11 leaves this package."""

import errno
import os
import socket
import ssl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final

import h11

from feedmill.model.errors import UpstreamFailure


class FailureKind(Enum):
    """What went wrong in an exchange."""

    NAME_UNKNOWN = auto()
    NAME_UNRESOLVED = auto()
    """The name servers give no answer at present."""
    PRIVATE_ADDRESS = auto()
    REFUSED = auto()
    RESET = auto()
    CLOSED = auto()
    TIMED_OUT = auto()
    NO_ROUTE = auto()
    TLS = auto()
    NO_HTTP = auto()
    TOO_LARGE = auto()
    CODING = auto()
    OTHER = auto()


class ExchangeFailure(UpstreamFailure):
    """An exchange failed; ``kind`` says how."""

    def __init__(self, reason: str, kind: FailureKind = FailureKind.OTHER) -> None:
        super().__init__(reason)
        self.kind = kind


class TimedOut(ExchangeFailure):
    """The time for the whole exchange was over."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, FailureKind.TIMED_OUT)


class ClosedEarly(ConnectionError):
    """The server closed the connection before the end of its response."""


FOREIGN: Final = (OSError, h11.ProtocolError, UnicodeError, zlib.error)
"""The errors of the libraries below. ``TimeoutError``, ``ssl.SSLError`` and ``socket.gaierror`` are kinds of ``OSError``."""

_TEMPORARY_LOOKUPS: Final = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM})
_KINDS: Final = {
    errno.ECONNREFUSED: FailureKind.REFUSED,
    errno.ECONNRESET: FailureKind.RESET,
    errno.EPIPE: FailureKind.CLOSED,
    errno.ECONNABORTED: FailureKind.CLOSED,
    errno.ETIMEDOUT: FailureKind.TIMED_OUT,
    errno.EHOSTUNREACH: FailureKind.NO_ROUTE,
    errno.ENETUNREACH: FailureKind.NO_ROUTE,
    errno.ENETDOWN: FailureKind.NO_ROUTE,
    errno.EHOSTDOWN: FailureKind.NO_ROUTE,
}


@contextmanager
def translating() -> Iterator[None]:
    """Raises UpstreamFailure in place of a foreign error."""
    try:
        yield
    except FOREIGN as exc:
        raise translate(exc) from exc


def translate(exc: Exception) -> ExchangeFailure:
    """Returns the error to raise. Its text has no secrets, and continues a sentence about the server."""
    if isinstance(exc, TimeoutError):
        return TimedOut("it does not answer in time")
    return ExchangeFailure(_explain(exc), _classify(exc))


def _classify(exc: Exception) -> FailureKind:
    if isinstance(exc, ssl.SSLError):
        return FailureKind.TLS
    if isinstance(exc, socket.gaierror):
        return FailureKind.NAME_UNRESOLVED if exc.errno in _TEMPORARY_LOOKUPS else FailureKind.NAME_UNKNOWN
    if isinstance(exc, h11.ProtocolError):
        return FailureKind.NO_HTTP
    if isinstance(exc, zlib.error):
        return FailureKind.CODING
    if isinstance(exc, ClosedEarly):
        return FailureKind.CLOSED
    if isinstance(exc, OSError):
        return _KINDS.get(exc.errno or 0, FailureKind.OTHER)
    return FailureKind.NAME_UNKNOWN


def _explain(exc: Exception) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {exc.verify_message}"
    if isinstance(exc, ssl.SSLError):
        return f"TLS fails: {getattr(exc, 'reason', '') or 'it is not spoken there'}"
    if isinstance(exc, socket.gaierror):
        return "its name cannot be looked up at present" if exc.errno in _TEMPORARY_LOOKUPS else "its name is not known"
    if isinstance(exc, h11.ProtocolError):
        return "it does not speak HTTP as it should"
    if isinstance(exc, zlib.error):
        return "its answer is compressed in a way that cannot be read"
    if isinstance(exc, ClosedEarly):
        return "it closed the connection before the end of its answer"
    if isinstance(exc, OSError):
        # asyncio puts a text of its own in place of the system's
        return f"it cannot be reached: {os.strerror(exc.errno) if exc.errno else exc}"
    return "it has no name that can be looked up"
