"""One request and its response over one connection, by h11. This module does no I/O; see ``_flows``.

- A server may refuse a request before it has read all of it. Its response is read all the same, and the rest of the body is not sent.
- A server or a proxy may send interim responses (below 200) at any time, also while the body is sent, which then goes on.
- Redirects are not followed, so that no other server gets a token.
- An answer has as many bytes and lasts as long as the options allow; h11 limits its headers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import h11

from feedmill_client._addresses import Address
from feedmill_client._bodies import Body
from feedmill_client._flows import Connection, Flow, Receive, Send, perform
from feedmill_client.errors import BadAnswer
from feedmill_client.options import Options

MAX_INTERIM: Final = 20
"""So many responses with a status below 200 may come before the final one."""

Event = h11.Event | type[h11.NEED_DATA | h11.PAUSED]


class Silence(Exception):
    """The server did not answer in time; the text says what it did not do."""


class CallerFailure(Exception):
    """What the caller gave has failed, not the connection: the source of a body, or the file that an answer is written to."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request. ``is_repeatable``: it has the same effect twice. ``sink`` takes the body of a successful response in its pieces.

    ``patience_seconds``: how long the server may do what it is asked for before it begins its answer, if longer than the options say.
    """

    method: str
    path: str
    body: Body | None = None
    is_repeatable: bool = False
    accept: str = "application/json"
    sink: Callable[[bytes], object] | None = None
    patience_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response. The names of headers are in lower case; of repeated ones the last counts."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(slots=True)
class Line:
    """A connection, with what h11 knows of it, and since when it is idle.

    ``proxy`` reads the requests of this connection; it is None where the server is connected directly, or through a tunnel.
    """

    connection: Connection
    proxy: Address | None = None
    protocol: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))
    idle_since: float = 0.0
    interim: int = 0

    def next_event(self) -> Event:
        """Returns the next event but interim responses. Errors: h11.RemoteProtocolError; BadAnswer for too many of these."""
        while isinstance(event := self.protocol.next_event(), h11.InformationalResponse):
            self.interim += 1
            if self.interim > MAX_INTERIM:
                raise BadAnswer(f"it sends more than {MAX_INTERIM} responses with a status below 200")
        return event

    def try_reuse(self) -> bool:
        """Returns whether another request can be sent, and prepares for it."""
        if self.protocol.our_state is not h11.DONE or self.protocol.their_state is not h11.DONE:
            return False
        self.protocol.start_next_cycle()
        self.interim = 0
        return True


def converse(line: Line, address: Address, request: Request, options: Options, clock: Callable[[], float]) -> Flow[Response]:
    """Sends a request and returns its response. The body has begun.

    Errors: OSError, Silence, h11.ProtocolError, CallerFailure; BadAnswer for too many bytes; UnicodeError for characters beyond ASCII.
    """
    target = address.prefix + request.path
    headers = _make_headers(address, request, options)
    if line.proxy is not None:
        target = f"http://{address.authority}{target}"
        headers += _make_proof(line.proxy)
    head = h11.Request(method=request.method, target=target, headers=headers)
    was_cut, early = yield from _send(line, head, request.body, options)
    # a file that is downloaded may be of any size
    deadline = math.inf if request.sink is not None else clock() + max(options.timeouts.answer_seconds, request.patience_seconds)
    try:
        return (yield from _receive(line, request, options, deadline, clock, early))
    except OSError:
        if was_cut is not None:
            # the first error says more
            raise was_cut from None
        raise


def open_tunnel(connection: Connection, address: Address, proxy: Address, options: Options, clock: Callable[[], float]) -> Flow[int]:
    """Asks a proxy to connect to a server. Returns the status of its answer: from 200 to 299 the connection is that to the server.

    Errors: OSError, h11.ProtocolError, UnicodeError, BadAnswer.
    """
    line, seconds = Line(connection), options.timeouts.connect_seconds
    target = f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
    headers = [("Host", target), ("User-Agent", options.user_agent), *_make_proof(proxy)]
    data = line.protocol.send(h11.Request(method="CONNECT", target=target, headers=headers)) or b""
    yield from perform(Send(connection, data + (line.protocol.send(h11.EndOfMessage()) or b""), seconds))
    deadline = clock() + seconds
    while not isinstance(event := line.next_event(), h11.Response):
        left = deadline - clock()
        if left <= 0:
            raise TimeoutError("the proxy did not answer in time")
        if event is not h11.NEED_DATA:
            raise ConnectionResetError("the proxy closed the connection")
        line.protocol.receive_data((yield from perform(Receive(connection, left))))
    # a server waits for the first byte of TLS, so these bytes are not its own
    if 200 <= event.status_code < 300 and line.protocol.trailing_data[0]:
        raise ConnectionResetError("the proxy sends more than its answer")
    return int(event.status_code)


def _make_proof(proxy: Address) -> list[tuple[str, str]]:
    return [("Proxy-Authorization", proxy.authorization)] if proxy.authorization else []


def _make_headers(address: Address, request: Request, options: Options) -> list[tuple[str, str]]:
    headers = [("Host", address.authority), ("User-Agent", options.user_agent), ("Accept", request.accept)]
    if address.authorization:
        headers.append(("Authorization", address.authorization))
    if request.body is None:
        # a proxy may ask for the length of a POST without a body
        return [*headers, ("Content-Length", "0")] if request.method == "POST" else headers
    length = request.body.length_bytes
    framing = ("Transfer-Encoding", "chunked") if length is None else ("Content-Length", str(length))
    return [*headers, ("Content-Type", request.body.content_type), framing]


def _send(line: Line, head: h11.Request, body: Body | None, options: Options) -> Flow[tuple[OSError | None, Event | None]]:
    """Sends a request, or what the server takes of it. Returns the error that ended it early, and what the server has answered so far."""
    seconds = options.timeouts.silence_seconds
    data = line.protocol.send(head) or b""
    if body is None:
        data += line.protocol.send(h11.EndOfMessage()) or b""
        yield from perform(Send(line.connection, data, seconds))
        return None, None
    piece = yield from _read_piece(body)
    while piece:
        data += line.protocol.send(h11.Data(piece)) or b""
        try:
            yield from perform(Send(line.connection, data, seconds))
            event = yield from _read_early(line, seconds)
        except OSError as error:
            return error, None
        if event is not None:
            return None, event
        data = b""
        piece = yield from _read_piece(body)
    data += line.protocol.send(h11.EndOfMessage()) or b""
    if data:
        try:
            yield from perform(Send(line.connection, data, seconds))
        except OSError as error:
            return error, None
    return None, None


def _read_early(line: Line, seconds: float) -> Flow[Event | None]:
    """Returns what the server says before it has the whole body, None if that is nothing or an interim response."""
    while line.connection.has_incoming():
        line.protocol.receive_data((yield from perform(Receive(line.connection, seconds))))
        event = line.next_event()
        if event is not h11.NEED_DATA:
            return event
    return None


def _read_piece(body: Body) -> Flow[bytes]:
    try:
        return (yield from body.read_piece())
    except Exception as exc:
        raise CallerFailure(exc) from exc


def _write(sink: Callable[[bytes], object], data: bytes) -> None:
    try:
        sink(data)
    except Exception as exc:
        raise CallerFailure(exc) from exc


def _receive(
    line: Line, request: Request, options: Options, deadline: float, clock: Callable[[], float], early: Event | None
) -> Flow[Response]:
    head: h11.Response | None = None
    body, received = bytearray(), 0
    while True:
        event, early = line.next_event() if early is None else early, None
        if event is h11.NEED_DATA:
            line.protocol.receive_data((yield from _read_more(line, request, options, deadline, clock)))
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data) and head is not None:
            received += len(event.data)
            if request.sink is not None and 200 <= head.status_code < 300:
                _write(request.sink, bytes(event.data))
            elif received > options.max_answer_bytes:
                raise BadAnswer(f"its answer has more than {options.max_answer_bytes} bytes")
            else:
                body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
            return Response(status=head.status_code, headers=headers, body=bytes(body))
        else:
            raise ConnectionResetError("the connection was closed")


def _read_more(line: Line, request: Request, options: Options, deadline: float, clock: Callable[[], float]) -> Flow[bytes]:
    left = deadline - clock()
    if left <= 0:
        raise Silence(f"it did not end its answer within {max(options.timeouts.answer_seconds, request.patience_seconds):g} seconds")
    silence = max(options.timeouts.silence_seconds, request.patience_seconds)
    try:
        return (yield from perform(Receive(line.connection, min(silence, left))))
    except TimeoutError as exc:
        raise Silence(f"no answer within {min(silence, left):g} seconds") from exc
