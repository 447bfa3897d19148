"""Converts the XML of a feed to records and group-level ACLs, in order, in constant memory.

Rules:

1. The root is ``gsafeed`` and holds at least one ``<group>``; a record or ACL outside the groups counts as one in a group of its own.
2. The children of a record come in any order. A ``<meta>`` may occur without ``<metadata>`` around it. Of several contents the last
   counts. Two ACLs in a record make it unreadable, because it is unclear which was meant.
3. Each ``<record>`` and each ``<acl>`` outside a record yields one item, whatever its faults, so that a reading may skip the
   first items that an earlier one has processed: of those nothing is decoded or stored.
"""

from collections.abc import Callable
from typing import BinaryIO

from feedmill.model.feed import FeedHeader, LogEntry
from feedmill.wire.gsafeed.content import ContentWriter
from feedmill.wire.gsafeed.gather import AclBuilder, RecordBuilder
from feedmill.wire.gsafeed.schema import (
    ACL_ATTRIBUTES,
    CONTENT_ATTRIBUTES,
    GROUP_ATTRIBUTES,
    META_ATTRIBUTES,
    METADATA_ATTRIBUTES,
    PRINCIPAL_ATTRIBUTES,
    RECORD_ATTRIBUTES,
    Attributes,
    GroupAcl,
    Item,
)
from feedmill.wire.inflation import DEFAULT_RATIO, inflation_of_feed
from feedmill.wire.xmlstream.reader import Element, XmlReader


