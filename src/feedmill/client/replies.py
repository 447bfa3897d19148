"""Reads the XML of replies: of dataloads and of seedlists.

Example::

    (item,) = read_reply(b"<R><ItemResult><Type>I</Type><Status>OK</Status></ItemResult><Rows>1</Rows></R>")
    print(item.is_done)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from feedmill.model.errors import BadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemReply:
    """What became of an item of a dataload. ``deleted`` counts what a deletion by a pattern removed, None for other items."""

    type: str
    status: str
    info: str = ""
    deleted: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether the item was applied."""
        return self.status == "OK"


def read_reply(body: bytes) -> list[ItemReply]:
    """Returns what became of each item. Errors: BadRequest for a request that was refused as a whole, and for what is no reply."""
    root = parse_xml(body)
    items = [
        ItemReply(
            type=each.findtext("Type") or "",
            status=each.findtext("Status") or "",
            info=each.findtext("Info") or "",
            deleted=int(count) if (count := each.findtext("DP") or "").isdigit() else None,
        )
        for each in root.findall("ItemResult")
    ]
    if items and root.findtext("Rows") == "0":
        raise BadRequest(f"the server refused the dataload: {items[0].status}{': ' + items[0].info if items[0].info else ''}")
    return items


def parse_xml(body: bytes) -> ElementTree.Element:
    """Returns the root of a reply. Entities are refused. Errors: BadRequest."""
    if b"<!ENTITY" in body:
        raise BadRequest("the reply declares entities, which are refused")
    try:
        return ElementTree.fromstring(body)  # noqa: S314 - entities are refused, and expat limits what is hidden in other encodings
    except ElementTree.ParseError as exc:
        raise BadRequest(f"the reply is no XML: {exc}; is it a server of this protocol") from exc


def iter_texts(element: ElementTree.Element, name: str) -> Iterator[str]:
    """Yields the texts of all children of a name, without those that are empty."""
    yield from (text for each in element.findall(name) if (text := "".join(each.itertext()).strip()))
