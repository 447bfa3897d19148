"""Reads ACLs: ``<acl>`` elements, and the older ``google:acl*`` entries of metadata.

Rules:

1. White space around names is dropped, a principal without a name is skipped. Any other fault makes the whole ACL
   unreadable: an ACL is never stored in part.
2. ``=owner``, ``=writer`` and ``=reader`` at the end of an older entry are cut off. An entry that ends in ``=peeker`` is ignored, for
   permits and denies alike. Older entries are case-sensitive, of namespace Default.
3. An ignored or empty entry still means that there is an ACL: it permits no user, and the document is not public.
4. ``google:acl`` with any other ending is unreadable, so that a misspelt entry permits no one.
Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance", "Legacy Metadata Format".
"""

from collections.abc import Iterable

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.access import ACL_NAME_PREFIX, Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.wire.gsafeed.schema import AclElement
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, Unreadable, read_principal, read_word, shorten

_LEGACY_PRINCIPALS = {
    "google:aclusers": (Access.PERMIT, Scope.USER),
    "google:aclgroups": (Access.PERMIT, Scope.GROUP),
    "google:acldenyusers": (Access.DENY, Scope.USER),
    "google:acldenygroups": (Access.DENY, Scope.GROUP),
}
_ROLES = ("=owner", "=writer", "=reader")
_IGNORED_ROLE = "=peeker"


def read_acl(element: AclElement) -> Acl:
    """Returns the ACL of an ``<acl>``. Errors: Unreadable."""
    if element.fault is not None:
        raise Unreadable(element.fault)
    entries: list[Entry] = []
    for attributes, name in element.principals:
        if not name:
            continue
        access = read_word(attributes.get("access", ""), Access, f'access of principal "{shorten(name)}"')
        entries.append(Entry(access=access, principal=read_principal(attributes, name)))
    return Acl(
        entries=tuple(entries),
        inheritance_type=_read_inheritance(element.attributes.get("inheritance-type", ""), "inheritance-type"),
        inherit_from=_read_parent(element.attributes.get("inherit-from", "")),
    )


def is_legacy(name: str) -> bool:
    """Returns whether a metadata name is that of an older ACL entry."""
    return name[: len(ACL_NAME_PREFIX)].lower() == ACL_NAME_PREFIX


def read_legacy(metas: Iterable[tuple[str, str]]) -> Acl:
    """Returns the ACL of older entries. Shape: each name satisfies ``is_legacy``; contents may be empty. Errors: Unreadable."""
    entries: list[Entry] = []
    parents: set[str] = set()
    types: set[InheritanceType] = set()
    for name, value in metas:
        key = name.lower()
        if key in _LEGACY_PRINCIPALS:
            entries.extend(_read_legacy_entry(*_LEGACY_PRINCIPALS[key], value))
        elif key == "google:aclinheritfrom":
            parents.update(filter(None, (_read_parent(value),)))
        elif key == "google:aclinheritancetype":
            types.update((_read_inheritance(value, name),) if value.strip() else ())
        else:
            raise Unreadable(f'unknown ACL metadata "{shorten(name)}"')
    if len(parents) > 1 or len(types) > 1:
        raise Unreadable("ACL metadata names more than one parent or inheritance type")
    return Acl(
        entries=tuple(entries),
        inheritance_type=types.pop() if types else InheritanceType.LEAF_NODE,
        inherit_from=parents.pop() if parents else None,
    )


def _read_legacy_entry(access: Access, scope: Scope, value: str) -> tuple[Entry, ...]:
    name = value.strip()
    lowered = name.lower()
    if lowered.endswith(_IGNORED_ROLE):
        return ()
    for role in _ROLES:
        if lowered.endswith(role):
            name = name[: -len(role)].strip()
            break
    if len(name) > MAX_NAME_CHARACTERS:
        raise Unreadable(f"a principal's name is longer than {MAX_NAME_CHARACTERS} characters")
    return (Entry(access=access, principal=Principal(scope=scope, name=name)),) if name else ()


def _read_inheritance(text: str, name: str) -> InheritanceType:
    return read_word(text, InheritanceType, name) if text.strip() else InheritanceType.LEAF_NODE


def _read_parent(text: str) -> str | None:
    parent = text.strip()
    if len(parent) > MAX_URL_CHARACTERS:
        raise Unreadable(f"the URL that an ACL inherits from is longer than {MAX_URL_CHARACTERS} characters")
    return parent or None
