"""Converts the entries of a seedlist to changes of documents.

Rules:

1. The URL of a document is ``seedlist://HOST/SOURCE/ID``, because an entry that deletes may have nothing but an id. Results show its
   ``via`` link, or the URL of its content.
2. Each ACL token is a group of the namespace that is named like the source. A token is opaque, so its name is never split into name and
   domain. An entry without any token is for no user; one without ACLs is public.
3. Metadata are the fields by their ids, those of complex fields as ``FIELD.PART``; the labels of categories by the name of their taxonomy;
   ``author``, ``summary``, ``published``, ``securityId``, ``related`` (URLs). Dates that servers write as milliseconds become ISO 8601.
4. ``returnable="false"`` keeps a field out of results, ``sortable="false"`` out of sorting, ``parametric="false"`` out of facets.
   ``contentSearchable="false"`` leaves it to queries that name the field, ``fieldSearchable="false"`` to those that do not, both keep it
   out of searches. A facet narrows by its field, so ``parametric="true"`` makes the field searchable. A title that results must not show
   is only metadata. Whole values of every field can be searched exactly, so ``supportsExactMatch`` changes nothing.
5. The content is that of the entry, or the bytes fetched from its URL. Without a content it is the summary, if results may show that.
   The files at ``related`` links are attachments of the content.

Source: HCL Connections, "Seedlist response"; HCL Digital Experience, "Search service configuration parameters" (names of date fields).
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import unescape
from typing import Final
from urllib.parse import quote

import pybase64

from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.change import AclChange, Content, Delete, InvalidRecord, Note, PutDocument, SourcePosition
from feedmill.model.document import Attachment, Attributes
from feedmill.model.feed import LogLevel
from feedmill.wire.seedlist.schema import Action, AtomText, Field, FieldInfo, FieldType, InvalidEntry, SeedlistEntry, SeedlistPage, TextType
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, Unreadable

_MARKUP: Final = re.compile(r"<[^<>]*>")
_MILLISECONDS: Final = re.compile(r"-?[0-9]{1,14}")
_XML_TYPE: Final = re.compile(r"(?:application|image)/(?:[a-z0-9.+-]+\+)?xml")
_HTTP: Final = re.compile("https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedFile:
    """The file at a ``related`` link: its bytes, the media type, and its name or ""."""

    data: bytes
    media_type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedlistAdapter:
    """Converts the entries of one source. ``host`` is the host of its seedlist, ``name`` the name of the source."""

    host: str
    name: str

    def find_url(self, identifier: str) -> str:
        """Returns the URL of the document with an id."""
        return f"seedlist://{self.host}/{quote(self.name, safe='')}/{quote(identifier, safe='')}"

    def adapt(
        self,
        number: int,
        entry: SeedlistEntry | InvalidEntry,
        page: SeedlistPage,
        fetched: Content | None = None,
        files: Sequence[RelatedFile] = (),
    ) -> PutDocument | Delete | InvalidRecord:
        """Returns the change that an entry requests.

        Shape: it is no container; ``fetched`` are the bytes at its content's URL, ``files`` those of its related files.
        """
        place = SourcePosition(record=number, line=entry.line)
        url = self.find_url(entry.id) if entry.id else None
        if isinstance(entry, InvalidEntry) or url is None:
            return InvalidRecord(place=place, url=url, reason=entry.reason if isinstance(entry, InvalidEntry) else "an entry without an id")
        notes = [_warn(remark) for remark in entry.remarks]
        if entry.action is Action.DELETE:
            return Delete(place=place, url=url, notes=tuple(notes))
        try:
            content, mimetype = _read_content(entry, fetched)
        except Unreadable as exc:
            return InvalidRecord(place=place, url=url, reason=f"content: {exc}", notes=tuple(notes))
        content, attachments = _attach(content, files)
        values = list(_list_values(entry, page))
        title = _find_info(entry, "title")
        attributes = Attributes(
            display_url=_find_display_url(entry),
            mimetype=mimetype or None,
            last_modified=entry.updated_at,
            title=_plain(entry.title) or None if title.returnable else None,
            attachments=attachments,
            overrides_own=True,
            unsearchable=_list_names(values, lambda info: not info.content_searchable and not _is_by_field(info)),
            only_by_field=_list_names(values, lambda info: not info.content_searchable and _is_by_field(info)),
            only_in_text=_list_names(values, lambda info: info.content_searchable and not _is_by_field(info)),
            uncounted=_list_names(values, lambda info: not info.parametric),
            unsortable=_list_names(values, lambda info: not info.sortable),
            undisplayed=_list_names(values, lambda info: not info.returnable),
        )
        acl = AclChange(element=None if entry.acls is None else self._read_acl(entry.acls, notes))
        return PutDocument(
            place=place,
            url=url,
            attributes=attributes,
            metadata=tuple((value.name, value.text) for value in values),
            content=content,
            acl=acl,
            whole=True,
            notes=tuple(notes),
        )

    def _read_acl(self, tokens: Sequence[str], notes: list[Note]) -> Acl:
        entries = []
        for token in dict.fromkeys(tokens):
            if len(token) > MAX_NAME_CHARACTERS:
                # without this token the document has fewer readers, never more
                notes.append(_warn(f"an ACL token is longer than {MAX_NAME_CHARACTERS} characters and was left out"))
                continue
            group = Principal(scope=Scope.GROUP, name=token, namespace=self.name, unqualified=True)
            entries.append(Entry(access=Access.PERMIT, principal=group))
        return Acl(entries=tuple(entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A value of metadata, and what the seedlist says of its field."""

    name: str
    text: str
    info: FieldInfo


