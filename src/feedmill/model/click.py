"""Reports of users' actions on result pages."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """One report of a result page.

    Shape: ``kind`` is the clicked element, ``c`` for a result; ``url`` is its target; ``place`` counts from 1 in the whole list, 0 if
    unknown; ``details`` is other data from the front end. The user is not part of the report.
    """

    at: datetime
    kind: str
    query: str
    url: str
    place: int
    site: str
    client: str
    details: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickSender:
    """The sender whose clicks are counted together; it is never stored. ``is_many``: the sender is known to represent many people."""

    name: str
    is_many: bool = False
