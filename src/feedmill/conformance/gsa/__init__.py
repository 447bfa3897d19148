"""The cases of the Google Search Appliance: its feed port, its feeds, its ACLs and its search protocol."""

from feedmill.conformance.cases import Case
from feedmill.conformance.gsa import access, feedport, feeds, searchport
from feedmill.conformance.gsa.trial import FeedTrial

GsaCase = Case[FeedTrial]
CASES: tuple[GsaCase, ...] = (*feedport.CASES.cases, *feeds.CASES.cases, *access.CASES.cases, *searchport.CASES.cases)

__all__ = ["CASES", "FeedTrial", "GsaCase"]
