"""Which certificates of servers a client accepts."""

import ssl
from pathlib import Path

from feedmill_client.errors import BadRequest


def make_context(certificate: str, ca_file: str) -> ssl.SSLContext:
    """Returns a context that trusts the authorities of the system, those of a file, or one certificate alone. Errors: BadRequest."""
    if not certificate:
        try:
            return ssl.create_default_context(cafile=ca_file or None)
        except OSError as exc:
            raise BadRequest(f"no certificate can be read from '{ca_file}': {exc}") from exc
    # Only this one certificate is accepted, so neither its issuer nor the name in it matters: the server may be reached by a local
    # address that is not in the certificate.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=_read_first(certificate))
    except OSError as exc:
        raise BadRequest(f"no certificate can be read from '{certificate}': {exc}") from exc
    return context


def _read_first(path: str) -> str:
    """Returns the first certificate in a PEM file, which is that of the server; those of its issuers follow it."""
    head, end, _ = Path(path).read_text("ascii", "ignore").partition("-----END CERTIFICATE-----")
    return head[head.find("-----BEGIN CERTIFICATE-----") :] + end + "\n"
