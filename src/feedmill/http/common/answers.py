"""Short plain answers of the feed port, and how a request is ended before all of it was read.

Old clients judge an answer by its text, compared whole, so each text here is exact. An answer that comes before the body was read is
sent at once; then what still arrives is thrown away, up to a bound, before the connection is closed: closing it over unread bytes would
reset it, and the sender could lose the answer. What cannot be answered well is dropped (see ``drop``).
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
"""The ASGI extension by which the server lets a connection be dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """How much of an unwanted body is read and thrown away. Units: bytes, and seconds for all of it."""

    max_bytes: int
    seconds: float


class Body:
    """A request's body, as ASGI gives it; knows whether all of it has come."""

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
    """Sends an answer to a request that was read to its end."""
    await _start(send, status, text, (_PLAIN, *headers))
    await send({"type": "http.response.body", "body": text.encode("utf-8"), "more_body": False})


async def send_early(
    body: Body, send: Send, status: int, text: str, drain: Drain, *, content_type: bytes = b"text/plain", headers: Headers = ()
) -> None:
    """Answers a request whose body, or the rest of it, is not wanted, and closes the connection."""
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
    """Ends a request in trouble that will pass, so that the sender tries again.

    The adaptor library takes any text it does not know for a final refusal and tries again only when the connection breaks, so it is
    broken. A server that cannot do that answers 503 with no text, which the connector manager tries again.
    """
    abort = (scope.get("extensions") or {}).get(DROP_EXTENSION)
    if abort is None:
        await send_early(body, send, 503, "", TRUSTED)
        return
    abort["drop"]()
    while (await body())["type"] != "http.disconnect":
        continue
