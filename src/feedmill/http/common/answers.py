"""Short plain responses of the feed port, and the ways to end a request before all of it was read.

Old clients compare the whole text of a response, so each text here is exact. A response that precedes the body's end is sent at once. The
rest of the body is then read and discarded, up to a bound, before the connection is closed. Closing it over unread bytes would
reset it, and the client could lose the response. Where no response is safe, the connection is dropped (see ``drop``).
Source: googlegsa/library, ``GsaFeedFileSender``.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.types import Message, Receive, Scope, Send

SUCCESS: Final = "Success"
UNAUTHORIZED: Final = "Error - Unauthorized Request"
DISK_FULL: Final = "Feed not accepted due to insufficient disk space. Contact Google Cloud Support."

DROP_EXTENSION: Final = "feedmill.drop"
"""The ASGI extension by which an application asks the server to drop a connection."""

STOP_EXTENSION: Final = "feedmill.stop"
"""The ASGI extension by which an application waits until the server stops: its open requests then have seconds to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """How much of an unwanted body is read and discarded. Units: bytes, and seconds for all of it."""

    max_bytes: int
    seconds: float


class Body:
    """A request's body as ASGI delivers it. Records whether all of it has arrived."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.is_whole = False

    async def __call__(self) -> Message:
        """Returns the next message."""
        message = await self._receive()
        self.is_whole = not message.get("more_body", False)
        return message


STRANGERS: Final = Drain(max_bytes=4_194_304, seconds=2.0)
TRUSTED: Final = Drain(max_bytes=268_435_456, seconds=25.0)

Headers = tuple[tuple[bytes, bytes], ...]
_PLAIN: Final = (b"content-type", b"text/plain")


async def send_text(send: Send, status: int, text: str, headers: Headers = ()) -> None:
    """Sends a response to a request that was read to its end."""
    await _start(send, status, text, (_PLAIN, *headers))
    await send({"type": "http.response.body", "body": text.encode("utf-8"), "more_body": False})


async def send_early(
    body: Body, send: Send, status: int, text: str, drain: Drain, *, content_type: bytes = b"text/plain", headers: Headers = ()
) -> None:
    """Sends a response before the request's body was read to its end, and closes the connection."""
    await _start(send, status, text, ((b"content-type", content_type), (b"connection", b"close"), *headers))
    await send({"type": "http.response.body", "body": text.encode("utf-8"), "more_body": True})
    with suppress(TimeoutError):
        async with asyncio.timeout(drain.seconds):
            await _discard(body, drain.max_bytes)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _start(send: Send, status: int, text: str, headers: Headers) -> None:
    length = (b"content-length", str(len(text.encode("utf-8"))).encode("ascii"))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})


async def _discard(body: Body, max_bytes: int) -> None:
    read_bytes = 0
    while not body.is_whole and read_bytes <= max_bytes:
        read_bytes += len((await body()).get("body", b""))


async def drop(scope: Scope, body: Body, send: Send) -> None:
    """Ends a request that failed for a temporary reason, so that the client tries again.

    The adaptor library takes any unknown text as a final refusal. It retries only after a broken connection, so the connection is
    broken. A server that does not support this sends 503 without a text, which the connector manager retries.
    """
    abort = (scope.get("extensions") or {}).get(DROP_EXTENSION)
    if abort is None:
        await send_early(body, send, 503, "", TRUSTED)
        return
    abort["drop"]()
    while (await body())["type"] != "http.disconnect":
        continue
