"""Reads a page of a seedlist twice: once for what it says of all entries, once for the entries, one of them in memory at a time.

Rules:

1. A page is readable as a whole or not at all: ``scan_page`` reads it to its end before ``iter_entries`` returns any entry. What holds
   for all entries (action, field infos, ACLs) may stand behind them.
2. Elements count by their local names, whatever their prefix, unless the prefix is declared for another namespace. Raw ampersands and
   the like are repaired (``wire/xmlstream/repair``).
3. White space is dropped from URLs, wherever it is: servers break them over lines, and put blanks before ports. Ids, tokens and texts
   are trimmed. URLs are resolved against ``xml:base`` and the URL of the page.
4. An entry is a container if it leads to no page, and its ``via`` link, or without a content its ``alternate`` link, leads to a seedlist.
5. The ACLs, the action and the field infos of an entry go before those of the page. Without ``acl`` and ``acls`` on both, everybody may see
   the entry; empty ones permit no user.
6. An entry without an id, with an unknown action, a URL that is none, or beyond the limits is an ``InvalidEntry``. Other values that
   are not readable are left out with a remark; a ``returnable`` that is not readable counts as false.

Source: HCL Connections, "Seedlist response"; RFC 4287, 4.1.3 and 4.2.7.2; XML Base.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from urllib.parse import urljoin

from feedmill.core.text.dates import parse_iso
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.wire.seedlist.schema import (
    ATOM,
    ATOM_TYPE,
    MAX_ENTRY_CHARACTERS,
    MAX_ENTRY_VALUES,
    MAX_FEED_VALUES,
    WPLC,
    Action,
    AtomText,
    Author,
    Category,
    Content,
    Field,
    FieldInfo,
    FieldType,
    InvalidEntry,
    Link,
    SeedlistEntry,
    SeedlistPage,
    TextType,
)
from feedmill.wire.tokens import Unreadable, read_switch, read_word, shorten
from feedmill.wire.xmlstream.reader import Attributes, Element, XmlReader, local_name
from feedmill.wire.xmlstream.repair import Repairer

# A later version of the namespace must not make ACLs unknown: without them, every user could see the entries.
_NAMESPACES: Final = (ATOM.lower(), WPLC.partition("atom/")[0])
_RELATION_PREFIX: Final = "http://www.iana.org/assignments/relation/"
_BASE: Final = frozenset({"base"})
_TYPED: Final = frozenset({"type", "lang", "base"})
_INFO_ATTRIBUTES: Final = frozenset(
    {
        "id",
        "name",
        "description",
        "type",
        "contentSearchable",
        "fieldSearchable",
        "parametric",
        "returnable",
        "sortable",
        "supportsExactMatch",
    }
)
_INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code em font i kbd mark q s samp small span strike strong sub sup tt u var wbr".split()
)


def scan_page(pieces: Iterable[bytes], url: str) -> SeedlistPage:
    """Reads a page to its end. Returns what holds for all its entries. ``url`` is the URL of the page. Errors: BadFeed."""
    scan = _PageScan(url)
    for _ in _read_pieces(scan.reader, scan.repairer, pieces):
        pass
    return scan.build_page()


def iter_entries(pieces: Iterable[bytes], url: str, page: SeedlistPage) -> Iterator[SeedlistEntry | InvalidEntry]:
    """Yields the entries of a page whose scan returned ``page``. Errors: BadFeed, only if the bytes are not those that were scanned."""
    reading = _EntryReading(url, page)
    for _ in _read_pieces(reading.reader, reading.repairer, pieces):
        ready, reading.ready = reading.ready, []
        yield from ready


def _read_pieces(reader: XmlReader, repairer: Repairer, pieces: Iterable[bytes]) -> Iterator[None]:
    """Reads piece by piece. Yields after each."""
    for piece in pieces:
        reader.feed(repairer.feed(piece))
        yield
    reader.feed(repairer.close())
    reader.close()
    yield


def _find_attribute(attributes: Attributes, name: str) -> str:
    """Returns an attribute's value by its local name, trimmed; "" if it is absent."""
    if name in attributes:
        return attributes[name].strip()
    return next((value.strip() for key, value in attributes.items() if local_name(key) == name), "")


