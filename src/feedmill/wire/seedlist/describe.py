"""Describes documents of this server as entries of a seedlist.

Rules:

1. The id of an entry is the URL of its document. A deleted document has nothing else.
2. ``via`` is the address to which results lead. The content and the attachments (``related``) are fetched from this server.
3. A public document has no ACL. A secure one has one token, which stands for all documents with the same access (``write_token``): it
   need not be changed when the groups or the inherited ACLs change, because the tokens of a user are requested at search time. A closed
   document has empty ACLs, for no user.
4. Metadata are fields. A field that searches, sorting or results do not use here has a field info that says so.

Source: see ``schema``.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import UTC
from typing import Final
from xml.sax.saxutils import escape

from feedmill.core.access.classes import class_of
from feedmill.core.documents.presentation import shown_metadata, shown_title
from feedmill.model.access import AccessClass
from feedmill.model.document import Attributes, Document, DocumentState
from feedmill.wire.seedlist.schema import (
    TAXONOMY_SCHEME,
    Action,
    AtomText,
    Category,
    Content,
    Field,
    FieldInfo,
    FieldType,
    Link,
    SeedlistEntry,
)
from feedmill.wire.xmltext import clean_text

LOCATION: Final = f"{TAXONOMY_SCHEME}location_taxonomy"
_HTTP: Final = re.compile("https?://", re.IGNORECASE)
_TOKEN_BYTES: Final = 16

PAGE_INFOS: Final = {
    info.id: info
    for info in (
        FieldInfo(id="title", name="Title", supports_exact_match=True),
        FieldInfo(id="updated", name="Last Update Date", type=FieldType.DATE, sortable=True),
    )
}
"""The field infos of every page: those of the elements of Atom that every entry has."""


def write_token(access_class: int, key: bytes) -> str:
    """Returns the ACL token of an access class.

    It depends on a key, because the numbers of classes would reveal how many others there are.
    """
    return hmac.digest(key, b"seedlist %d" % access_class, hashlib.sha256)[:_TOKEN_BYTES].hex()


def describe_document(
    document: Document, key: bytes, find_file_url: Callable[[int, int], str], find_page_url: Callable[[str], str | None]
) -> SeedlistEntry:
    """Returns the entry of a document.

    Shape: ``key`` as in ``write_token``; ``find_file_url`` returns the URL of a file by the id of the document and the number of the file:
    0 for the content, above it the attachments. ``find_page_url`` returns the URL at which this server shows what another scheme names.
    """
    if document.state is not DocumentState.LIVE:
        return SeedlistEntry(line=0, id=document.url, action=Action.DELETE, acls=())
    shown = document.attributes.display_url or document.url
    target = shown if _HTTP.match(shown) else find_page_url(shown)
    mimetype = document.attributes.mimetype or ""
    content, related = None, tuple[Link, ...]()
    if document.content is not None and document.id is not None and not document.damage:
        attachments = document.attributes.attachments
        if not attachments or attachments[0].start > 0:
            content = Content(url=find_file_url(document.id, 0), media_type=mimetype)
        related = tuple(
            Link(url=find_file_url(document.id, number), media_type=attachment.mimetype, title=attachment.name)
            for number, attachment in enumerate(attachments, 1)
        )
    return SeedlistEntry(
        line=0,
        id=document.url,
        title=AtomText(text=shown_title(document) or ""),
        content=content,
        via=(Link(url=target, media_type=mimetype, title=shown_title(document) or ""),) if target is not None else (),
        related=related,
        categories=(Category(scheme=LOCATION, term=document.datasource, label=document.datasource),),
        updated_at=(document.attributes.last_modified or document.updated_at).astimezone(UTC),
        language=(document.text.language or "") if document.text is not None else "",
        field_infos={**PAGE_INFOS, **_find_infos(document)},
        fields=tuple(Field(id=name.strip(), text=value) for name, value in shown_metadata(document) if name.strip() and value.strip()),
        acls=_find_tokens(document, key),
    )


def describe_source(name: str, children_url: str, documents_url: str) -> SeedlistEntry:
    """Returns the entry of a data source, a container. Its ACLs permit no user, since it is no document."""
    return SeedlistEntry(
        line=0,
        id=name,
        title=AtomText(text=name),
        is_container=True,
        children_url=children_url,
        documents_url=documents_url,
        field_infos=PAGE_INFOS,
        acls=(),
    )


def render_user(name: str) -> str:
    """Returns the response that names a signed-in user."""
    text = escape(clean_text(name))
    inside = f"<validated>true</validated><userid>{text}</userid><name>{text}</name>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<validateuser>{inside}</validateuser>\n'


def render_tokens(tokens: list[str]) -> str:
    """Returns the response with the tokens of a user."""
    inside = "".join(f"<token>{escape(clean_text(token))}</token>\n" for token in tokens)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<groupsforuser>\n{inside}</groupsforuser>\n'


def _find_tokens(document: Document, key: bytes) -> tuple[str, ...] | None:
    access_class = AccessClass.CLOSED if document.damage else class_of(document)
    if access_class == AccessClass.PUBLIC:
        return None
    return () if access_class == AccessClass.CLOSED else (write_token(access_class, key),)


def _find_infos(document: Document) -> dict[str, FieldInfo]:
    given = document.attributes
    out_of_text, out_of_fields = {*given.unsearchable, *given.only_by_field}, {*given.unsearchable, *given.only_in_text}
    restricted = {*out_of_text, *out_of_fields, *given.unsortable, *given.undisplayed, *given.uncounted}
    if not restricted:
        return {}
    names = dict.fromkeys(name.strip() for name, _ in shown_metadata(document) if name.strip().casefold() in restricted)
    return {name: _describe_field(name, given, name.casefold() in out_of_text, name.casefold() in out_of_fields) for name in names}


def _describe_field(name: str, given: Attributes, is_out_of_text: bool, is_out_of_fields: bool) -> FieldInfo:
    folded = name.casefold()
    return FieldInfo(
        id=name,
        content_searchable=not is_out_of_text,
        field_searchable=not is_out_of_fields,
        parametric=folded not in given.uncounted and not is_out_of_fields,
        returnable=folded not in given.undisplayed,
        sortable=folded not in given.unsortable,
    )
