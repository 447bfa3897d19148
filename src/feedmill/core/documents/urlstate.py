"""The types of ``lifecycle``: the state of a URL, the context and rules of a change, and its outcome."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Any

from feedmill.model.access import StoredAcl
from feedmill.model.document import Document, DocumentState, Event
from feedmill.model.feed import LogEntry
from feedmill.model.lightdataclass import light_dataclass
from feedmill.model.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the settings say about a URL: why the patterns refuse it, whether access rules make it public, which sources are secure."""

    refusal: Callable[[str], str | None]
    make_public: Callable[[str], bool | None]
    secure_sources: frozenset[str] = frozenset()


@light_dataclass(frozen=True, slots=True, kw_only=True)
class ApplyContext:
    """Who changes the URL, the time, and the rules."""

    provenance: Provenance
    now: datetime
    rules: Rules

    @property
    def datasource(self) -> str:
        """The data source in whose name the change comes."""
        return self.provenance.datasource

    @property
    def feed_id(self) -> int | None:
        """The feed that brings the change, None if no feed does."""
        return self.provenance.feed_id


@light_dataclass(frozen=True, slots=True, kw_only=True)
class UrlState:
    """The state of a URL: its document (including one that is gone) and its ACL."""

    url: str
    document: Document | None = None
    acl: StoredAcl | None = None

    @property
    def live(self) -> Document | None:
        """The document, None unless it is live."""
        return self.document if self.document is not None and self.document.state is DocumentState.LIVE else None


class ReceiptCount(Enum):
    """How a change is counted in its feed's receipt."""

    INCLUDED = "included"
    ERROR = "error"
    ACL = "acl"


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a change: the URL's next state, how it is counted, log entries, and events for the URL's history."""

    state: UrlState
    counted: ReceiptCount
    log: tuple[LogEntry, ...] = ()
    events: tuple[Event, ...] = field(default=())


_NAMES = tuple(each.name for each in fields(Document))
_read_values = attrgetter(*_NAMES)


def revised(document: Document, **values: Any) -> Document:
    """Returns a document with other values of some fields, as ``dataclasses.replace`` does, which takes twice the time."""
    return Document(**(dict(zip(_NAMES, _read_values(document), strict=True)) | values))