def _squeeze(url: str) -> str:
    return "".join(url.split())


def _read_media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _read_relation(attributes: Attributes) -> str:
    # RFC 4287, 4.2.7.2: a link without a relation is an alternate.
    return _find_attribute(attributes, "rel").lower().removeprefix(_RELATION_PREFIX) or "alternate"


def _replace_tag(name: str) -> str:
    # tags of XHTML come with their namespace, in braces
    name = name.rpartition("}")[2]
    return "" if local_name(name).lower() in _INLINE else "\n"


class _Texts:
    """Describes elements with texts of any length, and collects the one that is being read."""

    def __init__(self, grow: Callable[[int], bool]) -> None:
        """``grow`` counts characters, and returns whether they are still within the limits."""
        self._grow = grow
        self._parts: list[str] = []
        self._attributes: Attributes = {}

    def describe(
        self,
        end: Callable[[Attributes, str], None],
        *,
        attributes: frozenset[str] = frozenset(),
        start: Callable[[Attributes], None] | None = None,
        children: Mapping[str, Element] | None = None,
    ) -> Element:
        """Returns an element. ``end`` gets its attributes and its trimmed text."""

        def begin(given: Attributes) -> None:
            self._parts.clear()
            self._attributes = given
            self._grow(sum(map(len, given.values())))
            if start is not None:
                start(given)

        def finish(text: str) -> None:
            self._add_text(text)
            whole = "".join(self._parts).strip()
            self._parts.clear()
            end(self._attributes, whole)

        return Element(
            attributes=attributes,
            children={} if children is None else children,
            start=begin,
            end=finish,
            text=True,
            part=self._add_text,
            markup=_replace_tag,
        )

    def _add_text(self, text: str) -> None:
        if text and self._grow(len(text)):
            self._parts.append(text)


class _InfoReading:
    """Collects field infos, which may be nested."""

    def __init__(self, remark: Callable[[str], None], add: Callable[[FieldInfo], None]) -> None:
        self._remark = remark
        self._add = add
        self._open: list[tuple[FieldInfo | None, list[FieldInfo]]] = []

    def describe(self) -> dict[str, Element]:
        """Returns the elements of field infos."""
        children: dict[str, Element] = {}
        children["fieldInfo"] = Element(attributes=_INFO_ATTRIBUTES, children=children, start=self._start, end=self._end_info)
        children["fieldInfos"] = Element(children=children)
        return children

    def _start(self, attributes: Attributes) -> None:
        self._open.append((self._read_info(attributes), []))

    def _end_info(self, _: str) -> None:
        info, parts = self._open.pop()
        if info is None:
            return
        info = replace(info, parts=tuple(parts)) if parts else info
        if self._open:
            self._open[-1][1].append(info)
        else:
            self._add(info)

    def _read_info(self, attributes: Attributes) -> FieldInfo | None:
        identifier = _find_attribute(attributes, "id")
        if not identifier:
            self._remark("a fieldInfo without an id was left out")
            return None
        default = FieldInfo(id=identifier)
        kind = default.type
        if word := _find_attribute(attributes, "type"):
            try:
                kind = read_word(word, FieldType, f'type of the fieldInfo "{shorten(identifier)}"')
            except Unreadable as exc:
                self._remark(str(exc))
        return FieldInfo(
            id=identifier,
            name=_find_attribute(attributes, "name"),
            description=_find_attribute(attributes, "description"),
            type=kind,
            content_searchable=self._read_switch(attributes, "contentSearchable", absent=default.content_searchable),
            field_searchable=self._read_switch(attributes, "fieldSearchable", absent=default.field_searchable),
            parametric=self._read_switch(attributes, "parametric", absent=default.parametric),
            # It is better to hide a field than to show one that no user may read.
            returnable=self._read_switch(attributes, "returnable", absent=default.returnable, unreadable=False),
            sortable=self._read_switch(attributes, "sortable", absent=default.sortable),
            supports_exact_match=self._read_switch(attributes, "supportsExactMatch", absent=default.supports_exact_match),
        )

    def _read_switch(self, attributes: Attributes, name: str, *, absent: bool, unreadable: bool | None = None) -> bool:
        value = read_switch(_find_attribute(attributes, name))
        if value == "unreadable":
            self._remark(f'{name}="{shorten(_find_attribute(attributes, name))}" of a fieldInfo is neither true nor false')
            return absent if unreadable is None else unreadable
        return absent if value is None else value


