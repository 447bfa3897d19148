"""The ways to compare a URL pattern with a URL; ``patterns`` defines which pattern uses which.

A URL is split once for all rules. Its host ends where it ends for a browser (slash, backslash, question mark, number sign), so no URL can
pose as one of another host. Protocol and host are compared in lower case; rules that examine the whole URL also examine it as written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from feedmill.core.urls.expressions import Expression
from feedmill.model.lightdataclass import light_dataclass

_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_AUTHORITY_END = re.compile(r"[/?#\\]")
_PORT = re.compile(r":([0-9]*)\Z")


@light_dataclass(frozen=True, slots=True)
class UrlParts:
    """A URL split into its parts. ``written``: as given; ``folded``: with protocol and host in lower case.

    ``user`` includes its ``@``, ``port`` is None if the URL does not state it, and ``path`` is everything after the host and never empty.
    """

    written: str
    folded: str
    protocol: str
    user: str
    host: str
    port: str | None
    path: str


def split_url(url: str) -> UrlParts:
    """Splits a URL. Errors: none; a text without a protocol begins with its host."""
    protocol = _PROTOCOL.match(url)
    start = 0 if protocol is None else protocol.end()
    found = _AUTHORITY_END.search(url, start)
    end = len(url) if found is None else found.start()
    # At the last sign, as browsers do: at the first, ``http://a@b@evil.example/`` would be on another host here than there.
    user, at, host = url[start:end].rpartition("@")
    written = _PORT.search(host)
    name, sign, path = url[:start].lower(), "", url[end:]
    if written is not None:
        host, sign = host[: written.start()], written[0]
    host = host.lower()
    return UrlParts(
        written=url,
        folded=f"{name}{user}{at}{host}{sign}{path}",
        protocol=name,
        user=user + at,
        host=host,
        port=sign[1:] or None,
        path=path if path.startswith("/") else "/" + path,
    )


Rule = Callable[[UrlParts], bool]


def covers_everything(_url: UrlParts) -> bool:
    """Returns True for every URL."""
    return True


@dataclass(frozen=True, slots=True)
class TextRule:
    """Matches a text in a URL: anywhere, at its left end, at its right end, or the whole."""

    text: str
    left: bool
    right: bool

    def __call__(self, url: UrlParts) -> bool:
        """Whether the URL as written or as folded has the text at that position."""
        return self.is_in(url.folded) or self.is_in(url.written)

    def is_in(self, subject: str) -> bool:
        """Whether a text has the rule's text at that position."""
        if self.left:
            return subject == self.text if self.right else subject.startswith(self.text)
        return subject.endswith(self.text) if self.right else self.text in subject


@dataclass(frozen=True, slots=True)
class PathRule:
    """Matches a text in the path of a URL."""

    text: TextRule

    def __call__(self, url: UrlParts) -> bool:
        """Whether the path has the text at that position."""
        return self.text.is_in(url.path)


@dataclass(frozen=True, slots=True)
class ExpressionRule:
    """Matches a regular expression anywhere in the URL."""

    expression: Expression

    def __call__(self, url: UrlParts) -> bool:
        """Whether the URL as written or as folded has a match."""
        return self.expression.is_in(url.folded) or (url.folded != url.written and self.expression.is_in(url.written))


@dataclass(frozen=True, slots=True)
class HostRule:
    """Matches the end of protocol and host, a port, and the path.

    ``port``: None means any or none, ``*`` any explicit port, otherwise exactly this one. ``anchored``: the text is all of protocol and
    host, not only their end. ``path`` is None if the pattern has no slash after the host; without a port, its text may then be anywhere
    before the path.
    """

    text: str
    port: str | None
    anchored: bool
    path: PathRule | None

    def __call__(self, url: UrlParts) -> bool:
        """Whether the URL has that host, port and path."""
        if self.path is not None and not self.path(url):
            return False
        if self.port is not None and (url.port is None if self.port == "*" else url.port != self.port):
            return False
        subject = url.protocol + (url.user if "@" in self.text else "") + url.host
        if self.anchored:
            return subject == self.text
        if self.path is None and self.port is None:
            return self.text in (subject if url.port is None else f"{subject}:{url.port}")
        return subject.endswith(self.text)


@dataclass(frozen=True, slots=True)
class OptionalWwwRule:
    """Matches exactly a host, with or without ``www.``; an empty ``protocol`` means any."""

    protocol: str
    host: str
    rest: HostRule

    def __call__(self, url: UrlParts) -> bool:
        """Whether the URL has that host in either form, and the port and path of the rest."""
        if self.protocol and url.protocol != self.protocol:
            return False
        return url.host.removeprefix("www.") == self.host and self.rest(url)
