"""Collects the parts of one record or ACL, within limits; beyond them only the fault is stored."""

from feedmill.model.change import Content
from feedmill.wire.gsafeed.schema import (
    MAX_META_CHARACTERS,
    MAX_METAS,
    MAX_PRINCIPAL_CHARACTERS,
    MAX_PRINCIPALS,
    AclElement,
    Attributes,
    Record,
)


class AclBuilder:
    """Collects one ``<acl>`` within its limits."""

    def __init__(self, line: int, attributes: Attributes) -> None:
        self._line = line
        self._attributes = attributes
        self._principals: list[tuple[Attributes, str]] = []
        self._characters = 0
        self._fault: str | None = None

    def add_principal(self, attributes: Attributes, text: str) -> None:
        """Adds a principal; beyond the limits only the fault is stored."""
        if self._fault is not None:
            return
        name = text.strip()
        self._characters += len(name) + sum(map(len, attributes.values()))
        if len(self._principals) >= MAX_PRINCIPALS:
            self._fault = f"an ACL with more than {MAX_PRINCIPALS} principals"
        elif self._characters > MAX_PRINCIPAL_CHARACTERS:
            self._fault = f"an ACL with more than {MAX_PRINCIPAL_CHARACTERS} characters"
        else:
            self._principals.append((attributes, name))

    def build_acl(self) -> AclElement:
        return AclElement(self._line, self._attributes, tuple(self._principals), self._fault)


class RecordBuilder:
    """Collects one ``<record>`` within its limits."""

    def __init__(self, number: int, line: int, group: Attributes, attributes: Attributes) -> None:
        self._number = number
        self._line = line
        self._group = group
        self._attributes = attributes
        self._metas: list[Attributes] = []
        self._characters = 0
        self._overwrite: str | None = None
        self._acl: AclElement | None = None
        self._content: Content | None = None
        self._content_fault: str | None = None
        self._fault: str | None = None
        self._remarks: list[str] = []

    def add_overwrite(self, value: str) -> None:
        """Stores the ``overwrite-acls`` of a metadata element; among several, one that retains ACLs wins."""
        if self._overwrite is None or self._overwrite.strip().lower() == "true":
            self._overwrite = value

    def add_meta(self, attributes: Attributes) -> None:
        """Adds a meta; beyond the limits only the fault is stored."""
        if self._fault is not None:
            return
        self._characters += sum(map(len, attributes.values()))
        if len(self._metas) >= MAX_METAS:
            self._fault = f"more than {MAX_METAS} metas in a record"
        elif self._characters > MAX_META_CHARACTERS:
            self._fault = f"more than {MAX_META_CHARACTERS} characters of metadata in a record"
        else:
            self._metas.append(attributes)

    def set_content(self, content: Content | None, fault: str | None) -> None:
        """Stores a content; an earlier one is dropped."""
        if self._content is not None or self._content_fault is not None:
            self._remarks.append("more than one <content>, the last was taken")
        if self._content is not None:
            self._content.stream.close()
        self._content, self._content_fault = content, fault

    def discard(self) -> None:
        """Drops the content."""
        if self._content is not None:
            self._content.stream.close()

    def set_acl(self, acl: AclElement) -> None:
        """Stores the record's ACL; a second one makes the record unreadable."""
        if self._acl is not None:
            self._fault = "more than one <acl> in a record"
        self._acl = acl

    def note_strayed_acl(self) -> None:
        """Records that the next ACL is inside the metadata."""
        self._remarks.append("an <acl> inside <metadata> was taken as the record's own")

    def refuse_strayed_principal(self) -> None:
        """Records a principal outside of any ACL."""
        self._fault = self._fault or "a <principal> stands outside an <acl>"

    def build_record(self) -> Record:
        return Record(
            number=self._number,
            line=self._line,
            group=self._group,
            attributes=self._attributes,
            metas=tuple(self._metas),
            overwrite=self._overwrite,
            acl=self._acl,
            content=self._content,
            content_fault=self._content_fault,
            fault=self._fault,
            remarks=tuple(dict.fromkeys(self._remarks)),
        )
