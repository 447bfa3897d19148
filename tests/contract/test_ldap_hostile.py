"""Directories with odd names, many groups, and servers that answer slowly or want more than they are given."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.identity.ldap.directory import LdapDirectory, LdapOptions
from feedmill.model.errors import Busy
from tests.builders.requests import PASSWORD
from tests.contract.slapd import BASE, PROGRAM, Slapd, options_of, running_slapd

needs_slapd = pytest.mark.skipif(PROGRAM is None, reason="needs the program slapd")

NAMES = [
    "a, b",
    r"back\slash",
    'quo"ted',
    "#hash",
    "plus+plus",
    "semi;colon",
    "<angle>",
    "equal=s",
    "(round)",
    "star*",
    "日本 グループ",
    "x" * 150,
]
MANY = 1_500


def escape(name: str) -> str:
    """Writes a value as part of a DN."""
    return "".join(f"\\{sign}" if sign in ',\\"#+;<>=' else sign for sign in name)


def write_group(name: str, *members: str) -> str:
    lines = "".join(f"\nmember: {member}" for member in members)
    return f"\n\ndn: cn={escape(name)},ou=groups,{BASE}\nobjectClass: groupOfNames\ncn: {name}{lines}\n"


def write_seed() -> str:
    """Returns ann odd groups, which stand in each other up to a last one, and one user without a name, one with very many groups."""
    person = "objectClass: inetOrgPerson\ncn: X\nsn: X\n"
    nested = [f"cn={escape(name)},ou=groups,{BASE}" for name in NAMES]
    chain = [write_group(NAMES[0], f"uid=ann,ou=people,{BASE}")]
    chain += [write_group(name, earlier) for name, earlier in zip(NAMES[1:], nested, strict=False)]
    many = "".join(write_group(f"many {number}", f"uid=busy,ou=people,{BASE}") for number in range(MANY))
    return (
        f"\n\ndn: uid=busy,ou=people,{BASE}\n{person}uid: busy\nuserPassword: {PASSWORD}\n"
        f"\n\ndn: cn=Nameless,ou=people,{BASE}\nobjectClass: inetOrgPerson\ncn: Nameless\nsn: N\nmail: ann@other.test\n"
        f"userPassword: {PASSWORD}\n" + "".join(chain) + many
    )


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running_slapd(tmp_path_factory.mktemp("slapd") / "server", seed_more=write_seed()) as server:
        yield server


@needs_slapd
def test_ldap_follows_groups_whatever_signs_their_names_hold(slapd: Slapd) -> None:
    credential = LdapDirectory(options_of(slapd)).verify("ann", PASSWORD)
    assert credential is not None
    assert {group.name for group in credential.groups} >= set(NAMES)


@needs_slapd
def test_ldap_lists_groups_beyond_a_page(slapd: Slapd) -> None:
    credential = LdapDirectory(options_of(slapd)).verify("busy", PASSWORD)
    assert credential is not None
    assert len(credential.groups) == MANY


@needs_slapd
def test_ldap_entry_without_the_attribute_of_names_is_no_other_user(slapd: Slapd) -> None:
    """Whoever may choose the address of an entry without a name would be who that address begins with."""
    directory = LdapDirectory(replace(options_of(slapd), user_filter="(|(uid={login})(mail={login}))"))
    with pytest.raises(Busy, match="has no uid"):
        directory.verify("ann@other.test", PASSWORD)


@needs_slapd
def test_ldap_server_that_wants_tls_for_passwords_is_trouble_and_no_wrong_password(tmp_path: Path) -> None:
    with running_slapd(tmp_path / "server", conf_more="security simple_bind=128", readers="*") as server:
        given = replace(options_of(server), urls=(server.url,), start_tls=False)
        for each in (given, replace(given, bind_dn="", password="")):
            with pytest.raises(Busy, match="refuses searches"):
                LdapDirectory(each).verify("ann", PASSWORD)
        assert LdapDirectory(replace(given, start_tls=True)).verify("ann", PASSWORD) is not None


@contextmanager
def dripping_server(first: bytes, pause_seconds: float) -> Iterator[tuple[str, threading.Event]]:
    """A server that answers with one byte after the other."""
    stop = threading.Event()

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while not stop.is_set():
                conversation, _ = listening.accept()
                with conversation, suppress(OSError):
                    for place in range(len(first)):
                        conversation.sendall(first[place : place + 1])
                        if stop.wait(pause_seconds):
                            return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", stop
        finally:
            stop.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def impatient_options(url: str) -> LdapOptions:
    return LdapOptions(
        name="corp", namespace="ad", urls=(url,), user_base="o=x", start_tls=False, timeout_seconds=1, bind_dn="cn=x", password="x"
    )


LONG_ANSWER = b"\x30\x84\x00\x00\xff\xff" + b"\x00" * 1_000
HANDSHAKE = b"\x16\x03\x03\x40\x00" + b"\x02" * 1_000


@pytest.mark.parametrize(
    ("scheme", "first"),
    [pytest.param("ldap", LONG_ANSWER, id="answer"), pytest.param("ldaps", HANDSHAKE, marks=pytest.mark.thorough, id="handshake")],
)
def test_ldap_server_that_drips_is_given_up(scheme: str, first: bytes) -> None:
    with dripping_server(first, 0.3) as (place, _):
        given = impatient_options(f"{scheme}://{place}")
        begun = time.monotonic()
        with pytest.raises(Busy, match="answers"):
            LdapDirectory(given).verify("ann", PASSWORD)
        assert time.monotonic() - begun < 100


ODD_ANSWERS: dict[str, Callable[[], bytes]] = {
    "no LDAP": lambda: b"HTTP/1.0 200 OK\r\n\r\n",
    "length without end": lambda: b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff",
    "zeros": lambda: b"\x00" * 100,
    "another operation": lambda: b"\x30\x0c\x02\x01\x01\x64\x07\x04\x01x\x30\x02\x30\x00",
    "closed": lambda: b"",
}


@pytest.mark.parametrize("text", list(ODD_ANSWERS.values()), ids=list(ODD_ANSWERS))
def test_ldap_server_that_talks_nonsense_is_trouble(text: Callable[[], bytes]) -> None:
    with dripping_server(text(), 0.0) as (place, _):
        given = impatient_options(f"ldap://{place}")
        with pytest.raises(Busy, match="corp"):
            LdapDirectory(given).verify("ann", PASSWORD)
