"""Checks the settings of authorization servers: what each mechanism needs, where secrets could be sent, and the named files."""

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from feedmill.settings.authorization import AuthorizationSettings, MechanismSettings, names_servers
from feedmill.settings.keypaths import Fault, KeyPath


def check_authorization(entries: Sequence[AuthorizationSettings], mechanisms: MechanismSettings) -> Iterator[Fault]:
    """Yields the faults of the entries, and of the order of the mechanisms."""
    if mechanisms.confirm_permits and not any(entry.mechanism in mechanisms.order for entry in entries):
        yield ("mechanisms", "confirm_permits"), "no user would see what is not public; give [[authorization]] entries that confirm it"
    for place, entry in enumerate(entries):
        here: KeyPath = ("authorization", place)
        if entry.name and entry.name in [other.name for other in entries[:place]]:
            yield (*here, "name"), f"'{entry.name}' is there already"
        yield from _CHECKS[entry.mechanism](here, entry)
        yield from _check_files(here, entry)


def _check_saml(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    if entry.connector:
        yield (*here, "connector"), "this is for mechanism 'connector'"
    if not entry.endpoint:
        yield (*here, "endpoint"), "saml needs the URL of the policy decision point, such as https://wiki.example.com:5678/saml-authz"
    if entry.user_header:
        yield (*here, "user_header"), "saml names the user in its query; the header is for mechanism 'head'"
    if entry.forward_password and not entry.credential:
        yield (*here, "forward_password"), "without 'credential' a query has no place for a password"
    if entry.protocol == "batch2" and not entry.credential:
        yield (
            (*here, "protocol"),
            "'batch2' is an extension of Google's, which names the user by 'credential'; take 'batch' or 'single'",
        )
    if entry.allow_private:
        yield (*here, "allow_private"), "an endpoint may be anywhere; this is for mechanism 'head'"


def _check_connector(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    if not entry.endpoint:
        yield (*here, "endpoint"), "connector needs the URL of the connector manager, such as http://cm.example.com:8080/connector-manager"
    yield from _refuse(here, entry, ("user_header", "protocol", "allow_private", "issuer", "credential", "method"))


def _check_deny(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    yield from _refuse(here, entry, tuple(set(AuthorizationSettings.model_fields) - {"name", "mechanism", "patterns"}))


def _refuse(here: KeyPath, entry: AuthorizationSettings, keys: Sequence[str]) -> Iterator[Fault]:
    for key in sorted(set(keys) & entry.model_fields_set):
        yield (*here, key), f"means nothing for mechanism '{entry.mechanism}'; leave it out"


def _check_head(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    if entry.connector:
        yield (*here, "connector"), "this is for mechanism 'connector'"
    if entry.endpoint:
        yield (*here, "endpoint"), "head asks the servers of the documents; an endpoint is for mechanism 'saml'"
    if entry.protocol != "batch":
        yield (*here, "protocol"), "head sends a request for each document; this is for mechanism 'saml'"
    if not entry.forward_password and not entry.user_header:
        yield here, "head needs something by which servers know the user: forward_password = true, or user_header"
    for pattern in entry.patterns:
        if not names_servers(pattern):
            text = f"'{pattern}' may mean any host, which would learn the name of the user; write scheme and host, such as https://wiki.example.com/"
            yield (*here, "patterns"), text


_CHECKS: Mapping[str, Callable[[KeyPath, AuthorizationSettings], Iterator[Fault]]] = {
    "saml": _check_saml,
    "connector": _check_connector,
    "head": _check_head,
    "deny": _check_deny,
}


def _check_files(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    named = [(key, file) for key, file in (("ca_file", entry.ca_file), ("certificate", entry.certificate), ("key", entry.key)) if file]
    missing = [(key, file) for key, file in named if not Path(file).is_file()]
    for key, file in missing:
        yield (*here, key), f"there is no file '{file}'"
    if bool(entry.certificate) != bool(entry.key):
        yield (*here, "certificate"), "certificate and key belong together; give both"
    elif not missing:
        yield from _load(here, entry)


def _load(here: KeyPath, entry: AuthorizationSettings) -> Iterator[Fault]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if entry.ca_file:
            context.load_verify_locations(entry.ca_file)
    except (ssl.SSLError, OSError):
        yield (*here, "ca_file"), f"'{entry.ca_file}' holds no certificate in PEM"
    try:
        if entry.certificate:
            context.load_cert_chain(entry.certificate, entry.key, password=lambda: "")
    except (ssl.SSLError, OSError):
        yield (*here, "certificate"), "certificate and key do not serve together, or the key has a password"
