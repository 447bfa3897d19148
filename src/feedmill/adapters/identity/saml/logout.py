"""Single logout by SAML 2.0: notifies a provider when a user signs out here, and handles its requests when they sign out there.

Rules:

1. Only the provider may end sessions here: its requests are signed by a key of its metadata, are from it, for this server, valid now, and
   count once. Its responses are signed too, though nothing depends on them.
2. A request ends the sessions that it names by index, or all sessions of the name if it has no index.
3. This server signs its messages with its key. It sends them by redirect if the provider supports that, else as a form.

Source: SAML 2.0 Core, 3.7; SAML 2.0 Profiles, 4.4; SAML 2.0 Bindings, 3.4 and 3.5.
"""

import base64
import binascii
import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from lxml import etree

from feedmill.adapters.identity.addresses import with_query
from feedmill.adapters.identity.saml.encryption import find_name
from feedmill.adapters.identity.saml.keys import ServerKey
from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES, PROTOCOL, REDIRECT, IdentityProvider, LogoutEndpoint, parse_xml
from feedmill.adapters.identity.saml.signatures import MAX_MESSAGE_BYTES, read_query, sign_element, verify_element, write_query
from feedmill.adapters.identity.saml.text import SUCCESS, text_of, time_of, write_time
from feedmill.model.errors import BadRequest, Denied
from feedmill.model.signin import ProviderSession
from feedmill.ports.signin import LogoutMessage, LogoutRequest, ProviderRedirect

LEEWAY = timedelta(seconds=60)
LASTING = timedelta(minutes=5)
MAX_INDEXES = 1_000
_RESPONDER = "urn:oasis:names:tc:SAML:2.0:status:Responder"


