"""Requests that make no sense are refused on every port, without an error of the server and without delays for other clients."""

import random
import re
import socket
from contextlib import suppress

from tests.appliance import Appliance
from tests.waiting import wait_until

HOST = b"Host: localhost\r\n"
CLOSE = b"Connection: close\r\n"
PATHS = [b"/", b"/search", b"/xmlfeed", b"/xmlgroups", b"/api/v1/feeds", b"/api/v1/documents", b"/getdtd", b"/readyz", b"/signin", b"/push"]
METHODS = [
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"TRACE",
    b"PATCH",
    b"CONNECT",
    b"PROPFIND",
    b"NOPE",
    b"G\0T",
    b"get",
    b"",
]
MULTIPART = b"Content-Type: multipart/form-data; boundary=x\r\n"
HEADERS = [
    b"",
    b"Content-Length: -1\r\n",
    b"Content-Length: 1\r\nContent-Length: 2\r\n",
    b"Content-Length: 99999999999999999999999\r\n",
    b"Content-Length: 0x10\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Expect: 100-continue\r\nContent-Length: 3\r\n",
    b"Expect: a wonder\r\nContent-Length: 3\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
    b"Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
    b"Content-Encoding: gzip\r\nContent-Length: 3\r\n" + MULTIPART,
    b"Authorization: Basic \xff\xfe\r\nCookie: \0\r\n",
    b"Authorization: Basic !!!!\r\nCookie: =;=;\xff=\xff\r\nRange: bytes=-1-5\r\n",
    b"Authorization: Bearer \xe4\r\nAccept-Encoding: \xff\r\nIf-Modified-Since: never\r\nRange: bytes=9-1\r\n",
    b"Origin: http://[\r\nReferer: \xff\r\nAccept-Language: \xff;q=x\r\nX-Forwarded-For: \xff, [\r\n",
    b"X-Long: " + b"a" * 100_000 + b"\r\n",
    b"X-Null: a\0b\r\n",
    b" folded: x\r\n\tmore\r\n",
    b"no colon\r\n",
    MULTIPART + b"Transfer-Encoding: chunked\r\n",
]
BODIES = [
    b"",
    b"abc",
    b"0\r\n\r\n",
    b"5\r\nab",
    b"zz\r\n",
    b"-1\r\n\r\n",
    b"5\r\nabcde\r\n0\r\n\r\n",
    b"--x--\r\n",
    b"ffffffffffffffffff\r\n",
    b"\0" * 50,
]
QUERIES = [
    b"",
    b"?q=%00",
    b"?q=%ff%fe",
    b"?" + b"&" * 2_000,
    b"?q=" + b"(" * 300,
    b"?start=-1&num=1e9",
    b"?url=http://[&site=%00&client=%ff",
    b"?q=\\",
]
WHOLE = [
    b"",
    b"\r\n" * 200,
    b"\0" * 300,
    b"GET /\r\n\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1.1\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 300,
    b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http:///x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET //localhost/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%00%0d%0aX:%20y HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/..%2f..%2f..%2fetc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20,
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /xmlfeed HTTP/1.1\r\nHost: [\r\n\r\n",
    b"GET /getdtd/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD /getdtd HTTP/1.0\r\n\r\n",
    b"POST /getdtd HTTP/1.0\r\n\r\n",
]
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
SEED = 7
SERVER_ERRORS = (b"500", b"501", b"502", b"504", b"505")


class OpenRequest:
    """A request that was sent, and what has been answered so far."""

    def __init__(self, name: str, port: int, request: bytes) -> None:
        self.name, self.request, self.answer = name, request, b""
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        with suppress(ConnectionError):
            self._connection.sendall(request)
        self._connection.setblocking(False)

    def is_over(self) -> bool:
        """Whether the server has ended the connection."""
        try:
            while piece := self._connection.recv(65_536):
                self.answer += piece
        except BlockingIOError:
            return False
        except ConnectionError:
            pass
        self._connection.close()
        return True

    def check(self) -> None:
        wrong = [status for status in STATUS.findall(self.answer) if status in SERVER_ERRORS]
        assert not wrong, (self.name, self.request[:300], self.answer[:300])


def make_requests(seed: int, count: int) -> list[bytes]:
    dice = random.Random(seed)
    made = []
    for _ in range(count):
        line = dice.choice(METHODS) + b" " + dice.choice(PATHS) + dice.choice(QUERIES) + dice.choice([b" HTTP/1.1", b" HTTP/1.0"])
        request = line + b"\r\n" + HOST + CLOSE + dice.choice(HEADERS) + dice.choice(HEADERS) + b"\r\n" + dice.choice(BODIES)
        if dice.random() < 0.3:
            place = dice.randrange(len(request))
            request = request[:place] + bytes([dice.randrange(256)]) + request[place + 1 :]
        made.append(request)
    return made


def test_hostile_request_is_never_an_error_of_the_server_and_its_connection_ends(server: Appliance) -> None:
    ports = {"gate": server.gate, "dtd": server.dtd, "search": server.search_port, "admin": server.admin}
    logged = server.log.stat().st_size
    waiting = [OpenRequest(name, port, request) for name, port in ports.items() for request in (*WHOLE, *make_requests(SEED, 200))]

    def all_ended() -> bool:
        over = [open_request for open_request in waiting if open_request.is_over()]
        for open_request in over:
            open_request.check()
            waiting.remove(open_request)
        return not waiting

    wait_until(all_ended, lambda: f"the end of {[(each.name, each.request[:200]) for each in waiting[:3]]}")
    for port in ports.values():
        assert server.request("GET", port, "/readyz")[0] == 200
    with server.log.open() as log:
        log.seek(logged)
        assert "Exception in ASGI application" not in log.read()
