"""Checks the sign-in providers: the files and variables that they name, and duplicate names."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from feedmill.model.errors import BadRequest
from feedmill.settings.keypaths import Fault, KeyPath
from feedmill.settings.secrets import read_secret
from feedmill.settings.signin import SignIn, SignInProxy


def check_providers(signin: SignIn) -> Iterator[Fault]:
    """Yields the faults of the providers."""
    yield from _check_proxy(signin.proxy)
    for place, provider in enumerate(signin.ldap):
        here: KeyPath = ("signin", "ldap", place)
        yield from _check_names(here, provider.name, [other.name for other in signin.ldap[:place]])
        yield from _check_package(here, "ldap3")
        yield from _check_file((*here, "ca_file"), provider.ca_file)
        yield from _check_secret(here, "password", provider.password, provider.password_file)
    for place, openid in enumerate(signin.oidc):
        here = ("signin", "oidc", place)
        yield from _check_names(here, openid.name, [other.name for other in signin.oidc[:place]])
        yield from _check_file((*here, "ca_file"), openid.ca_file)
        yield from _check_secret(here, "client_secret", openid.client_secret, openid.client_secret_file)
    for place, saml in enumerate(signin.saml):
        here = ("signin", "saml", place)
        yield from _check_names(here, saml.name, [other.name for other in signin.saml[:place]])
        yield from _check_package(here, "signxml")
        yield from _check_metadata((*here, "metadata_file"), saml.metadata_file)
        yield from _check_own_key(here, saml.certificate, saml.key)


def _check_proxy(proxy: SignInProxy) -> Iterator[Fault]:
    """Yields the faults of the secret that is shared with a proxy."""
    here: KeyPath = ("signin", "proxy")
    key = "secret_file" if proxy.secret_file else "secret"
    given = bool(proxy.secret or proxy.secret_file)
    if given and not proxy.secret_header:
        yield (*here, key), "a secret without its header; give signin.proxy.secret_header too"
    elif proxy.secret_header and not given:
        yield (*here, "secret_header"), "a header without its secret; give signin.proxy.secret or secret_file too"
    if proxy.secret_header and proxy.secret_header.lower() in (proxy.user_header.lower(), proxy.groups_header.lower()):
        yield (*here, "secret_header"), "this header holds the user or the groups; the secret needs one of its own"
    try:
        secret = read_secret(proxy.secret, proxy.secret_file)
    except BadRequest as exc:
        yield (*here, key), str(exc)
        return
    if not secret.isascii() or not secret.isprintable() or secret != secret.strip():
        yield (*here, key), "the secret stands in a header: printable ASCII without blanks at its ends"


def _check_names(here: KeyPath, name: str, earlier: list[str]) -> Iterator[Fault]:
    if name in earlier:
        yield (*here, "name"), f"'{name}' is there already"


def _check_file(path: KeyPath, file: str) -> Iterator[Fault]:
    if file and not Path(file).is_file():
        yield path, f"there is no file '{file}'"


def _check_package(path: KeyPath, package: str) -> Iterator[Fault]:
    if find_spec(package) is None:
        yield path, f"this needs the package {package}: install feedmill[signin]"


def _check_metadata(path: KeyPath, file: str) -> Iterator[Fault]:
    # imported here, since the module that reads certificates loads slowly and every command reads settings
    from feedmill.adapters.identity.saml.metadata import read_metadata

    try:
        read_metadata(Path(file).read_bytes())
    except OSError as exc:
        yield path, f"'{file}' cannot be read: {exc.strerror}"
    except BadRequest as exc:
        yield path, str(exc)


def _check_own_key(here: KeyPath, certificate: str, key: str) -> Iterator[Fault]:
    if bool(certificate) != bool(key):
        yield (*here, "certificate"), "certificate and key belong together; give both, or neither for a pair that the server makes"
    elif certificate:
        from feedmill.adapters.identity.saml.keys import read_key_files

        try:
            read_key_files(Path(certificate), Path(key))
        except BadRequest as exc:
            yield (*here, "certificate"), str(exc)


def _check_secret(here: KeyPath, key: str, text: str, file: str) -> Iterator[Fault]:
    try:
        read_secret(text, file)
    except BadRequest as exc:
        yield (*here, f"{key}_file" if file else key), str(exc)
