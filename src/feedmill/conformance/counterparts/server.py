"""The HTTP side of a counterpart: reads requests, records them, applies the rules of the script, and writes answers.

``GET /conformance/requests`` lists the recorded requests as JSON, ``DELETE`` of the same path forgets them.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from feedmill.adapters.threadedserver import IDLE_SECONDS, ThreadedServer, serving_in_threads
from feedmill.conformance.counterparts.script import Rule, Script

RECORDS_PATH: Final = "/conformance/requests"
MAX_BODY_BYTES: Final = 1 << 28
MAX_RECORDS: Final = 1_000
_LINE_BYTES: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a counterpart. Shape: the names of headers are in lower case; a header that came twice has both values, with a comma."""

    number: int
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of a counterpart. ``note`` is recorded with the request. A status of 0 closes the connection."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)
    note: Mapping[str, Any] = field(default_factory=dict)


class Counterpart(Protocol):
    """What a server does."""

    @property
    def server_header(self) -> str:
        """The value of the header ``Server``."""

    def answer(self, request: Request) -> Answer:
        """Returns the usual answer to a request."""


class _TooLarge(Exception):
    """The body of a request is beyond the limit."""


class RuleBook:
    """The rules of a script, and how often each was used. Several threads may use it."""

    def __init__(self, script: Script, folder: Path) -> None:
        self._rules = [_CountedRule(rule) for rule in script.answers]
        self._folder = folder
        self._lock = threading.Lock()

    def find_rule(self, request: Request) -> Rule | None:
        """Returns the rule for a request, and counts its use."""
        with self._lock:
            return next((counted.rule for counted in self._rules if counted.takes(request)), None)

    def make_answer(self, rule: Rule) -> Answer:
        """Returns the answer of a rule that has one. Errors: OSError where its file cannot be read."""
        body = (self._folder / rule.file).read_bytes() if rule.file else (rule.body or "").encode()
        return Answer(status=rule.status or 200, headers=tuple(rule.headers.items()), body=body)


@dataclass(slots=True)
class _CountedRule:
    rule: Rule
    matched: int = 0

    def takes(self, request: Request) -> bool:
        rule = self.rule
        if not _matches(rule, request):
            return False
        is_used_up = rule.times and self.matched >= rule.skip + rule.times
        if is_used_up:
            return False
        self.matched += 1
        return self.matched > rule.skip


def _matches(rule: Rule, request: Request) -> bool:
    if rule.method and rule.method.upper() != request.method:
        return False
    if any(request.query.get(name) != value for name, value in rule.query.items()):
        return False
    if rule.path.endswith("*"):
        return request.path.startswith(rule.path[:-1])
    return request.path == rule.path


class CounterpartServer(ThreadedServer):
    """Serves a counterpart. Errors of the constructor: OSError where the port cannot be used."""

    def __init__(self, address: tuple[str, int], counterpart: Counterpart, rules: RuleBook) -> None:
        self.counterpart = counterpart
        self.rules = rules
        self._records: deque[dict[str, Any]] = deque(maxlen=MAX_RECORDS)
        self._count = 0
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    @property
    def url(self) -> str:
        """The URL of the server."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def count_request(self) -> int:
        """Returns the number of the next request."""
        with self._lock:
            self._count += 1
            return self._count

    def record(self, entry: dict[str, Any]) -> None:
        """Records a request."""
        with self._lock:
            self._records.append(entry)

    def list_records(self) -> list[dict[str, Any]]:
        """Returns the recorded requests, oldest first."""
        with self._lock:
            return sorted(self._records, key=lambda entry: entry["number"])

    def forget_records(self) -> None:
        """Removes the recorded requests."""
        with self._lock:
            self._records.clear()


@contextmanager
def serving(
    counterpart: Counterpart, script: Script, *, folder: Path, port: int = 0, bind: str = "127.0.0.1"
) -> Iterator[CounterpartServer]:
    """Serves a counterpart in threads until the context ends. Errors: OSError."""
    server = CounterpartServer((bind, port), counterpart, RuleBook(script, folder))
    with serving_in_threads(server):
        yield server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: CounterpartServer

    def _handle(self) -> None:
        try:
            body = self._read_body()
        except (ValueError, OSError):
            self.close_connection = True
            return
        except _TooLarge:
            self.close_connection = True
            self._write(Answer(status=413, body=f"a body has at most {MAX_BODY_BYTES} bytes".encode()))
            return
        parts = urlsplit(self.path)
        if parts.path == RECORDS_PATH:
            self._write(self._answer_records())
            return
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
        request = Request(number=self.server.count_request(), method=self.command, path=parts.path, query=query, headers=headers, body=body)
        self._answer(request)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815  the names are those of the standard library

    def _answer(self, request: Request) -> None:
        rule = self.server.rules.find_rule(request)
        if rule is not None:
            time.sleep(rule.delay_seconds)
        try:
            replaced = rule is not None and rule.replaces_answer
            answer = self.server.rules.make_answer(rule) if rule is not None and replaced else self.server.counterpart.answer(request)
        except OSError as exc:
            answer = Answer(status=500, body=f"the script names a file that cannot be read: {exc}".encode())
        fault = rule.fault if rule is not None else ""
        shown = {"number": request.number, "method": request.method, "path": request.path, "query": dict(request.query)}
        status = 0 if fault == "close" else answer.status
        entry = {**shown, "headers": dict(request.headers), "size_bytes": len(request.body), "status": status, "fault": fault}
        self.server.record({**entry, **answer.note})
        if fault == "close" or not answer.status:
            self.close_connection = True
            return
        self._write(answer, is_cut=fault == "cut")

    def _answer_records(self) -> Answer:
        if self.command == "DELETE":
            self.server.forget_records()
            return Answer(status=204)
        body = json.dumps(self.server.list_records()).encode()
        return Answer(headers=(("Content-Type", "application/json"),), body=body)

    def _read_body(self) -> bytes:
        """Reads the body. Errors: ValueError for one that is framed wrongly or ends early, _TooLarge, OSError."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunks()
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY_BYTES:
            raise _TooLarge
        return self._read(size)

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            size = int(self.rfile.readline(_LINE_BYTES).partition(b";")[0], 16)
            if len(body) + size > MAX_BODY_BYTES:
                raise _TooLarge
            if size == 0:
                break
            body += self._read(size)
            self.rfile.readline(_LINE_BYTES)
        # fields behind the last chunk, up to an empty line
        while self.rfile.readline(_LINE_BYTES).strip():
            continue
        return bytes(body)

    def _read(self, size: int) -> bytes:
        if size < 0:
            raise ValueError("a length is negative")
        body = self.rfile.read(size)
        if len(body) < size:
            raise ValueError("the body ends early")
        return body

    def _write(self, answer: Answer, *, is_cut: bool = False) -> None:
        self.send_response(answer.status)
        names = {name.lower() for name, _ in answer.headers}
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.status not in (204, 304) and "content-length" not in names:
            self.send_header("Content-Length", str(len(answer.body)))
        if "content-type" not in names and answer.body:
            self.send_header("Content-Type", "text/plain")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(answer.body[: len(answer.body) // 2] if is_cut else answer.body)
        if is_cut:
            self.close_connection = True

    def version_string(self) -> str:
        return self.server.counterpart.server_header

    def log_message(self, *_: object) -> None:
        return