def _warn(reason: str) -> Note:
    return Note(level=LogLevel.WARNING, reason=reason)


def _find_info(entry: SeedlistEntry, identifier: str) -> FieldInfo:
    """Returns the info of a field. One that the seedlist does not describe may be used in every way."""
    return entry.field_infos.get(identifier) or FieldInfo(id=identifier, sortable=True, parametric=True)


def _is_by_field(info: FieldInfo) -> bool:
    return info.field_searchable or info.parametric


def _find_display_url(entry: SeedlistEntry) -> str | None:
    urls = [link.url for link in entry.via] + ([entry.content.url] if entry.content is not None else [])
    return next((url for url in urls if _HTTP.match(url)), None)


def _list_values(entry: SeedlistEntry, page: SeedlistPage) -> Iterator[_Value]:
    for field in entry.fields:
        yield from _list_field(field, _find_info(entry, field.id), field.id)
    for category in (*page.categories, *entry.categories):
        if category.taxonomy:
            yield _Value(name=category.taxonomy, text=category.label or category.term, info=_find_info(entry, category.taxonomy))
    named = [("author", author.name or author.email or author.uri) for author in entry.authors]
    named += [("summary", _plain(entry.summary)), ("securityId", entry.security_id)]
    named += [("related", link.url) for link in entry.related]
    named.append(("published", entry.published_at.isoformat() if entry.published_at is not None else ""))
    if not _find_info(entry, "title").returnable:
        named.append(("title", _plain(entry.title)))
    yield from (_Value(name=name, text=text, info=_find_info(entry, name)) for name, text in named if text)


def _list_field(field: Field, info: FieldInfo, name: str) -> Iterator[_Value]:
    if not field.parts:
        if field.text:
            yield _Value(name=name, text=_read_value(field, info), info=info)
        return
    infos = {part.id: part for part in info.parts}
    for part in field.parts:
        own = infos.get(part.id) or FieldInfo(id=part.id, sortable=True, parametric=info.parametric)
        # what the whole field may not do, its parts may not either
        combined = replace(
            own,
            returnable=own.returnable and info.returnable,
            content_searchable=own.content_searchable and info.content_searchable,
            field_searchable=own.field_searchable and info.field_searchable,
            sortable=own.sortable and info.sortable,
        )
        yield from _list_field(part, combined, f"{name}.{part.id}")


def _list_names(values: Sequence[_Value], is_listed: Callable[[FieldInfo], bool]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.name.strip().casefold() for value in values if is_listed(value.info)))


def _read_value(field: Field, info: FieldInfo) -> str:
    is_date = info.type is FieldType.DATE or field.id.casefold().endswith("date")
    if not is_date or not _MILLISECONDS.fullmatch(field.text):
        return field.text
    try:
        return datetime.fromtimestamp(int(field.text) / 1_000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return field.text


def _read_content(entry: SeedlistEntry, fetched: Content | None) -> tuple[Content | None, str]:
    """Returns the content and its media type. Errors: Unreadable."""
    content = entry.content
    if content is None:
        info = _find_info(entry, "summary")
        if not entry.summary.text or not info.returnable or not info.content_searchable:
            return None, ""
        return _hold(entry.summary.text), "text/html" if entry.summary.type is TextType.HTML else "text/plain"
    if content.url:
        return fetched, content.media_type
    if content.media_type.startswith("text/") or _XML_TYPE.fullmatch(content.media_type):
        return _hold(content.text), content.media_type
    try:
        data = bytes(pybase64.b64decode("".join(content.text.split()), validate=True))
    except ValueError as exc:
        raise Unreadable("it is not base64") from exc
    return Content(stream=io.BytesIO(data), size_bytes=len(data)), content.media_type


def _attach(content: Content | None, files: Sequence[RelatedFile]) -> tuple[Content | None, tuple[Attachment, ...]]:
    """Returns the content with the related files behind it."""
    if not files:
        return content, ()
    own = b""
    if content is not None:
        with content.stream as stream:
            own = stream.read()
    attachments: list[Attachment] = []
    start = len(own)
    for file in files:
        attachments.append(Attachment(start=start, size_bytes=len(file.data), mimetype=file.media_type, name=file.name))
        start += len(file.data)
    stream = io.BytesIO(b"".join([own, *(file.data for file in files)]))
    charset = content.charset if content is not None else None
    return Content(stream=stream, size_bytes=start, charset=charset), tuple(attachments)


def _hold(text: str) -> Content:
    data = text.encode()
    return Content(stream=io.BytesIO(data), size_bytes=len(data), charset="utf-8")


def _plain(text: AtomText) -> str:
    return " ".join(unescape(_MARKUP.sub(" ", text.text)).split()) if text.type is TextType.HTML else text.text
