"""What somebody did with a page of results."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """One report of a result page.

    Shape: ``kind`` is what was clicked, ``c`` a result; ``url`` where it led; ``place`` counts from 1 in the whole list, 0 where it was not
    told; ``details`` is what else the front end sent along. Who clicked is not part of it.
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
    """Whose clicks are counted together, which is kept nowhere. ``is_many``: it is known to speak for many people."""

    name: str
    is_many: bool = False
