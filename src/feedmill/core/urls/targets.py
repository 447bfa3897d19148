"""Parses the target of a request: scheme, host, port and path, so strictly that no two parsers could differ.

A URL is refused if it names a user, if it has a backslash, a blank or a control character before its path, or if no name server could know
its host. Two programs could disagree on which part is the host, and credentials would go to the wrong server.
Source: RFC 3986, 3; WHATWG URL, "host parsing" (what browsers make of the same text).
"""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote

from feedmill.model.errors import BadRequest

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/?#\\@:\[\]%]+)(?::(?P<port>[0-9]{0,5}))?(?P<rest>[/?#].*)?",
    re.DOTALL | re.IGNORECASE,
)
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?", re.ASCII)
# The percent sign is among them, because the path may be encoded already.
_SAFE = "!$&'()*+,;=:@/?%~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a request. Shape: ``host`` in lower case, an IPv6 address without brackets; ``path`` with its query, ASCII."""

    is_tls: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as a URL and the header ``Host`` write them; the scheme's default port is omitted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL of the target."""
        return f"{'https' if self.is_tls else 'http'}://{self.authority}{self.path}"


def parse_target(url: str) -> Target:
    """Parses a URL and drops its fragment. Errors: BadRequest, also for any scheme other than http and https."""
    found = _URL.fullmatch(url)
    if found is None:
        raise BadRequest("the url is none of http or https with a plain host")
    is_tls = found["scheme"].lower() == "https"
    port = int(found["port"] or (443 if is_tls else 80))
    if not 0 < port < 65536:
        raise BadRequest("the url has no port that exists")
    rest = (found["rest"] or "").partition("#")[0]
    path = quote(rest.encode("utf-8", "surrogatepass"), safe=_SAFE)
    return Target(is_tls=is_tls, host=_read_host(found["host"]), port=port, path=path if path.startswith("/") else f"/{path}")


def _read_host(text: str) -> str:
    if text.startswith("["):
        try:
            return str(IPv6Address(text[1:-1]))
        except ValueError as exc:
            raise BadRequest("the url has no IPv6 address in its brackets") from exc
    try:
        host = text.encode("idna").decode("ascii").lower()
    except UnicodeError as exc:
        raise BadRequest("the url has a host that no name server could know") from exc
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise BadRequest("the url has a host that no name server could know")
    return host
