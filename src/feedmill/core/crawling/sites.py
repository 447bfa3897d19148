"""The site of a URL: scheme, host and port. Host load and robots.txt apply to a site. Source: RFC 9309, 2.3; RFC 6454, 4."""

import re
from typing import Final

_ORIGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#\\]*))?")
_PORTS: Final = {"http": ":80", "https": ":443"}
MAX_SITE_CHARACTERS: Final = 300


def site_of(url: str) -> str:
    """Returns the site of a URL, in lower case and without the default port. Shape: ``https://example.com:8443``.

    A URL that names no host has its scheme as its site. User names are no part of a site. Longer names are cut; no server has them.
    """
    found = _ORIGIN.match(url)
    if found is None:
        return ""
    scheme = found["scheme"].lower()
    host = (found["authority"] or "").rpartition("@")[2].lower().removesuffix(":").removesuffix(_PORTS.get(scheme, ":"))
    return f"{scheme}://{host}"[:MAX_SITE_CHARACTERS]
