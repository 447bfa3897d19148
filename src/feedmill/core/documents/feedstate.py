"""Decides the final state of a feed."""

from feedmill.model.feed import FeedState


def final_state(*, included: int, errors: int, acls: int = 0) -> FeedState:
    """Returns the state of a feed once all its records are processed.

    Shape: ``included`` and ``errors`` as they are counted, ``acls`` the valid group-level ACLs, which prevent the failed state.
    Source: docs/reference/feed-port.md.
    """
    if errors == 0:
        return FeedState.COMPLETED
    return FeedState.COMPLETED_WITH_ERRORS if included or acls else FeedState.FAILED_IN_ERROR
