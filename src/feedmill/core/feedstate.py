"""The state in which a feed ends."""

from feedmill.model.feed import FeedState


def final_state(*, included: int, errors: int, acls: int = 0) -> FeedState:
    """Returns the state of a feed whose records were all dealt with.

    Shape: ``included`` and ``errors`` as they are counted, ``acls`` the good group-level ACLs, which keep a feed from failing.
    Source: docs/reference/feed-port.md.
    """
    if errors == 0:
        return FeedState.COMPLETED
    return FeedState.COMPLETED_WITH_ERRORS if included or acls else FeedState.FAILED_IN_ERROR
