"""Groups feeds for a harness of the feeder."""

from datetime import datetime

from feedmill.model.feed import FeedKind, FeedState
from feedmill.services.feeds.groupsrun import GroupsLimits, GroupsRun
from tests.contract.feedharness import FeedHarness

Definitions = dict[str, list[str]]


def xml(definitions: Definitions) -> bytes:
    """Returns a feed of groups; a member in upper case is the group of that name."""
    memberships = []
    for group, members in definitions.items():
        named = [f'<principal scope="{"GROUP" if name.isupper() else "USER"}">{name.lower()}</principal>' for name in members]
        memberships.append(f'<membership><principal scope="GROUP">{group}</principal><members>{"".join(named)}</members></membership>')
    return f"<xmlgroups>{''.join(memberships)}</xmlgroups>".encode()


def push(
    harness: FeedHarness, source: str, kind: FeedKind, definitions: Definitions | None = None, limits: GroupsLimits | None = None
) -> datetime:
    """Applies a groups feed, restarted after every step, and returns when it ended."""
    feed_id = harness.receive([], datasource=source, kind=kind)
    harness.groups[feed_id] = xml(definitions or {})
    run = GroupsRun(harness.feed(feed_id), harness.tools, limits or GroupsLimits())
    while not run.feed.phase.is_past_feeder:
        run.step()
    assert run.feed.state is FeedState.COMPLETED
    return harness.clock()
