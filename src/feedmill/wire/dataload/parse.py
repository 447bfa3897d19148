"""Converts the XML of a dataload to items, in order, in constant memory.

Rules:

1. The root is ``ThunderstoneReplication`` and holds any number of ``<Item>``. Names may have any namespace prefix, declared or not: the
   manual's own example never declares the prefix of additional fields. The prefix ``u`` marks an additional field.
2. The children of an item come in any order. Of several elements of one name the last counts, except of ``<Category>`` and of additional
   fields, which may have several values.
3. Each item yields one item, whatever its faults, so that a reading may skip the first items that an earlier one has processed: of those
   nothing is decoded or stored.
4. Any element may be base64. Body and RawData are decoded as they arrive and go to a spool when they are large.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

from feedmill.model.change import Content
from feedmill.model.feed import FeedHeader, LogEntry
from feedmill.wire.dataload.schema import (
    BASE64,
    CONTENTS,
    FIELD_PREFIX,
    ITEM,
    MAX_TYPE_CHARACTERS,
    MAX_VALUE_CHARACTERS,
    MAX_VALUES,
    ROOT,
    TYPE,
    VALUES,
    Item,
    Value,
)
from feedmill.wire.gsafeed.content import ContentWriter, Undecodable, decode_base64
from feedmill.wire.tokens import shorten
from feedmill.wire.xmlstream.reader import Attributes, Element, XmlReader, local_name

MAX_REMARKS: Final = 20
"""How many remarks about its elements an item has."""

_DATATYPE: Final = "dt"
_ATTRIBUTES: Final = frozenset({_DATATYPE})


@dataclass(slots=True)
class _OpenItem:
    """The parts of an item whose end was not read yet."""

    number: int
    line: int
    values: list[Value] = field(default_factory=list)
    contents: dict[str, Content] = field(default_factory=dict)
    is_body_encoded: bool = False
    characters: int = 0
    fault: str | None = None
    remarks: dict[str, None] = field(default_factory=dict)

    def add(self, value: Value) -> None:
        if len(self.values) >= MAX_VALUES:
            self.fault = self.fault or f"more than {MAX_VALUES} elements in an item"
        else:
            self.values.append(value)

    def set_content(self, name: str, content: Content) -> None:
        if name in self.contents:
            self.remarks[f"more than one <{name}>, the last was taken"] = None
            self.contents[name].stream.close()
        self.contents[name] = content

    def build_item(self) -> Item:
        return Item(
            number=self.number,
            line=self.line,
            values=tuple(self.values),
            body=self.contents.get("Body"),
            is_body_encoded=self.is_body_encoded,
            raw=self.contents.get("RawData"),
            fault=self.fault,
            remarks=tuple(self.remarks),
        )

    def discard(self) -> None:
        for content in self.contents.values():
            content.stream.close()


class _Children(Mapping[str, Element]):
    """Describes the elements of an item by the local part of their names."""

    def __init__(
        self,
        known: Mapping[str, Element],
        describe_field: Callable[[str], Element],
        describe_unknown: Callable[[str], Element] | None = None,
    ) -> None:
        self._known = known
        self._describe_field = describe_field
        self._describe_unknown = describe_unknown or _no_field

    def __getitem__(self, name: str) -> Element:
        prefix, _, local = name.rpartition(":")
        if prefix == FIELD_PREFIX:
            return self._describe_field(local)
        return self._known[local] if local in self._known else self._describe_unknown(local)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _no_field(name: str) -> Element:
    raise KeyError(name)


class DataloadParser:
    """One reading of one dataload. Pass bytes to ``feed``, which returns items; call ``close`` at the end."""

    def __init__(self, *, spool: Callable[[], BinaryIO], max_inflated_bytes: int, skip: int = 0) -> None:
        self.items = 0
        self._spool = spool
        self._max_inflated_bytes = max_inflated_bytes
        self._skip = skip
        self._ready: list[Item] = []
        self._item: _OpenItem | None = None
        self._writer: ContentWriter | None = None
        self._pieces: list[str] = []
        self._is_encoded = False
        self._reader = XmlReader(ROOT, self._describe(), ignores_prefixes=True)

    @property
    def records(self) -> int:
        """How many items were read so far, skipped ones too."""
        return self.items

    @property
    def header(self) -> FeedHeader:
        """Returns an empty description: a dataload says nothing about itself."""
        return FeedHeader()

    @property
    def remarks(self) -> list[LogEntry]:
        """Returns notes for the sender about the dataload as a whole; complete after ``close``."""
        return self._reader.remarks

    def feed(self, data: bytes) -> list[Item]:
        """Reads the next bytes and returns the items that ended in them. Errors: BadFeed."""
        self._reader.feed(data)
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> list[Item]:
        """Ends the dataload and returns the last items. Errors: BadFeed."""
        self._reader.close()
        ready, self._ready = self._ready, []
        return ready

    def discard(self) -> None:
        """Drops the parts of an unfinished item. Call it when a reading ends, however it ends."""
        if self._writer is not None:
            self._writer.discard()
        if self._item is not None:
            self._item.discard()

    def _describe(self) -> Element:
        values = {name: self._describe_value(name, is_field=False) for name in VALUES}
        contents = {
            name: Element(
                attributes=_ATTRIBUTES,
                start=partial(self._start_content, name),
                end=partial(self._end_content, name),
                text=True,
                part=self._take_content,
            )
            for name in CONTENTS
        }
        children = _Children(values | contents, partial(self._describe_value, is_field=True), self._describe_unknown)
        item = Element(children=children, start=self._start_item, end=self._end_item)
        return Element(children=_Children({ITEM: item}, _no_field))

    def _describe_unknown(self, name: str) -> Element:
        return Element(start=partial(self._note_unknown, name))

    def _note_unknown(self, name: str, _: Attributes) -> None:
        if self._item is not None and len(self._item.remarks) < MAX_REMARKS:
            self._item.remarks[f"<{shorten(name)}> is unknown and ignored"] = None

    def _describe_value(self, name: str, *, is_field: bool) -> Element:
        return Element(
            attributes=_ATTRIBUTES,
            start=self._start_value,
            end=partial(self._end_value, name, is_field=is_field),
            text=True,
            part=self._take_value,
        )

    def _start_item(self, _: Attributes) -> None:
        self.items += 1
        if self.items > self._skip:
            self._item = _OpenItem(self.items, self._reader.line)

    def _end_item(self, _: str) -> None:
        if self._item is not None:
            self._ready.append(self._item.build_item())
            self._item = None

    def _start_value(self, attributes: Attributes) -> None:
        self._pieces, self._is_encoded = [], _is_base64(attributes)

    def _take_value(self, text: str) -> None:
        """Collects a text that comes in pieces; beyond the limit of its item only the fault is stored."""
        item = self._item
        if item is None:
            return
        item.characters += len(text)
        if item.characters > MAX_VALUE_CHARACTERS:
            item.fault = item.fault or f"more than {MAX_VALUE_CHARACTERS} characters in the short elements of an item"
        else:
            self._pieces.append(text)

    def _end_value(self, name: str, text: str, *, is_field: bool) -> None:
        item = self._item
        if item is None:
            return
        self._take_value(text)
        whole = "".join(self._pieces)
        try:
            item.add(Value(name, whole, decode_base64(whole) if self._is_encoded else None, is_field))
        except Undecodable as exc:
            item.fault = item.fault or f"<{shorten(name)}> cannot be decoded: {exc}"

    def _start_content(self, name: str, attributes: Attributes) -> None:
        if self._item is not None:
            is_encoded = _is_base64(attributes) or name == "RawData"
            if name == "Body":
                self._item.is_body_encoded = is_encoded
            encoding = "base64binary" if is_encoded else None
            self._writer = ContentWriter(encoding, spool=self._spool, max_inflated_bytes=self._max_inflated_bytes)

    def _take_content(self, text: str) -> None:
        if self._writer is not None:
            self._writer.write(text)

    def _end_content(self, name: str, text: str) -> None:
        item, writer = self._item, self._writer
        if item is None or writer is None:
            return
        content = writer.close(text)
        self._writer = None
        if content is None:
            item.fault = item.fault or f"<{name}> cannot be decoded: {writer.fault}"
        else:
            item.set_content(name, content)


def read_types(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yields the type of each item, and decodes nothing else. Errors: BadFeed."""
    types: list[str] = []
    is_encoded = False

    def start(_: Attributes) -> None:
        types.append("")

    def start_type(attributes: Attributes) -> None:
        nonlocal is_encoded
        is_encoded = _is_base64(attributes)

    def end_type(text: str) -> None:
        if is_encoded:
            # a type that cannot be decoded is shown as it was written
            with suppress(Undecodable):
                text = decode_base64(text).decode("utf-8", "replace")
        types[-1] = text.strip()[:MAX_TYPE_CHARACTERS]

    kind = Element(attributes=_ATTRIBUTES, start=start_type, end=end_type, text=True)
    item = Element(children=_Children({TYPE: kind}, _no_field), start=start)
    reader = XmlReader(ROOT, Element(children=_Children({ITEM: item}, _no_field)), ignores_prefixes=True)
    for piece in pieces:
        reader.feed(piece)
        # the last item may not have ended
        yield from types[:-1]
        del types[:-1]
    reader.close()
    yield from types


def _is_base64(attributes: Attributes) -> bool:
    return any(local_name(name) == _DATATYPE and value.strip().lower() == BASE64 for name, value in attributes.items())
