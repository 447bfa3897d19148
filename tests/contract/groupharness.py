"""Groups feeds for a harness of the feeder."""

from datetime import datetime

from feedmill.model.feed import FeedKind, FeedState
from feedmill.services.feeds.groupsrun import GroupsLimits, GroupsRun
from tests.builders.groups import make_groups_feed, make_membership
from tests.contract.feedharness import FeedHarness

Definitions = dict[str, list[str]]


def write_groups(definitions: Definitions) -> bytes:
    """Returns a feed of groups; a member in upper case is the group of that name."""
    return make_groups_feed(
        *(
            make_membership(
                group,
                [name for name in members if not name.isupper()],
                groups=[name.lower() for name in members if name.isupper()],
            )
            for group, members in definitions.items()
        )
    )


def push(
    harness: FeedHarness, source: str, kind: FeedKind, definitions: Definitions | None = None, limits: GroupsLimits | None = None
) -> datetime:
    """Applies a groups feed, restarted after every step, and returns when it ended."""
    feed_id = harness.receive([], datasource=source, kind=kind)
    harness.groups[feed_id] = write_groups(definitions or {})
    run = GroupsRun(harness.feed(feed_id), harness.tools, limits or GroupsLimits())
    while not run.feed.phase.is_past_feeder:
        run.step()
    assert run.feed.state is FeedState.COMPLETED
    return harness.clock()
