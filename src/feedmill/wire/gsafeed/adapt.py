"""Converts records and group-level ACLs to changes, by the type of their feed.

Rules:

1. A record's action overrides its group's; ``remove`` is ``delete``; the default is ``add``; any other is an error of its record or ACL.
2. Content feeds put documents. In a full feed these are complete, so metadata without content is an error. Metadata-and-url feeds
   request crawls; content there is ignored with a warning.
3. An unreadable decoration (dates, ranks, switches, mimetype) is ignored with a warning; an unreadable access rule (ACL,
   authmethod) makes the record an error.
4. pagerank and feedrank come from the record, otherwise from the group; a feedrank is ignored if there is a pagerank.
5. A record's ``<acl>`` overrides its ``google:acl*`` metadata, whose loss is reported. In a group, an ``<acl>`` needs a url of its own.
6. A URL is trimmed and otherwise stored byte for byte. A missing or short host is an error for puts, not for deletes and ACLs.
Source: Feeds Protocol Developer's Guide, "Defining the XML Record for a Document"; docs/explanation/ownership.md.
"""

from dataclasses import dataclass

from feedmill.core.urls.validation import MAX_URL_CHARACTERS, check_url
from feedmill.model.change import AclChange, Change, Content, Delete, InvalidRecord, Note, PutAcl, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.feed import FeedType, LogLevel
from feedmill.wire.gsafeed.acls import read_acl
from feedmill.wire.gsafeed.attributes import read_attributes
from feedmill.wire.gsafeed.metadata import RecordMetadata, read_metadata
from feedmill.wire.gsafeed.schema import Attributes, GroupAcl, Item, Record
from feedmill.wire.tokens import Unreadable, read_switch, read_token, shorten

_ADD = ("", "add")
_DELETE = ("delete", "remove")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Converts the items of one feed."""

    feedtype: FeedType
    require_fqdn: bool = False

    def adapt(self, item: Item) -> Change:
        """Returns the change that an item requests.

        Content that the change does not carry is closed. A bad item becomes an ``InvalidRecord``.
        """
        if isinstance(item, GroupAcl):
            return _adapt_acl(item)
        change = self._adapt_record(item)
        if item.content is not None and not (isinstance(change, PutDocument) and change.content is item.content):
            item.content.stream.close()
        return change

    def _adapt_record(self, record: Record) -> Change:
        place = SourcePosition(record=record.number, line=record.line)
        url = record.attributes.get("url", "").strip()
        readable_url = url if 0 < len(url) <= MAX_URL_CHARACTERS else None
        notes = [_warn(remark) for remark in record.remarks]
        try:
            is_delete = _read_delete(record.group, record.attributes)
            check = check_url(url, require_fqdn=self.require_fqdn)
            if readable_url is None or (check is not None and check.level is LogLevel.ERROR and not is_delete):
                return InvalidRecord(place=place, url=readable_url, reason=check.reason if check else "", notes=tuple(notes))
            if is_delete:
                return Delete(place=place, url=url, notes=tuple(notes))
            if check is not None:
                notes.append(check)
            return self._adapt_put(record, place, url, notes)
        except Unreadable as exc:
            return InvalidRecord(place=place, url=readable_url, reason=str(exc), notes=tuple(notes))

    def _adapt_put(self, record: Record, place: SourcePosition, url: str, notes: list[Note]) -> Change:
        if record.fault is not None:
            raise Unreadable(record.fault)
        metadata = read_metadata(record.metas)
        notes.extend(_warn(warning) for warning in metadata.warnings)
        acl = _read_acl_change(record, metadata, notes)
        attributes, warnings = read_attributes(record.group, record.attributes)
        notes.extend(_warn(warning) for warning in warnings)
        if self.feedtype is FeedType.METADATA_AND_URL:
            if record.content is not None or record.content_fault is not None:
                notes.append(_warn("content is ignored in a feed of URLs"))
            return RequestCrawl(place=place, url=url, attributes=attributes, metadata=metadata.entries, acl=acl, notes=tuple(notes))
        return PutDocument(
            place=place,
            url=url,
            attributes=attributes,
            metadata=metadata.entries,
            content=self._take_content(record, metadata),
            acl=acl,
            whole=self.feedtype is FeedType.FULL,
            notes=tuple(notes),
        )

    def _take_content(self, record: Record, metadata: RecordMetadata) -> Content | None:
        if record.content_fault is not None:
            raise Unreadable(f"the content cannot be decoded: {record.content_fault}")
        if record.content is None and metadata.entries is not None and self.feedtype is FeedType.FULL:
            raise Unreadable("a full feed needs content beside the metadata; send metadata alone in an incremental feed")
        return record.content


def _read_delete(group: Attributes, own: Attributes) -> bool:
    action = own.get("action", "").strip() or group.get("action", "")
    token = read_token(action)
    if token in _DELETE:
        return True
    if token not in _ADD:
        raise Unreadable(f'action="{shorten(action)}" is neither add nor delete')
    return False


def _read_acl_change(record: Record, metadata: RecordMetadata, notes: list[Note]) -> AclChange:
    overwrite = read_switch(record.overwrite)
    if overwrite == "unreadable":
        notes.append(_warn(f'overwrite-acls="{shorten(record.overwrite or "")}" is neither true nor false, ACLs stay'))
        overwrite = False
    if record.acl is None:
        return AclChange(legacy=metadata.legacy, overwrite=overwrite)
    if "url" in record.acl.attributes:
        notes.append(Note(level=LogLevel.NOTICE, reason="the url of an <acl> inside a record is ignored"))
    if metadata.legacy is not None:
        notes.append(_warn("google:acl metadata was dropped, the <acl> of the record counts"))
    return AclChange(element=read_acl(record.acl), overwrite=overwrite)


def _adapt_acl(item: GroupAcl) -> Change:
    place = SourcePosition(record=0, line=item.acl.line)
    url = item.acl.attributes.get("url", "").strip()
    if not url:
        return InvalidRecord(place=place, url=None, reason="an <acl> outside a record needs a url")
    if len(url) > MAX_URL_CHARACTERS:
        return InvalidRecord(place=place, url=None, reason=f"the url of an <acl> is longer than {MAX_URL_CHARACTERS} characters")
    try:
        is_delete = _read_delete(item.group, {})
        return PutAcl(place=place, url=url, acl=None if is_delete else read_acl(item.acl))
    except Unreadable as exc:
        return InvalidRecord(place=place, url=url, reason=str(exc))


def _warn(reason: str) -> Note:
    return Note(level=LogLevel.WARNING, reason=reason)
