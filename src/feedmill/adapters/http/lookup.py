"""Looks up the addresses of a host in a thread that a deadline can abandon."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from feedmill.adapters.http.errors import ExchangeFailure, FailureKind

MAX_LOOKUPS: Final = 64

FoundAddress = tuple[int, int, int, str, Any]
"""What ``socket.getaddrinfo`` returns for each address: family, type, protocol, canonical name, socket address."""

Lookup = Callable[[str, int], Awaitable[list[FoundAddress]]]

_places = threading.BoundedSemaphore(MAX_LOOKUPS)


async def look_up(host: str, port: int) -> list[FoundAddress]:
    """Returns the addresses of a host. Errors: OSError, UnicodeError, UpstreamFailure.

    The system's resolver cannot be interrupted. Each lookup therefore has a thread of its own, which nothing joins: neither a deadline
    nor the end of the process waits for it.
    """
    with suppress(socket.gaierror):
        # an address that is written as a number needs no resolver
        return _resolve(host, port, socket.AI_NUMERICHOST)
    if not _places.acquire(blocking=False):
        raise ExchangeFailure("too many names are being looked up", FailureKind.NAME_UNRESOLVED)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[FoundAddress]] = loop.create_future()

    def settle(found: list[FoundAddress] | Exception) -> None:
        if future.done():
            return
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)

    def work() -> None:
        found: list[FoundAddress] | Exception
        try:
            found = _resolve(host, port, 0)
        except (OSError, UnicodeError) as exc:
            found = exc
        finally:
            # Released by the thread and not by the caller: a lookup that the deadline has abandoned still occupies its thread.
            _places.release()
        with suppress(RuntimeError):
            # the loop is closed if its deadline was over before
            loop.call_soon_threadsafe(settle, found)

    # A daemon, and not a thread of a pool: the interpreter waits for the threads of pools at its end.
    threading.Thread(target=work, name="lookup", daemon=True).start()
    return await future


def _resolve(host: str, port: int, flags: int) -> list[FoundAddress]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, kind, protocol, name, address) for family, kind, protocol, name, address in found]
