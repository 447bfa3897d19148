"""Converts the items of a dataload to changes.

Rules:

1. ``I`` puts a whole document, ``U`` changes what it states of one, ``D`` deletes one, ``DP`` deletes those that match a pattern, ``UI``
   requests that searches find the earlier items. An item without a type, or with another one, is in error.
2. A missing URL, base64 that cannot be decoded, and broken XML in Refs or Errors make the item an error.
3. A value of the wrong type, and a category that the profile does not have, cost only themselves, with a warning.
4. The text of a document is Body. RawData is the document itself, from which text, title and metadata are extracted; other elements
   replace what is extracted. In an insert an empty element states nothing; in an update it removes what the document had.
5. A dataload never says who may see a document, so it leaves the ACL of a URL as it is.
6. Dates are in the time zone of the server.
Source: Thunderstone Search Appliance Manual, "Submitting Content"; docs/reference/dataload.md.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import BinaryIO, Final

from feedmill.core.urls.links import resolve_links
from feedmill.core.urls.validation import MAX_URL_CHARACTERS, check_url
from feedmill.model.change import (
    AclChange,
    Change,
    Content,
    Delete,
    DeleteMatching,
    InvalidRecord,
    Note,
    PutDocument,
    RefreshIndex,
    SourcePosition,
    UpdateDocument,
)
from feedmill.model.dataload import AdditionalField, Profile
from feedmill.model.document import Attributes, Metadata
from feedmill.model.extraction import Link
from feedmill.model.feed import LogLevel
from feedmill.ports.feedformats import FormatOptions
from feedmill.wire.dataload.fields import is_number, read_field
from feedmill.wire.dataload.inner import read_results
from feedmill.wire.dataload.schema import DATES, INTEGERS, METADATA, NUMBERS, Item, ItemType, Value, find_type
from feedmill.wire.gsafeed.content import Undecodable, decode_base64
from feedmill.wire.tokens import Unreadable, shorten
from feedmill.wire.xmlstream.charset import find_codec
from feedmill.wire.xmlstream.errors import NotWellFormed

MAX_TITLE_CHARACTERS: Final = 1_000
MAX_MIMETYPE_CHARACTERS: Final = 200
MAX_REPORTS: Final = 19
"""How many errors of a document its history shows besides the change itself."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_NOT_OF_LABELS: Final = re.compile(r"[^a-z0-9]")
_WIDE_CODECS: Final = {name.replace("-", ""): name for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")}
_MAY_PASS_FOR_UTF8: Final = re.compile(r"utf[-_]?(?:16|32)|iso[-_]?2022|hz", re.IGNORECASE)
"""The codecs in which text of other characters than ASCII may have bytes that are UTF-8."""
_NO_DATE: Final = "no date in the form YYYY-MM-DD HH:MM:SS"
_ATTRIBUTES: Final = {"Title": "title", "MimeType": "mimetype", "Modified": "last_modified", "Refs": "links"}
"""The elements that become attributes of a document, and the names of these."""
_OF_PROFILE: Final = ("overrides_own", "unsearchable", "unsortable", "undisplayed")
"""The attributes that every item states, because they follow from its profile."""
_COPY_BYTES: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class Adapter:
    """Converts the items of one dataload."""

    options: FormatOptions

    def adapt(self, item: Item) -> Change:
        """Returns the change that an item requests.

        Content that the change does not carry is closed. A bad item becomes an ``InvalidRecord``.
        """
        place, url = SourcePosition(record=item.number, line=item.line), find_url(item)
        notes = [_warn(remark) for remark in item.remarks]
        try:
            change = self._adapt(item, place, url, notes)
        except Unreadable as exc:
            change = InvalidRecord(place=place, url=_readable(url), reason=str(exc), notes=tuple(notes))
        if not isinstance(change, PutDocument | UpdateDocument):
            close_contents(item)
        return change

    def _adapt(self, item: Item, place: SourcePosition, url: str, notes: list[Note]) -> Change:
        typed = item.find_value("Type")
        kind = find_type(_plain(typed))
        if kind is None:
            raise Unreadable(f'the type "{shorten(_plain(typed).strip())}" is unknown' if typed else "the type is missing")
        if item.fault is not None:
            raise Unreadable(item.fault)
        if kind is ItemType.REFRESH:
            return RefreshIndex(place=place, notes=tuple(notes))
        if kind is ItemType.DELETE_PATTERN and _readable(url) is not None:
            return DeleteMatching(place=place, pattern=url, notes=tuple(notes))
        check = check_url(url, require_fqdn=self.options.require_fqdn)
        if check is not None and (_readable(url) is None or (check.level is LogLevel.ERROR and kind is not ItemType.DELETE)):
            raise Unreadable(check.reason)
        if kind is ItemType.DELETE:
            return Delete(place=place, url=url, notes=tuple(notes))
        if check is not None:
            notes.append(check)
        reader = _ItemReader(item, url, self.options, notes)
        return reader.read_put(place) if kind is ItemType.INSERT else reader.read_update(place)


class _ItemReader:
    """Reads the elements of one item. ``notes`` grows by what cannot be used."""

    def __init__(self, item: Item, url: str, options: FormatOptions, notes: list[Note]) -> None:
        self._item = item
        self._url = url
        self._options = options
        self._profile = options.profile or Profile()
        self._notes = notes
        self._wrong_elements: set[str] = set()
        self._wrong_fields: set[str] = set()
        self._charset = self._find_charset()

    def read_put(self, place: SourcePosition) -> PutDocument:
        """Returns the change that puts the whole document. Errors: Unreadable."""
        attributes, metadata, reports = self._read_attributes(), self._read_metadata(), self._read_inner("Errors", "Reason")
        content, text_bytes = self._read_content()
        return PutDocument(
            place=place,
            url=self._url,
            attributes=replace(attributes, text_bytes=text_bytes),
            metadata=metadata,
            content=content,
            acl=AclChange(overwrite=False),
            whole=True,
            reports=reports[:MAX_REPORTS],
            notes=tuple(self._notes),
        )

    def read_update(self, place: SourcePosition) -> UpdateDocument:
        """Returns the change that updates parts of the document. Errors: Unreadable."""
        attributes, metadata, reports = self._read_attributes(), self._read_metadata(), self._read_inner("Errors", "Reason")
        # a value of the wrong type leaves the earlier one
        elements = {value.name for value in self._item.values if not value.is_field} - self._wrong_elements
        fields = {field.name for value in self._item.values if value.is_field and (field := self._find_field(value.name)) is not None}
        stated = {_ATTRIBUTES[name] for name in elements & _ATTRIBUTES.keys()}
        names = (elements & METADATA) | (fields - self._wrong_fields) | {name for name, _ in metadata}
        content, text_bytes = self._read_content()
        if content is not None:
            stated.add("text_bytes")
        return UpdateDocument(
            place=place,
            url=self._url,
            attributes=replace(attributes, text_bytes=text_bytes),
            stated=frozenset({*stated, *_OF_PROFILE}),
            metadata=metadata,
            names=frozenset(name.casefold() for name in names),
            content=content,
            leaves_original=content is not None and text_bytes == content.size_bytes,
            reports=reports[:MAX_REPORTS],
            notes=tuple(self._notes),
        )

    def _read_attributes(self) -> Attributes:
        return Attributes(
            mimetype=self._read_mimetype(),
            last_modified=self._read_date("Modified"),
            title=self._read_title() or None,
            links=self._read_links(),
            overrides_own=True,
            unsearchable=self._list_fields(lambda field: not field.searchable),
            unsortable=self._list_fields(lambda field: not field.sortable),
            undisplayed=self._list_fields(lambda field: not field.output),
        )

    def _list_fields(self, is_listed: Callable[[AdditionalField], bool]) -> tuple[str, ...]:
        return tuple(field.name.casefold() for field in self._profile.fields if is_listed(field))

    # --- charsets and contents ---

    def _find_charset(self) -> str:
        """Returns the codec of text in base64: that of Charset, else the profile's."""
        default = find_codec(self._profile.charset) or "utf-8"
        label = _plain(self._item.find_value("Charset")).strip()
        if not label:
            return default
        codec = find_body_codec(label)
        if codec is None:
            self._warn(f'Charset "{shorten(label)}" is unknown, {self._profile.charset} was taken')
        return codec or default

    def _decode(self, value: Value | None) -> str:
        """Returns the text of an element without NULs. Text in base64 is UTF-8 if it can be, else in the charset of the item.

        In charsets whose bytes can be UTF-8 by chance, the charset of the item is tried first.
        """
        if value is None:
            return ""
        if value.data is None:
            return value.text.replace("\x00", "")
        for codec in (self._charset, "utf-8") if _MAY_PASS_FOR_UTF8.match(self._charset) else ("utf-8",):
            with suppress(UnicodeDecodeError):
                return value.data.decode(codec).lstrip("\ufeff").replace("\x00", "")
        return value.data.decode(self._charset, "replace").replace("\x00", "")

    def _read_content(self) -> tuple[Content | None, int]:
        """Returns the content, and how many bytes at its beginning are the text that the sender wrote."""
        body, raw = _filled(self._item.body), _filled(self._item.raw)
        charset = self._charset if self._item.is_body_encoded else "utf-8"
        if body is None:
            return raw, 0
        if raw is None:
            return Content(stream=body.stream, size_bytes=body.size_bytes, charset=charset), body.size_bytes
        joined = self._options.spool()
        for content in (body, raw):
            with content.stream as stream:
                _copy(stream, joined)
        joined.seek(0)
        return Content(stream=joined, size_bytes=body.size_bytes + raw.size_bytes, charset=charset), body.size_bytes

    # --- attributes ---

    def _read_title(self) -> str:
        title = " ".join(self._decode(self._item.find_value("Title")).split())
        if len(title) > MAX_TITLE_CHARACTERS:
            self._warn(f"Title was cut after {MAX_TITLE_CHARACTERS} characters")
        return title[:MAX_TITLE_CHARACTERS]

    def _read_mimetype(self) -> str | None:
        text = self._decode(self._item.find_value("MimeType")).strip()
        if len(text) > MAX_MIMETYPE_CHARACTERS:
            self._wrong_elements.add("MimeType")
            self._warn(f"MimeType is longer than {MAX_MIMETYPE_CHARACTERS} characters and ignored")
            return None
        return text or None

    def _read_date(self, name: str) -> datetime | None:
        text = self._decode(self._item.find_value(name)).strip()
        moment = read_moment(text) if text else None
        if text and moment is None:
            self._wrong_elements.add(name)
            self._warn_of_type(name, text, _NO_DATE)
        try:
            return None if moment is None else moment.astimezone(UTC) if moment.tzinfo else self._options.read_local(moment)
        except (ValueError, OverflowError):
            self._wrong_elements.add(name)
            self._warn_of_type(name, text, "no date that the server's calendar has")
            return None

    def _read_links(self) -> tuple[str, ...]:
        refs = self._read_inner("Refs", "Ref")
        return tuple(dict.fromkeys(link.url for link in resolve_links(self._url, [Link(url=ref, text="") for ref in refs])))

    def _read_inner(self, name: str, element: str) -> tuple[str, ...]:
        """Returns the texts of an element in the XML inside Refs or Errors, which is base64 whether its attribute says so or not."""
        value = self._item.find_value(name)
        if value is None:
            return ()
        try:
            data = value.data
            if data is None:
                is_xml = value.text.lstrip().startswith("<")
                data = value.text.encode("utf-8", "replace") if is_xml else decode_base64(value.text)
            return read_results(data, element)
        except (NotWellFormed, Undecodable) as exc:
            raise Unreadable(f"<{name}> cannot be read: {exc}") from exc

    # --- metadata ---

    def _read_metadata(self) -> Metadata:
        """Returns the elements that become metadata; of repeated ones the last counts, except of categories."""
        pairs: dict[tuple[str, str], str] = {}
        for value in self._item.values:
            if value.is_field:
                field = self._find_field(value.name)
                if field is None:
                    self._warn(f'the profile "{shorten(self._profile.name)}" has no additional field "{shorten(value.name)}"')
                else:
                    pairs |= {(field.name, text): text for text in self._read_field(field, value)}
            elif value.name in METADATA:
                text = self._read_value(value)
                key = (value.name, text or "") if value.name == "Category" else (value.name, "")
                if text is not None:
                    pairs[key] = text
        return tuple((name.lower() if name in METADATA else name, text) for (name, _), text in pairs.items())

    def _find_field(self, name: str) -> AdditionalField | None:
        return next((field for field in self._profile.fields if field.name.casefold() == name.casefold()), None)

    def _read_field(self, field: AdditionalField, value: Value) -> tuple[str, ...]:
        """Returns the values of an additional field, none for an empty element and for one of the wrong type."""
        text = self._decode(value).strip()
        try:
            return read_field(field, text, self._options.read_local) if text else ()
        except Unreadable as exc:
            self._wrong_fields.add(field.name)
            self._warn_of_type(field.name, text, str(exc))
            return ()

    def _read_value(self, value: Value) -> str | None:
        """Returns the text of an element; None if it is empty or of the wrong type."""
        text = self._decode(value).strip()
        if not text:
            return None
        category = self._find_category(text) if value.name == "Category" else text
        fault = find_fault(value.name, text)
        if category is None:
            fault = f'no category of the profile "{shorten(self._profile.name)}"'
        if fault is not None:
            self._wrong_elements.add(value.name)
            self._warn_of_type(value.name, text, fault)
            return None
        return category

    def _find_category(self, text: str) -> str | None:
        return next((name for name in self._profile.categories if name.casefold() == text.casefold()), None)

    def _warn_of_type(self, name: str, text: str, reason: str) -> None:
        self._warn(f'{name} "{shorten(text)}" is {reason}, and is ignored')

    def _warn(self, reason: str) -> None:
        self._notes.append(_warn(reason))


def find_body_codec(label: str) -> str | None:
    """Returns the codec of a body in base64, which may also be of a wide charset that no XML declares; None for an unknown label."""
    return find_codec(label) or _WIDE_CODECS.get(_NOT_OF_LABELS.sub("", label.lower()))


def find_fault(name: str, text: str) -> str | None:
    """Returns what is wrong with the value of an element, None if nothing is."""
    if name in INTEGERS and not _INTEGER.fullmatch(text):
        return "no integer"
    if name in NUMBERS and not is_number(text):
        return "no number"
    return _NO_DATE if name in DATES and read_moment(text) is None else None


def read_moment(text: str) -> datetime | None:
    """Returns the time of ``YYYY-MM-DD HH:MM:SS``, or of another form of ISO 8601; None for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def find_url(item: Item) -> str:
    """Returns the URL of an item, "" if it has none."""
    return _plain(item.find_value("Url")).strip()


def reject(item: Item, reason: str) -> InvalidRecord:
    """Returns an item as one in error, and closes its contents."""
    close_contents(item)
    return InvalidRecord(place=SourcePosition(record=item.number, line=item.line), url=_readable(find_url(item)), reason=reason)


def close_contents(item: Item) -> None:
    """Closes the contents of an item."""
    for content in (item.body, item.raw):
        if content is not None:
            content.stream.close()


def _readable(url: str) -> str | None:
    return url if 0 < len(url) <= MAX_URL_CHARACTERS else None


def _plain(value: Value | None) -> str:
    """Returns the text of an element that is ASCII in practice: a type, a URL, a label."""
    if value is None:
        return ""
    return value.text if value.data is None else value.data.decode("utf-8", "replace")


def _filled(content: Content | None) -> Content | None:
    if content is None or content.size_bytes:
        return content
    content.stream.close()
    return None


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    for piece in _iter_pieces(source):
        target.write(piece)


def _iter_pieces(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(_COPY_BYTES):
        yield piece


def _warn(reason: str) -> Note:
    return Note(level=LogLevel.WARNING, reason=reason)
