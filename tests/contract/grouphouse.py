"""Groups feeds for a house of the feeder."""

from datetime import datetime

from feedhouse import FeedHouse

from feedmill.model.feed import FeedKind, FeedState
from feedmill.services.feeds.groupsrun import GroupsLimits, GroupsRun

Definitions = dict[str, list[str]]


def xml(definitions: Definitions) -> bytes:
    """Gives a feed of groups; a member in upper case is the group of that name."""
    memberships = []
    for group, members in definitions.items():
        named = [f'<principal scope="{"GROUP" if name.isupper() else "USER"}">{name.lower()}</principal>' for name in members]
        memberships.append(f'<membership><principal scope="GROUP">{group}</principal><members>{"".join(named)}</members></membership>')
    return f"<xmlgroups>{''.join(memberships)}</xmlgroups>".encode()


def push(
    house: FeedHouse, source: str, kind: FeedKind, definitions: Definitions | None = None, limits: GroupsLimits | None = None
) -> datetime:
    """Takes a groups feed to its end, begun anew after every step, and gives when it ended."""
    feed_id = house.receive([], datasource=source, kind=kind)
    house.groups[feed_id] = xml(definitions or {})
    run = GroupsRun(house.feed(feed_id), house.tools, limits or GroupsLimits())
    while not run.feed.phase.is_past_feeder:
        run.step()
    assert run.feed.state is FeedState.COMPLETED
    return house.clock()
