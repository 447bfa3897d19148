"""Writes authorization decision queries, all about one user, in one SOAP envelope.

The subject is the user's plain name if their credential is sent in Google's extension, which has a separate place for the domain. Otherwise
it is ``name@domain``, because there is no other place for the domain.
Source: googlegsa/library, ``SamlBatchAuthzHandler``; googlegsa/secmgr.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from feedmill.model.identity import Subject
from feedmill.wire.samlauthorization.schema import ASSERTION, GET, GHPP, GOOGLE, LIST_VERSION, PROTOCOL, SOAP, Envelope, Query
from feedmill.wire.xmltext import clean_text, is_clean

# characters that java.net.URI, by which adaptors read a resource, refuses anywhere behind the host
_NOT_URI = re.compile(r"[\x00-\x20\"<>\\^`{|}\[\]\x7f-\xa0\u2028\u2029\ud800-\udfff\ufffe\uffff]|%(?![0-9A-Fa-f]{2})")
_SPACES = re.compile(r"\s")
_IN_ATTRIBUTES = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def resource_of(url: str) -> str:
    """Returns a document's URL as a legal URI: characters that no URI may hold are percent-encoded, all others stay.

    Shape: brackets stay if the host is an IPv6 address.
    """
    head, sign, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if not sign:
        return _encode(url)
    is_bracketed = re.fullmatch(r"\[[0-9A-Fa-f:.]+\](?::\d*)?", host) is not None
    return f"{_encode(head)}://{host if is_bracketed else _encode(host)}{slash}{_encode(path)}"


def _encode(text: str) -> str:
    safe = _SPACES.sub(lambda found: quote(found[0], safe=""), text)
    return _NOT_URI.sub(lambda found: quote(found[0].encode("utf-8", "surrogatepass"), safe=""), safe)


def name_of(envelope: Envelope) -> str:
    """Returns the name for the subject of all queries."""
    user = envelope.user
    return f"{user.name}@{user.domain}" if user.domain and not envelope.holds_credential else user.name


def is_writable(user: Subject) -> bool:
    """Returns whether XML can hold a user's name unchanged; no query may use another name in its place."""
    return bool(user.name) and all(map(is_clean, (user.name, user.domain, user.namespace)))


def render_queries(envelope: Envelope, queries: Sequence[Query]) -> bytes:
    """Returns an envelope with queries, in the given order. Shape: UTF-8; the user is one that ``is_writable``."""
    parts = [f'<?xml version="1.0" encoding="UTF-8"?>\n<soap11:Envelope xmlns:soap11="{SOAP}"><soap11:Body>']
    for place, query in enumerate(queries):
        parts.append(_render_query(envelope, query, _render_credential(envelope) if place == 0 and envelope.holds_credential else ""))
    parts.append("</soap11:Body></soap11:Envelope>")
    return "".join(parts).encode()


def render_list(envelope: Envelope, queries: Sequence[Query]) -> bytes:
    """Returns an envelope with one query that lists its documents in Google's extension. Shape: the queries share one id."""
    listed = "".join(f'<goog:Resource xmlns:goog="{GOOGLE}" uri={_attribute(query.resource)}/>' for query in queries)
    version = f'<goog:GsaAuthz xmlns:goog="{GOOGLE}" version="{LIST_VERSION}"/>'
    extensions = f"<samlp:Extensions>{version}{listed}{_render_secmgr(envelope)}</samlp:Extensions>"
    whole = _render_query(envelope, Query(id=queries[0].id, resource=""), extensions)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<soap11:Envelope xmlns:soap11="{SOAP}"><soap11:Body>'
    return f"{head}{whole}</soap11:Body></soap11:Envelope>".encode()


def _render_query(envelope: Envelope, query: Query, extensions: str) -> str:
    return (
        f'<samlp:AuthzDecisionQuery xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}" ID={_attribute(query.id)}'
        f' IssueInstant="{write_time(envelope.issued_at)}" Version="2.0" Resource={_attribute(query.resource)}>'
        f"<saml:Issuer>{_text(envelope.issuer)}</saml:Issuer>{extensions}"
        f"<saml:Subject><saml:NameID>{_text(name_of(envelope))}</saml:NameID></saml:Subject>"
        f'<saml:Action Namespace="{GHPP}">{GET}</saml:Action></samlp:AuthzDecisionQuery>'
    )


def _render_credential(envelope: Envelope) -> str:
    return f"<samlp:Extensions>{_render_secmgr(envelope)}</samlp:Extensions>"


def _render_secmgr(envelope: Envelope) -> str:
    password = "" if envelope.password is None else f" password={_attribute(envelope.password)}"
    groups = "".join(f"<goog:Group{_who(group)}/>" for group in envelope.groups)
    return f'<goog:SecmgrCredential xmlns:goog="{GOOGLE}"{_who(envelope.user)}{password}>{groups}</goog:SecmgrCredential>'


def _who(subject: Subject) -> str:
    domain = f" domain={_attribute(subject.domain)}" if subject.domain else ""
    return f" name={_attribute(subject.name)} namespace={_attribute(subject.namespace)}{domain}"


def _attribute(text: str) -> str:
    # an XML parser would read white space in attributes as blanks
    return f'"{escape(clean_text(text), _IN_ATTRIBUTES)}"'


def _text(text: str) -> str:
    # An XML parser would read a plain carriage return as a newline (XML 1.0, 2.11).
    return escape(clean_text(text), {"\r": "&#13;"})


def write_time(at: datetime) -> str:
    """Returns a time in the form of SAML: UTC, with milliseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
