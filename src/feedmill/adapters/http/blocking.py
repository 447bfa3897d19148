"""The synchronous side of the client, for callers in threads. Each connection runs its own event loop in the thread that uses it."""

import asyncio
import ssl
from collections.abc import Mapping

from feedmill.adapters.http.client import AsyncHttpClient, ClientOptions, FetchedResponse
from feedmill.adapters.http.connection import AsyncConnection
from feedmill.ports.http import HttpConnection, HttpRequest, HttpResponse, ServerAddress


class BlockingHttpClient:
    """Implements ``ports.http.HttpClient``, and fetches URLs. Several threads may use it.

    Example::

        client = BlockingHttpClient(ClientOptions(allows_private=allow_all))
        fetched = client.fetch("GET", "https://id.example.com/keys", max_bytes=100_000, seconds=5.0)
    """

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()
        self._client = AsyncHttpClient(self._options)

    def open(self, server: ServerAddress) -> HttpConnection:
        """Returns a connection to a server, without connecting yet."""
        return BlockingConnection(server, self._options)

    def fetch(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"", max_bytes: int, seconds: float
    ) -> FetchedResponse:
        """Returns the response for a URL. Errors: BadRequest for a URL that is none; UpstreamFailure."""
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(self._client.fetch(method, url, headers=headers, body=body, max_bytes=max_bytes, seconds=seconds))


class BlockingConnection:
    """A connection to one server, opened on first use. Only one thread may use it at a time."""

    def __init__(self, server: ServerAddress, options: ClientOptions) -> None:
        self._connection = AsyncConnection(server, lookup=options.lookup, context=options.context)
        self._runner: asyncio.Runner | None = None

    def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """Sends a request and waits for its response. Errors: UpstreamFailure."""
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        return self._runner.run(self._connection.send(request, seconds))

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
        if self._runner is not None:
            self._runner.close()
            self._runner = None


def make_unverified_context() -> ssl.SSLContext:
    """Returns a context that accepts any certificate, for a check of this machine's own ports."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
