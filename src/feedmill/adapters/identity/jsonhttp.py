"""Asks a provider for JSON over HTTP: bounded, timed as a whole, following nothing.

Only ``https`` is spoken, but for this machine itself, since secrets and keys travel. A proxy that the environment names is used.
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from feedmill.adapters.identity.watching import Watch
from feedmill.core.urls.networks import LOOPBACK
from feedmill.model.errors import BadRequest, Busy, Denied

MAX_BYTES = 4_000_000


class JsonClient:
    """A client of one provider. May be used from several threads. Units: seconds."""

    def __init__(self, *, ca_file: str = "", timeout_seconds: float = 5.0) -> None:
        self._timeout_seconds = timeout_seconds
        self._context = ssl.create_default_context(cafile=ca_file or None)

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Gets an object. Errors: Busy, Denied for a 4xx."""
        return self._ask(urllib.request.Request(check_safe_url(url), headers=dict(headers or {})))  # noqa: S310 - checked

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Posts a form. Errors: as ``get``."""
        body = urlencode(form).encode()
        return self._ask(urllib.request.Request(check_safe_url(url), data=body, headers=dict(headers or {})))  # noqa: S310 - checked

    def _ask(self, request: urllib.request.Request) -> dict[str, Any]:
        request.add_header("Accept", "application/json")
        place = f"{request.type}://{request.host}"
        with Watch(self._timeout_seconds) as watch:
            try:
                raw = self._read(request, watch, place)
            except (OSError, HTTPException, ValueError) as exc:
                reason = f"it takes more than {self._timeout_seconds:g} seconds" if watch.is_over else str(exc)
                raise Busy(f"no answer from {place}: {reason}") from exc
            if watch.is_over:
                raise Busy(f"no answer from {place}: it takes more than {self._timeout_seconds:g} seconds")
        if len(raw) > MAX_BYTES:
            raise Busy(f"{place} answers with more than {MAX_BYTES} bytes")
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError) as exc:
            raise Busy(f"{place} answers no JSON") from exc
        if not isinstance(answer, dict):
            raise Busy(f"{place} answers no JSON object")
        return answer

    def _read(self, request: urllib.request.Request, watch: Watch, place: str) -> bytes:
        opener = urllib.request.build_opener(_NoRedirect, _Http(watch), _Https(watch, self._context))
        try:
            with opener.open(request, timeout=self._timeout_seconds) as response:
                raw: bytes = response.read(MAX_BYTES + 1)
                return raw
        except urllib.error.HTTPError as exc:
            with exc:
                text = exc.read(500).decode("utf-8", "replace")
            kind = Denied if 400 <= exc.code < 500 else Busy
            raise kind(f"{place} answers {exc.code}: {text}") from exc


def check_safe_url(url: str) -> str:
    """Returns an address that secrets may be sent to. Errors: BadRequest."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as exc:
        raise BadRequest(f"'{url}' is no address") from exc
    is_here = host == "localhost" or LOOPBACK.covers(host)
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        raise BadRequest(f"'{url}' is no https address")
    return url


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for the error that it is here."""

    def redirect_request(self, *_given: Any, **_named: Any) -> None:
        """Follows nothing."""


class _WatchedConnection(HTTPConnection):
    """A connection that is watched from before TLS is spoken."""

    watch: Watch

    def connect(self) -> None:
        """Connects."""
        super().connect()
        self.watch.hold(self.sock)


class _WatchedTls(HTTPSConnection, _WatchedConnection):
    """The same with TLS, which the standard library puts over what the class after it connected."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Opens a connection."""

        def connect(host: str, **given: Any) -> HTTPConnection:
            made = _WatchedConnection(host, **given)
            made.watch = self._watch
            return made

        return self.do_open(connect, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, watch: Watch, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._watch, self._tls = watch, context

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Opens a connection."""

        def connect(host: str, **given: Any) -> HTTPConnection:
            made = _WatchedTls(host, context=self._tls, **given)
            made.watch = self._watch
            return made

        return self.do_open(connect, req)