class _Bases:
    """The values of ``xml:base`` in force. Shape: one for the page, one for each open element that has its own."""

    def __init__(self, url: str) -> None:
        self._bases = [url]

    def enter(self, attributes: Attributes) -> None:
        """Begins an element that may have a base."""
        base = _squeeze(attributes.get("xml:base", ""))
        try:
            self._bases.append(urljoin(self._bases[-1], base))
        except ValueError:
            self._bases.append(self._bases[-1])

    def leave(self) -> None:
        """Ends the element that was entered last."""
        self._bases.pop()

    def resolve(self, attributes: Attributes, name: str) -> str:
        """Returns the URL in an attribute, which may be relative; "" if it is absent. Errors: Unreadable."""
        href = _squeeze(_find_attribute(attributes, name))
        if not href:
            return ""
        self.enter(attributes)
        try:
            return urljoin(self._bases[-1], href)
        except ValueError as exc:
            raise Unreadable(f'{name}="{shorten(href)}" is no URL') from exc
        finally:
            self.leave()


def _describe_acls(texts: _Texts, add: Callable[[str], None]) -> dict[str, Element]:
    """Returns the elements of ACLs. ``add`` gets each token, and "" for each element without one."""
    acl = texts.describe(lambda _, text: add(text))
    return {"acl": acl, "acls": Element(children={"acl": acl}, start=lambda _: add(""))}


def _extend_acls(acls: list[str] | None, token: str) -> list[str]:
    tokens = acls if acls is not None else []
    if token:
        tokens.append(token)
    return tokens


def _read_category(attributes: Attributes) -> Category:
    return Category(
        scheme=_squeeze(_find_attribute(attributes, "scheme")),
        term=_find_attribute(attributes, "term"),
        label=_find_attribute(attributes, "label"),
    )


# The types of Atom that are no media types. The tags of an XHTML content are read as white space.
_INLINE_TYPES = {"": "text/plain", "text": "text/plain", "html": "text/html", "xhtml": "text/plain"}
_CATEGORY = frozenset({"scheme", "term", "label", "lang"})
_LINK = frozenset({"href", "rel", "type", "title", "hreflang", "length", "lang", "base", "repeatable"})


