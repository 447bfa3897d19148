"""Writes pages of a seedlist that ``parse`` reads back as they were.

Every entry has its own ACLs. An entry that every user may see has none, so a page must not have any: they would hold for that entry.
Characters that XML cannot hold become U+FFFD.
Source: see ``schema``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from feedmill.wire.seedlist.schema import (
    ATOM,
    ATOM_TYPE,
    WPLC,
    AtomText,
    Author,
    Category,
    Content,
    Field,
    FieldInfo,
    Link,
    SeedlistEntry,
    SeedlistPage,
)
from feedmill.wire.xmltext import clean_text


def iter_page(page: SeedlistPage, entries: Iterable[SeedlistEntry]) -> Iterator[bytes]:
    """Yields a page, entry by entry, in UTF-8. Shape: ``page.acls`` is None."""
    yield "".join(_render_head(page)).encode()
    for entry in entries:
        yield "".join(_render_entry(entry, page)).encode()
    yield b"</feed>\n"


def render_entry(entry: SeedlistEntry, page: SeedlistPage) -> bytes:
    """Returns one entry of a page, for ``join_page``."""
    return "".join(_render_entry(entry, page)).encode()


def join_page(page: SeedlistPage, entries: Sequence[bytes]) -> bytes:
    """Returns a page of rendered entries. Shape: ``page.acls`` is None, and the field infos are those with which they were rendered."""
    return b"".join(("".join(_render_head(page)).encode(), *entries, b"</feed>\n"))


def _render_head(page: SeedlistPage) -> Iterator[str]:
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<feed{_attributes(xmlns=ATOM)}{_attributes(**{"xmlns:wplc": WPLC})}>\n'
    yield _element("id", page.id)
    yield _element("title", page.title)
    for relation, url in (("next", page.next_url), ("previous", page.previous_url)):
        if url:
            yield f"<link{_attributes(rel=relation, type=ATOM_TYPE, href=url)}/>\n"
    if page.timestamp:
        yield _element("wplc:timestamp", page.timestamp)
    if page.action is not None:
        yield f"<wplc:action{_attributes(do=page.action.value)}/>\n"
    yield from map(_render_category, page.categories)
    yield from map(_render_info, page.field_infos.values())


def _render_entry(entry: SeedlistEntry, page: SeedlistPage) -> Iterator[str]:
    yield f"<entry{_attributes(**{'xml:lang': entry.language})}>\n"
    yield _element("id", entry.id)
    yield f"<wplc:action{_attributes(do=entry.action.value)}/>\n"
    for relation, links in (("via", entry.via), ("related", entry.related)):
        yield from (_render_link(relation, link) for link in links)
    for relation, url in (("alternate", entry.children_url), ("via", entry.documents_url)):
        if url:
            yield _render_link(relation, Link(url=url, media_type=ATOM_TYPE))
    if entry.content is not None:
        yield _render_content(entry.content)
    yield _render_text("title", entry.title)
    yield _render_text("summary", entry.summary)
    yield from map(_render_author, entry.authors)
    yield from map(_render_category, entry.categories)
    for name, date in (("updated", entry.updated_at), ("published", entry.published_at)):
        if date is not None:
            yield _element(name, date.isoformat())
    if entry.security_id:
        yield _element("wplc:securityId", entry.security_id)
    yield from map(_render_info, _find_own_infos(entry.field_infos, page.field_infos))
    yield from map(_render_field, entry.fields)
    if entry.acls is not None:
        yield f"<wplc:acls>{''.join(_element('wplc:acl', token) for token in entry.acls)}</wplc:acls>\n"
    yield "</entry>\n"


def _find_own_infos(infos: Mapping[str, FieldInfo], of_page: Mapping[str, FieldInfo]) -> list[FieldInfo]:
    return [] if infos is of_page else [info for name, info in infos.items() if of_page.get(name) != info]


def _render_link(relation: str, link: Link) -> str:
    attributes = _attributes(rel=relation, type=link.media_type, href=link.url, title=link.title, hreflang=link.language)
    return f"<link{attributes}/>\n"


def _render_content(content: Content) -> str:
    return _element("content", content.text, type=content.media_type, src=content.url)


def _render_text(name: str, text: AtomText) -> str:
    return _element(name, text.text, type=text.type.value) if text.text else ""


def _render_author(author: Author) -> str:
    parts = {"name": author.name, "uri": author.uri, "email": author.email}
    return f"<author>{''.join(_element(name, value) for name, value in parts.items() if value)}</author>\n"


def _render_category(category: Category) -> str:
    return f"<category{_attributes(term=category.term, scheme=category.scheme, label=category.label)}/>\n"


def _render_info(info: FieldInfo) -> str:
    switches = {
        "contentSearchable": info.content_searchable,
        "fieldSearchable": info.field_searchable,
        "parametric": info.parametric,
        "returnable": info.returnable,
        "sortable": info.sortable,
        "supportsExactMatch": info.supports_exact_match,
    }
    words = {name: "true" if value else "false" for name, value in switches.items()}
    attributes = _attributes(id=info.id, name=info.name, description=info.description, type=info.type.value, **words)
    return f"<wplc:fieldInfo{attributes}>{''.join(map(_render_info, info.parts))}</wplc:fieldInfo>\n"


def _render_field(field: Field) -> str:
    inside = "".join(map(_render_field, field.parts)) if field.parts else _text(field.text)
    return f"<wplc:field{_attributes(id=field.id)}>{inside}</wplc:field>\n"


def _element(name: str, text: str, **attributes: str) -> str:
    return f"<{name}{_attributes(**attributes)}>{_text(text)}</{name}>\n"


def _attributes(**values: str) -> str:
    return "".join(f" {name}={quoteattr(clean_text(value))}" for name, value in values.items() if value)


def _text(text: str) -> str:
    # A reader of XML replaces a carriage return by a line feed.
    return escape(clean_text(text), {"\r": "&#13;"})
