"""Names and values of authorization decision queries and their responses.

Source: SAML 2.0 core, 2.7.4 and 3.3.2.4; SOAP 1.1, 4; googlegsa/library, ``SamlBatchAuthzHandler``.
"""

from dataclasses import dataclass, field
from datetime import datetime

from feedmill.model.decision import Verdict
from feedmill.model.identity import Subject

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
ASSERTION = "urn:oasis:names:tc:SAML:2.0:assertion"
SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
GHPP = "urn:oasis:names:tc:SAML:1.0:action:ghpp"
GET = "GET"
GOOGLE = "http://www.google.com/"
"""The namespace of the extension in which one query lists several documents."""

LIST_VERSION = 2
CONTENT_TYPE = "text/xml; charset=utf-8"
SOAP_ACTION = "http://www.oasis-open.org/committees/security"

DECISIONS = {"Permit": Verdict.PERMIT, "Deny": Verdict.DENY, "Indeterminate": Verdict.INDETERMINATE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The query for one document: the id of its query, its own or shared, and the document's URL as a legal URI."""

    id: str
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The common part of all queries of one request. ``holds_credential``: Google's extension carries the user with their groups."""

    issuer: str
    issued_at: datetime
    user: Subject
    groups: tuple[Subject, ...] = ()
    holds_credential: bool = True
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One decision as it was stated: its response, its subject, its validity period and its audience; None for missing parts.

    ``audiences`` has one set for each restriction; the reader must be in all sets.
    """

    in_response_to: str
    resource: str
    verdict: Verdict
    subject: str | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    audiences: tuple[frozenset[str], ...] = ()
