"""An OpenLDAP server of a test's own, with people and groups."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from feedmill.adapters.identity.ldap.directory import LdapOptions
from tests.appliance import reserve_port
from tests.builders.requests import PASSWORD
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import PATIENCE_SECONDS, wait_until

PROGRAM = shutil.which("slapd") or shutil.which("slapd", path="/usr/sbin")
SCHEMAS = Path("/etc/ldap/schema")
BASE = "dc=example,dc=test"
ADMIN = f"cn=admin,{BASE}"
ADMIN_PASSWORD = "directory secret"

_CONF = """
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
include {schemas}/nis.schema
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'objectSid' EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.2 NAME 'primaryGroupID' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.99999.3 NAME 'adLike' SUP top AUXILIARY MAY ( objectSid $ primaryGroupID ) )
pidfile {folder}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {folder}/cert.pem
TLSCertificateKeyFile {folder}/key.pem
sizelimit {size_limit}
database mdb
suffix "{base}"
rootdn "{admin}"
rootpw "{password}"
directory {folder}/db
maxsize 67108864
access to attrs=userPassword by anonymous auth by * none
access to * by {readers} read by anonymous auth
"""

SEED = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{BASE}
objectClass: organizationalUnit
ou: groups

dn: cn=reader,{BASE}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: reader secret

dn: uid=ann,ou=people,{BASE}
objectClass: inetOrgPerson
objectClass: adLike
uid: ann
cn: Ann
sn: A
mail: ann@example.test
userPassword: {PASSWORD}
objectSid:: AQUAAAAAAAUVAAAAAQAAAAIAAAADAAAAUQQAAA==
primaryGroupID: 513

dn: uid=jörg,ou=people,{BASE}
objectClass: inetOrgPerson
uid: jörg
cn: Jörg (Rot)
sn: J
userPassword: {PASSWORD}

dn: uid=star*,ou=people,{BASE}
objectClass: inetOrgPerson
uid: star*
cn: Star
sn: S
userPassword: {PASSWORD}

dn: cn=staff,ou=groups,{BASE}
objectClass: groupOfNames
cn: staff
member: uid=ann,ou=people,{BASE}
member: uid=jörg,ou=people,{BASE}

dn: cn=everybody,ou=groups,{BASE}
objectClass: groupOfNames
cn: everybody
member: cn=staff,ou=groups,{BASE}

dn: cn=circle,ou=groups,{BASE}
objectClass: groupOfNames
cn: circle
member: cn=everybody,ou=groups,{BASE}
member: cn=circle,ou=groups,{BASE}

dn: cn=others,ou=groups,{BASE}
objectClass: groupOfNames
cn: others
member: uid=star*,ou=people,{BASE}

dn: cn=unix,ou=groups,{BASE}
objectClass: posixGroup
cn: unix
gidNumber: 1
memberUid: ann

dn: cn=Domain Users,ou=groups,{BASE}
objectClass: organizationalRole
objectClass: adLike
cn: Domain Users
objectSid:: AQUAAAAAAAUVAAAAAQAAAAIAAAADAAAAAQIAAA==
"""


@dataclass(slots=True)
class Slapd:
    """A running directory."""

    port: int
    tls_port: int
    ca_file: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"ldap://localhost:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://localhost:{self.tls_port}"


@contextmanager
def running_slapd(
    folder: Path, size_limit: str = "unlimited", seed_more: str = "", conf_more: str = "", readers: str = "users"
) -> Iterator[Slapd]:
    """Runs a directory for a block; ``seed_more`` are further entries, ``conf_more`` stands before the database in its settings."""
    assert PROGRAM is not None
    (folder / "db").mkdir(parents=True)
    (folder / "cert.pem").write_text(CERTIFICATE)
    (folder / "key.pem").write_text(KEY)
    conf = folder / "slapd.conf"
    given = {
        "schemas": SCHEMAS,
        "folder": folder,
        "base": BASE,
        "admin": ADMIN,
        "password": ADMIN_PASSWORD,
        "size_limit": size_limit,
        "readers": readers,
    }
    conf.write_text(_CONF.format_map({name: str(value) for name, value in given.items()}).replace("\ndatabase", f"\n{conf_more}\ndatabase"))
    seed = folder / "seed.ldif"
    seed.write_text(_encode(SEED + seed_more), encoding="utf-8")
    subprocess.run([PROGRAM, "-T", "add", "-f", str(conf), "-l", str(seed)], check=True, capture_output=True)
    with reserve_port() as held, reserve_port() as tls_held:
        port, tls_port = (int(each.getsockname()[1]) for each in (held, tls_held))
        listen = f"ldap://localhost:{port}/ ldaps://localhost:{tls_port}/"
        process = subprocess.Popen([PROGRAM, "-d", "0", "-h", listen, "-f", str(conf)], stderr=subprocess.DEVNULL, env={**os.environ})
        try:
            wait_until(lambda: _answers(port), "slapd's answer")
            yield Slapd(port, tls_port, folder / "cert.pem", process)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _encode(text: str) -> str:
    """Writes values that are no ASCII in base64, as LDIF wants them."""
    import base64

    lines = []
    for line in text.splitlines():
        name, found, value = line.partition(": ")
        if found and not value.isascii():
            line = f"{name}:: {base64.b64encode(value.encode()).decode()}"
        lines.append(line)
    return "\n".join(lines).lstrip() + "\n"


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True


def options_of(slapd: Slapd) -> LdapOptions:
    """Returns the options for a server of these tests, over TLS."""
    return LdapOptions(
        name="corp",
        namespace="ad",
        urls=(slapd.tls_url,),
        ca_file=str(slapd.ca_file),
        bind_dn=f"cn=reader,{BASE}",
        password="reader secret",
        user_base=f"ou=people,{BASE}",
        group_base=f"ou=groups,{BASE}",
    )
