"""Decides what is shown of a document: whether searches find it, its metadata, its robots rules, its types.

Fed metadata comes first, then the document's own meta tags; a pair that occurs in both is shown once. Where fed metadata overrides the
document's own, a name that was fed has the fed values only. ``google:acl*`` entries are access rules in the form of metadata and are
never shown.
"""

from collections.abc import Sequence
from datetime import datetime

from feedmill.model.access import ACL_NAME_PREFIX
from feedmill.model.document import Document, DocumentState, Metadata, Origin


def is_indexed(document: Document) -> bool:
    """Whether a document belongs in the index: live and undamaged, not only named for crawling, and not refused by its own robots tags."""
    if document.state is not DocumentState.LIVE or document.damage or (document.origin is Origin.WEB and document.content is None):
        return False
    return not has_robots_rule(document, "noindex")


def shown_metadata(document: Document) -> Metadata:
    """Returns all metadata of a document that may be shown, in order."""
    own = document.text.metadata if document.text is not None else ()
    if document.attributes.overrides_own:
        names = {name.strip().casefold() for name, _ in document.metadata}
        own = tuple(pair for pair in own if pair[0].strip().casefold() not in names)
    fed = set(document.metadata)
    pairs = document.metadata + tuple(pair for pair in own if pair not in fed)
    return tuple(pair for pair in pairs if not pair[0].strip().lower().startswith(ACL_NAME_PREFIX))


def shown_title(document: Document) -> str | None:
    """Returns the title that the sender wrote, else the one that was found in the content."""
    return document.attributes.title or (document.text.title if document.text is not None else None)


def shown_language(document: Document) -> str | None:
    """Returns the language of a document's text, None if it is not known."""
    return document.text.language if document.text is not None else None


def shown_date(document: Document) -> datetime | None:
    """Returns the date that the rules of the settings found in the document, else that of its last modification."""
    return (document.text.date if document.text is not None else None) or document.attributes.last_modified


def displayed_metadata(document: Document) -> Metadata:
    """Returns the metadata that results may show."""
    return _without(shown_metadata(document), document.attributes.undisplayed)


def searchable_metadata(document: Document) -> Metadata:
    """Returns the metadata that queries for a field find."""
    return _without(shown_metadata(document), (*document.attributes.unsearchable, *document.attributes.only_in_text))


def text_metadata(document: Document) -> Metadata:
    """Returns the metadata whose words queries find that name no field."""
    return _without(shown_metadata(document), (*document.attributes.unsearchable, *document.attributes.only_by_field))


def counted_metadata(document: Document) -> Metadata:
    """Returns the metadata that facets count."""
    return _without(searchable_metadata(document), document.attributes.uncounted)


def sortable_metadata(document: Document) -> Metadata:
    """Returns the metadata by which results can be sorted."""
    return _without(shown_metadata(document), document.attributes.unsortable)


def _without(metadata: Metadata, names: Sequence[str]) -> Metadata:
    return tuple(pair for pair in metadata if pair[0].strip().casefold() not in names) if names else metadata


def select_metadata(metadata: Metadata, names: Sequence[str]) -> Metadata:
    """Returns the pairs with the requested names, in any letter case; ``*`` means all."""
    if not names:
        return ()
    if "*" in names:
        return metadata
    wanted = {name.strip().casefold() for name in names}
    return tuple(pair for pair in metadata if pair[0].strip().casefold() in wanted)


def find_description(metadata: Metadata) -> str:
    """Returns the document's own description, "" if it has none."""
    return next((value for name, value in metadata if name.strip().casefold() in ("description", "og:description")), "")


def has_robots_rule(document: Document, rule: str) -> bool:
    """Whether the document declares a robots rule, such as noindex, or its record does."""
    return rule in document.attributes.robots or (document.text is not None and rule in document.text.robots)


def may_show_copy(document: Document) -> bool:
    """Whether a cached copy may be shown: there is content, and the document does not declare noarchive."""
    return document.content is not None and document.content_bytes > 0 and not has_robots_rule(document, "noarchive")


def shown_mimetype(document: Document) -> str | None:
    """Returns the type that was found in the content, else the type from the feed."""
    found = document.text.mimetype if document.text is not None else None
    return found or document.attributes.mimetype
