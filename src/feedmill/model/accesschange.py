"""What changed in what somebody may see, and what did it."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class ChangeCause(Enum):
    """What kind of change it was."""

    ADDED = "document added"
    REMOVED = "document removed"
    MADE_PUBLIC = "document made public"
    MADE_SECURE = "document made secure"
    ACL = "acl changed"
    GROUPS = "groups changed"
    POLICIES = "policies changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOrigin:
    """What made somebody see a document, or see it no longer.

    Shape: ``url`` is the one whose ACL changed, the document's own or an ancestor's; ``feed_id`` 0 where no feed did it (settings, a
    deleted source); ``source`` is the data or groups source of the feed, "" where the feed is forgotten.
    """

    cause: ChangeCause
    at: datetime
    feed_id: int = 0
    source: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessChange:
    """A document that somebody could not see then and could later, or the other way round.

    Shape: ``before`` and ``after`` tell for people what held at both times; ``origin`` is the last change that made it so.
    """

    document_id: int
    url: str
    datasource: str
    is_gained: bool
    before: str
    after: str
    origin: ChangeOrigin | None
