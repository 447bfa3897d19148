"""Makes feeds of a folder on this machine, in the appliance's XML."""

from feedmill.adapters.feedparts import FolderFeedParts
from feedmill.adapters.sourcefolder import DiskSourceFolder
from feedmill.services.feeds import feedmaking
from feedmill.services.feeds.feedmaking import FeedPlan, OnFile, WrittenFeed
from feedmill.wire.gsafeed import render


def make_feeds(plan: FeedPlan, on_file: OnFile = lambda _: None) -> WrittenFeed:
    """Writes the feed files of a folder; a folder without files makes one empty feed. Errors: BadRequest for an impossible plan."""
    return feedmaking.make_feeds(
        plan,
        _open_folder(plan),
        lambda head_of, tail: FolderFeedParts(output=plan.output, max_bytes=plan.max_bytes, head_of=head_of, tail=tail),
        render,
        on_file,
    )


def count_files(plan: FeedPlan) -> int:
    """Returns how many files a plan would feed."""
    return sum(1 for _ in feedmaking.find_files(plan, _open_folder(plan), lambda _path, _reason: None))


def _open_folder(plan: FeedPlan) -> DiskSourceFolder:
    return DiskSourceFolder(folder=plan.folder, follow_links=plan.follow_links)
