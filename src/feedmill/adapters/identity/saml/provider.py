"""Authenticates users by an identity provider of SAML 2.0: the web browser profile, request by redirect, response by posted form.

Rules:

1. Only what a signature covers is read: the element that the verifier returns, which it parsed from the signed bytes, never the one
   of the same name in the posted message. Either the response is signed, or its one assertion. Keys are those of the metadata, not
   those of the message.
2. The assertion is from this provider, for this server (audience, recipient), within its time, and answers a request. The caller
   checks that it answers this browser's request, and that it comes once.
3. No DTD, no entity, nothing from the network.
4. An encrypted assertion is decrypted with this server's key. It needs a signature all the same, within or around (``encryption``).
Source: SAML 2.0 Profiles, 4.1; SAML 2.0 Core, 2 and 5; "On Breaking SAML: Be Whoever You Want to Be" (USENIX Security 2012).
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lxml import etree

from feedmill.adapters.identity.addresses import with_query
from feedmill.adapters.identity.claims import read_groups, read_user
from feedmill.adapters.identity.saml.encryption import decrypt_element, find_name
from feedmill.adapters.identity.saml.keys import ServerKey
from feedmill.adapters.identity.saml.logout import SamlLogoutFlow, write_details
from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES, POST, PROTOCOL, IdentityProvider, parse_xml, write_metadata
from feedmill.adapters.identity.saml.signatures import verify_element, write_query
from feedmill.adapters.identity.saml.text import SUCCESS, text_of, time_of, write_time
from feedmill.core.access.userroles import RoleRules
from feedmill.model.errors import BadRequest, Denied
from feedmill.model.signin import Credential, ProviderSession
from feedmill.ports.signin import Assertion

MAX_RESPONSE_BYTES = 2_000_000
LEEWAY = timedelta(seconds=60)
LONGEST = timedelta(hours=1)
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamlOptions:
    """The options of one provider, and the attributes of user and groups; ``user_attribute`` "" is the subject's NameID."""

    name: str
    label: str
    namespace: str
    provider: IdentityProvider
    key: ServerKey
    entity_id: str = ""
    user_attribute: str = ""
    groups_attribute: str = "groups"
    domain: str = ""
    single_logout: bool = True
    roles: RoleRules = field(default_factory=RoleRules)


class SamlIdentityProvider:
    """Implements ``ports.signin.SamlProvider``. Several threads may use it."""

    def __init__(self, options: SamlOptions, clock: Callable[[], datetime]) -> None:
        self.name, self.label, self.namespace = options.name, options.label or options.name, options.namespace
        self.qualified_name = f"saml:{options.name}"
        self._options = options
        self._clock = clock
        self._logout = SamlLogoutFlow(options.provider, options.key, clock)

    @property
    def logout(self) -> SamlLogoutFlow | None:
        """Returns the single logout with this provider; None if it is not configured."""
        return self._logout if self._options.single_logout else None

    def begin(self, back_url: str, request_id: str) -> str:
        """Returns the provider's address to which the browser is redirected. Source: SAML 2.0 Bindings, 3.4."""
        place = self._options.provider.sign_on_url
        given = {
            "ID": request_id,
            "Version": "2.0",
            "IssueInstant": write_time(self._clock()),
            "Destination": place,
            "ProtocolBinding": POST,
            "AssertionConsumerServiceURL": back_url,
        }
        root = etree.Element(f"{{{PROTOCOL}}}AuthnRequest", given, nsmap={"samlp": PROTOCOL, "saml": ASSERTION})
        etree.SubElement(root, f"{{{ASSERTION}}}Issuer").text = self.entity_id(back_url)
        return with_query(place, write_query("SAMLRequest", root, self._options.key))

    def describe(self, back_url: str) -> bytes:
        """Returns the metadata of this server."""
        logout_url = back_url.removesuffix("/acs") + "/slo" if self._options.single_logout else ""
        return write_metadata(self.entity_id(back_url), back_url, logout_url, self._options.key.certificate)

    def read_assertion(self, encoded: str, back_url: str) -> Assertion:
        """Returns the assertion in a posted response. Errors: Denied."""
        try:
            response = parse_xml(base64.b64decode(encoded, validate=False)) if len(encoded) <= MAX_RESPONSE_BYTES else None
        except (binascii.Error, ValueError, BadRequest) as exc:
            raise Denied(f"the response cannot be read: {exc}") from exc
        if response is None or response.tag != f"{{{PROTOCOL}}}Response":
            raise Denied("what was posted is no response of a provider, or a very long one")
        self._check_response(response, back_url)
        return self._read_assertion(self._verify(response), back_url)

    def entity_id(self, back_url: str) -> str:
        """Returns the name by which providers know this server."""
        return self._options.entity_id or back_url.removesuffix("/acs") + "/metadata"

    def _check_response(self, response: etree._Element, back_url: str) -> None:
        status = response.find("p:Status/p:StatusCode", NAMES)
        if status is None or status.get("Value") != SUCCESS:
            message = response.findtext("p:Status/p:StatusMessage", "", NAMES) or (status.get("Value", "") if status is not None else "")
            raise Denied(f"the provider says: {message[:300]}")
        if response.get("Destination", back_url) != back_url:
            raise Denied(f"the response is for {response.get('Destination', '')[:300]!a}")
        # Anywhere in the response, not only among its children: a second assertion is how signatures are wrapped.
        if len(response.findall(".//a:Assertion", NAMES)) + len(response.findall(".//a:EncryptedAssertion", NAMES)) != 1:
            raise Denied("the response does not hold one assertion")

    def _verify(self, response: etree._Element) -> etree._Element:
        """Returns the assertion in the signed part."""
        certificates = self._options.provider.certificates
        # A signed response covers its assertion, encrypted or not. Otherwise the assertion must carry its own signature.
        if response.find("d:Signature", NAMES) is not None:
            signed = verify_element(response, certificates)
            if signed.tag != f"{{{PROTOCOL}}}Response":
                raise Denied("what is signed is no response")
            hidden = signed.find("a:EncryptedAssertion", NAMES)
            found = signed.find("a:Assertion", NAMES) if hidden is None else self._decrypt(hidden, is_signed=True)
        else:
            hidden = response.find("a:EncryptedAssertion", NAMES)
            if hidden is None:
                found = verify_element(response, certificates, f"./{{{ASSERTION}}}Assertion/")
            else:
                found = verify_element(self._decrypt(hidden, is_signed=False), certificates)
        if found is None or found.tag != f"{{{ASSERTION}}}Assertion":
            raise Denied("what is signed is no assertion")
        return found

    def _decrypt(self, hidden: etree._Element, *, is_signed: bool) -> etree._Element:
        return decrypt_element(hidden, self._options.key.private, is_signed=is_signed)

    def _read_assertion(self, assertion: etree._Element, back_url: str) -> Assertion:
        issuer = text_of(assertion.find("a:Issuer", NAMES))
        if issuer != self._options.provider.entity_id:
            raise Denied(f"the assertion is from {issuer[:200]!a}")
        now = self._clock()
        in_response_to, until = _confirm(assertion, back_url, now)
        _check_conditions(assertion, self.entity_id(back_url), now)
        attributes = _read_attributes(assertion)
        subject = assertion.find("a:Subject", NAMES)
        name_id = find_name(subject, self._options.key.private) if subject is not None else None
        wanted = self._options.user_attribute
        named = next(iter(attributes.get(wanted, ())), "") if wanted else text_of(name_id)
        user = read_user(named, self._options)
        if user is None:
            raise Denied(f"the provider names no user: {wanted or 'NameID'} is missing")
        groups = read_groups(attributes, self._options.groups_attribute, self._options)
        role = self._options.roles.find_role(groups)
        number = assertion.get("ID", "")
        if not number:
            raise Denied("the assertion has no ID")
        session = _read_session(assertion, name_id)
        credential = Credential(provider=self.qualified_name, user=user, groups=groups, role=role, session=session)
        return Assertion(id=f"{issuer} {number}", in_response_to=in_response_to, credential=credential, until=until)