class _PageScan:
    """Collects what a page says apart from its entries."""

    def __init__(self, url: str) -> None:
        self.repairer = Repairer()
        self._values = 0
        self._characters = 0
        self._bases = _Bases(url)
        self._id = ""
        self._title = ""
        self._timestamp = ""
        self._links: dict[str, str] = {}
        self._action: Action | None = None
        self._categories: list[Category] = []
        self._infos: dict[str, FieldInfo] = {}
        self._acls: list[str] | None = None
        self._entries = 0
        self._remarks: dict[str, None] = {}
        self.reader = XmlReader("feed", self._describe(), namespaces=_NAMESPACES)

    def build_page(self) -> SeedlistPage:
        return SeedlistPage(
            id=self._id,
            title=self._title,
            timestamp=self._timestamp,
            next_url=self._links.get("next", ""),
            previous_url=self._links.get("previous", ""),
            action=self._action,
            categories=tuple(self._categories),
            field_infos=self._infos,
            acls=None if self._acls is None else tuple(self._acls),
            entries=self._entries,
            remarks=(*self.repairer.report, *(LogEntry(level=LogLevel.WARNING, reason=reason) for reason in self._remarks)),
        )

    def _describe(self) -> Element:
        texts = _Texts(self._grow)
        return Element(
            attributes=_BASE,
            start=self._bases.enter,
            children={
                "id": texts.describe(self._set_id),
                "title": texts.describe(self._set_title, attributes=_TYPED),
                "timestamp": texts.describe(self._set_timestamp),
                "link": Element(attributes=_LINK, start=self._add_link),
                "action": Element(attributes=frozenset({"do"}), start=self._set_action),
                "category": Element(attributes=_CATEGORY, start=self._add_category),
                "entry": Element(attributes=_TYPED, start=self._count_entry),
                **_InfoReading(self._remark, self._add_info).describe(),
                **_describe_acls(texts, self._add_token),
            },
        )

    def _grow(self, characters: int) -> bool:
        self._characters += characters
        if self._characters > MAX_ENTRY_CHARACTERS:
            self.reader.refuse(f"more than {MAX_ENTRY_CHARACTERS} characters outside the entries")
        return True

    def _count(self) -> None:
        self._values += 1
        if self._values > MAX_FEED_VALUES:
            self.reader.refuse(f"more than {MAX_FEED_VALUES} links, categories, field infos and ACLs outside the entries")

    def _set_id(self, _: Attributes, text: str) -> None:
        self._id = _squeeze(text)

    def _set_title(self, _: Attributes, text: str) -> None:
        self._title = " ".join(text.split())

    def _set_timestamp(self, _: Attributes, text: str) -> None:
        self._timestamp = _squeeze(text)

    def _add_link(self, attributes: Attributes) -> None:
        self._count()
        try:
            self._links.setdefault(_read_relation(attributes), self._bases.resolve(attributes, "href"))
        except Unreadable as exc:
            self.reader.refuse(str(exc))

    def _set_action(self, attributes: Attributes) -> None:
        try:
            self._action = read_word(_find_attribute(attributes, "do"), Action, "do of the action")
        except Unreadable as exc:
            self.reader.refuse(str(exc))

    def _add_category(self, attributes: Attributes) -> None:
        self._count()
        self._categories.append(_read_category(attributes))

    def _remark(self, reason: str) -> None:
        self._count()
        self._remarks[reason] = None

    def _add_info(self, info: FieldInfo) -> None:
        self._count()
        self._infos[info.id] = info

    def _add_token(self, token: str) -> None:
        self._count()
        self._acls = _extend_acls(self._acls, token)

    def _count_entry(self, _: Attributes) -> None:
        self._entries += 1


