"""Requests JSON from a provider: limited in size and in time, without redirects.

Addresses must be ``https``, except those of this machine, because secrets and keys are sent. A proxy that the environment names is used.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions, allow_all
from feedmill.adapters.http.dialing import make_context
from feedmill.adapters.http.errors import TimedOut
from feedmill.core.urls.networks import LOOPBACK
from feedmill.model.authorization import Trust
from feedmill.model.errors import BadRequest, Busy, Denied, UpstreamFailure

MAX_BYTES = 4_000_000
_SHOWN_BYTES: Final = 500
_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "Feedmill (sign-in)"}


class JsonClient:
    """A client of one provider. May be used from several threads. Units: seconds."""

    def __init__(self, *, ca_file: str = "", timeout_seconds: float = 5.0) -> None:
        self._timeout_seconds = timeout_seconds
        trust = Trust(ca=ca_file)
        make_context(trust)  # a file that cannot be read is a fault of the settings, not of a sign-in
        # the operator chose the provider, so a private address is allowed
        self._client = BlockingHttpClient(ClientOptions(trust=trust, allows_private=allow_all, uses_environment_proxy=True))

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Gets an object. Errors: Busy, Denied for a 4xx."""
        return self._request_json("GET", check_safe_url(url), headers)

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Posts a form. Errors: as ``get``."""
        encoded = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self._request_json("POST", check_safe_url(url), encoded, urlencode(form).encode())

    def _request_json(self, method: str, url: str, headers: Mapping[str, str] | None, body: bytes = b"") -> dict[str, Any]:
        place = _find_origin(url)
        given, seconds = {**_HEADERS, **(headers or {})}, self._timeout_seconds
        try:
            response = self._client.fetch(method, url, headers=given, body=body, max_bytes=MAX_BYTES, seconds=seconds).response
        except TimedOut as exc:
            raise Busy(f"no answer from {place}: it takes more than {seconds:g} seconds") from exc
        except (UpstreamFailure, BadRequest) as exc:
            raise Busy(f"no answer from {place}: {exc}") from exc
        if not 200 <= response.status < 300:
            text = response.body[:_SHOWN_BYTES].decode("utf-8", "replace")
            kind = Denied if 400 <= response.status < 500 else Busy
            raise kind(f"{place} answers {response.status}: {text}")
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError) as exc:
            raise Busy(f"{place} answers no JSON") from exc
        if not isinstance(answer, dict):
            raise Busy(f"{place} answers no JSON object")
        return answer


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


def _find_origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
