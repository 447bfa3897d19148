"""What is known of a URL, who changes it by which rules, and what a change comes to: the words of ``lifecycle``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from feedmill.model.access import StoredAcl
from feedmill.model.document import Document, DocumentState, Event
from feedmill.model.feed import LogEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the settings say of a URL: why the patterns refuse it, whether access rules make it public, which sources are secure."""

    refusal: Callable[[str], str | None]
    make_public: Callable[[str], bool | None]
    secure_sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyContext:
    """Who changes the URL, and when."""

    feed_id: int
    datasource: str
    now: datetime
    rules: Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlState:
    """What is known of a URL: its document (gone ones too) and its ACL."""

    url: str
    document: Document | None = None
    acl: StoredAcl | None = None

    @property
    def live(self) -> Document | None:
        """The document, where there is one now."""
        return self.document if self.document is not None and self.document.state is DocumentState.LIVE else None


class Counted(Enum):
    """What a change counts as in its feed's receipt."""

    INCLUDED = "included"
    ERROR = "error"
    ACL = "acl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a change came to: the URL's next state, what it counts as, what to log and what to remember of the URL."""

    state: UrlState
    counted: Counted
    log: tuple[LogEntry, ...] = ()
    events: tuple[Event, ...] = field(default=())
