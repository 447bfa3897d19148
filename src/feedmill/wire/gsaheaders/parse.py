"""Reads the headers of a fetched document.

1. A header may come several times, and proxies may join its lines with commas. Values are split at commas, then at the first ``=``, then
   percent-decoded as UTF-8; a ``+`` is a plus.
2. ``X-Gsa-External-Metadata`` is present and empty: the document has no external metadata. ``google:acl*`` names in it are an ACL.
3. ``X-Gsa-Doc-Controls: acl=`` without a value: the document has no ACL. Of a key that comes several times the last counts, but any
   unreadable ACL makes the ACL closed: one that permits no user. So does an unreadable ACL in ``google:acl*`` metadata.
4. ``X-Gsa-Serve-Security`` means secure unless all its values are ``public``.
5. ``X-Robots-Tag`` may begin with the name of a crawler; directives for others do not count.

Source: googlegsa/library, ``DocumentHandler``; "External Metadata Indexing Guide"; RFC 8288 (links); "Robots meta tag" of Google Search
Central.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote_to_bytes, urljoin

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.access import Acl
from feedmill.model.document import Metadata
from feedmill.wire.gsafeed.acls import is_legacy, read_legacy
from feedmill.wire.gsaheaders.acls import read_acl
from feedmill.wire.gsaheaders.schema import CrawlHeaders, RobotsDirectives
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, Unreadable, read_switch, shorten

MAX_ANCHORS = 10_000

_CLOSED = Acl()
# RFC 8288, 3: "<" URI-Reference ">" *( ";" parameter ); a parameter's value is a token or quoted
_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s=;,\"]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]*))", re.IGNORECASE)
_AGENT = re.compile(r"\s*([A-Za-z0-9_-]+)\s*:(.*)", re.DOTALL)
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def parse_headers(headers: Sequence[tuple[str, str]], url: str, agent: str) -> CrawlHeaders:
    """Returns what headers say. Shape: names in lower case; ``agent`` is the crawler's name for robots. Errors: none."""
    faults: list[str] = []
    metadata, legacy = _read_metadata(headers, faults)
    controls = _Controls(headers, faults)
    return CrawlHeaders(
        metadata=metadata,
        legacy_acl=legacy,
        states_acl=controls.states_acl,
        acl=controls.acl,
        display_url=controls.display_url,
        crawl_once=controls.read_switch("crawl_once"),
        lock=controls.read_switch("lock"),
        scoring=controls.values.get("scoring") or None,
        anchors=tuple(_read_anchors(headers, faults)),
        is_secure=_read_security(headers),
        keeps_content=any(value.strip().lower() == "true" for value in _list(headers, "x-gsa-skip-updating-content")),
        robots=_read_robots(headers, agent.lower()),
        canonical=_read_canonical(headers, url),
        faults=tuple(dict.fromkeys(faults)),
    )


