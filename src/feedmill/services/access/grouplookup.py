"""Looks up groups for administrators: the group sources, the definitions of a group with its members, the groups of a user.

The groups database stores digests of members and no names. The names are in the feed that defined the group, as long as it is stored.
"""

from collections.abc import Callable
from dataclasses import dataclass

from feedmill.core.access.groups import resolve_groups
from feedmill.core.access.principals import principal_keys_of, subject_of
from feedmill.model.access import Principal
from feedmill.model.change import GroupChange, PutGroup
from feedmill.model.errors import NotFound
from feedmill.model.feed import Feed
from feedmill.model.identity import Identity, Subject
from feedmill.ports import SourcedDefinition, Store
from feedmill.services.feeds.reading import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSource:
    """A group source. Shape: ``feeds`` are those whose definitions are in use, oldest first; ``definitions`` counts those in them."""

    name: str
    feeds: tuple[int, ...]
    definitions: int
    memberships: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetails:
    """A group: its definition in each source, and the groups that contain it, through other groups too."""

    group: Subject
    definitions: tuple[SourcedDefinition, ...]
    parents: tuple[tuple[Subject, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLookup:
    """Reads the groups database; ``open_feed`` opens the reader of a groups feed, and raises NotFound if its bytes are gone."""

    store: Store
    open_feed: Callable[[Feed], Reader[GroupChange]]

    def list_sources(self) -> list[GroupSource]:
        """Lists the group sources by name."""
        with self.store.reading() as unit:
            feeds: dict[str, list[int]] = {}
            for feed_id, source in sorted(unit.groups.snapshots.list_visible().items()):
                feeds.setdefault(source, []).append(feed_id)
            counts = unit.groups.memberships.count_by_source()
        found = ((source, ids, *counts.get(source, (0, 0))) for source, ids in sorted(feeds.items()))
        return [
            GroupSource(name=source, feeds=tuple(ids), definitions=definitions, memberships=memberships)
            for source, ids, definitions, memberships in found
        ]

    def get_group(self, group: Subject) -> GroupDetails:
        """Returns a group. Errors: NotFound if no source defines it; Denied if it is in too many groups."""
        with self.store.reading() as unit:
            definitions = unit.groups.memberships.find_definitions(group)
        if not definitions:
            raise NotFound(f"no group source defines the group '{group.name}' of domain '{group.domain}' in namespace '{group.namespace}'")
        return GroupDetails(group=group, definitions=tuple(definitions), parents=tuple(self.list_groups_of(Identity(groups=(group,)))))

    def list_groups_of(self, identity: Identity) -> list[tuple[Subject, ...]]:
        """Lists all groups that the groups database adds to an identity, nearest first. Errors: Denied if they are too many.

        Shape: each is the path from the user, or one of their groups, to the group, both included.
        """
        with self.store.reading() as unit:
            resolved = resolve_groups(identity, unit.groups.memberships.find_parents)
        keys = principal_keys_of(resolved)
        return [keys.trace(subject) for subject in resolved.reached]

    def list_members(self, group: Subject, definition: SourcedDefinition, limit: int) -> list[Principal]:
        """Lists the first members of a definition, as the feed named them.

        Errors: NotFound if the feed, or the group in it, is no longer stored; BadFeed if the feed cannot be read any more.
        """
        with self.store.reading() as unit:
            feed = unit.feeds.reader.get(definition.feed_id)
        named: tuple[Principal, ...] = ()
        for change in self.open_feed(feed).changes(0):
            # a feed that defines a group again replaces its first definition
            if isinstance(change, PutGroup) and subject_of(change.group) == group:
                named = change.members
        if not named:
            raise NotFound(f"feed {feed.id} does not name the members, which are those of an earlier feed")
        return list(dict.fromkeys(named))[:limit]
