"""A Kerberos server (MIT's, of Debian) of a test's own, with accounts and the service of a web server."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.appliance import reserve_port
from tests.waiting import PATIENCE_SECONDS, wait_until

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
_KDC, _ADMIN, _CREATE = (shutil.which(name, path=_PATH) for name in ("krb5kdc", "kadmin.local", "kdb5_util"))
_FAKETIME = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
IS_USABLE = None not in (_KDC, _ADMIN, _CREATE) and bool(_FAKETIME)
REALM = "EXAMPLE.TEST"
USER, OTHER_USER, PASSWORD = "crawler", "ann", "ticket secret"

_CONF = """
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
forwardable = true
rdns = false
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
[domain_realm]
localhost = {realm}
[dbmodules]
{realm} = {{
  db_library = db2
  database_name = {folder}/principal
}}
[logging]
kdc = FILE:{folder}/kdc.log
admin_server = FILE:{folder}/admin.log
"""
_KDC_CONF = """
[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
}}
"""
_ACCOUNTS = """
addprinc -pw "{password}" +requires_preauth {user}
addprinc -pw "{password}" +requires_preauth {other}
addprinc -randkey HTTP/localhost
ktadd -k {folder}/http.keytab HTTP/localhost
ktadd -norandkey -k {folder}/user.keytab {user}
"""


@dataclass(slots=True)
class Kdc:
    """A server. ``environment`` is what programs need that use it; ``keytab`` has the key of ``HTTP/localhost``."""

    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> Path:
        return self.folder / "krb5.conf"

    @property
    def keytab(self) -> Path:
        return self.folder / "http.keytab"

    @property
    def user_keytab(self) -> Path:
        return self.folder / "user.keytab"

    def read_log(self) -> str:
        return (self.folder / "kdc.log").read_text()

    def start(self, ahead: str = "") -> None:
        """Starts the server; its clock is ``ahead`` by a time such as ``1h``."""
        (self.folder / "kdc.log").unlink(missing_ok=True)
        environment = os.environ | self.environment | ({"LD_PRELOAD": str(_FAKETIME[0]), "FAKETIME": f"+{ahead}"} if ahead else {})
        command = [_KDC or "", "-n", "-r", REALM]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: "commencing operation" in self.read_log(), "the Kerberos server", bearing=(OSError,))

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_SECONDS)
            self.process = None


@contextmanager
def running_kdc(folder: Path) -> Iterator[Kdc]:
    """Runs a server for a block."""
    with reserve_port() as held:
        given = {"realm": REALM, "port": str(held.getsockname()[1]), "folder": str(folder)}
        (folder / "krb5.conf").write_text(_CONF.format_map(given))
        (folder / "kdc.conf").write_text(_KDC_CONF.format_map(given))
        kdc = Kdc(folder, {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")})
        _run(kdc, [_CREATE or "", "create", "-r", REALM, "-s", "-P", "master secret"], "")
        _run(kdc, [_ADMIN or "", "-r", REALM], _ACCOUNTS.format(folder=folder, user=USER, other=OTHER_USER, password=PASSWORD))
        assert kdc.user_keytab.exists()
        try:
            kdc.start()
            yield kdc
        finally:
            kdc.stop()


def _run(kdc: Kdc, command: list[str], words: str) -> None:
    done = subprocess.run(command, env=os.environ | kdc.environment, input=words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