def _read_session(assertion: etree._Element, name: etree._Element | None) -> ProviderSession | None:
    """Returns the provider's names for the user and their session, by which either side may end it."""
    if name is None or not text_of(name):
        return None
    statement = assertion.find("a:AuthnStatement", NAMES)
    index = statement.get("SessionIndex", "") if statement is not None else ""
    ends_at = time_of(statement.get("SessionNotOnOrAfter")) if statement is not None else None
    return ProviderSession(name=text_of(name), index=index, details=write_details(name), ends_at=ends_at)


def _confirm(assertion: etree._Element, back_url: str, now: datetime) -> tuple[str, datetime]:
    """Returns the request that a bearer's confirmation answers, and the end of its validity."""
    for confirmation in assertion.findall("a:Subject/a:SubjectConfirmation", NAMES):
        data = confirmation.find("a:SubjectConfirmationData", NAMES)
        if confirmation.get("Method") != _BEARER or data is None or data.get("Recipient") != back_url:
            continue
        until = time_of(data.get("NotOnOrAfter"))
        if until is not None and now - LEEWAY < until and data.get("NotBefore") is None and data.get("InResponseTo"):
            return data.get("InResponseTo", ""), min(until, now + LONGEST) + LEEWAY
    raise Denied("no confirmation of the assertion is for this server, now, and for a request of it")


def _check_conditions(assertion: etree._Element, entity_id: str, now: datetime) -> None:
    conditions = assertion.find("a:Conditions", NAMES)
    if conditions is None:
        raise Denied("the assertion has no conditions, so it may be for any server")
    before, until = time_of(conditions.get("NotBefore")), time_of(conditions.get("NotOnOrAfter"))
    if (before is not None and now + LEEWAY < before) or (until is not None and now - LEEWAY >= until):
        raise Denied("the assertion is not for now; do the clocks of both machines agree")
    restrictions = conditions.findall("a:AudienceRestriction", NAMES)
    if not restrictions:
        raise Denied("the assertion names no audience")
    for restriction in restrictions:
        if entity_id not in [text_of(audience) for audience in restriction.findall("a:Audience", NAMES)]:
            raise Denied(f"the assertion is not for {entity_id}")


def _read_attributes(assertion: etree._Element) -> dict[str, list[str]]:
    attributes: dict[str, list[str]] = {}
    for attribute in assertion.findall("a:AttributeStatement/a:Attribute", NAMES):
        values = [text_of(value) for value in attribute.findall("a:AttributeValue", NAMES)]
        for name in dict.fromkeys((attribute.get("Name"), attribute.get("FriendlyName"))):
            if name:
                attributes.setdefault(name, []).extend(values)
    return attributes