@dataclass(slots=True)
class _OpenEntry:
    """The parts of an entry whose end was not read yet."""

    line: int
    language: str
    id: str = ""
    action: Action | None = None
    title: AtomText = field(default_factory=AtomText)
    summary: AtomText = field(default_factory=AtomText)
    content: Content | None = None
    links: list[tuple[str, Link]] = field(default_factory=list)
    authors: list[Author] = field(default_factory=list)
    categories: list[Category] = field(default_factory=list)
    dates: dict[str, str] = field(default_factory=dict)
    security_id: str = ""
    infos: dict[str, FieldInfo] = field(default_factory=dict)
    fields: list[Field] = field(default_factory=list)
    acls: list[str] | None = None
    remarks: dict[str, None] = field(default_factory=dict)
    values: int = 0
    characters: int = 0
    fault: str = ""

    def fail(self, reason: str) -> None:
        """Makes the entry invalid; the first reason counts."""
        self.fault = self.fault or reason

    def count(self) -> bool:
        """Counts a value. Returns whether the entry may hold it."""
        self.values += 1
        if self.values > MAX_ENTRY_VALUES:
            self.fail(f"more than {MAX_ENTRY_VALUES} links, categories, fields and ACLs")
        return not self.fault

    def build_entry(self, page: SeedlistPage) -> SeedlistEntry | InvalidEntry:
        """Returns the entry."""
        if not self.id:
            self.fail("an entry without an id")
        if self.fault:
            return InvalidEntry(line=self.line, id=self.id, reason=self.fault)
        via = [link for relation, link in self.links if relation == "via"]
        pages = tuple(link for link in via if link.media_type != ATOM_TYPE)
        documents = next((link.url for link in via if link.media_type == ATOM_TYPE), "")
        children = next((link.url for relation, link in self.links if relation == "alternate" and link.media_type == ATOM_TYPE), "")
        is_container = not pages and (documents != "" or (children != "" and self.content is None))
        acls = page.acls if self.acls is None else tuple(self.acls)
        dates = {name: self._read_date(name) for name in ("updated", "published")}
        return SeedlistEntry(
            line=self.line,
            id=self.id,
            action=self.action or page.action or Action.UPDATE,
            title=self.title,
            summary=self.summary,
            content=self.content,
            via=pages,
            related=tuple(link for relation, link in self.links if relation == "related"),
            is_container=is_container,
            children_url=children if is_container else "",
            documents_url=documents if is_container else "",
            authors=tuple(self.authors),
            categories=tuple(self.categories),
            updated_at=dates["updated"],
            published_at=dates["published"],
            language=self.language,
            security_id=self.security_id,
            field_infos={**page.field_infos, **self.infos} if self.infos else page.field_infos,
            fields=tuple(self.fields),
            acls=acls,
            remarks=tuple(self.remarks),
        )

    def _read_date(self, name: str) -> datetime | None:
        text = self.dates.get(name, "")
        date = parse_iso(text)
        if text and date is None:
            self.remarks[f'<{name}> of "{shorten(text)}" is no date'] = None
        return date


