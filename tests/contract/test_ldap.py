"""Directories over LDAP, against a real server."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.identity.ldap.directory import LdapDirectory, LdapOptions
from feedmill.adapters.identity.ldap.values import fill_filter, primary_group_of
from feedmill.core.access.userroles import RoleRules
from feedmill.model.errors import Busy
from feedmill.model.userrole import UserRole
from tests.builders.requests import PASSWORD, make_basic
from tests.contract.signinharness import open_signin_harness, read_form
from tests.contract.slapd import BASE, PROGRAM, Slapd, options_of, running_slapd

needs_slapd = pytest.mark.skipif(PROGRAM is None, reason="needs the program slapd")


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running_slapd(tmp_path_factory.mktemp("slapd") / "server") as server:
        yield server


def groups(directory: LdapDirectory, name: str) -> list[str]:
    credential = directory.verify(name, PASSWORD)
    assert credential is not None
    return sorted(group.name for group in credential.groups)


@needs_slapd
@pytest.mark.parametrize("way", ["ldaps", "starttls", "plain"])
def test_ldap_proves_a_user_with_groups_that_nest_and_go_round(slapd: Slapd, way: str) -> None:
    given = options_of(slapd)
    if way != "ldaps":
        given = replace(given, urls=(slapd.url,), start_tls=way == "starttls")
    credential = LdapDirectory(given).verify("ANN", PASSWORD)
    assert credential is not None
    assert (credential.user.name, credential.user.domain, credential.user.namespace) == ("ann", "", "ad")
    assert sorted(group.name for group in credential.groups) == ["Domain Users", "circle", "everybody", "staff", "unix"]
    assert {group.namespace for group in credential.groups} == {"ad"}
    assert credential.provider == "ldap:corp"


@needs_slapd
def test_ldap_without_nesting_returns_direct_groups_and_without_a_base_none(slapd: Slapd) -> None:
    assert groups(LdapDirectory(replace(options_of(slapd), nested=False)), "jörg") == ["staff"]
    assert groups(LdapDirectory(replace(options_of(slapd), group_base="")), "jörg") == []


@needs_slapd
@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", "wrong"),
        ("ann", ""),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        ("*", PASSWORD),
        ("an*", PASSWORD),
        ("star", PASSWORD),
        ("ann)(uid=*", PASSWORD),
        (f"ann,ou=people,{BASE}", PASSWORD),
        ("ann\0", PASSWORD),
        ("{dn}", PASSWORD),
        ("(&)", PASSWORD),
        ("ann*)(objectClass=*))(|(uid=*", PASSWORD),
        ("\\2a", PASSWORD),
        ("x" * 200, PASSWORD),
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_ldap_verifies_no_user_by_what_is_no_name_and_password(slapd: Slapd, name: str, password: str) -> None:
    assert LdapDirectory(options_of(slapd)).verify(name, password) is None


@needs_slapd
def test_ldap_takes_a_name_with_signs_of_a_filter_as_the_name(slapd: Slapd) -> None:
    assert groups(LdapDirectory(options_of(slapd)), "star*") == ["others"]


@needs_slapd
def test_ldap_takes_a_domain_that_is_its_own_and_puts_it_on_users_and_groups(slapd: Slapd) -> None:
    directory = LdapDirectory(replace(options_of(slapd), domain="corp.example.test"))
    for login in ("ann", r"CORP\ann", "ann@corp.example.test", "corp/ann"):
        credential = directory.verify(login, PASSWORD)
        assert credential is not None
        assert {subject.domain for subject in (credential.user, *credential.groups)} == {"corp.example.test"}
    for login in (r"OTHER\ann", "ann@example.test"):
        assert directory.verify(login, PASSWORD) is None
    assert LdapDirectory(options_of(slapd)).verify(r"CORP\ann", PASSWORD) is None
    by_mail = LdapDirectory(replace(options_of(slapd), user_filter="(|(uid={name})(mail={login}))"))
    assert by_mail.verify("ann@example.test", PASSWORD) is not None


@needs_slapd
def test_ldap_name_of_two_entries_is_refused(slapd: Slapd) -> None:
    assert LdapDirectory(replace(options_of(slapd), user_filter="(|(uid={name})(uid=jörg))")).verify("ann", PASSWORD) is None


@needs_slapd
def test_ldap_assigns_roles_by_groups(slapd: Slapd) -> None:
    rules = RoleRules(administrators=("nobody",), managers=("EVERYBODY",), viewers=("staff",))
    credential = LdapDirectory(replace(options_of(slapd), roles=rules)).verify("ann", PASSWORD)
    assert credential is not None
    assert credential.role is UserRole.MANAGER


@needs_slapd
def test_ldap_certificate_that_is_not_known_is_refused(slapd: Slapd) -> None:
    for url in (slapd.tls_url, slapd.url):
        with pytest.raises(Busy, match="no server of the directory corp answers"):
            LdapDirectory(replace(options_of(slapd), ca_file="", urls=(url,))).verify("ann", PASSWORD)


@needs_slapd
def test_ldap_certificate_of_another_name_is_refused(slapd: Slapd) -> None:
    elsewhere = slapd.tls_url.replace("localhost", "127.0.0.1")
    with pytest.raises(Busy):
        LdapDirectory(replace(options_of(slapd), urls=(elsewhere,))).verify("ann", PASSWORD)


@needs_slapd
def test_ldap_wrong_password_of_the_searching_account_is_trouble_and_no_wrong_password(slapd: Slapd) -> None:
    with pytest.raises(Busy, match="refuses searches"):
        LdapDirectory(replace(options_of(slapd), password="wrong")).verify("ann", PASSWORD)


@needs_slapd
def test_ldap_asks_the_next_server_where_one_is_gone(slapd: Slapd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = f"ldap://localhost:{taken.getsockname()[1]}"
    assert LdapDirectory(replace(options_of(slapd), urls=(gone, slapd.tls_url))).verify("ann", PASSWORD) is not None


def test_ldap_server_that_says_nothing_costs_its_time_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(10)
        connections: list[socket.socket] = []
        threading.Thread(target=lambda: connections.append(silent.accept()[0]), daemon=True).start()
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        silent_options = LdapOptions(
            name="corp", namespace="ad", urls=(url,), user_base="o=x", start_tls=False, timeout_seconds=1, bind_dn="cn=x", password="x"
        )
        with pytest.raises(Busy, match="answers"):
            LdapDirectory(silent_options).verify("ann", PASSWORD)
        for each in connections:
            each.close()


@needs_slapd
def test_ldap_signs_in_on_the_page_and_by_basic(slapd: Slapd, tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path, directories=(LdapDirectory(options_of(slapd)),))
    browser = harness.browser()
    assert list(read_form(browser.get("/signin").text).visible) == ["uad", "pwad"]
    assert browser.sign_in("ann", PASSWORD, namespace="ad").status == 303
    browser.get("/?q=x")
    assert "staff" in {group.name for group in harness.seen[-1].identity.groups}
    assert harness.browser().get("/?q=x", authorization=make_basic("jörg", PASSWORD)).status == 200
    assert harness.browser().get("/?q=x", authorization=make_basic("jörg", "wrong")).status == 401


def test_local_user_is_verified_without_a_directory(tmp_path: Path) -> None:
    class UnusedDirectory:
        name, namespace = "corp", "ad"

        def verify(self, name: str, password: str) -> None:
            raise Busy("requested")

    harness = open_signin_harness(tmp_path, directories=(UnusedDirectory(),))
    harness.signing.accounts.add("ann", PASSWORD)
    assert harness.browser().get("/?q=x", authorization=make_basic("ann", PASSWORD)).status == 200
    assert harness.browser().get("/?q=x", authorization=make_basic("ann", "wrong password")).status == 401
    assert harness.browser().get("/?q=x", authorization=make_basic("bob", PASSWORD)).status == 503
    assert "does not answer now" in harness.browser().sign_in("bob", namespace="ad").text


def test_fill_filter_escapes_values_and_fills_no_placeholder_within_them() -> None:
    assert fill_filter("(a={name})(b={x})", name="{login}*)", login="secret") == "(a={login}\\2a\\29)(b={x})"


@pytest.mark.parametrize(
    ("sid", "number", "expected"),
    [
        (b"\1\1" + b"\0" * 6 + b"\1\0\0\0", b"513", b"\1\1" + b"\0" * 6 + b"\1\2\0\0"),
        (b"", b"513", b""),
        (b"x" * 12, b"-1", b""),
        (b"x" * 12, b"99999999999", b""),
        (b"x" * 12, b"", b""),
    ],
    ids=["whole", "no sid", "negative", "large", "no number"],
)
def test_primary_group_is_the_users_sid_with_its_number(sid: bytes, number: bytes, expected: bytes) -> None:
    assert primary_group_of({"objectSID": [sid] if sid else [], "primaryGroupID": [number] if number else []}) == expected
