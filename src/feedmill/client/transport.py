"""Speaks to a running server over HTTP: pushes a feed as a stream and reads JSON resources.

A push is one multipart request with a known length. The file is read in pieces, so its size does not matter. A server that rejects a
request before reading all of it closes the connection; its response is still read.
"""

import http.client
import json
import secrets
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from feedmill.model.errors import BadRequest, Busy, Conflict, Denied, FeedmillError, NotFound, Unreachable

PIECE_BYTES = 1 << 20
ANSWER_BYTES = 64 << 20
ANSWER_SECONDS = 120.0
FEED_PORT = 19900
"""The port of feeds by default. Source: docs/reference/settings.md."""
_ERRORS: dict[int, type[FeedmillError]] = {401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 503: Busy}
Progress = Callable[[int], None]
"""Receives the number of bytes sent so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response of a server."""

    status: int
    feed_id: str | None
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """A server by its base URL, which may hold a user and a password or token: ``http://user:token@host:port``.

    ``token`` is sent as Bearer and wins over those; ``user`` and ``password`` stand for those in the URL. ``certificate`` is a PEM file
    whose first certificate is the server's own. With it, no other certificate is accepted, and the name in it does not matter.

    Example::

        server = Transport(base_url="http://127.0.0.1:19900")
        receipts = server.get_json("/api/v1/feeds", {"limit": "5"})
    """

    base_url: str
    token: str = ""
    certificate: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def shown_url(self) -> str:
        """The base URL as messages show it, without user and password."""
        scheme, found, rest = self.base_url.rpartition("://")
        authority, slash, path = rest.partition("/")
        return scheme + found + authority.rpartition("@")[2] + slash + path

    def push(self, path: str, fields: Mapping[str, str], file: Path, on_progress: Progress) -> str | None:
        """Posts a feed and returns its id, or None if the server returns none.

        Errors: Denied, Busy, BadRequest with its answer; NotFound if the address is not that of a feed port.
        """
        answer = self.post_file(path, fields, file, on_progress)
        text = answer.body.decode("utf-8", "replace").strip()
        if text.lower() != "success":
            if answer.status in (404, 405):
                raise NotFound(f"{self.shown_url} accepts no feeds; give the address of the feed port, which is {FEED_PORT} by default")
            kind = Denied if "Unauthorized" in text else _ERRORS.get(answer.status, BadRequest)
            raise kind(f"the server refused the feed with status {answer.status}: {text[:1000] or 'no text'}")
        return answer.feed_id

    def post_file(self, path: str, fields: Mapping[str, str], file: Path, on_progress: Progress = lambda _: None) -> Response:
        """Posts a form whose last field, ``data``, is a file, and returns the response. Errors: Busy, BadRequest."""
        boundary = f"feedmill-{secrets.token_hex(16)}"
        head, tail = _frame(boundary, fields)
        with file.open("rb") as stream:
            size_bytes = file.stat().st_size
            headers = {
                "Content-Type": f"multipart/form-data; boundary={boundary}",
                "Content-Length": str(len(head) + size_bytes + len(tail)),
            }
            return self._request("POST", path, headers, _iter_body(head, stream, size_bytes, tail, on_progress))

    def get_json(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Reads a resource. Errors: NotFound, Denied, Busy, BadRequest."""
        return self._ask_json("GET", path, parameters)

    def get_bytes(self, path: str) -> bytes:
        """Reads a resource as it is. Errors: as ``get_json``."""
        answer = self._request("GET", path, {}, None)
        if not 200 <= answer.status < 300:
            raise _ERRORS.get(answer.status, BadRequest)(_explain(answer))
        return answer.body

    def post_json(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Posts a request without a body. Errors: as ``get_json``."""
        return self._ask_json("POST", path, parameters)

    def send_json(self, method: str, path: str, body: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Any:
        """Sends JSON. Errors: as ``get_json``."""
        return self._ask_json(method, path, parameters, json.dumps(body).encode())

    def stream_lines(self, path: str, parameters: Mapping[str, Any], lines: Iterator[bytes]) -> Any:
        """Posts JSON lines of any number and size as they come. Errors: as ``get_json``."""
        headers = {"Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}
        return self._read_json(self._request("POST", path + _make_query(parameters), headers, lines))

    def delete(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Deletes a resource. Returns what the server answers. Errors: as ``get_json``."""
        return self._ask_json("DELETE", path, parameters)

    def _ask_json(self, method: str, path: str, parameters: Mapping[str, Any] | None, body: bytes | None = None) -> Any:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} if body is not None else {}
        return self._read_json(self._request(method, path + _make_query(parameters), headers, iter([body]) if body is not None else None))

    def _read_json(self, answer: Response) -> Any:
        if not 200 <= answer.status < 300:
            raise _ERRORS.get(answer.status, BadRequest)(_explain(answer))
        try:
            return json.loads(answer.body) if answer.body else None
        except ValueError as exc:
            raise BadRequest(f"{self.shown_url} answers no JSON; is it a feedmill server") from exc

    def _request(self, method: str, path: str, headers: Mapping[str, str], body: Iterator[bytes] | None) -> Response:
        connection, prefix = self._connect()
        authorization = self._authorize()
        if authorization:
            headers = {**headers, "Authorization": authorization}
        try:
            try:
                connection.request(method, prefix + path, body, dict(headers), encode_chunked="Transfer-Encoding" in headers)
            # The server may refuse a feed before it has read all of it. Its response is still there to be read.
            except (BrokenPipeError, ConnectionResetError):
                if body is None:
                    raise
            response = connection.getresponse()
            content = response.read(ANSWER_BYTES)
            return Response(status=response.status, feed_id=response.headers.get("X-Feedmill-Feed"), body=content)
        except (OSError, http.client.HTTPException) as exc:
            raise Unreachable(_explain_silence(self.shown_url, exc)) from exc
        except ValueError as exc:
            raise BadRequest(f"the request cannot be sent, as its token or path holds characters that HTTP does not allow: {exc}") from exc
        finally:
            connection.close()

    def _connect(self) -> tuple[http.client.HTTPConnection, str]:
        try:
            parts = self._split_url()
            host, port = parts.hostname, parts.port
        except ValueError as exc:
            raise BadRequest(f"'{self.shown_url}' is no address of a server: {exc}") from exc
        if not host or parts.scheme not in ("http", "https"):
            raise BadRequest(f"'{self.shown_url}' is no address of a server; give http://HOST:PORT")
        prefix = parts.path.rstrip("/")
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS), prefix
        return http.client.HTTPSConnection(host, port, timeout=ANSWER_SECONDS, context=self._trust()), prefix

    def _split_url(self) -> SplitResult:
        return urlsplit(self.base_url if "://" in self.base_url else f"http://{self.base_url}")

    def _authorize(self) -> str:
        """Returns the Authorization header of requests, or "" for none."""
        if self.token:
            return f"Bearer {self.token}"
        parts = self._split_url()
        if self.user:
            pair = f"{self.user}:{self.password}"
        elif parts.password is None:
            return ""
        else:
            pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        return "Basic " + b64encode(pair.encode()).decode("ascii")

    def _trust(self) -> ssl.SSLContext:
        if not self.certificate:
            return ssl.create_default_context()
        # Only this one certificate is accepted, so neither its issuer nor the name in it matters: the server may be reached by a local
        # address that is not in the certificate.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=_read_certificate(self.certificate))
        except OSError as exc:
            raise BadRequest(f"no certificate can be read from '{self.certificate}': {exc}") from exc
        return context


def _read_certificate(path: str) -> str:
    """Returns the first certificate in a PEM file, which is that of the server; those of its issuers follow it."""
    head, end, _ = Path(path).read_text("ascii", "ignore").partition("-----END CERTIFICATE-----")
    return head[head.find("-----BEGIN CERTIFICATE-----") :] + end + "\n"


def quote_name(name: str) -> str:
    """Writes a name as one part of a path."""
    return quote(name, safe="")


def _make_query(parameters: Mapping[str, Any] | None) -> str:
    return "?" + urlencode(parameters, doseq=True, errors="replace") if parameters else ""


def _frame(boundary: str, fields: Mapping[str, str]) -> tuple[bytes, bytes]:
    """Returns the parts before and after the file in a multipart body."""
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: text/xml\r\n\r\n')
    return "".join(parts).encode(), f"\r\n--{boundary}--\r\n".encode()


def _iter_body(head: bytes, stream: BinaryIO, size_bytes: int, tail: bytes, on_progress: Progress) -> Iterator[bytes]:
    """Yields exactly the announced number of bytes. A file that changes meanwhile is an error. Errors: BadRequest."""
    yield head
    sent = 0
    while sent < size_bytes:
        piece = stream.read(min(PIECE_BYTES, size_bytes - sent))
        if not piece:
            raise BadRequest("the file became shorter while it was being sent")
        yield piece
        sent += len(piece)
        on_progress(sent)
    yield tail


def _explain_silence(url: str, exc: Exception) -> str:
    """Returns why no response came, and what to do."""
    if isinstance(exc, ConnectionRefusedError):
        return f"no server answers at {url}; is 'feedmill serve' running, and is this the port?"
    if isinstance(exc, socket.gaierror):
        return f"no server answers at {url}: its name is unknown ({exc.strerror})"
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"no answer from {url}: its certificate is not trusted ({exc.verify_message})"
    if isinstance(exc, ssl.SSLError):
        return f"no answer from {url}: TLS failed ({exc.reason or exc}); a port without TLS wants http:// in place of https://"
    if isinstance(exc, TimeoutError):
        return f"no answer from {url} within {ANSWER_SECONDS:g} seconds"
    if isinstance(exc, http.client.BadStatusLine) and not url.startswith("https://"):
        return f"no answer from {url}: the connection was closed; a port with TLS wants https:// in place of http://"
    return f"no answer from {url}: {exc or type(exc).__name__}"


def _explain(response: Response) -> str:
    try:
        return str(json.loads(response.body)["detail"])
    except (ValueError, KeyError, TypeError):
        text = response.body.decode("utf-8", "replace").strip()
        return f"the server answered {response.status}: {text[:1000] or 'no text'}"
