"""Settings of policy ACLs: access to the documents of a URL pattern if their own ACLs leave it undecided."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from feedmill.core.access.classes import in_one_order
from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.policyacl import PolicyAcl
from feedmill.settings.keypaths import Fault
from feedmill.settings.section import RulePattern, Section
from feedmill.settings.servingsections import check_name_or_none

MAX_NAME_CHARACTERS = 1_000
MAX_PRINCIPALS = 100_000


def _check_principal(text: str) -> str:
    if not text.strip():
        raise ValueError("a user or group without a name")
    if len(text) > MAX_NAME_CHARACTERS:
        raise ValueError(f"a name longer than {MAX_NAME_CHARACTERS} characters")
    return text


PrincipalName = Annotated[str, AfterValidator(_check_principal)]
Names = Annotated[tuple[PrincipalName, ...], Field(max_length=MAX_PRINCIPALS)]
Space = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]


class PolicyPrincipalSettings(Section):
    """One user or group whose namespace or letter case is not that of the others."""

    scope: Literal["user", "group"]
    access: Literal["permit", "deny"] = "permit"
    name: PrincipalName
    namespace: Space = DEFAULT_NAMESPACE
    case_sensitive: bool = True
    unqualified: bool = False


class PolicyAclSettings(Section):
    """A policy ACL. ``order`` precedes the place in the list if several patterns of the same rank match a URL."""

    name: Annotated[str, AfterValidator(check_name_or_none)] = ""
    pattern: RulePattern
    order: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    permit_users: Names = ()
    permit_groups: Names = ()
    deny_users: Names = ()
    deny_groups: Names = ()
    namespace: Space = DEFAULT_NAMESPACE
    case_sensitive: bool = True
    principals: Annotated[tuple[PolicyPrincipalSettings, ...], Field(max_length=MAX_PRINCIPALS)] = ()


def policies_of(entries: Sequence[PolicyAclSettings]) -> list[PolicyAcl]:
    """Returns the policies of the settings, in the order in which they are tried."""
    named = [(entry.name or f"file-{place}", entry) for place, entry in enumerate(entries, start=1)]
    return [_policy_of(name, entry) for name, entry in sorted(named, key=lambda pair: pair[1].order)]


def _policy_of(name: str, entry: PolicyAclSettings) -> PolicyAcl:
    acl = in_one_order(Acl(entries=tuple(_iter_entries(entry))))
    return PolicyAcl(pattern=entry.pattern.strip(), entries=acl.entries, name=name)


def _iter_entries(entry: PolicyAclSettings) -> Iterator[Entry]:
    lists = (
        (Access.PERMIT, Scope.USER, entry.permit_users),
        (Access.PERMIT, Scope.GROUP, entry.permit_groups),
        (Access.DENY, Scope.USER, entry.deny_users),
        (Access.DENY, Scope.GROUP, entry.deny_groups),
    )
    for access, scope, names in lists:
        for name in names:
            who = Principal(scope=scope, name=name.strip(), namespace=entry.namespace, case_sensitive=entry.case_sensitive)
            yield Entry(access=access, principal=who)
    for one in entry.principals:
        who = Principal(
            scope=Scope(one.scope),
            name=one.name.strip(),
            namespace=one.namespace,
            case_sensitive=one.case_sensitive,
            unqualified=one.unqualified,
        )
        yield Entry(access=Access(one.access), principal=who)


def check_policies(entries: Iterable[PolicyAclSettings]) -> Iterator[Fault]:
    """Yields faults between the entries: a pattern can have one policy only."""
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        pattern = entry.pattern.strip()
        if pattern in seen:
            yield ("policy_acls", place, "pattern"), f"'{pattern}' has a policy already; put all users and groups into one"
        seen.add(pattern)
