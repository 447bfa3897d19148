"""Converts what a lister and a retriever say about a document into a change.

Rules:

1. The URL of a document is a base, such as ``adaptor://SOURCE/``, and the id with percent-encoding, in which ``/`` stays. Two dots are
   added to a part between slashes that consists of dots only, so that it is no step to another folder. Or the id itself is the URL.
2. What the retriever says about a document replaces what the lister says: display URL, crawl-once, lock.
3. A document with an ACL is secure. One without, that is called secure, waits for the authorizer. An ACL without entries is for no user.
4. ``acl-inherit-from`` is an id, and becomes the URL of that document; the fragment follows behind ``?``.
5. The names of parameters (``X-...``) are for transforms. Of them ``X-Robots-Tag`` and ``X-Gsa-Serve-Security`` count for the document.

Source: googlegsa/library, ``DocIdCodec``, ``DocumentHandler``, ``MetadataTransform``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote, unquote

from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.change import AclChange, Content, PutDocument, SourcePosition
from feedmill.model.document import Attributes, AuthMethod
from feedmill.wire.commandstream.schema import ListedDocument, NamedPrincipal, RetrievedAcl, RetrievedDocument

ROBOTS: Final = "X-Robots-Tag"
SERVE_SECURITY: Final = "X-Gsa-Serve-Security"

_ONLY_DOTS: Final = re.compile(r"(?:(?<=/)|^)(\.+)(?=/|$)")
_DOTTED: Final = re.compile(r"(?:(?<=/)|^)(\.+)\.\.(?=/|$)")
_UNQUOTED: Final = "/_-!.~'()*,;:$&+=@"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentIds:
    """Converts ids to URLs and back. ``base`` is the beginning of all URLs, "" if ids are URLs."""

    base: str

    def find_url(self, identifier: str) -> str:
        """Returns the URL of the document with an id."""
        if not self.base:
            return identifier
        return self.base + quote(_ONLY_DOTS.sub(r"\1..", identifier), safe=_UNQUOTED)

    def find_id(self, url: str) -> str | None:
        """Returns the id of a URL, None if there is none with it."""
        if not url.startswith(self.base):
            return None
        if not self.base:
            return url
        identifier = _DOTTED.sub(r"\1", unquote(url.removeprefix(self.base), errors="replace"))
        return identifier if self.find_url(identifier) == url else None


def adapt_document(
    ids: DocumentIds, listed: ListedDocument, retrieved: RetrievedDocument, content: Content | None, *, is_public: bool = False
) -> PutDocument:
    """Returns the change that puts a document. Shape: ``retrieved`` is neither up to date nor missing."""
    params = {name.lower(): value or "" for name, value in retrieved.params}
    security = params.get(SERVE_SECURITY.lower(), "").strip().lower()
    is_secure = (retrieved.secure or security == "secure") and not is_public
    acl = None if retrieved.acl is None or is_public else _adapt_acl(ids, retrieved.acl)
    seconds = listed.last_modified if retrieved.last_modified is None else retrieved.last_modified
    attributes = Attributes(
        display_url=retrieved.display_url or listed.result_link,
        mimetype=retrieved.mime_type or None,
        last_modified=_find_time(seconds),
        lock=listed.lock if retrieved.lock is None else retrieved.lock,
        crawl_immediately=listed.crawl_immediately,
        crawl_once=listed.crawl_once if retrieved.crawl_once is None else retrieved.crawl_once,
        authmethod=AuthMethod.HTTPSSO if is_secure and acl is None else AuthMethod.NONE,
        links=tuple(uri for uri, _ in retrieved.anchors),
        link_texts=tuple(text or "" for _, text in retrieved.anchors),
        overrides_own=True,
        robots=tuple(sorted(_list_robots(retrieved, params.get(ROBOTS.lower(), "")))),
    )
    return PutDocument(
        place=SourcePosition(record=1),
        url=ids.find_url(listed.id),
        attributes=attributes,
        metadata=retrieved.metadata,
        content=content,
        acl=AclChange(element=acl),
        whole=True,
    )


def _list_robots(retrieved: RetrievedDocument, header: str) -> set[str]:
    said = {"noindex": retrieved.no_index, "nofollow": retrieved.no_follow, "noarchive": retrieved.no_archive}
    named = {word.strip().lower() for word in header.split(",")}
    named |= {name for name, is_set in said.items() if is_set}
    return (named | said.keys() if "none" in named else named) & said.keys()


def _adapt_acl(ids: DocumentIds, acl: RetrievedAcl) -> Acl:
    def list_entries(access: Access, scope: Scope, principals: Iterable[NamedPrincipal]) -> list[Entry]:
        return [
            Entry(
                access=access,
                principal=Principal(scope=scope, name=each.name, namespace=each.namespace, case_sensitive=acl.case_sensitive),
            )
            for each in principals
        ]

    parent = None
    if acl.inherit_from is not None:
        fragment = "" if acl.inherit_fragment is None else f"?{quote(acl.inherit_fragment, safe=_UNQUOTED)}"
        parent = ids.find_url(acl.inherit_from) + fragment
    entries = (
        *list_entries(Access.PERMIT, Scope.GROUP, acl.permit_groups),
        *list_entries(Access.DENY, Scope.GROUP, acl.deny_groups),
        *list_entries(Access.PERMIT, Scope.USER, acl.permit_users),
        *list_entries(Access.DENY, Scope.USER, acl.deny_users),
    )
    return Acl(entries=entries, inheritance_type=acl.inheritance_type, inherit_from=parent)


def _find_time(seconds: int | None) -> datetime | None:
    """Returns a time; None for one that is beyond the calendar."""
    if seconds is None:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return None
