"""Computes the intervals in which a user's groups, or the policies, stayed the same, since a time.

A group interval begins with a groups feed that changed the user's principal keys. All memberships that the user had at any time since then
are read once, with the times at which they began and ended. The groups of each time are computed from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from feedmill.core.access.groups import resolve_groups
from feedmill.core.access.principals import PrincipalKeys, own_keys, principal_keys_of, signed_in_keys
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.model.policyacl import PolicyAcl, PolicyVersion
from feedmill.ports import PastMembership, Publication, UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInterval:
    """An interval in which the user's groups stayed the same.

    ``begun_by`` is the groups feed that began it, None for the first interval.
    """

    since: datetime
    principal_keys: PrincipalKeys
    begun_by: Publication | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInterval:
    """An interval in which the same policies were in force. Shape: by number."""

    since: datetime
    policies: Mapping[int, PolicyAcl]


def list_eras(unit: UnitOfWork, identity: Identity, since: datetime) -> list[GroupInterval]:
    """Lists the user's group intervals; the first one holds at ``since``. Errors: Denied for a user who was in too many groups."""
    memberships = _read_memberships(unit, identity, since)

    def principal_keys_at(at: datetime) -> PrincipalKeys:
        def find(keys: Sequence[PrincipalKey]) -> Iterable[tuple[PrincipalKey, Subject]]:
            return ((key, each.group) for key in keys for each in memberships[key] if each.held_at(at))

        return principal_keys_of(resolve_groups(identity, find))

    group_intervals = [GroupInterval(since=since, principal_keys=principal_keys_at(since))]
    publications = {publication for those in memberships.values() for each in those for publication, _ in each.turns}
    for publication in sorted(publications, key=lambda each: each.feed_id):
        principal_keys = principal_keys_at(publication.at)
        if principal_keys.keys.keys() != group_intervals[-1].principal_keys.keys.keys():
            group_intervals.append(GroupInterval(since=publication.at, principal_keys=principal_keys, begun_by=publication))
    return group_intervals


def _read_memberships(unit: UnitOfWork, identity: Identity, since: datetime) -> dict[PrincipalKey, list[PastMembership]]:
    """Reads, a level at a time, every group that the user was in at any time since, directly or through other groups."""
    found: dict[PrincipalKey, list[PastMembership]] = {}
    level = list(dict.fromkeys(key for subject in (*identity.users, *identity.groups) for key in signed_in_keys(subject)))
    seen: set[Subject] = set()
    while level:
        found.update((key, []) for key in level)
        fresh: dict[Subject, None] = {}
        for each in unit.groups.history.list_memberships(level, since):
            found[each.key].append(each)
            if each.group not in seen:
                fresh[each.group] = None
        seen.update(fresh)
        level = list(dict.fromkeys(key for group in fresh for key in own_keys(group) if key not in found))
    return found


def list_books(unit: UnitOfWork, since: datetime) -> list[PolicyInterval]:
    """Lists the policy intervals; the first one holds at ``since``."""
    versions = unit.access.policies.list_since(since)
    if not versions or versions[0].since > since:
        versions = [PolicyVersion(since=since, policies=()), *versions]
    return [PolicyInterval(since=each.since, policies={policy.number: policy for policy in each.policies}) for each in versions]
