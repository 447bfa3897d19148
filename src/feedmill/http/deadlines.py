"""Deadlines of a connection, so that nobody holds a place on a port by being slow.

What a connection waits for, and for how long:

- the TLS handshake, and the first byte of the first request: ``HEAD_SECONDS`` each;
- the head of a request, from its first byte: ``HEAD_SECONDS`` for all of it;
- the next request after an answer: ``REST_SECONDS``;
- the body of a request: by the port's ``BodyRule``, while somebody reads it here and the client need not wait for ``100 Continue``;
- the rest of a body that nobody reads, after the answer: ``HEAD_SECONDS``;
- the client taking its answer: each ``ANSWER_SECONDS`` some of what it is to take must have gone.

How long an answer takes to be made is not bounded here. Connections are looked at each ``LOOK_SECONDS``, by ``accepting``: a timer for
each piece that comes would cost more than reading it.
"""

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from feedmill.http.requesthead import BoundedProtocol

HEAD_SECONDS: Final = 10.0
REST_SECONDS: Final = 20.0
ANSWER_SECONDS: Final = 20.0
ANSWER_BYTES: Final = 1_000
LOOK_SECONDS: Final = 1.0

MOST_PIPELINED: Final = 32
"""How many requests may wait behind one on the same connection; a client that sends more is cut off."""

_HEAD_TOO_SLOW: Final = f"the head of the request did not come within {HEAD_SECONDS:g} seconds"
_BODY_TOO_SLOW: Final = "the body of the request came too slowly"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRule:
    """How slowly a body may come.

    Without ``bytes_per_second`` some of it must come in each ``seconds``, else all of it within these and the time that the rate allows.
    """

    seconds: float
    bytes_per_second: float = 0.0


SMALL_BODIES: Final = BodyRule(seconds=10.0, bytes_per_second=1_000.0)
STEADY_BODIES: Final = BodyRule(seconds=20.0)


class Late(Enum):
    """What a client was too slow with."""

    HEAD = "head"
    BODY = "body"
    NEXT_REQUEST = "next request"
    ANSWER = "answer"


class Place(Protocol):
    """A connection's place on its port."""

    def note_waiting(self) -> None:
        """Notes that no request is being answered."""

    def note_working(self) -> None:
        """Notes that a request is being answered."""

    def leave(self) -> None:
        """Returns the place back."""


class TimedProtocol(BoundedProtocol):
    """uvicorn's, with a bound on heads, which ends a connection whose client is too slow when it is told to look."""

    body_rule = SMALL_BODIES
    place: Place | None = None
    _answering: RequestResponseCycle | None = None
    _since = 0.0
    _body_bytes = 0
    _unsent_bytes = 0
    _unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self._since = self._unsent_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Returns the place back."""
        super().connection_lost(exc)
        if self.place is not None:
            self.place.leave()

    def data_received(self, data: bytes) -> None:
        """Takes what came."""
        if self._is_in_head and self._head_bytes == 0:
            self._since = self.loop.time()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Begins to answer a request."""
        self._since, self._body_bytes = self.loop.time(), 0
        if self.place is not None:
            self.place.note_working()
        super().on_headers_complete()
        if len(self.pipeline) > MOST_PIPELINED:
            self.cut_off()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of a body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Begins to wait for the next request, or answers one that waits already."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._since = self.loop.time()
            if self.place is not None:
                self.place.note_waiting()

    def cut_off(self) -> None:
        """Closes the connection at once. An application that is answering is told first, or it would write to what is closed."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def is_opening(self) -> bool:
        """Whether the connection was taken and its transport, of TLS for instance, does not stand yet."""
        return self.transport is None

    def look(self, now_seconds: float) -> Late | None:
        """Ends the connection where its client is too slow, and returns with what. Units: by the loop's clock."""
        if self.is_opening:
            return None
        late = self._find_late(now_seconds)
        if late is not None:
            self._end(late)
        return late

    def _find_late(self, now_seconds: float) -> Late | None:
        seconds = now_seconds - self._since
        if self._is_answer_stuck(now_seconds):
            return Late.ANSWER
        if self.transport.is_closing():
            return None
        if self.cycle is None or self.cycle.response_complete:
            if self.cycle is not None and self._is_in_head and self._head_bytes == 0:
                return Late.NEXT_REQUEST if seconds > REST_SECONDS else None
            return Late.HEAD if seconds > HEAD_SECONDS else None
        return Late.BODY if self.cycle.more_body and self._is_body_late(self.cycle, now_seconds, seconds) else None

    def _is_body_late(self, cycle: RequestResponseCycle, now_seconds: float, seconds: float) -> bool:
        rule = self.body_rule
        is_ours = self.flow.read_paused or cycle.waiting_for_100_continue
        if is_ours or (not rule.bytes_per_second and self._body_bytes):
            self._since, self._body_bytes = now_seconds, 0
            return False
        return seconds > rule.seconds + (self._body_bytes / rule.bytes_per_second if rule.bytes_per_second else 0.0)

    def _is_answer_stuck(self, now_seconds: float) -> bool:
        """Whether the client has taken next to nothing for too long of what waits to be sent, or does not let the connection end."""
        unsent = self.transport.get_write_buffer_size()
        if (unsent == 0 and not self.transport.is_closing()) or unsent > self._unsent_bytes or unsent <= self._unsent_bytes - ANSWER_BYTES:
            self._unsent_bytes, self._unsent_since = unsent, now_seconds
        return now_seconds - self._unsent_since > ANSWER_SECONDS

    def _end(self, late: Late) -> None:
        if late is Late.HEAD and self._head_bytes:
            self._refuse(408, _HEAD_TOO_SLOW)
        elif late is Late.BODY and not self.cycle.response_started:
            self._refuse(408, _BODY_TOO_SLOW)
        else:
            self.cut_off()
