"""What of a document is shown: whether it is found at all, its metadata, its robots rules, its types.

Fed metadata comes first, then the document's own meta tags; a pair that both have is shown once. ``google:acl*`` entries are access
rules that happen to be written as metadata and are shown to nobody.
"""

from collections.abc import Sequence

from feedmill.model.access import ACL_NAME_PREFIX
from feedmill.model.document import Document, DocumentState, Metadata, Origin


def is_indexed(document: Document) -> bool:
    """Whether a document belongs in the index: live and whole, not merely named for crawling, not refused by its own robots tags."""
    if document.state is not DocumentState.LIVE or document.damage or (document.origin is Origin.WEB and document.content is None):
        return False
    return not has_robots_rule(document, "noindex")


def shown_metadata(document: Document) -> Metadata:
    """Returns all metadata of a document that may be shown, in order."""
    own = document.text.metadata if document.text is not None else ()
    fed = set(document.metadata)
    pairs = document.metadata + tuple(pair for pair in own if pair not in fed)
    return tuple(pair for pair in pairs if not pair[0].strip().lower().startswith(ACL_NAME_PREFIX))


def select_metadata(metadata: Metadata, names: Sequence[str]) -> Metadata:
    """Returns the pairs of the names asked for, in any letter case; ``*`` asks for all."""
    if not names:
        return ()
    if "*" in names:
        return metadata
    wanted = {name.strip().casefold() for name in names}
    return tuple(pair for pair in metadata if pair[0].strip().casefold() in wanted)


def find_description(metadata: Metadata) -> str:
    """Returns the document's own summary of itself, "" when it gives none."""
    return next((value for name, value in metadata if name.strip().casefold() in ("description", "og:description")), "")


def has_robots_rule(document: Document, rule: str) -> bool:
    """Whether the document asks for a robots rule, noindex for one."""
    return document.text is not None and rule in document.text.robots


def may_show_copy(document: Document) -> bool:
    """Whether there is a content of which a cached copy may be shown: the document does not ask for noarchive."""
    return document.content is not None and document.content_bytes > 0 and not has_robots_rule(document, "noarchive")


def shown_mimetype(document: Document) -> str | None:
    """Returns the type found in the content, else the one that was fed."""
    found = document.text.mimetype if document.text is not None else None
    return found or document.attributes.mimetype
