"""The metadata of a SAML identity provider, and the metadata of this server."""

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from cryptography import x509
from lxml import etree

from feedmill.adapters.identity.saml.keys import UNREADABLE, bare
from feedmill.model.errors import BadRequest

PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
ASSERTION = "urn:oasis:names:tc:SAML:2.0:assertion"
METADATA = "urn:oasis:names:tc:SAML:2.0:metadata"
SIGNATURE = "http://www.w3.org/2000/09/xmldsig#"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
ENCRYPTION = "http://www.w3.org/2001/04/xmlenc#"
ENCRYPTION_11 = "http://www.w3.org/2009/xmlenc11#"
NAMES = {"p": PROTOCOL, "a": ASSERTION, "m": METADATA, "d": SIGNATURE, "e": ENCRYPTION, "f": ENCRYPTION_11}
ALGORITHMS = (
    f"{ENCRYPTION_11}aes256-gcm",
    f"{ENCRYPTION_11}aes128-gcm",
    f"{ENCRYPTION}rsa-oaep-mgf1p",
    f"{ENCRYPTION_11}rsa-oaep",
)
"""The methods by which providers should encrypt for this server, the best first."""
MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutEndpoint:
    """An address for notices of logout at a provider, and its binding. Shape: ``answer_url`` is "" if it is the same."""

    binding: str
    url: str
    answer_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """A provider as its metadata describes it. Shape: ``certificates`` are those that may sign, as PEM."""

    entity_id: str
    sign_on_url: str
    certificates: tuple[str, ...]
    logout: tuple[LogoutEndpoint, ...] = ()


def parse_xml(data: bytes) -> etree._Element:
    """Returns the root of XML, parsed without DTD, entities and network. Errors: BadRequest."""
    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, **options)
    try:
        root = etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError) as exc:
        raise BadRequest(f"it is no XML: {exc}") from exc
    if root.getroottree().docinfo.internalDTD is not None:
        raise BadRequest("it has a document type, which nothing of SAML has")
    return root


def read_metadata(data: bytes) -> IdentityProvider:
    """Returns the provider in its metadata. Errors: BadRequest."""
    if len(data) > MAX_BYTES:
        raise BadRequest(f"the metadata have more than {MAX_BYTES} bytes")
    root = parse_xml(data)
    about = [root, *root.iterdescendants(f"{{{METADATA}}}EntityDescriptor")]
    found = [each for each in about if each.find("m:IDPSSODescriptor", NAMES) is not None]
    if len(found) != 1:
        raise BadRequest(f"the metadata describe {len(found)} identity providers, not one")
    entity, role = found[0], found[0].find("m:IDPSSODescriptor", NAMES)
    if not entity.get("entityID", "").strip():
        raise BadRequest("the metadata do not say what the provider is called: entityID is missing")
    services = [] if role is None else role.findall("m:SingleSignOnService", NAMES)
    places = [service.get("Location", "") for service in services if service.get("Binding") == REDIRECT]
    if not places or not places[0].startswith(("https://", "http://")):
        raise BadRequest("the metadata name no address for signing on by redirect")
    keys = [] if role is None else [key for key in role.findall("m:KeyDescriptor", NAMES) if key.get("use", "signing") == "signing"]
    certificates = tuple(_read_certificate(str(text)) for key in keys for text in key.itertext(f"{{{SIGNATURE}}}X509Certificate"))
    if not certificates:
        raise BadRequest("the metadata hold no certificate that signs")
    logout = () if role is None else _read_logout(role)
    return IdentityProvider(entity_id=entity.get("entityID", ""), sign_on_url=places[0], certificates=certificates, logout=logout)


def _read_logout(role: etree._Element) -> tuple[LogoutEndpoint, ...]:
    """Returns the usable addresses for logging out; a provider may have none."""
    listed = [
        LogoutEndpoint(binding=service.get("Binding", ""), url=service.get("Location", ""), answer_url=service.get("ResponseLocation", ""))
        for service in role.findall("m:SingleLogoutService", NAMES)
    ]
    web = ("https://", "http://")
    return tuple(
        place
        for place in listed
        if place.binding in (REDIRECT, POST) and place.url.startswith(web) and (not place.answer_url or place.answer_url.startswith(web))
    )


def write_metadata(entity_id: str, back_url: str, logout_url: str, certificate: str) -> bytes:
    """Returns the metadata of this server; ``logout_url`` is "" if the provider shall not notify this server of logouts."""
    root = etree.Element(f"{{{METADATA}}}EntityDescriptor", {"entityID": entity_id}, nsmap={"md": METADATA})
    role = etree.SubElement(
        root,
        f"{{{METADATA}}}SPSSODescriptor",
        {"protocolSupportEnumeration": PROTOCOL, "AuthnRequestsSigned": "true", "WantAssertionsSigned": "true"},
    )
    for use in ("signing", "encryption"):
        described = etree.SubElement(role, f"{{{METADATA}}}KeyDescriptor", {"use": use})
        info = etree.SubElement(described, f"{{{SIGNATURE}}}KeyInfo", nsmap={"ds": SIGNATURE})
        data = etree.SubElement(info, f"{{{SIGNATURE}}}X509Data")
        etree.SubElement(data, f"{{{SIGNATURE}}}X509Certificate").text = bare(certificate)
        for algorithm in ALGORITHMS if use == "encryption" else ():
            etree.SubElement(described, f"{{{METADATA}}}EncryptionMethod", {"Algorithm": algorithm})
    for binding in (REDIRECT, POST) if logout_url else ():
        etree.SubElement(role, f"{{{METADATA}}}SingleLogoutService", {"Binding": binding, "Location": logout_url})
    given = {"Binding": POST, "Location": back_url, "index": "0", "isDefault": "true"}
    etree.SubElement(role, f"{{{METADATA}}}AssertionConsumerService", given)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _read_certificate(text: str) -> str:
    body = "\n".join(wrap("".join(text.split()), 64))
    pem = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        # imported when needed, like the packages for the check of a signature
        _ = certificate.public_key(), certificate.not_valid_after_utc
    except UNREADABLE as exc:
        raise BadRequest(f"a certificate of the metadata cannot be read: {exc}") from exc
    return pem
