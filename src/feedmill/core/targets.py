"""Where a request for a URL goes: scheme, host, port and path, read so strictly that no two readers could differ.

A URL that names a user, has a backslash, a blank or a control character before its path, or a host that no name server could know, goes
nowhere: what one program takes for the host another takes for the path, and credentials would follow the wrong one.
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
_SAFE = "!$&'()*+,;=:@/?%~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes. Shape: ``host`` in lower case, an IPv6 address without brackets; ``path`` with its query, ASCII."""

    is_tls: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as a URL and the header ``Host`` write them; the scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL that the target stands for."""
        return f"{'https' if self.is_tls else 'http'}://{self.authority}{self.path}"


def parse_target(url: str) -> Target:
    """Reads a URL; its fragment falls away. Errors: BadRequest, for any other scheme than http and https too."""
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
