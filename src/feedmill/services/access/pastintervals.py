"""The times during which somebody's groups, or the policies, were the same, since a time.

An era of groups begins with a groups feed that changed who somebody is met as. All memberships that he had at any time since then are read
once, with when they began and ended; the groups of each time are worked out of that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from feedmill.core.groupresolution import resolve_groups
from feedmill.core.principals import PrincipalKeys, forms_of, own_keys, signed_in_keys
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.model.policyacl import PolicyAcl, PolicyVersion
from feedmill.ports import PastMembership, Publication, UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInterval:
    """A time during which the asker's groups were the same. ``begun_by`` None: they were so before."""

    since: datetime
    forms: PrincipalKeys
    begun_by: Publication | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInterval:
    """A time during which the same policies were in force. Shape: by number."""

    since: datetime
    policies: Mapping[int, PolicyAcl]


def list_eras(unit: UnitOfWork, identity: Identity, since: datetime) -> list[GroupInterval]:
    """Lists the eras of somebody's groups, the one that holds at the time first. Errors: Denied for who was in too many groups."""
    memberships = _read_memberships(unit, identity, since)

    def forms_at(at: datetime) -> PrincipalKeys:
        def find(keys: Sequence[PrincipalKey]) -> Iterable[tuple[PrincipalKey, Subject]]:
            return ((key, each.group) for key in keys for each in memberships[key] if each.held_at(at))

        return forms_of(resolve_groups(identity, find))

    group_intervals = [GroupInterval(since=since, forms=forms_at(since))]
    publications = {publication for those in memberships.values() for each in those for publication, _ in each.turns}
    for publication in sorted(publications, key=lambda each: each.feed_id):
        forms = forms_at(publication.at)
        if forms.keys.keys() != group_intervals[-1].forms.keys.keys():
            group_intervals.append(GroupInterval(since=publication.at, forms=forms, begun_by=publication))
    return group_intervals


def _read_memberships(unit: UnitOfWork, identity: Identity, since: datetime) -> dict[PrincipalKey, list[PastMembership]]:
    """Reads, a level at a time, whatever somebody has been in at any time since, directly or through groups."""
    found: dict[PrincipalKey, list[PastMembership]] = {}
    level = list(dict.fromkeys(key for subject in (*identity.users, *identity.groups) for key in signed_in_keys(subject)))
    seen: set[Subject] = set()
    while level:
        found.update((key, []) for key in level)
        fresh: dict[Subject, None] = {}
        for each in unit.group_history.list_memberships(level, since):
            found[each.key].append(each)
            if each.group not in seen:
                fresh[each.group] = None
        seen.update(fresh)
        level = list(dict.fromkeys(key for group in fresh for key in own_keys(group) if key not in found))
    return found


def list_books(unit: UnitOfWork, since: datetime) -> list[PolicyInterval]:
    """Lists the policies that were in force, those from the beginning on first."""
    versions = unit.policies.list_since(since)
    if not versions or versions[0].since > since:
        versions = [PolicyVersion(since=since, policies=()), *versions]
    return [PolicyInterval(since=each.since, policies={policy.number: policy for policy in each.policies}) for each in versions]
