"""Translates what can go wrong in an exchange. Nothing of sockets, TLS or h11 leaves this package."""

import os
import socket
import ssl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import h11

from feedmill.model.errors import UpstreamFailure


class TimedOut(UpstreamFailure):
    """The time for the whole exchange was over."""


FOREIGN: Final = (OSError, h11.ProtocolError, UnicodeError, zlib.error)
"""The errors of the libraries below. ``TimeoutError``, ``ssl.SSLError`` and ``socket.gaierror`` are kinds of ``OSError``."""


@contextmanager
def translating() -> Iterator[None]:
    """Raises UpstreamFailure in place of a foreign error."""
    try:
        yield
    except FOREIGN as exc:
        raise translate(exc) from exc


def translate(exc: Exception) -> UpstreamFailure:
    """Returns the error to raise. Its text has no secrets, and continues a sentence about the server."""
    if isinstance(exc, TimeoutError):
        return TimedOut("it does not answer in time")
    return UpstreamFailure(_explain(exc))


def _explain(exc: Exception) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {exc.verify_message}"
    if isinstance(exc, ssl.SSLError):
        return f"TLS fails: {getattr(exc, 'reason', '') or 'it is not spoken there'}"
    if isinstance(exc, socket.gaierror):
        return "its name is not known"
    if isinstance(exc, h11.ProtocolError):
        return "it does not speak HTTP as it should"
    if isinstance(exc, zlib.error):
        return "its answer is compressed in a way that cannot be read"
    if isinstance(exc, OSError):
        # asyncio puts a text of its own in place of the system's
        return f"it cannot be reached: {os.strerror(exc.errno) if exc.errno else exc}"
    return "it has no name that can be looked up"