class FeedParser:
    """One reading of one feed. Pass bytes to ``feed``, which returns items; call ``close`` at the end.

    ``records`` and ``items`` count what was read so far, skipped ones too.
    """

    def __init__(
        self, *, spool: Callable[[], BinaryIO], max_inflated_bytes: int, max_inflation: int = DEFAULT_RATIO, skip: int = 0
    ) -> None:
        self.records = 0
        self.items = 0
        self._spool = spool
        self._max_inflated_bytes = max_inflated_bytes
        self._max_inflation = max_inflation
        self._inflation = inflation_of_feed(max_inflation)
        self._skip = skip
        self._ready: list[Item] = []
        self._group: Attributes = {}
        self._groups = 0
        self._datasource: str | None = None
        self._feedtype: str | None = None
        self._record: RecordBuilder | None = None
        self._acl: AclBuilder | None = None
        self._content: ContentWriter | None = None
        self._principal: Attributes = {}
        self._reader = XmlReader("gsafeed", self._describe())

    def feed(self, data: bytes) -> list[Item]:
        """Reads the next bytes and returns the items that ended in them. Errors: BadFeed."""
        self._reader.feed(data)
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> list[Item]:
        """Ends the feed and returns the last items. Errors: BadFeed."""
        self._reader.close()
        if not self._groups:
            self._reader.refuse("a feed needs at least one <group>; an empty feed is written with <group/>")
        ready, self._ready = self._ready, []
        return ready

    def discard(self) -> None:
        """Drops the parts of an unfinished record. Call it when a reading ends, however it ends."""
        if self._content is not None:
            self._content.discard()
        if self._record is not None:
            self._record.discard()

    @property
    def header(self) -> FeedHeader:
        """Returns the feed's own description, as far as it was read."""
        return FeedHeader(datasource=self._datasource, feedtype=self._feedtype)

    @property
    def remarks(self) -> list[LogEntry]:
        """Returns notes for the sender about the feed as a whole; complete after ``close``."""
        return self._reader.remarks

    def _describe(self) -> Element:
        principal = Element(attributes=PRINCIPAL_ATTRIBUTES, start=self._start_principal, end=self._end_principal, text=True)
        acl = {"principal": principal}
        record_acl = Element(attributes=ACL_ATTRIBUTES, children=acl, start=self._start_record_acl, end=self._end_record_acl)
        group_acl = Element(attributes=ACL_ATTRIBUTES, children=acl, start=self._start_group_acl, end=self._end_group_acl)
        meta = Element(attributes=META_ATTRIBUTES, start=self._start_meta)
        # an access rule is never ignored, wherever it occurs
        strayed_acl = Element(attributes=ACL_ATTRIBUTES, children=acl, start=self._start_strayed_acl, end=self._end_record_acl)
        strayed = Element(attributes=PRINCIPAL_ATTRIBUTES, start=self._start_strayed_principal)
        inside_metadata = {"meta": meta, "acl": strayed_acl, "principal": strayed}
        metadata = Element(attributes=METADATA_ATTRIBUTES, children=inside_metadata, start=self._start_metadata)
        content = Element(
            attributes=CONTENT_ATTRIBUTES, start=self._start_content, end=self._end_content, text=True, part=self._take_content
        )
        record = Element(
            attributes=RECORD_ATTRIBUTES,
            children={"acl": record_acl, "metadata": metadata, "meta": meta, "content": content, "principal": strayed},
            start=self._start_record,
            end=self._end_record,
        )
        inside = {"acl": group_acl, "record": record}
        group = Element(attributes=GROUP_ATTRIBUTES, children=inside, start=self._start_group, end=self._end_group)
        datasource = Element(end=self._end_datasource, text=True)
        feedtype = Element(end=self._end_feedtype, text=True)
        header = Element(children={"datasource": datasource, "feedtype": feedtype})
        return Element(children={"header": header, "group": group, **inside})

    def _end_datasource(self, text: str) -> None:
        self._datasource = text.strip()

    def _end_feedtype(self, text: str) -> None:
        self._feedtype = text.strip()

    def _start_group(self, attributes: Attributes) -> None:
        self._groups += 1
        self._group = attributes

    def _end_group(self, _: str) -> None:
        self._group = {}

    def _start_record(self, attributes: Attributes) -> None:
        self.records += 1
        self.items += 1
        if self.items > self._skip:
            self._record = RecordBuilder(self.records, self._reader.line, self._group, attributes)

    def _end_record(self, _: str) -> None:
        if self._record is not None:
            self._ready.append(self._record.build_record())
            self._record = None

    def _start_metadata(self, attributes: Attributes) -> None:
        if self._record is not None and "overwrite-acls" in attributes:
            self._record.add_overwrite(attributes["overwrite-acls"])

    def _start_meta(self, attributes: Attributes) -> None:
        if self._record is not None:
            self._record.add_meta(attributes)

    def _start_content(self, attributes: Attributes) -> None:
        if self._record is not None:
            encoding = attributes.get("encoding")
            self._content = ContentWriter(
                encoding,
                spool=self._spool,
                max_inflated_bytes=self._max_inflated_bytes,
                max_inflation=self._max_inflation,
                feed=self._inflation,
            )

    def _take_content(self, text: str) -> None:
        if self._content is not None:
            self._content.write(text)

    def _end_content(self, text: str) -> None:
        if self._record is not None and self._content is not None:
            self._record.set_content(self._content.close(text), self._content.fault)
            self._content = None

    def _start_record_acl(self, attributes: Attributes) -> None:
        if self._record is not None:
            self._acl = AclBuilder(self._reader.line, attributes)

    def _start_strayed_acl(self, attributes: Attributes) -> None:
        if self._record is not None:
            self._record.note_strayed_acl()
        self._start_record_acl(attributes)

    def _start_strayed_principal(self, _: Attributes) -> None:
        if self._record is not None:
            self._record.refuse_strayed_principal()

    def _start_group_acl(self, attributes: Attributes) -> None:
        self.items += 1
        if self.items > self._skip:
            self._acl = AclBuilder(self._reader.line, attributes)

    def _end_record_acl(self, _: str) -> None:
        if self._record is not None and self._acl is not None:
            self._record.set_acl(self._acl.build_acl())
        self._acl = None

    def _end_group_acl(self, _: str) -> None:
        if self._acl is not None:
            self._ready.append(GroupAcl(self._group, self._acl.build_acl()))
            self._acl = None

    def _start_principal(self, attributes: Attributes) -> None:
        self._principal = attributes

    def _end_principal(self, text: str) -> None:
        if self._acl is not None:
            self._acl.add_principal(self._principal, text)
