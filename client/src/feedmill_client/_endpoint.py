"""One port of a server: sends requests over its connections, again where that is safe, and makes typed errors of what it answers."""

import json
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import h11

from feedmill_client._addresses import Address, find_next, make_query
from feedmill_client._bodies import FormBody, JsonBody, OnProgress, ignore_progress
from feedmill_client._exchange import CallerFailure, Line, Request, Response, Silence, converse, open_tunnel
from feedmill_client._flows import Connection, Flow, Open, Secure, Sleep, perform
from feedmill_client._retrying import FAILED, REFUSED, choose_pause, read_retry_after
from feedmill_client.answers import Problem
from feedmill_client.decoding import decode
from feedmill_client.errors import (
    BadAnswer,
    BadRequest,
    Busy,
    Conflict,
    Denied,
    DiskFull,
    FeedmillError,
    NotFound,
    Overtaken,
    ServerFault,
    TooLarge,
    Unreachable,
)
from feedmill_client.options import Options

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")

FEED_PORT: Final = 19900
"""The port of feeds by default. Source: docs/reference/settings.md."""
IDLE_SECONDS: Final = 15.0
"""A connection that was idle for longer is not used again. The server closes it after 20 seconds."""
MAX_IDLE: Final = 8
PATIENCE_SECONDS: Final = 660.0
"""A server answers deletions and dataloads when they are done; of a data source within ten minutes. Source: docs/reference/feed-port.md."""
SHOWN_CHARACTERS: Final = 1_000
WANTS_PROOF: Final = 407
"""A proxy wants a user and a password. Source: RFC 9110, 15.5.8."""
_ERRORS: Final[dict[int, type[FeedmillError]]] = {
    401: Denied,
    403: Denied,
    407: Denied,
    404: NotFound,
    409: Conflict,
    412: Overtaken,
    413: TooLarge,
    429: Busy,
    502: Busy,
    503: Busy,
    504: Busy,
    507: DiskFull,
}
Parameters = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The clocks and the chance that a client uses. ``now`` is the time of day, which dates in responses are compared with."""

    clock: Callable[[], float]
    now: Callable[[], datetime]
    chance: Callable[[], float]


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """A port of a server. ``idle`` are its connections that wait for another request. ``proxy`` is None for a direct connection."""

    address: Address
    proxy: Address | None = None
    options: Options
    surroundings: Surroundings
    idle: deque[Line] = field(default_factory=deque)
    _context: "SSLContext | None" = None

    def close(self) -> None:
        """Closes all idle connections."""
        while (line := self._pop()) is not None:
            line.connection.close()

    # --- requests ---

    def ask(self, request: Request) -> Flow[Response]:
        """Returns the response to a request, whatever its status. It is sent again where that is safe. Errors: Unreachable, BadAnswer."""
        begun_at, attempt = self.surroundings.clock(), 1
        while True:
            failure: Unreachable | None = None
            retry_after: float | None = None
            if request.body is not None:
                request.body.begin()
            try:
                response = yield from self._try(request)
            except CallerFailure as exc:
                raise exc.error from None
            except Unreachable as error:
                failure = error
                may_repeat = not error.is_permanent and (request.is_repeatable or not error.was_sent)
            else:
                may_repeat = response.status in REFUSED or (request.is_repeatable and response.status in FAILED)
                retry_after = self._read_wait(response)
            finally:
                if request.body is not None:
                    request.body.end()
            pause = None
            if may_repeat and (request.body is None or request.body.can_begin()):
                spent = self.surroundings.clock() - begun_at
                pause = choose_pause(self.options.retries, attempt, spent, retry_after, self.surroundings.chance())
            if pause is None:
                if failure is not None:
                    raise failure
                return response
            yield from perform(Sleep(pause))
            attempt += 1

    def get_json(self, path: str, parameters: Parameters | None = None) -> Flow[Any]:
        """Reads a resource. Errors: NotFound, Denied, Busy, BadRequest."""
        response = yield from self.ask(Request(method="GET", path=path + make_query(parameters), is_repeatable=True))
        return self.read_json(response)

    def send_json(self, method: str, path: str, body: object, parameters: Parameters | None = None) -> Flow[Any]:
        """Sends JSON. Errors: as ``get_json``."""
        whole = path + make_query(parameters)
        response = yield from self.ask(Request(method=method, path=whole, body=JsonBody(body), is_repeatable=method == "PUT"))
        return self.read_json(response)

    def post_json(self, path: str, parameters: Parameters | None = None) -> Flow[Any]:
        """Posts a request without a body. Errors: as ``get_json``."""
        response = yield from self.ask(Request(method="POST", path=path + make_query(parameters)))
        return self.read_json(response)

    def delete(self, path: str, parameters: Parameters | None = None) -> Flow[Any]:
        """Deletes a resource. Returns what the server answers. Errors: as ``get_json``."""
        request = Request(method="DELETE", path=path + make_query(parameters), is_repeatable=True, patience_seconds=PATIENCE_SECONDS)
        response = yield from self.ask(request)
        return self.read_json(response)

    def read_page(self, path: str, query: str) -> Flow[tuple[Any, str]]:
        """Reads a page of a list. Returns its JSON, and the query of the next page, "" after the last one. Errors: as ``get_json``."""
        response = yield from self.ask(Request(method="GET", path=path + query, is_repeatable=True))
        answer = self.read_json(response)
        following = find_next(response.headers.get("link", ""), self.address)
        if following == query:
            raise BadAnswer(f"{self.address.shown} leads from a page of {path} to itself")
        return answer, following

    def get_bytes(self, path: str, *, accept: str = "*/*") -> Flow[bytes]:
        """Reads a resource as it is. Errors: as ``get_json``."""
        response = yield from self.ask(Request(method="GET", path=path, is_repeatable=True, accept=accept))
        self.check(response)
        return response.body

    def post_file(
        self,
        path: str,
        fields: Mapping[str, str],
        file: Path,
        on_progress: OnProgress = ignore_progress,
        *,
        patience_seconds: float = 0.0,
    ) -> Flow[Response]:
        """Posts a form whose last field, ``data``, is a file, and returns the response. Errors: Unreachable."""
        body = FormBody(fields, file, on_progress)
        return (yield from self.ask(Request(method="POST", path=path, body=body, accept="*/*", patience_seconds=patience_seconds)))

    def push(self, path: str, fields: Mapping[str, str], file: Path, on_progress: OnProgress = ignore_progress) -> Flow[str | None]:
        """Posts a feed and returns its id, or None if the server returns none.

        Errors: Denied, Busy, BadRequest with its answer; NotFound if the address is not that of a feed port.
        """
        response = yield from self.post_file(path, fields, file, on_progress)
        text = response.body.decode("utf-8", "replace").strip()
        if text.lower() == "success":
            return response.headers.get("x-feedmill-feed")
        # the feed port answers in plain text, so a problem in JSON is that of another port, which wants its own token first
        if response.status in (404, 405) or (response.status in (401, 403) and read_problem(response) is not None):
            raise NotFound(f"{self.address.shown} accepts no feeds; give the address of the feed port, which is {FEED_PORT} by default")
        kind = Denied if "Unauthorized" in text else _find_error(response.status)
        raise self._make_error(kind, response, f"{self.address.shown} refused the feed with status {response.status}: {shorten(text)}")

    # --- responses ---

    def read_json(self, response: Response) -> Any:
        """Returns the JSON of a response, None if it is empty. Errors: by its status; BadAnswer."""
        self.check(response)
        try:
            return json.loads(response.body) if response.body else None
        except (ValueError, RecursionError) as exc:
            raise BadAnswer(f"{self.address.shown} answers no JSON; is it a feedmill server") from exc

    def read(self, kind: type[T], answer: object) -> T:
        """Returns an answer in its type. Errors: BadAnswer."""
        try:
            return decode(kind, answer)
        except BadAnswer as exc:
            raise BadAnswer(f"{self.address.shown} does not answer as documented: {exc}") from exc

    def read_list(self, kind: type[T], answer: object) -> list[T]:
        """Returns a list of answers. Errors: BadAnswer."""
        if not isinstance(answer, list):
            raise BadAnswer(f"{self.address.shown} does not answer as documented; is it this port of a feedmill server")
        return [self.read(kind, each) for each in answer]

    def check(self, response: Response) -> None:
        """Raises the error of a response that is no success."""
        if 300 <= response.status < 400:
            where = response.headers.get("location", "")[:SHOWN_CHARACTERS]
            raise self._make_error(BadAnswer, response, f"{self.address.shown} redirects to {where!a}; give that address")
        if response.status == WANTS_PROOF and self.proxy is not None:
            raise self._make_error(Denied, response, _explain_proof(self.proxy))
        if not response.is_success:
            raise self._make_error(_find_error(response.status), response, "")

    def _make_error(self, kind: type[FeedmillError], response: Response, text: str) -> FeedmillError:
        """Returns an error with what a response says. Without ``text`` its text is the detail of the problem."""
        problem, request_id = read_problem(response), response.headers.get("x-request-id")
        said = f"{self.address.shown} answered {response.status}: {shorten(response.body.decode('utf-8', 'replace').strip())}"
        shown = text or (shorten(problem.detail) if problem is not None else said)
        if issubclass(kind, ServerFault) and request_id:
            shown += f"; the log of the server has more, by the request_id {request_id[:SHOWN_CHARACTERS]}"
        return kind(
            shown,
            status=response.status,
            problem=problem,
            request_id=request_id,
            retry_after_seconds=self._read_wait(response),
        )

    def _read_wait(self, response: Response) -> float | None:
        return read_retry_after(response.headers.get("retry-after", ""), self.surroundings.now())

    # --- connections ---

    def _try(self, request: Request) -> Flow[Response]:
        """Sends a request once. Errors: Unreachable, BadAnswer, BadRequest, CallerFailure.

        The server may close an idle connection at any time. So one is used only for what may be repeated, and its end is no failure.
        """
        idle = self._take() if request.is_repeatable else None
        if idle is not None:
            try:
                return (yield from self._send(request, idle))
            except (ConnectionError, h11.RemoteProtocolError):
                if request.body is not None:
                    request.body.begin()
            except OSError as exc:
                raise self._explain_silence(exc, was_sent=True) from exc
        line: Line | None = None
        try:
            line = yield from self._open()
            return (yield from self._send(request, line))
        except (OSError, h11.RemoteProtocolError) as exc:
            raise self._explain_silence(exc, was_sent=line is not None) from exc

    def _send(self, request: Request, line: Line) -> Flow[Response]:
        """Sends a request over a connection.

        Errors: OSError, h11.RemoteProtocolError, CallerFailure, Unreachable, BadAnswer, BadRequest.
        """
        is_done = False
        try:
            response = yield from converse(line, self.address, request, self.options, self.surroundings.clock)
            is_done = True
            return response
        except (h11.LocalProtocolError, UnicodeError) as exc:
            raise BadRequest(f"the request cannot be sent, as its token or path holds characters that HTTP does not allow: {exc}") from exc
        except Silence as exc:
            raise Unreachable(f"no answer from {self.address.shown}: {exc}") from exc
        except BadAnswer as exc:
            raise BadAnswer(f"{self.address.shown} answers too much: {exc}") from exc
        finally:
            if is_done:
                self._keep(line)
            else:
                line.connection.close()

    def _take(self) -> Line | None:
        """Returns an idle connection that the server has not closed, None if there is none."""
        while (line := self._pop()) is not None:
            try:
                is_old = self.surroundings.clock() - line.idle_since > IDLE_SECONDS
                if not is_old and not line.connection.has_incoming():
                    return line
            except OSError:
                pass
            line.connection.close()
        return None

    def _pop(self) -> Line | None:
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def _keep(self, line: Line) -> None:
        if len(self.idle) < MAX_IDLE and line.try_reuse():
            line.idle_since = self.surroundings.clock()
            self.idle.append(line)
        else:
            line.connection.close()

    def _open(self) -> Flow[Line]:
        proxy, context = self.proxy, self._find_context() if self.address.is_tls else None
        first, seconds = proxy or self.address, self.options.timeouts.connect_seconds
        try:
            connection = yield from perform(Open(first.host, first.port, context if proxy is None else None, seconds))
        except OSError:
            # a certificate that is not trusted is a ValueError too
            raise
        except ValueError as exc:
            # a name with an empty or a long label, or with characters that no name has
            raise BadRequest(f"'{first.shown}' is no address of a {'server' if proxy is None else 'proxy'}: {exc}") from exc
        if proxy is None or context is None:
            return Line(connection, proxy=proxy)
        is_open = False
        try:
            yield from self._open_tunnel(connection, proxy)
            yield from perform(Secure(connection, self.address.host, context, seconds))
            is_open = True
        finally:
            if not is_open:
                connection.close()
        return Line(connection)

    def _open_tunnel(self, connection: Connection, proxy: Address) -> Flow[None]:
        """Errors: OSError, h11.RemoteProtocolError; Denied, Unreachable for a proxy that refuses; BadRequest."""
        try:
            status = yield from open_tunnel(connection, self.address, proxy, self.options, self.surroundings.clock)
        except (h11.LocalProtocolError, UnicodeError) as exc:
            raise BadRequest(f"the proxy cannot be asked, as the user agent holds characters that HTTP does not allow: {exc}") from exc
        except BadAnswer as exc:
            raise Unreachable(f"no answer from {self.address.shown} through the proxy {proxy.shown}: {exc}", was_sent=False) from exc
        if status == WANTS_PROOF:
            raise Denied(_explain_proof(proxy), status=status)
        if not 200 <= status < 300:
            text = f"no answer from {self.address.shown}: the proxy {proxy.shown} refuses to connect to it with status {status}"
            raise Unreachable(text, was_sent=False, is_permanent=status < 500)

    def _find_context(self) -> "SSLContext":
        if self._context is None:
            # slow to load, and not needed without TLS
            from feedmill_client._trust import make_context

            self._context = self.options.context or make_context(self.options.certificate, self.options.ca_file)
        return self._context

    def _explain_silence(self, exc: Exception, *, was_sent: bool) -> Unreachable:
        """Returns why no response came, and what to do."""
        url = self.address.shown
        if self.proxy is not None:
            url += f" through the proxy {self.proxy.shown}"
        if isinstance(exc, ConnectionRefusedError):
            hint = "is 'feedmill serve' running, and is this the port?" if self.proxy is None else "is the proxy running?"
            return Unreachable(f"no server answers at {url}; {hint}", was_sent=False)
        if isinstance(exc, socket.gaierror):
            whose = "its name" if self.proxy is None else "the name of the proxy"
            text = f"no server answers at {url}: {whose} is unknown ({exc.strerror})"
            return Unreachable(text, was_sent=False, is_permanent=exc.errno != socket.EAI_AGAIN)
        if type(exc).__name__ == "SSLCertVerificationError":
            reason = getattr(exc, "verify_message", exc)
            return Unreachable(f"no answer from {url}: its certificate is not trusted ({reason})", was_sent=False, is_permanent=True)
        if type(exc).__name__.startswith("SSL"):
            reason = getattr(exc, "reason", None) or exc
            text = f"no answer from {url}: TLS failed ({reason}); a port without TLS wants http:// in place of https://"
            return Unreachable(text, was_sent=was_sent, is_permanent=True)
        if isinstance(exc, TimeoutError):
            seconds = self.options.timeouts.silence_seconds if was_sent else self.options.timeouts.connect_seconds
            return Unreachable(f"no answer from {url} within {seconds:g} seconds", was_sent=was_sent)
        is_closed = isinstance(exc, (h11.RemoteProtocolError, ConnectionError))
        if is_closed and not self.address.is_tls:
            text = f"no answer from {url}: the connection was closed; a port with TLS wants https:// in place of http://"
            return Unreachable(text, was_sent=was_sent)
        return Unreachable(f"no answer from {url}: {exc or type(exc).__name__}", was_sent=was_sent)


def read_problem(response: Response) -> Problem | None:
    """Returns what a response says in the shape of RFC 9457, None if it says nothing so."""
    try:
        given = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or "detail" not in given:
        return None
    texts = {name: str(given.get(name, "")) for name in ("type", "title", "detail", "code")}
    request_id = given.get("request_id")
    return Problem(status=response.status, **texts, request_id=None if request_id is None else str(request_id))


def _explain_proof(proxy: Address) -> str:
    return f"the proxy {proxy.shown} wants a user and a password; write them into its address, as http://USER:PASSWORD@HOST:PORT"


def shorten(text: str) -> str:
    """Returns the beginning of what a server said."""
    return text[:SHOWN_CHARACTERS] or "no text"


def _find_error(status: int) -> type[FeedmillError]:
    return _ERRORS.get(status, ServerFault if status >= 500 else BadRequest)
