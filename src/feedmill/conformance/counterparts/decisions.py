"""The policy decision point of an adaptor: queries about one user, answered one by one in one SOAP body.

Source: googlegsa/library, ``SamlBatchAuthzHandler.java``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from feedmill.conformance.counterparts.server import Answer
from feedmill.wire.samlauthorization.render import write_time
from feedmill.wire.samlauthorization.schema import ASSERTION, GET, GHPP, GOOGLE, PROTOCOL, SOAP, SUCCESS

PATH: Final = "/saml-authz"
ISSUER: Final = "http://google.com/enterprise/gsa/adaptor"
_PLAIN: Final = (("Content-Type", "text/plain"),)
_XML: Final = (("Content-Type", "text/xml; charset=utf-8"),)
_BODY: Final = f"{{{SOAP}}}Body"
_QUERY: Final = f"{{{PROTOCOL}}}AuthzDecisionQuery"
_NAME: Final = f"{{{ASSERTION}}}Subject/{{{ASSERTION}}}NameID"
_CREDENTIAL: Final = f"{{{PROTOCOL}}}Extensions/{{{GOOGLE}}}SecmgrCredential"


class _Refused(Exception):
    """The request is refused as a whole, with status 400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    id: str
    resource: str
    user: str


def answer_queries(body: bytes, host: str, decisions: Mapping[tuple[str, str], str]) -> Answer:
    """Answers queries about documents of a host by the decisions for a user and a path; every other path is denied."""
    try:
        queries = _read_queries(body)
    except _Refused as exc:
        return Answer(status=400, headers=_PLAIN, body=str(exc).encode())
    inside = "".join(_answer(query, _decide(query, host, decisions)) for query in queries)
    envelope = f'<S:Envelope xmlns:S="{SOAP}"><S:Body>{inside}</S:Body></S:Envelope>'
    resources = [query.resource for query in queries]
    return Answer(headers=_XML, body=envelope.encode(), note={"user": queries[0].user, "resources": resources})


def _read_queries(body: bytes) -> list[_Query]:
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise _Refused("a document type is not permitted")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314  a document type, and so every entity, is refused
    except ElementTree.ParseError as exc:
        raise _Refused(f"the request is no XML: {exc}") from exc
    found = root.findall(f"{_BODY}/{_QUERY}")
    if not found:
        raise _Refused("the request has no query")
    queries = [_read_query(each) for each in found]
    if len({query.user for query in queries}) > 1:
        raise _Refused("All queries must be for the same subject.")
    credential = found[0].find(_CREDENTIAL)
    if credential is not None and credential.get("name") != queries[0].user:
        raise _Refused("the subject is not the user of SecmgrCredential")
    return queries


def _read_query(query: ElementTree.Element) -> _Query:
    user, resource = query.findtext(_NAME), query.get("Resource")
    if not user or not resource:
        raise _Refused("a query has no subject, or no resource")
    return _Query(id=query.get("ID", ""), resource=resource, user=user)


def _decide(query: _Query, host: str, decisions: Mapping[tuple[str, str], str]) -> str:
    parts = urlsplit(query.resource)
    if parts.scheme not in ("http", "https") or parts.netloc.lower() != host.lower():
        return "Indeterminate"
    return decisions.get((query.user, parts.path), "Deny")


def _answer(query: _Query, decision: str) -> str:
    now = write_time(datetime.now(UTC))
    issuer = f"<saml:Issuer>{ISSUER}</saml:Issuer>"
    statement = (
        f"<saml:AuthzDecisionStatement Decision={quoteattr(decision)} Resource={quoteattr(query.resource)}>"
        f'<saml:Action Namespace="{GHPP}">{GET}</saml:Action></saml:AuthzDecisionStatement>'
    )
    return (
        f'<samlp:Response xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" ID="_{abs(hash(query.id))}" InResponseTo={quoteattr(query.id)}'
        f' IssueInstant="{now}" Version="2.0">{issuer}<samlp:Status><samlp:StatusCode Value="{SUCCESS}"/></samlp:Status>'
        f'<saml:Assertion ID="_{abs(hash((query.id, 1)))}" IssueInstant="{now}" Version="2.0">{issuer}'
        f"<saml:Subject><saml:NameID>{escape(query.user)}</saml:NameID></saml:Subject>{statement}</saml:Assertion></samlp:Response>"
    )
