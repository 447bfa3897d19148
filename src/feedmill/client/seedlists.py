"""Reads seedlists, of Feedmill or of IBM and HCL products, page by page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit
from xml.etree.ElementTree import Element

from feedmill.client.replies import iter_texts, parse_xml
from feedmill.client.transport import Transport
from feedmill.model.errors import BadRequest

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_WPLC: Final = "{http://www.ibm.com/wplc/atom/1.0}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedlistItem:
    """An entry of a seedlist.

    ``url`` is where users open the document, ``content_url`` where its content is read, each "" if the entry has none. ``tokens`` are the
    ACL tokens of the entry itself: None if it states none, empty if no user may see it. ``fields`` are values by the id of the field.
    """

    id: str
    title: str = ""
    summary: str = ""
    url: str = ""
    content_url: str = ""
    updated: str = ""
    is_deletion: bool = False
    tokens: tuple[str, ...] | None = None
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class SeedlistReader:
    """Reads one seedlist from its first page to its last one. ``timestamp`` is that of the page read last;
    after the last page it is the one to begin the next crawl from.

    Errors: Denied, NotFound, Busy, BadRequest for what is no seedlist.

    Example::

        reader = SeedlistReader("http://127.0.0.1:8080/seedlist/myserver?Action=GetDocuments", token=token)
        for item in reader.iter_items():
            print(item.id, item.title, item.url, item.tokens)
        later = SeedlistReader("http://127.0.0.1:8080/seedlist/myserver", token=token, since=reader.timestamp)
    """

    def __init__(self, url: str, *, user: str = "", password: str = "", token: str = "", since: str = "", certificate: str = "") -> None:
        self._url = url + (("&" if "?" in url else "?") + urlencode({"Timestamp": since}) if since else "")
        parts = urlsplit(url)
        self._origin = (parts.scheme, parts.netloc)
        base_url = urlunsplit((*self._origin, "", "", ""))
        self._transport = Transport(base_url=base_url, token=token, user=user, password=password, certificate=certificate)
        self.timestamp = ""

    def iter_items(self) -> Iterator[SeedlistItem]:
        """Yields all entries. A list that leads back to a page that was read ends with BadRequest."""
        url, seen = self._url, set[str]()
        while url:
            if url in seen:
                raise BadRequest(f"the seedlist leads back to its page {url}")
            seen.add(url)
            root = parse_xml(self._read(url))
            if root.tag != f"{_ATOM}feed":
                raise BadRequest(f"{url} is no seedlist, since its root element is <{root.tag}>")
            for entry in root.iter(f"{_ATOM}entry"):
                yield _read_entry(entry, url)
            self.timestamp = root.findtext(f"{_WPLC}timestamp") or self.timestamp
            following = _find_link(root, "next")
            url = urljoin(url, following) if following else ""

    def _read(self, url: str) -> bytes:
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc) != self._origin:
            raise BadRequest(f"the seedlist leads to another server: {url}")
        return self._transport.get_bytes(urlunsplit(("", "", parts.path, parts.query, "")))


def _read_entry(entry: Element, page: str) -> SeedlistItem:
    acls = entry.find(f"{_WPLC}acls")
    action = entry.find(f"{_WPLC}action")
    content = entry.find(f"{_ATOM}content")
    fields: dict[str, tuple[str, ...]] = {}
    for each in entry.findall(f"{_WPLC}field"):
        name = each.get("id", "")
        fields[name] = (*fields.get(name, ()), "".join(each.itertext()).strip())
    return SeedlistItem(
        id=(entry.findtext(f"{_ATOM}id") or "").strip(),
        title=(entry.findtext(f"{_ATOM}title") or "").strip(),
        summary=(entry.findtext(f"{_ATOM}summary") or "").strip(),
        url=_join(page, _find_link(entry, "via") or _find_link(entry, "")),
        content_url=_join(page, "" if content is None else content.get("src", "")),
        updated=(entry.findtext(f"{_ATOM}updated") or "").strip(),
        is_deletion=action is not None and action.get("do") == "delete",
        tokens=None if acls is None else tuple(iter_texts(acls, f"{_WPLC}acl")),
        fields=fields,
    )


def _find_link(element: Element, relation: str) -> str:
    return next((link.get("href", "") for link in element.findall(f"{_ATOM}link") if link.get("rel", "") == relation), "")


def _join(page: str, url: str) -> str:
    return urljoin(page, url) if url else ""
