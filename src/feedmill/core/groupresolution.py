"""Finds every group that somebody is in, by the groups database, and by which way.

Rules:

1. The search begins with the users and groups that signed in and goes on breadth-first through groups that hold groups. What was seen
   is not looked at again, so circles end, and the way that is kept is a shortest one.
2. The entry of the **member** decides whether letter case counts; the flag of the defined group is ignored. Everything is therefore looked
   up both as it is and folded.
3. What signed in is looked up with its whole domain and with its first label, in both forms; groups that were reached with their whole
   domain only.
4. A member names its own namespace, so a group may hold users and groups of other namespaces. A group that is reached keeps its own.
5. Users are members as users, groups as groups; a user is never found under a group's entry of the same name.
6. Groups that signed in are not reached once more. A definition that replaces, or a group in two sources, is the look-up's affair.

Source: Feeds Protocol Developer's Guide, "Feeding Groups to the Search Appliance"; googlegsa/secmgr, ``MemberToGroupsResolverMap``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from feedmill.core.principals import own_keys, signed_in_keys
from feedmill.model.errors import Denied
from feedmill.model.identity import Identity, PrincipalKey, Subject

FindGroups = Callable[[Sequence[PrincipalKey]], Iterable[tuple[PrincipalKey, Subject]]]
"""Gives, for the keys of one level of the search, each key with each group that has a member entry of that key, in any order."""

MAX_GROUPS = 100_000
"""More groups than this are nobody's; two thousand were the appliance's advice."""


def resolve_groups(identity: Identity, find_groups: FindGroups, *, max_groups: int = MAX_GROUPS) -> Identity:
    """Returns the identity with all groups that the groups database adds.

    Groups of an earlier resolution are forgotten. Errors: Denied when there are more than ``max_groups``; a shortened list would miss
    denials, so nothing is given. Those of ``find_groups``.
    """
    signed_in = (*identity.users, *identity.groups)
    seen = set(signed_in)
    reached: dict[Subject, Subject] = {}
    level = _owners(signed_in, signed_in_keys)
    while level:
        found: list[Subject] = []
        for key, group in find_groups(tuple(level)):
            if group in seen:
                continue
            seen.add(group)
            found.append(group)
            reached[group] = level[key]
            if len(reached) > max_groups:
                raise Denied(f"the asker is in more than {max_groups} groups, more than are resolved")
        level = _owners(found, own_keys)
    return replace(identity, reached=reached)


def _owners(subjects: Iterable[Subject], keys_of: Callable[[Subject], Iterable[PrincipalKey]]) -> dict[PrincipalKey, Subject]:
    """Returns the keys of a level with the subject that each stands for, the first where several share one."""
    owners: dict[PrincipalKey, Subject] = {}
    for subject in subjects:
        for key in keys_of(subject):
            owners.setdefault(key, subject)
    return owners
