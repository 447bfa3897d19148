"""The key by which this server signs its requests to providers of SAML, and decrypts what they encrypt for it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from feedmill.model.errors import BadRequest

KEY_BITS = 3_072
LASTING = timedelta(days=3_650)
UNREADABLE = (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm)
"""The errors of reading a certificate or a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKey:
    """A private key with its certificate, as PEM."""

    private: rsa.RSAPrivateKey = field(repr=False)
    certificate: str


def make_key(now: datetime) -> str:
    """Returns a new key with a self-signed certificate. Shape: one PEM text, as ``read_key`` expects it."""
    private = rsa.generate_private_key(65_537, KEY_BITS)
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "feedmill")])
    built = x509.CertificateBuilder().subject_name(named).issuer_name(named).public_key(private.public_key())
    built = built.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1)).not_valid_after(now + LASTING)
    certificate = built.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    written = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return (written + certificate).decode()


def read_key(text: str) -> ServerKey:
    """Returns a key with its certificate. Errors: BadRequest."""
    try:
        private = serialization.load_pem_private_key(text.encode(), None)
        certificate = x509.load_pem_x509_certificate(text.encode())
    except UNREADABLE as exc:
        raise BadRequest("certificate and key are not PEM, or the key has a password") from exc
    if not isinstance(private, rsa.RSAPrivateKey) or private.key_size < 2_048:
        raise BadRequest("the key is no RSA key of 2048 bits or more, which providers can encrypt for")
    if not _belongs(certificate, private):
        raise BadRequest("certificate and key do not belong together")
    return ServerKey(private=private, certificate=certificate.public_bytes(serialization.Encoding.PEM).decode())


def _belongs(certificate: x509.Certificate, private: rsa.RSAPrivateKey) -> bool:
    try:
        return certificate.public_key() == private.public_key()
    except UNREADABLE:
        return False


def read_key_files(certificate: Path, key: Path) -> ServerKey:
    """Returns a key and a certificate from two PEM files. Errors: BadRequest."""
    try:
        return read_key(f"{key.read_text()}\n{certificate.read_text()}")
    except (OSError, UnicodeDecodeError) as exc:
        raise BadRequest(f"certificate and key cannot be read: {exc}") from exc


def bare(certificate: str) -> str:
    """Returns a certificate as XML holds it: base64 in one line."""
    return "".join(line.strip() for line in certificate.splitlines() if not line.startswith("-----"))
