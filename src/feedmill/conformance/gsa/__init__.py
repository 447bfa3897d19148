"""The cases of the Google Search Appliance: its feed port, its feeds, its ACLs, its search protocol and its crawler."""

from feedmill.conformance.cases import Case
from feedmill.conformance.gsa import access, crawling, feedport, feeds, searchport
from feedmill.conformance.gsa.trial import FeedTrial

GsaCase = Case[FeedTrial]
CASES: tuple[GsaCase, ...] = (
    *feedport.CASES.cases,
    *feeds.CASES.cases,
    *access.CASES.cases,
    *searchport.CASES.cases,
    *crawling.CASES.cases,
)

__all__ = ["CASES", "FeedTrial", "GsaCase"]
