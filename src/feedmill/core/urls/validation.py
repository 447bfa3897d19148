"""Checks URLs without ever changing one: the URL is a document's identity, byte for byte.

Rules: a URL has a scheme and a host, whatever the scheme; ``\\\\host\\path`` is also valid. It has at most ``MAX_URL_CHARACTERS``
characters. A host without a dot that is no address is not fully qualified: it causes a warning, or an error if the administrator requires
it.
Source: RFC 3986, 3; Feeds Protocol Developer's Guide, "Defining the XML Record for a Document".
"""

import re

from feedmill.model.change import Note
from feedmill.model.feed import LogLevel

MAX_URL_CHARACTERS = 8_000

# RFC 3986, 3.1 and 3.2: scheme "://" authority; userinfo ends at the last "@", an IPv6 address stands in brackets
_AUTHORITY = re.compile(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://|(?:unc:)?\\\\)(?P<authority>[^/?#\\]*)", re.IGNORECASE)
_HOST = re.compile(r"(?:.*@)?(?P<host>\[[^\]]*\]|[^:]*)(?::[0-9]*)?", re.DOTALL)


def find_url_fault(url: str) -> str:
    """Returns why a URL cannot be that of a document, "" if it can. Errors: none."""
    note = check_url(url, require_fqdn=False)
    return note.reason if note is not None and note.level is LogLevel.ERROR else ""


def host_of(url: str) -> str | None:
    """Returns the host of a URL in lower case, without port and user; None if there is none. Errors: none."""
    found = _AUTHORITY.match(url)
    if found is None:
        return None
    host = _HOST.fullmatch(found["authority"])
    return host["host"].lower() or None if host else None


def is_fully_qualified(host: str) -> bool:
    """Whether a host names a domain or is an address."""
    return "." in host.strip(".") or host.startswith("[")


def check_url(url: str, *, require_fqdn: bool) -> Note | None:
    """Returns an error or a warning about a URL, None if it is valid. Errors: none."""
    if not url:
        return Note(level=LogLevel.ERROR, reason="the url is missing or empty")
    if len(url) > MAX_URL_CHARACTERS:
        return Note(level=LogLevel.ERROR, reason=f"the url is longer than {MAX_URL_CHARACTERS} characters")
    host = host_of(url)
    if host is None:
        return Note(level=LogLevel.ERROR, reason="the url needs a scheme and a host, such as http://host.example.com/")
    if not is_fully_qualified(host):
        level = LogLevel.ERROR if require_fqdn else LogLevel.WARNING
        return Note(level=level, reason=f'the host "{host[:100]}" is not fully qualified')
    return None