class _EntryReading:
    """Collects the entries of a page."""

    def __init__(self, url: str, page: SeedlistPage) -> None:
        self.repairer = Repairer()
        self.ready: list[SeedlistEntry | InvalidEntry] = []
        self._page = page
        self._bases = _Bases(url)
        self._entry = _OpenEntry(line=0, language="")
        self._author: dict[str, str] = {}
        self._open_fields: list[tuple[str, list[Field]]] = []
        self.reader = XmlReader("feed", self._describe(), namespaces=_NAMESPACES)

    def _describe(self) -> Element:
        return Element(attributes=_BASE, start=self._bases.enter, children={"entry": self._describe_entry()})

    def _describe_entry(self) -> Element:
        texts = _Texts(self._grow)
        fields: dict[str, Element] = {}
        fields["field"] = texts.describe(self._end_field, attributes=frozenset({"id", "lang"}), start=self._start_field, children=fields)
        fields["fields"] = Element(children=fields)
        return Element(
            attributes=_TYPED,
            start=self._start_entry,
            end=self._end_entry,
            children={
                "id": texts.describe(self._set_id),
                "title": texts.describe(self._set_title, attributes=_TYPED),
                "summary": texts.describe(self._set_summary, attributes=_TYPED),
                "content": texts.describe(self._set_content, attributes=_TYPED | {"src"}),
                "link": Element(attributes=_LINK, start=self._add_link),
                "action": Element(attributes=frozenset({"do"}), start=self._set_action),
                "category": Element(attributes=_CATEGORY, start=self._add_category),
                "author": self._describe_author(texts),
                "updated": texts.describe(lambda _, text: self._entry.dates.__setitem__("updated", text)),
                "published": texts.describe(lambda _, text: self._entry.dates.__setitem__("published", text)),
                "securityId": texts.describe(self._set_security_id),
                **fields,
                **_InfoReading(self._remark, self._add_info).describe(),
                **_describe_acls(texts, self._add_token),
            },
        )

    def _describe_author(self, texts: _Texts) -> Element:
        return Element(
            children={
                "name": texts.describe(lambda _, text: self._author.__setitem__("name", text)),
                "uri": texts.describe(lambda _, text: self._author.__setitem__("uri", text)),
                "email": texts.describe(lambda _, text: self._author.__setitem__("email", text)),
            },
            start=lambda _: self._author.clear(),
            end=self._end_author,
        )

    def _grow(self, characters: int) -> bool:
        self._entry.characters += characters
        if self._entry.characters > MAX_ENTRY_CHARACTERS:
            self._entry.fail(f"more than {MAX_ENTRY_CHARACTERS} characters in an entry")
        return not self._entry.fault

    def _start_entry(self, attributes: Attributes) -> None:
        self._bases.enter(attributes)
        self._entry = _OpenEntry(line=self.reader.line, language=_find_attribute(attributes, "lang"))

    def _end_entry(self, _: str) -> None:
        self._bases.leave()
        self.ready.append(self._entry.build_entry(self._page))

    def _set_id(self, _: Attributes, text: str) -> None:
        self._entry.id = text

    def _set_title(self, attributes: Attributes, text: str) -> None:
        self._entry.title = _read_text(attributes, " ".join(text.split()))

    def _set_summary(self, attributes: Attributes, text: str) -> None:
        self._entry.summary = _read_text(attributes, text)

    def _set_security_id(self, _: Attributes, text: str) -> None:
        self._entry.security_id = text

    def _set_content(self, attributes: Attributes, text: str) -> None:
        kind = _read_media_type(_find_attribute(attributes, "type"))
        try:
            url = self._bases.resolve(attributes, "src")
        except Unreadable as exc:
            self._entry.fail(str(exc))
            return
        if url:
            self._entry.content = Content(url=url, media_type=kind)
        elif text:
            self._entry.content = Content(text=text, media_type=_INLINE_TYPES.get(kind, kind))

    def _add_link(self, attributes: Attributes) -> None:
        if not self._grow(sum(map(len, attributes.values()))) or not self._entry.count():
            return
        try:
            url = self._bases.resolve(attributes, "href")
        except Unreadable as exc:
            self._entry.fail(str(exc))
            return
        if url:
            link = Link(
                url=url,
                media_type=_read_media_type(_find_attribute(attributes, "type")),
                title=" ".join(_find_attribute(attributes, "title").split()),
                language=_find_attribute(attributes, "hreflang"),
            )
            self._entry.links.append((_read_relation(attributes), link))

    def _set_action(self, attributes: Attributes) -> None:
        try:
            self._entry.action = read_word(_find_attribute(attributes, "do"), Action, "do of the action")
        except Unreadable as exc:
            self._entry.fail(str(exc))

    def _add_category(self, attributes: Attributes) -> None:
        if self._grow(sum(map(len, attributes.values()))) and self._entry.count():
            self._entry.categories.append(_read_category(attributes))

    def _end_author(self, _: str) -> None:
        author = Author(name=self._author.get("name", ""), uri=self._author.get("uri", ""), email=self._author.get("email", ""))
        if self._entry.count() and author != Author():
            self._entry.authors.append(author)

    def _start_field(self, attributes: Attributes) -> None:
        self._open_fields.append((_find_attribute(attributes, "id"), []))

    def _end_field(self, _: Attributes, text: str) -> None:
        identifier, parts = self._open_fields.pop()
        if not identifier:
            self._remark("a field without an id was left out")
        elif self._entry.count():
            value = Field(id=identifier, text="" if parts else text, parts=tuple(parts))
            (self._open_fields[-1][1] if self._open_fields else self._entry.fields).append(value)

    def _remark(self, reason: str) -> None:
        if self._entry.count():
            self._entry.remarks[reason] = None

    def _add_info(self, info: FieldInfo) -> None:
        if self._entry.count():
            self._entry.infos[info.id] = info

    def _add_token(self, token: str) -> None:
        if self._entry.count():
            self._entry.acls = _extend_acls(self._entry.acls, token)


def _read_text(attributes: Attributes, text: str) -> AtomText:
    is_html = _read_media_type(_find_attribute(attributes, "type")) in ("html", "text/html")
    return AtomText(text=text, type=TextType.HTML if is_html else TextType.TEXT)
