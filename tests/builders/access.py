"""Users, groups, ACLs and their entries, in few words."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from feedmill.core.access.principals import read_subject
from feedmill.model.access import Access, Acl, AclOrigin, Entry, InheritanceType, Principal, Scope, StoredAcl
from feedmill.model.identity import Identity, Subject

CHILD = InheritanceType.CHILD_OVERRIDES
PARENT = InheritanceType.PARENT_OVERRIDES
BOTH = InheritanceType.AND_BOTH_PERMIT
LEAF = InheritanceType.LEAF_NODE


def principal(
    text: str, *, scope: Scope = Scope.USER, namespace: str = "Default", fold: bool = False, unqualified: bool = False
) -> Principal:
    return Principal(scope=scope, name=text, namespace=namespace, case_sensitive=not fold, unqualified=unqualified)


def user_principal(text: str, *, namespace: str = "Default", fold: bool = False) -> Principal:
    return principal(text, namespace=namespace, fold=fold)


def group_principal(text: str, *, namespace: str = "Default", fold: bool = False) -> Principal:
    return principal(text, scope=Scope.GROUP, namespace=namespace, fold=fold)


def permit(text: str, *, scope: Scope = Scope.USER, namespace: str = "Default", fold: bool = False, unqualified: bool = False) -> Entry:
    return Entry(access=Access.PERMIT, principal=principal(text, scope=scope, namespace=namespace, fold=fold, unqualified=unqualified))


def deny(text: str, *, scope: Scope = Scope.USER, namespace: str = "Default", fold: bool = False, unqualified: bool = False) -> Entry:
    return Entry(access=Access.DENY, principal=principal(text, scope=scope, namespace=namespace, fold=fold, unqualified=unqualified))


def acl(*entries: Entry, rule: InheritanceType = LEAF, parent: str | None = None) -> Acl:
    return Acl(entries=entries, inheritance_type=rule, inherit_from=parent)


def make_stored_acl(url: str, **given: Any) -> StoredAcl:
    plain = StoredAcl(url=url, acl=Acl(), origin=AclOrigin.ELEMENT, datasource="src", feed_id=1, seen_feed_id=1)
    return replace(plain, **given)


def user(text: str, namespace: str = "Default") -> Subject:
    return read_subject(Scope.USER, text, namespace)


def group(text: str, namespace: str = "Default") -> Subject:
    return read_subject(Scope.GROUP, text, namespace)


def identity(text: str = "bob", groups: Iterable[str] = (), namespace: str = "Default") -> Identity:
    """Returns a signed-in user with groups, all of one namespace, split by the notation rules."""
    return Identity(users=(user(text, namespace),), groups=tuple(group(name, namespace) for name in groups))


ANN = identity("ann")
FOR_ANN = acl(permit("ann"))
STAFF = acl(permit("staff", scope=Scope.GROUP))
