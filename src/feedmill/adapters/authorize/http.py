"""HTTP/1.1 to one server, with a time limit for a whole exchange.

The time-outs of usual clients restart with every piece that arrives, so a server that sends its response slowly holds them for ever. Here
every step waits only for the rest of the total time. Only the resolver's lookup of a name cannot be cut short; it blocks its thread.
Redirects are responses, proxies of the environment are not used, and every address is checked before a connection to it.
"""

import socket
import ssl
import time
from functools import lru_cache
from typing import Final

import h11

from feedmill.core.urls.publicaddresses import is_public
from feedmill.model.authorization import Trust
from feedmill.model.errors import Unanswered
from feedmill.ports.authorization import Call, Reply, ServerAddress, ServerConnection

_PIECE_BYTES: Final = 65_536
_MAX_HEAD_BYTES: Final = 65_536
_MAX_INTERIM: Final = 10


class HttpCaller:
    """Opens connections to servers."""

    def open(self, server: ServerAddress) -> ServerConnection:
        """Returns a connection to a server, without connecting yet."""
        return HttpLine(server)


class HttpLine:
    """A connection that is reused for further exchanges as long as both sides allow it."""

    def __init__(self, server: ServerAddress) -> None:
        self._server = server
        self._socket: socket.socket | None = None
        self._connection = h11.Connection(h11.CLIENT)

    def send(self, call: Call, seconds: float) -> Reply:
        """Sends a request and waits for its response. Errors: Unanswered."""
        deadline = time.monotonic() + seconds
        is_kept = self._socket is not None
        try:
            try:
                return self._exchange(call, deadline)
            except (ConnectionError, ssl.SSLEOFError, h11.RemoteProtocolError):
                # a server may close an idle connection at any time
                self.close()
                if not is_kept:
                    raise
                return self._exchange(call, deadline)
        except (OSError, h11.ProtocolError, UnicodeError) as exc:
            self.close()
            raise Unanswered(_explain(exc)) from exc
        except Unanswered:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, call: Call, deadline: float) -> Reply:
        connection = self._ready(deadline)
        sock = self._socket
        assert sock is not None
        length = (("Content-Length", str(len(call.body)).encode()),) if call.body else ()
        headers = [(name.encode(), value) for name, value in (*call.headers, *length)]
        pieces = [connection.send(h11.Request(method=call.method, target=call.path, headers=headers))]
        if call.body:
            pieces.append(connection.send(h11.Data(data=call.body)))
        pieces.append(connection.send(h11.EndOfMessage()))
        sock.settimeout(_left(deadline))
        sock.sendall(b"".join(piece for piece in pieces if piece))
        return self._receive(connection, sock, call, deadline)

    def _receive(self, connection: h11.Connection, sock: socket.socket, call: Call, deadline: float) -> Reply:
        status, body, interim = 0, bytearray(), 0
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                sock.settimeout(_left(deadline))
                connection.receive_data(sock.recv(_PIECE_BYTES))
            elif isinstance(event, h11.InformationalResponse):
                interim += 1
                if interim > _MAX_INTERIM:
                    raise Unanswered("it answers that it will answer, over and over")
            elif isinstance(event, h11.Response):
                status = event.status_code
                if not call.max_bytes and call.method != "HEAD":
                    self.close()
                    return Reply(status=status)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > call.max_bytes:
                    raise Unanswered(f"its answer has more than {call.max_bytes} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return Reply(status=status, body=bytes(body))
            else:
                raise ConnectionResetError("it closed the connection")

    def _ready(self, deadline: float) -> h11.Connection:
        """Returns a connection on which a request can be sent now."""
        if self._socket is not None:
            if self._connection.our_state is h11.DONE and self._connection.their_state is h11.DONE:
                self._connection.start_next_cycle()
                return self._connection
            self.close()
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._socket = _dial(self._server, deadline)
        return self._connection


def _dial(server: ServerAddress, deadline: float) -> socket.socket:
    context = _make_context(server.trust) if server.is_tls else None
    sock = _connect(server, deadline)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return sock
        sock.settimeout(_left(deadline))
        return context.wrap_socket(sock, server_hostname=server.host)
    except BaseException:
        sock.close()
        raise


def _connect(server: ServerAddress, deadline: float) -> socket.socket:
    found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    failure: OSError | None = None
    for family, kind, protocol, _, address in found:
        if not server.allows_private and not is_public(str(address[0])):
            raise Unanswered(f"its address {address[0]} is private, which allow_private does not open")
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(deadline))
            sock.connect(address)
        except OSError as exc:
            sock.close()
            failure = exc
            continue
        return sock
    raise failure or OSError("it has no address")


@lru_cache(maxsize=64)
def _make_context(trust: Trust) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=trust.ca or None)
    if trust.certificate:
        context.load_cert_chain(trust.certificate, trust.key, password=lambda: "")
    return context


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _explain(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "it does not answer in time"
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {exc.verify_message}"
    if isinstance(exc, ssl.SSLError):
        return f"TLS fails: {exc.reason or 'it is not spoken there'}"
    if isinstance(exc, socket.gaierror):
        return "its name is not known"
    if isinstance(exc, h11.ProtocolError):
        return "it does not speak HTTP as it should"
    if isinstance(exc, OSError):
        return f"it cannot be reached: {exc.strerror or exc}"
    return "it has no name that can be looked up"
