"""An Apache web server of a test's own on the loopback address, with protected folders."""

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.appliance import reserve_port
from tests.contract.kdc import Kdc
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import PATIENCE_SECONDS, wait_until

PROGRAM = shutil.which("apache2") or shutil.which("apache2", path="/usr/sbin")
MODULES = Path("/usr/lib/apache2/modules")
HAS_KERBEROS = (MODULES / "mod_auth_gssapi.so").exists()
_LOADED = (
    "mpm_event",
    "authn_core",
    "authz_core",
    "authz_user",
    "authn_file",
    "auth_basic",
    "auth_digest",
    "ssl",
    "socache_shmcb",
    "headers",
    "alias",
)

_CONF = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/error.log
DocumentRoot {folder}/htdocs
DefaultRuntimeDir {folder}
Mutex file:{folder} default
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{tls_port} https
ThreadsPerChild 8
ServerLimit 1
StartServers 1
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
{user}
{modules}
<Directory {folder}/htdocs>
    Require all granted
</Directory>
<Location /basic>
    AuthType Basic
    AuthName "basic, \\"quoted\\""
    AuthUserFile {folder}/basic
    Require valid-user
</Location>
<Location /digest>
    AuthType Digest
    AuthName realm
    AuthDigestDomain /digest/
    AuthUserFile {folder}/digest
    Require valid-user
</Location>
{kerberos}
<VirtualHost 127.0.0.1:{tls_port}>
    SSLEngine on
    SSLCertificateFile {folder}/cert.pem
    SSLCertificateKeyFile {folder}/key.pem
    SSLCACertificateFile {folder}/cert.pem
    <Location />
        SSLVerifyClient require
    </Location>
</VirtualHost>
"""

_KERBEROS = """
<Location /{place}>
    AuthType GSSAPI
    AuthName kerberos
    GssapiCredStore keytab:{keytab}
    GssapiAllowedMech krb5
    GssapiDelegCcacheDir {folder}
    GssapiConnectionBound {is_bound}
    Require valid-user
    Header always set X-User "expr=%{{REMOTE_USER}}"
    Header always set X-Delegated "expr=%{{reqenv:KRB5CCNAME}}"
</Location>
"""
_KERBEROS_MODULE = (
    "LoadModule auth_gssapi_module {modules}/mod_auth_gssapi.so\nRedirect 302 /moved http://127.0.0.1:{port}/kerberos/a.txt\n"
)


@dataclass(slots=True)
class Apache:
    """A running server."""

    folder: Path
    port: int
    tls_port: int

    def url(self, path: str) -> str:
        return f"http://localhost:{self.port}{path}"

    def tls_url(self, path: str) -> str:
        return f"https://localhost:{self.tls_port}{path}"


@contextmanager
def running_apache(users: Mapping[str, str], kdc: Kdc | None = None) -> Iterator[Apache]:
    """Runs a server for a block, with Kerberos if there is a KDC. Shape: ``users`` are passwords by name."""
    # root's server runs as another account, which must find the files
    with tempfile.TemporaryDirectory(prefix="apache", dir="/tmp" if os.geteuid() == 0 else None) as name:
        yield from _run(Path(name), users, kdc)


def _run(folder: Path, users: Mapping[str, str], kdc: Kdc | None) -> Iterator[Apache]:
    environment: dict[str, str] = {}
    if kdc is not None:
        for source in (kdc.keytab, kdc.config):
            shutil.copy(source, folder)
        environment = {"KRB5_CONFIG": str(folder / kdc.config.name), "KRB5RCACHENAME": "none:"}
    for name in ("basic", "digest", "kerberos", "bound"):
        (folder / "htdocs" / name).mkdir(parents=True)
        for file in ("a.txt", "b.txt"):
            (folder / "htdocs" / name / file).write_text(f"{name} word")
    (folder / "htdocs" / "tls.txt").write_text("tls word")
    (folder / "cert.pem").write_text(CERTIFICATE)
    (folder / "key.pem").write_text(KEY)
    (folder / "basic").write_text("".join(f"{user}:{_hash(password)}\n" for user, password in users.items()))
    (folder / "digest").write_text("".join(f"{user}:realm:{_digest(user, password)}\n" for user, password in users.items()))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with reserve_port() as held, reserve_port() as tls_held:
        port, tls_port = (int(each.getsockname()[1]) for each in (held, tls_held))
        conf = _CONF.format(
            folder=folder,
            port=port,
            tls_port=tls_port,
            user="User nobody\nGroup nogroup" if os.geteuid() == 0 else "",
            kerberos=_write_kerberos(folder, folder / kdc.keytab.name, port) if kdc else "",
            modules="\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in _LOADED),
        )
        (folder / "apache.conf").write_text(conf)
        program = [PROGRAM or "", "-DFOREGROUND", "-f", str(folder / "apache.conf")]
        with (
            (folder / "start.log").open("wb") as log,
            subprocess.Popen(
                program, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
            ) as process,
        ):
            try:
                wait_until(lambda: process.poll() is not None or _answers(port), "Apache's answer")
                assert process.poll() is None, (folder / "start.log").read_text()
                yield Apache(folder, port, tls_port)
            finally:
                process.terminate()
                process.wait(PATIENCE_SECONDS)


def _write_kerberos(folder: Path, keytab: Path, port: int) -> str:
    places = (("kerberos", "Off"), ("bound", "On"))
    written = (_KERBEROS.format(folder=folder, keytab=keytab, place=place, is_bound=is_bound) for place, is_bound in places)
    return _KERBEROS_MODULE.format(modules=MODULES, port=port) + "".join(written)


def _hash(password: str) -> str:
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode(), usedforsecurity=False).digest()).decode()


def _digest(user: str, password: str) -> str:
    return hashlib.md5(f"{user}:realm:{password}".encode(), usedforsecurity=False).hexdigest()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True
