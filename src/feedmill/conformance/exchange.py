"""Sends the requests of the kit, byte by byte as a case wants them, within a time limit."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import ClientOptions, allow_all
from feedmill.conformance.cases import Unmet
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import Trust
from feedmill.model.errors import BadRequest, UpstreamFailure

MAX_RESPONSE_BYTES: Final = 64 << 20
SHOWN_CHARACTERS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The response of the server under test. Shape: the names of headers are in lower case."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode("utf-8", "replace")

    def find_header(self, name: str) -> str:
        """Returns the first header of a name in lower case, or ""."""
        return next((value for found, value in self.headers if found == name), "")

    def describe(self) -> str:
        """Returns status and beginning of the body, for messages."""
        text = self.text
        return f"status {self.status} with {text[:SHOWN_CHARACTERS]!r}{'...' if len(text) > SHOWN_CHARACTERS else ''}"


class Exchange:
    """Sends requests to one server. Several threads may use it. ``seconds`` is the time limit of one request."""

    def __init__(self, base_url: str, *, seconds: float, headers: Mapping[str, str] | None = None, certificate: str = "") -> None:
        """Errors: BadRequest for what is no address of a server."""
        parts = urlsplit(base_url if "://" in base_url else f"http://{base_url}")
        try:
            parse_target(urlunsplit(parts))
        except (BadRequest, ValueError) as exc:
            raise BadRequest(f"'{base_url}' is no address of a server; give http://HOST:PORT") from exc
        self.base_url = urlunsplit(parts._replace(query="", fragment="")).rstrip("/")
        self._seconds = seconds
        self._headers = dict(headers or {})
        self._client = BlockingHttpClient(ClientOptions(allows_private=allow_all, trust=Trust(ca=certificate)))

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Reply:
        """Sends a request. A path that is a whole URL is requested as it is. Errors: UpstreamFailure; Unmet for a URL that is none."""
        url = path if "://" in path else self.base_url + path
        if parameters:
            url += ("&" if "?" in url else "?") + urlencode(parameters)
        # another server, to which a page may lead, must not get the password
        sent = {**(self._headers if _has_origin(url, self.base_url) else {}), **(headers or {})}
        try:
            fetched = self._client.fetch(method, url, headers=sent, body=body, max_bytes=MAX_RESPONSE_BYTES, seconds=self._seconds)
        except UpstreamFailure as exc:
            raise UpstreamFailure(f"{method} {url}: {exc}") from exc
        except BadRequest as exc:
            raise Unmet(f"'{url}' cannot be requested: {exc}") from exc
        response = fetched.response
        listed = tuple((name, value.decode("latin-1")) for name, value in response.headers)
        return Reply(url=fetched.url, status=response.status, headers=listed, body=response.body)


def _has_origin(url: str, base_url: str) -> bool:
    one, two = urlsplit(url), urlsplit(base_url)
    return (one.scheme, one.netloc) == (two.scheme, two.netloc)


def parse_xml(reply: Reply) -> ElementTree.Element:
    """Returns the XML of a reply. Entities are refused, and no DTD is fetched. Errors: Unmet."""
    if b"<!ENTITY" in reply.body:
        raise Unmet(f"{reply.url} is answered with XML that declares entities")
    try:
        return ElementTree.fromstring(reply.body)  # noqa: S314  entities are refused, and expat limits what is hidden in other encodings
    except ElementTree.ParseError as exc:
        raise Unmet(f"{reply.url} is answered with what is no XML ({exc}): {reply.describe()}") from exc


def make_word(length: int = 14) -> str:
    """Returns a word that occurs nowhere else."""
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(length))


def write_form(fields: Mapping[str, str | bytes], boundary: str, types: bool = True) -> bytes:
    """Returns a multipart body with these fields."""
    body = bytearray()
    for name, value in fields.items():
        kind = f"Content-Type: {'text/xml' if name == 'data' else 'text/plain'}\r\n" if types else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n{kind}\r\n'.encode()
        body += (value if isinstance(value, bytes) else value.encode()) + b"\r\n"
    return bytes(body + f"--{boundary}--\r\n".encode())
