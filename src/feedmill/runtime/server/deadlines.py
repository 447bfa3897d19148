"""Deadlines of a connection, so that a slow client cannot occupy a slot of a port.

What a connection waits for, and for how long:

- the TLS handshake, and the first byte of the first request: ``HEAD_SECONDS`` each;
- the head of a request, from its first byte: ``HEAD_SECONDS`` for all of it;
- the next request after a response: ``REST_SECONDS``;
- the body of a request: by the port's ``BodyRule``, while the application reads it and the client need not wait for ``100 Continue``;
- the rest of a body that is not read, after the response: ``HEAD_SECONDS``;
- the client reading its response: in each ``RESPONSE_SECONDS`` it must read some of what waits to be sent.

The time that the application takes for a response is not limited here. ``accepting`` checks the connections every ``CHECK_SECONDS``: a
timer for each piece of input would cost more than reading it.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from feedmill.runtime.server.requesthead import BoundedProtocol

HEAD_SECONDS: Final = 10.0
REST_SECONDS: Final = 20.0
RESPONSE_SECONDS: Final = 20.0
RESPONSE_BYTES: Final = 1_000
CHECK_SECONDS: Final = 1.0

MOST_PIPELINED: Final = 32
"""How many requests may wait behind one on the same connection; a client that sends more is cut off."""

_HEAD_TOO_SLOW: Final = f"the head of the request did not come within {HEAD_SECONDS:g} seconds"
_BODY_TOO_SLOW: Final = "the body of the request came too slowly"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRule:
    """How slowly a body may arrive.

    With ``bytes_per_second`` all of it must arrive within ``seconds`` plus the time at that rate. Otherwise some must arrive in each
    ``seconds``.
    """

    seconds: float
    bytes_per_second: float = 0.0


SMALL_BODIES: Final = BodyRule(seconds=10.0, bytes_per_second=1_000.0)
STEADY_BODIES: Final = BodyRule(seconds=20.0)


class SlowPhase(Enum):
    """What a client sent or read too slowly."""

    HEAD = "head"
    BODY = "body"
    NEXT_REQUEST = "next request"
    RESPONSE = "answer"


class Slot(Protocol):
    """The slot of a connection on its port."""

    def note_waiting(self) -> None:
        """Notes that no request is being handled."""

    def note_working(self) -> None:
        """Notes that a request is being handled."""

    def release(self) -> None:
        """Releases the slot."""


class TimedProtocol(BoundedProtocol):
    """Ends a connection whose client is too slow, when ``check`` is called."""

    body_rule = SMALL_BODIES
    slot: Slot | None = None
    _since = 0.0
    _body_bytes = 0
    _unsent_bytes = 0
    _unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self._since = self._unsent_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Releases the slot."""
        super().connection_lost(exc)
        if self.slot is not None:
            self.slot.release()

    def data_received(self, data: bytes) -> None:
        """Reads bytes."""
        if self._is_in_head and self._head_bytes == 0:
            self._since = self.loop.time()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Begins to handle a request."""
        self._since, self._body_bytes = self.loop.time(), 0
        if self.slot is not None:
            self.slot.note_working()
        super().on_headers_complete()
        if self.pipelined_requests > MOST_PIPELINED:
            self.cut_off()

    def on_body(self, body: bytes) -> None:
        """Reads a piece of a body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Begins to wait for the next request, or to handle one that waits already."""
        super().on_response_complete()
        if not self.has_request:
            self._since = self.loop.time()
            if self.slot is not None:
                self.slot.note_waiting()

    def cut_off(self) -> None:
        """Closes the connection at once. Bytes that were not sent yet are lost."""
        self.disconnect_application()
        self.transport.abort()

    def check(self, now_seconds: float) -> SlowPhase | None:
        """Ends the connection if its client is too slow, and returns what it was too slow with. Units: the loop's clock."""
        if self.is_opening:
            return None
        late = self._find_late(now_seconds)
        if late is not None:
            self._end_connection(late)
        return late

    def _find_late(self, now_seconds: float) -> SlowPhase | None:
        seconds = now_seconds - self._since
        # Also if the connection is closing: it closes only after the client has read the rest.
        if self._is_response_stuck(now_seconds):
            return SlowPhase.RESPONSE
        if self.transport.is_closing():
            return None
        if not self.has_request:
            if self.has_had_request and self._is_in_head and self._head_bytes == 0:
                return SlowPhase.NEXT_REQUEST if seconds > REST_SECONDS else None
            return SlowPhase.HEAD if seconds > HEAD_SECONDS else None
        return SlowPhase.BODY if self.is_body_incomplete and self._is_body_late(now_seconds, seconds) else None

    def _is_body_late(self, now_seconds: float, seconds: float) -> bool:
        rule = self.body_rule
        # The client cannot go on, or has sent something and need not be faster than that: the period begins again.
        if self.is_body_waiting_for_application or (not rule.bytes_per_second and self._body_bytes):
            self._since, self._body_bytes = now_seconds, 0
            return False
        return seconds > rule.seconds + (self._body_bytes / rule.bytes_per_second if rule.bytes_per_second else 0.0)

    def _is_response_stuck(self, now_seconds: float) -> bool:
        """Returns whether the client has long read next to nothing of its response, or does not let the connection end."""
        unsent = self.transport.get_write_buffer_size()
        # More is unsent: the application has written. Less by ``RESPONSE_BYTES``: the client has read.
        # A client that reads a byte now and then does not count as reading.
        has_moved = unsent > self._unsent_bytes or unsent <= self._unsent_bytes - RESPONSE_BYTES
        if has_moved or (unsent == 0 and not self.transport.is_closing()):
            self._unsent_bytes, self._unsent_since = unsent, now_seconds
        return now_seconds - self._unsent_since > RESPONSE_SECONDS

    def _end_connection(self, late: SlowPhase) -> None:
        # A client that has sent nothing waits for no response.
        if late is SlowPhase.HEAD and self._head_bytes:
            self.send_refusal(408, _HEAD_TOO_SLOW)
        # A second status line would be read as a part of the response that has begun.
        elif late is SlowPhase.BODY and not self.has_response_begun:
            self.send_refusal(408, _BODY_TOO_SLOW)
        else:
            self.cut_off()
