"""Finds every group that a user belongs to, according to the groups database, with the path to it.

Rules:

1. The search starts with the users and groups that signed in, and continues breadth-first through groups that contain groups. Each subject
   is examined only once, so circles end and the stored path is a shortest one.
2. The entry of the **member** decides whether letter case counts; the flag of the defined group is ignored. Every subject is therefore
   looked up both unchanged and folded.
3. Signed-in subjects are looked up with their whole domain and with its first label, in both forms. Groups that were reached are looked up
   with their whole domain only.
4. A member names its own namespace, so a group may contain users and groups of other namespaces. A reached group retains its own namespace.
5. A user matches only user entries and a group only group entries, even if the names are equal.
6. Groups that signed in are not reached again. The look-up is responsible for definitions that replace others and for groups in two
   sources.

Source: Feeds Protocol Developer's Guide, "Feeding Groups to the Search Appliance"; googlegsa/secmgr, ``MemberToGroupsResolverMap``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from feedmill.core.access.principals import own_keys, signed_in_keys
from feedmill.model.errors import Denied
from feedmill.model.identity import Identity, PrincipalKey, Subject

FindGroups = Callable[[Sequence[PrincipalKey]], Iterable[tuple[PrincipalKey, Subject]]]
"""Takes the keys of one level of the search. Returns each key with each group that has a member entry of that key, in any order."""

MAX_GROUPS = 100_000
"""Users with more groups are refused. The appliance recommended at most two thousand."""


def resolve_groups(identity: Identity, find_groups: FindGroups, *, max_groups: int = MAX_GROUPS) -> Identity:
    """Returns the identity with all groups that the groups database adds.

    Groups of an earlier resolution are discarded. Errors: Denied if there are more than ``max_groups``; a shortened list would miss
    denials, so none is returned. Also those of ``find_groups``.
    """
    signed_in = (*identity.users, *identity.groups)
    seen = set(signed_in)
    reached: dict[Subject, Subject] = {}
    level = _owners(signed_in, signed_in_keys)
    while level:
        found: list[Subject] = []
        for key, group in find_groups(tuple(level)):
            # Reached before, by a path that is at most as long. This is also what ends circles.
            if group in seen:
                continue
            seen.add(group)
            found.append(group)
            reached[group] = level[key]
            # Checked within a level, since a single level may hold all groups of a large directory.
            if len(reached) > max_groups:
                raise Denied(f"the user is in more than {max_groups} groups, more than are resolved")
        # Groups are tried with their whole domain only (rule 3), hence not ``signed_in_keys``.
        level = _owners(found, own_keys)
    return replace(identity, reached=reached)


def _owners(subjects: Iterable[Subject], keys_of: Callable[[Subject], Iterable[PrincipalKey]]) -> dict[PrincipalKey, Subject]:
    """Returns the keys of a level with the subject of each; the first subject if several share a key."""
    owners: dict[PrincipalKey, Subject] = {}
    for subject in subjects:
        for key in keys_of(subject):
            owners.setdefault(key, subject)
    return owners
