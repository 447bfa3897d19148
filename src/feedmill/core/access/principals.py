"""Decides whether an entry names a user or group: names, domains, namespaces, letter case.

Rules:

1. A written name is split once: at the first backslash, else at the first slash (domain before it), else at the first at sign (domain after
   it). ``DOM\\u``, ``DOM/u`` and ``u@DOM`` are equal; an empty domain is no domain. An unqualified principal is never split, nor is a name
   that is already split.
2. Scope, namespace, domain and name must all be equal. A user never matches a group, and a namespace never matches another.
3. An entry in which letter case counts is compared as written. For one in which it does not, namespace, domain and name of both the entry
   and the user are folded. The key states whether it is folded, so a name that looks folded never matches by mistake.
4. The domain of a signed-in subject is also tried cut to its first label: entries for ``corp.example.com`` and for ``corp`` both match
   ``corp.example.com``. The reverse does not match. Groups that the groups database adds are tried only with their whole domain.
5. White space around a name is removed. A blank name without a domain matches no subject.

Source: Feeds Protocol Developer's Guide, "principal Element"; googlegsa/secmgr, ``GroupMembersMap``.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from feedmill.core.access.folding import fold
from feedmill.model.access import Principal, Scope
from feedmill.model.identity import DEFAULT_NAMESPACE, Identity, PrincipalKey, Subject


def split_name(text: str) -> tuple[str, str]:
    """Splits a written name into name and domain. Shape: the domain is empty if there is none. Source: googlegsa/secmgr."""
    for separator in ("\\", "/"):
        before, found, behind = text.partition(separator)
        if found:
            return behind, before
    name, _, domain = text.partition("@")
    return name, domain


def read_subject(scope: Scope, text: str, namespace: str = DEFAULT_NAMESPACE) -> Subject:
    """Parses a user or group as a person, a program or a header wrote it."""
    name, domain = split_name(text.strip())
    return Subject(scope=scope, name=name, domain=domain, namespace=namespace)


def read_identity(user: str | None, namespace: str, groups: Iterable[str]) -> Identity:
    """Parses an identity from names. Shape: without a user, or with an empty one, there are only groups; duplicate groups are removed."""
    users = (read_subject(Scope.USER, user, namespace),) if user else ()
    return Identity(users=users, groups=tuple(dict.fromkeys(read_subject(Scope.GROUP, name, namespace) for name in groups)))


def subject_of(principal: Principal) -> Subject:
    """Returns the subject of a principal, with its name split. It identifies the group of a membership, whatever its case flag."""
    name, domain = _split_principal(principal)
    return Subject(scope=principal.scope, name=name, domain=domain, namespace=principal.namespace)


def is_blank(principal: Principal) -> bool:
    """Whether a principal has a blank name, which matches no subject."""
    return not principal.name.strip()


def key_of(principal: Principal) -> PrincipalKey:
    """Returns the key for looking up an ACL's entry or a group's member."""
    name, domain = _split_principal(principal)
    if principal.case_sensitive:
        return PrincipalKey(principal.scope, principal.namespace, domain, name, False)
    return PrincipalKey(principal.scope, fold(principal.namespace), fold(domain), fold(name), True)


def exact_key(subject: Subject) -> PrincipalKey:
    """Returns the key of entries in which letter case counts."""
    # ``_make`` is faster than a call of the class, and a user may be in thousands of groups
    return PrincipalKey._make((subject.scope, subject.namespace, subject.domain, subject.name, False))


def folded_key(subject: Subject) -> PrincipalKey:
    """Returns the key of entries in which letter case does not count."""
    return PrincipalKey._make((subject.scope, fold(subject.namespace), fold(subject.domain), fold(subject.name), True))


def digest_of(key: PrincipalKey) -> bytes:
    """Returns the 16-byte digest of a key, for look-ups among many. Lengths separate the parts, which may contain any character."""
    # Only the last part has no length; it ends where the text ends.
    text = f"{key.scope.value}{int(key.folded)}{len(key.namespace)}:{key.namespace}{len(key.domain)}:{key.domain}{key.name}"
    # JSON can hold half of a surrogate pair, which plain UTF-8 refuses. Such a name is unusual and no error.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shorten_domain(domain: str) -> str:
    """Returns the first label of a domain that has any, else the domain. Source: googlegsa/secmgr, ``GroupMembersMap``."""
    labels = (label.strip() for label in domain.split("."))
    return next(filter(None, labels), domain)


def own_keys(subject: Subject) -> Sequence[PrincipalKey]:
    """Returns the two keys of a group that the groups database adds; none for a blank name."""
    return (exact_key(subject), folded_key(subject)) if subject.domain or subject.name.strip() else ()


def signed_in_keys(subject: Subject) -> Iterator[PrincipalKey]:
    """Yields the keys of a signed-in user or group: two, or four if its domain has several labels."""
    yield from own_keys(subject)
    short = shorten_domain(subject.domain)
    if short != subject.domain:
        yield from own_keys(Subject(scope=subject.scope, name=subject.name, domain=short, namespace=subject.namespace))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalKeys:
    """All keys that match a user, each with its subject. They are computed once and used for many ACLs."""

    identity: Identity
    keys: Mapping[PrincipalKey, Subject]

    def find_subject(self, principal: Principal) -> Subject | None:
        """Returns the user's subject that a principal names, None if there is none."""
        return None if is_blank(principal) else self.keys.get(key_of(principal))

    def trace(self, subject: Subject) -> tuple[Subject, ...]:
        """Returns the path from the signed-in subject to one of the user's subjects, both included; it ends where groups form a circle."""
        reached = self.identity.reached
        path = [subject]
        while path[-1] in reached and len(path) <= len(reached):
            path.append(reached[path[-1]])
        return tuple(reversed(path))


def principal_keys_of(identity: Identity) -> PrincipalKeys:
    """Returns the principal keys of an identity. Shape: if several subjects share a key, the signed-in one wins."""
    keys: dict[PrincipalKey, Subject] = {}
    for subject in (*identity.users, *identity.groups):
        for key in signed_in_keys(subject):
            keys.setdefault(key, subject)
    for group in identity.reached:
        for key in own_keys(group):
            keys.setdefault(key, group)
    return PrincipalKeys(identity=identity, keys=keys)


def _split_principal(principal: Principal) -> tuple[str, str]:
    name = principal.name.strip()
    return (name, "") if principal.unqualified else split_name(name)
