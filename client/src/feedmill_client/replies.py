"""Reads the XML of replies: of dataloads and of seedlists.

Example::

    from feedmill_client.replies import read_reply

    (item,) = read_reply(b"<R><ItemResult><Type>I</Type><Status>OK</Status></ItemResult><Rows>1</Rows></R>")
    print(item.is_done)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from feedmill_client.errors import BadAnswer, BadRequest


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


def read_reply(body: bytes) -> list[ItemReply]:
    """Returns what became of each item. Errors: BadRequest for a request that was refused as a whole, BadAnswer for what is no reply."""
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
    """Returns the root of a reply. Entities are refused. Errors: BadAnswer."""
    if b"<!ENTITY" in body:
        raise BadAnswer("the reply declares entities, which are refused")
    try:
        return ElementTree.fromstring(body)  # noqa: S314 - entities are refused, and expat limits what is hidden in other encodings
    except ElementTree.ParseError as exc:
        raise BadAnswer(f"the reply is no XML: {exc}; is it a server of this protocol") from exc


def iter_texts(element: ElementTree.Element, name: str) -> Iterator[str]:
    """Yields the texts of all children of a name, without those that are empty."""
    yield from (text for each in element.findall(name) if (text := "".join(each.itertext()).strip()))
