"""How a seedlist is read, page by page."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit
from xml.etree.ElementTree import Element

from feedmill_client._addresses import hide_secrets
from feedmill_client._endpoint import Endpoint
from feedmill_client._flows import Flow, Item, Stream
from feedmill_client.errors import BadAnswer
from feedmill_client.replies import SeedlistItem, iter_texts, parse_xml

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_WPLC: Final = "{http://www.ibm.com/wplc/atom/1.0}"


@dataclass(slots=True)
class Seedlist:
    """A list to read. ``timestamp`` is that of the page read last."""

    endpoint: Endpoint
    url: str
    origin: tuple[str, str]
    timestamp: str = ""

    def close(self) -> None:
        """Closes all connections."""
        self.endpoint.close()


def iter_items(seedlist: Seedlist) -> Stream[SeedlistItem]:
    """Yields all entries. A list that leads back to a page that was read ends with BadAnswer."""
    url, seen = seedlist.url, set[str]()
    while url:
        if url in seen:
            raise BadAnswer(f"the seedlist leads back to its page {url}")
        seen.add(url)
        root = parse_xml((yield from _read(seedlist, url)))
        if root.tag != f"{_ATOM}feed":
            raise BadAnswer(f"{url} is no seedlist, since its root element is <{root.tag}>")
        for entry in root.iter(f"{_ATOM}entry"):
            yield Item(_read_entry(entry, url))
        seedlist.timestamp = root.findtext(f"{_WPLC}timestamp") or seedlist.timestamp
        following = _find_link(root, "next")
        url = urljoin(url, following) if following else ""


def _read(seedlist: Seedlist, url: str) -> Flow[bytes]:
    parts = urlsplit(url)
    if (parts.scheme, parts.netloc) != seedlist.origin:
        raise BadAnswer(f"the seedlist leads to another server: {hide_secrets(url)}")
    return (yield from seedlist.endpoint.get_bytes(urlunsplit(("", "", parts.path, parts.query, ""))))


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
