"""Changes in the documents that a user may see, with their causes."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class ChangeCause(Enum):
    """The kind of a change."""

    ADDED = "document added"
    REMOVED = "document removed"
    MADE_PUBLIC = "document made public"
    MADE_SECURE = "document made secure"
    ACL = "acl changed"
    GROUPS = "groups changed"
    POLICIES = "policies changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOrigin:
    """The change that made a document visible or invisible to a user.

    Shape: ``url`` is the one whose ACL changed, the document's own or an ancestor's; ``feed_id`` is 0 if no feed caused it (settings, a
    deleted source); ``source`` is the data or groups source of the feed, "" if the feed is no longer stored.
    """

    cause: ChangeCause
    at: datetime
    feed_id: int = 0
    source: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChange:
    """A document that a user could not see at first and could see later, or the reverse.

    Shape: ``before`` and ``after`` describe the decisions at both times for people; ``origin`` is the last change that caused the
    difference.
    """

    document_id: int
    url: str
    datasource: str
    is_gained: bool
    before: str
    after: str
    origin: ChangeOrigin | None
