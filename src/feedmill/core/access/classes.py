"""Decides whether a document is secure, which means hidden until an ACL or a rule permits a user. Fails closed.

The first of these rules that applies decides:

1. the URL has an ACL: secure, whatever else is stated;
2. the data source is declared secure: secure;
3. the document's own server said at the last fetch that it is secure (``X-Gsa-Serve-Security``): secure;
4. a crawler access rule matches the URL: secure unless the rule makes fetched documents public, whatever the authmethod;
5. the record's authmethod is other than none: secure;
6. the page's own meta tags hold ``google:acl*`` entries: secure. These entries permit no user but say that the page is guarded;
7. otherwise public.

Source: Feeds Protocol Developer's Guide, "Including Protected Documents in Search Results" and "Legacy Metadata Format";
googlegsa/library, ``DocumentHandler`` (an adaptor states the security of each document); docs/reference/settings.md,
``[[datasources]]`` and ``[[crawl.access]]``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from feedmill.core.access.principals import is_blank
from feedmill.model.access import ACL_NAME_PREFIX, AccessClass, AccessKey, Acl, ClassPeriod, Entry
from feedmill.model.document import AuthMethod, Document, Text


def is_secure(
    *, has_acl: bool, authmethod: AuthMethod | None, source_secure: bool, make_public: bool | None, server_secures: bool = False
) -> bool:
    """Applies the rules above. Shape: ``make_public`` is None if no crawler access rule matches."""
    if has_acl or source_secure or server_secures:
        return True
    if make_public is not None:
        return not make_public
    return authmethod not in (None, AuthMethod.NONE)


def access_key(document: Document, acl: Acl | None, policy_number: int = 0) -> AccessKey | AccessClass:
    """Returns the key of a document's class, or the class of a public or closed one. Shape: ``policy_number`` as in ``AccessKey``."""
    if not document.secure:
        return AccessClass.PUBLIC
    if acl is None and policy_number == 0:
        return AccessClass.CLOSED
    return AccessKey(acl=None if acl is None else in_one_order(acl), policy_number=policy_number)


def in_one_order(acl: Acl) -> Acl:
    """Returns an ACL in canonical order, so that equal ACLs compare equal: without blank entries or duplicates, sorted."""
    entries = {entry for entry in acl.entries if not is_blank(entry.principal)}
    return replace(acl, entries=tuple(sorted(entries, key=_order)))


def _order(entry: Entry) -> tuple[str, str, str, str, bool, bool]:
    who = entry.principal
    return entry.access.value, who.scope.value, who.namespace, who.name, who.case_sensitive, who.unqualified


def class_of(document: Document) -> int:
    """Returns the number of a document's class. A page whose meta tags contain an ACL (``google:acl*``) is closed
    if no other rule makes it secure.
    """
    return class_by(document.text, document.access_class, is_secure=document.secure)


def class_by(text: Text | None, access_class: int, *, is_secure: bool) -> int:
    """Returns the number of a document's class from the values that it depends on."""
    if is_secure:
        return access_class
    return AccessClass.CLOSED if text is not None and guards_itself(text) else AccessClass.PUBLIC


def class_at(class_periods: Sequence[ClassPeriod], at: datetime) -> int | None:
    """Returns the class of a document at a time, None if there was no document. Shape: oldest first."""
    index = index_at(class_periods, at)
    return class_periods[index].access_class if index >= 0 else None


def index_at(class_periods: Sequence[ClassPeriod], at: datetime) -> int:
    """Returns the position of the period that was in force at a time, -1 before the first."""
    return bisect_right(class_periods, at, key=lambda class_period: class_period.since) - 1


def guards_itself(text: Text) -> bool:
    """Whether a page's own meta tags contain an ACL. The page is closed if no other rule makes it secure."""
    return any(name.lower().startswith(ACL_NAME_PREFIX) for name, _ in text.metadata)