def _list(headers: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [value for found, value in headers if found == name]


def _split(headers: Sequence[tuple[str, str]], name: str) -> Iterator[str]:
    for value in _list(headers, name):
        yield from filter(None, map(str.strip, value.split(",")))


def _decode(text: str) -> str:
    """Percent-decodes. Letters beyond ASCII that were not encoded come as the bytes of their UTF-8."""
    try:
        # headers arrive decoded as Latin-1: encoding them again returns the bytes of the server
        raw = unquote_to_bytes(text.encode("latin-1"))
    except UnicodeEncodeError:
        raw = unquote_to_bytes(text)
    return raw.decode("utf-8", "replace").replace("\x00", "")


def _read_metadata(headers: Sequence[tuple[str, str]], faults: list[str]) -> tuple[Metadata | None, Acl | None]:
    if not _list(headers, "x-gsa-external-metadata"):
        return None, None
    metadata: list[tuple[str, str]] = []
    legacy: list[tuple[str, str]] = []
    for part in _split(headers, "x-gsa-external-metadata"):
        name, sign, value = (_decode(text) for text in part.partition("="))
        name = name.strip()
        if is_legacy(name):
            legacy.append((name, value))
        elif not name or not sign or not value:
            faults.append(f'metadata without a name or a value was dropped ("{shorten(name)}")')
        elif len(name) > MAX_NAME_CHARACTERS:
            faults.append(f"a metadata name longer than {MAX_NAME_CHARACTERS} characters was dropped")
        else:
            metadata.append((name, value))
    try:
        acl = read_legacy(legacy) if any(value for _, value in legacy) else None
    except Unreadable as exc:
        faults.append(f"the document is closed, its ACL cannot be read: {exc}")
        acl = _CLOSED
    return tuple(metadata), acl


class _Controls:
    """The values of ``X-Gsa-Doc-Controls`` by their keys."""

    def __init__(self, headers: Sequence[tuple[str, str]], faults: list[str]) -> None:
        self.values: dict[str, str] = {}
        self.states_acl = False
        self.acl: Acl | None = None
        self._faults = faults
        is_closed = False
        for part in _split(headers, "x-gsa-doc-controls"):
            name, _, value = part.partition("=")
            name = name.strip().lower()
            if name != "acl":
                self.values[name] = _decode(value.strip())
                continue
            self.states_acl = True
            try:
                self.acl = read_acl(unquote_to_bytes(value.strip()))
            except Unreadable as exc:
                faults.append(f"the document is closed, its ACL cannot be read: {exc}")
                is_closed = True
        if is_closed:
            self.acl = _CLOSED

    @property
    def display_url(self) -> str | None:
        """The URL to show, if it is one of a length that is accepted."""
        url = self.values.get("display_url", "").strip()
        return url if 0 < len(url) <= MAX_URL_CHARACTERS else None

    def read_switch(self, name: str) -> bool | None:
        """Returns a switch; None if it is not sent or cannot be read."""
        switch = read_switch(self.values.get(name))
        if switch == "unreadable":
            self._faults.append(f'{name}="{shorten(self.values[name])}" is neither true nor false')
            return None
        return switch


def _read_anchors(headers: Sequence[tuple[str, str]], faults: list[str]) -> Iterator[tuple[str, str]]:
    for number, part in enumerate(_split(headers, "x-gsa-external-anchor")):
        if number == MAX_ANCHORS:
            faults.append(f"only the first {MAX_ANCHORS} anchors were read")
            return
        before, sign, after = part.partition("=")
        text, url = (_decode(before), _decode(after)) if sign else ("", _decode(before))
        if url.strip():
            yield text, url.strip()


def _read_security(headers: Sequence[tuple[str, str]]) -> bool | None:
    values = [value.lower() for value in _split(headers, "x-gsa-serve-security")]
    return any(value != "public" for value in values) if values else None


def _read_robots(headers: Sequence[tuple[str, str]], agent: str) -> RobotsDirectives:
    found: set[str] = set()
    for value in _list(headers, "x-robots-tag"):
        counts = True
        for part in value.lower().split(","):
            named = _AGENT.match(part)
            if named is not None and named[1] not in _WITH_VALUE:
                # a name holds for the directives behind it, up to the next name
                counts, part = named[1] in (agent, "robots", "*"), named[2]
            if counts:
                found.add(part.strip())
    is_none = "none" in found
    return RobotsDirectives(
        noindex=is_none or "noindex" in found,
        nofollow=is_none or "nofollow" in found,
        noarchive="noarchive" in found,
        nosnippet="nosnippet" in found,
    )


def _read_canonical(headers: Sequence[tuple[str, str]], url: str) -> str:
    for value in _list(headers, "link"):
        for target, parameters in _LINK.findall(value):
            relation = _REL.search(parameters)
            if relation is not None and "canonical" in (relation[1] or relation[2]).lower().split():
                try:
                    found = urljoin(url, target.strip())
                except ValueError:
                    continue
                return found if len(found) <= MAX_URL_CHARACTERS else ""
    return ""
