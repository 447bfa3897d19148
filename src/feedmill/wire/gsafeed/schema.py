"""The elements of a feed as values, before their meaning is checked.

Source: Feeds Protocol Developer's Guide, "Defining the XML Record for a Document", and its DTD; generation 5.0 is a subset.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from feedmill.model.change import Content
from feedmill.model.lightdataclass import light_dataclass

MAX_METAS = 10_000
MAX_META_CHARACTERS = 4_194_304
MAX_PRINCIPALS = 100_000
MAX_PRINCIPAL_CHARACTERS = 16_777_216

Attributes = Mapping[str, str]

GROUP_ATTRIBUTES = frozenset({"action", "pagerank", "feedrank"})
RECORD_ATTRIBUTES = frozenset(
    {
        "url",
        "displayurl",
        "action",
        "mimetype",
        "last-modified",
        "lock",
        "authmethod",
        "pagerank",
        "feedrank",
        "crawl-immediately",
        "crawl-once",
        "scoring",
    }
)
METADATA_ATTRIBUTES = frozenset({"overwrite-acls"})
META_ATTRIBUTES = frozenset({"name", "content", "encoding"})
CONTENT_ATTRIBUTES = frozenset({"encoding"})
ACL_ATTRIBUTES = frozenset({"url", "inheritance-type", "inherit-from"})
PRINCIPAL_ATTRIBUTES = frozenset({"scope", "access", "namespace", "case-sensitivity-type", "principal-type"})


@dataclass(frozen=True, slots=True)
class AclElement:
    """An ``<acl>``: its attributes and, for each ``<principal>``, attributes and text. ``fault``: why it cannot be read."""

    line: int
    attributes: Attributes
    principals: tuple[tuple[Attributes, str], ...]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class GroupAcl:
    """An ``<acl>`` in a group, with the group's attributes."""

    group: Attributes
    acl: AclElement


@light_dataclass(frozen=True, slots=True)
class Record:
    """A ``<record>`` with its group's attributes.

    ``overwrite`` is ``overwrite-acls`` as written, None if it is absent. ``content_fault`` is the reason why the content is undecodable,
    ``fault`` the reason why the record as a whole is unreadable; ``remarks`` are harmless oddities.
    """

    number: int
    line: int
    group: Attributes
    attributes: Attributes
    metas: tuple[Attributes, ...] = ()
    overwrite: str | None = None
    acl: AclElement | None = None
    content: Content | None = None
    content_fault: str | None = None
    fault: str | None = None
    remarks: tuple[str, ...] = ()


Item = Record | GroupAcl
"""The source of one change."""