class SamlLogoutFlow:
    """Implements ``ports.signin.SamlLogout``. Several threads may use it."""

    def __init__(self, provider: IdentityProvider, key: ServerKey, clock: Callable[[], datetime]) -> None:
        self._provider = provider
        self._key = key
        self._clock = clock

    def begin(self, session: ProviderSession, entity_id: str) -> ProviderRedirect | None:
        """Returns the redirect that notifies the provider that the user signs out; None if the provider has no logout address."""
        endpoint = self._choose_endpoint()
        if endpoint is None:
            return None
        now = self._clock()
        root = self._make_message("LogoutRequest", entity_id, endpoint.url, {"NotOnOrAfter": write_time(now + LASTING)})
        # With its qualifiers, since the provider compares the name with all of them.
        name = etree.SubElement(root, f"{{{ASSERTION}}}NameID", _read_details(session.details))
        name.text = session.name
        if session.index:
            etree.SubElement(root, f"{{{PROTOCOL}}}SessionIndex").text = session.index
        return self._send("SAMLRequest", root, endpoint, endpoint.url, "")

    def read_logout_request(self, message: LogoutMessage, logout_url: str) -> LogoutRequest:
        """Returns a logout request of the provider. Errors: Denied."""
        root = self._open(message, "SAMLRequest", "LogoutRequest")
        self._check_message(root, logout_url)
        until = time_of(root.get("NotOnOrAfter"))
        if until is not None and self._clock() - LEEWAY >= until:
            raise Denied("the request is over; do the clocks of both machines agree")
        indexes = [text_of(each) for each in root.findall("p:SessionIndex", NAMES)]
        if len(indexes) > MAX_INDEXES:
            raise Denied(f"the request names more than {MAX_INDEXES} sessions")
        name = text_of(find_name(root, self._key.private))
        if not name:
            raise Denied("the request names no user")
        identity = f"{self._provider.entity_id} {root.get('ID', '')}"
        # A request is accepted from LASTING + LEEWAY before its IssueInstant to as long after it.
        # Its ID is remembered for all of that time.
        lasting = 2 * (LASTING + LEEWAY) + LEEWAY
        return LogoutRequest(
            id=identity,
            number=root.get("ID", ""),
            name=name,
            indexes=tuple(index for index in indexes if index),
            until=self._clock() + lasting,
        )

    def answer(self, request: LogoutRequest, entity_id: str, relay_state: str, *, is_done: bool) -> ProviderRedirect | None:
        """Returns the redirect that takes the response to the provider; None if the provider has no address for it."""
        endpoint = self._choose_endpoint()
        if endpoint is None:
            return None
        url = endpoint.answer_url or endpoint.url
        root = self._make_message("LogoutResponse", entity_id, url, {"InResponseTo": request.number})
        status = etree.SubElement(root, f"{{{PROTOCOL}}}Status")
        etree.SubElement(status, f"{{{PROTOCOL}}}StatusCode", {"Value": SUCCESS if is_done else _RESPONDER})
        return self._send("SAMLResponse", root, endpoint, url, relay_state)

    def confirm(self, message: LogoutMessage, logout_url: str) -> None:
        """Checks the provider's response to a logout request of this server. Errors: Denied, also if it did not end the session."""
        root = self._open(message, "SAMLResponse", "LogoutResponse")
        self._check_message(root, logout_url)
        status = root.find("p:Status/p:StatusCode", NAMES)
        if status is None or status.get("Value") != SUCCESS:
            raise Denied(f"the provider did not end all: {(status.get('Value', '') if status is not None else '')[:200]!a}")

    def _choose_endpoint(self) -> LogoutEndpoint | None:
        places = sorted(self._provider.logout, key=lambda endpoint: endpoint.binding != REDIRECT)
        return places[0] if places else None

    def _make_message(self, kind: str, entity_id: str, url: str, given: dict[str, str]) -> etree._Element:
        attributes = {
            "ID": f"_{secrets.token_hex(20)}",
            "Version": "2.0",
            "IssueInstant": write_time(self._clock()),
            "Destination": url,
        }
        root = etree.Element(f"{{{PROTOCOL}}}{kind}", attributes | given, nsmap={"samlp": PROTOCOL, "saml": ASSERTION})
        etree.SubElement(root, f"{{{ASSERTION}}}Issuer").text = entity_id
        return root

    def _send(self, name: str, root: etree._Element, endpoint: LogoutEndpoint, url: str, relay_state: str) -> ProviderRedirect:
        if endpoint.binding == REDIRECT:
            return ProviderRedirect(url=with_query(url, write_query(name, root, self._key, relay_state)))
        fields = {name: base64.b64encode(etree.tostring(sign_element(root, self._key))).decode()}
        return ProviderRedirect(url=url, fields=fields | ({"RelayState": relay_state} if relay_state else {}))

    def _open(self, message: LogoutMessage, name: str, kind: str) -> etree._Element:
        """Returns the part of a message that the provider signed."""
        certificates = self._provider.certificates
        try:
            if message.query:
                root = parse_xml(read_query(message.query, name, certificates))
            elif len(message.encoded) > MAX_MESSAGE_BYTES:
                raise Denied(f"the message has more than {MAX_MESSAGE_BYTES} bytes")
            else:
                posted = parse_xml(base64.b64decode(message.encoded, validate=False))
                # Only this element is signed. The posted document may hold other messages around it.
                root = verify_element(posted, certificates)
        except (BadRequest, binascii.Error, ValueError) as exc:
            raise Denied(f"the message cannot be read: {exc}") from exc
        if root.tag != f"{{{PROTOCOL}}}{kind}":
            raise Denied(f"what is signed is no {kind}")
        return root

    def _check_message(self, root: etree._Element, logout_url: str) -> None:
        issuer = text_of(root.find("a:Issuer", NAMES))
        if issuer != self._provider.entity_id:
            raise Denied(f"the message is from {issuer[:200]!a}")
        if root.get("Destination", logout_url) != logout_url:
            raise Denied(f"the message is for {root.get('Destination', '')[:300]!a}")
        begun = time_of(root.get("IssueInstant"))
        if not root.get("ID") or begun is None or abs(self._clock() - begun) > LASTING + LEEWAY:
            raise Denied("the message is not of now; do the clocks of both machines agree")


def write_details(name: etree._Element) -> str:
    """Returns the details of a name, in the form in which the provider expects them back."""
    wanted = ("Format", "NameQualifier", "SPNameQualifier")
    return json.dumps({each: name.get(each) for each in wanted if name.get(each)})


def _read_details(text: str) -> dict[str, str]:
    try:
        held = json.loads(text) if text else {}
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in held.items()}
