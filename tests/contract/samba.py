"""A Samba file server of a test's own on the loopback address, with one share. It needs root, as every server of accounts does."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smbprotocol.file_info import InfoType
from smbprotocol.open import FilePipePrinterAccessMask, Open, SMB2SetInfoRequest

from feedmill.adapters.crawling.options import SmbShareRule
from feedmill.adapters.crawling.smb import client
from feedmill.adapters.crawling.smb.descriptors import write_sid
from tests.appliance import reserve_port
from tests.waiting import PATIENCE_SECONDS, wait_until

SMBD = shutil.which("smbd") or shutil.which("smbd", path="/usr/sbin")
RPCD = shutil.which("samba-dcerpcd", path="/usr/libexec/samba:/usr/lib/samba")
IS_USABLE = SMBD is not None and RPCD is not None and any(Path("/usr/lib").glob("*/samba/vfs/acl_tdb.so")) and os.geteuid() == 0
READER, READER_PASSWORD = "daemon", "reader secret"
ANN = "games"
"""An account that Debian has on every machine, because Samba knows only such."""

_CONF = """
[global]
server role = standalone server
workgroup = CORP
netbios name = FILES
interfaces = 127.0.0.1
bind interfaces only = yes
smb ports = {port}
disable netbios = yes
private dir = {folder}/private
state directory = {folder}/state
lock directory = {folder}/lock
cache directory = {folder}/cache
ncalrpc dir = {folder}/ncalrpc
pid directory = {folder}/pid
passdb backend = tdbsam:{folder}/private/passdb.tdb
rpc start on demand helpers = no
server signing = mandatory
map to guest = never
usershare max shares = 0
load printers = no
printing = bsd
printcap name = /dev/null
disable spoolss = yes
[docs]
path = {folder}/share
read only = no
force user = root
vfs objects = acl_tdb
acl_tdb:ignore system acls = yes
"""


@dataclass(slots=True)
class Samba:
    """A running server. ``sids`` are the security identifiers of its accounts."""

    port: int
    folder: Path
    share: Path
    sids: dict[str, str]

    @property
    def prefix(self) -> str:
        return f"smb://127.0.0.1:{self.port}/docs/"

    def make_rule(self, **given: object) -> SmbShareRule:
        """Returns the rule by which the crawler reads the share."""
        return SmbShareRule(
            **{  # type: ignore[arg-type]
                "prefix": self.prefix,
                "host": "127.0.0.1",
                "port": self.port,
                "share": "docs",
                "user": READER,
                "password": READER_PASSWORD,
                **given,
            }
        )

    def set_acl(self, path: str, *entries: tuple[int, int, int, str]) -> None:
        """Sets the DACL of a file: kind, flags, mask and account of each entry."""
        share = client.SmbShare(client.ShareAccount(host="127.0.0.1", port=self.port, share="docs", user=READER, password=READER_PASSWORD))
        handle = Open(share._find_link().tree, path)
        client._create(handle, FilePipePrinterAccessMask.WRITE_DAC)
        request = SMB2SetInfoRequest()
        request["info_type"] = InfoType.SMB2_0_INFO_SECURITY
        request["additional_information"] = 4
        request["file_id"] = handle.file_id
        request["buffer"] = make_descriptor(*entries)
        handle.connection.receive(
            handle.connection.send(request, handle.tree_connect.session.session_id, handle.tree_connect.tree_connect_id)
        )
        handle.close()
        share.drop()

    def set_share_acl(self, text: str) -> None:
        """Sets the ACL of the share, as ``sharesec`` writes it."""
        subprocess.run(["sharesec", "docs", "-s", str(self.folder / "smb.conf"), "-R", text], check=True, capture_output=True)
        # Samba shows it to accounts that may open its database
        (self.folder / "state" / "share_info.tdb").chmod(0o666)


def make_descriptor(*entries: tuple[int, int, int, str]) -> bytes:
    """Returns a self-relative descriptor with a DACL: kind, flags, mask and account of each entry."""
    aces = [struct.pack("<BBHI", kind, flags, 8 + len(sid), mask) + sid for kind, flags, mask, sid in _with_raw_sids(entries)]
    dacl = struct.pack("<BBHHH", 2, 0, 8 + sum(map(len, aces)), len(aces), 0) + b"".join(aces)
    return struct.pack("<BBHIIII", 1, 0, 0x8004, 0, 0, 0, 20) + dacl


def _with_raw_sids(entries: tuple[tuple[int, int, int, str], ...]) -> Iterator[tuple[int, int, int, bytes]]:
    for kind, flags, mask, sid in entries:
        yield kind, flags, mask, write_sid(sid)


@contextmanager
def running_samba() -> Iterator[Samba]:
    """Runs a server for a block. Its folder has a short name, because sockets stand in it, and lets other accounts in."""
    assert SMBD is not None
    assert RPCD is not None
    with tempfile.TemporaryDirectory(prefix="smb", dir="/tmp") as name, reserve_port() as held:
        folder, port = Path(name), int(held.getsockname()[1])
        folder.chmod(0o755)
        for part in ("private", "state", "lock", "cache", "ncalrpc", "pid", "share"):
            (folder / part).mkdir()
            (folder / part).chmod(0o755)
        conf = folder / "smb.conf"
        conf.write_text(_CONF.format(port=port, folder=folder))
        for user in (READER, ANN):
            given = f"{READER_PASSWORD}\n{READER_PASSWORD}\n".encode()
            subprocess.run(["smbpasswd", "-c", str(conf), "-a", "-s", user], input=given, check=True, capture_output=True)
        listed = subprocess.run(["pdbedit", "-s", str(conf), "-L", "-v"], check=True, capture_output=True, text=True).stdout
        options = ["--foreground", "--no-process-group", "-l", str(folder), "-s", str(conf)]
        # the accounts that sign in may not enter the folder for temporary files of these tests
        environment = {**os.environ, "TMPDIR": "/tmp"}
        quiet = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "umask": 0o022,
            "env": environment,
        }
        programs = [[SMBD, *options], [RPCD, "--libexec-rpcds", *options]]
        # an ending server ends its whole process group
        processes = [subprocess.Popen(program, start_new_session=True, **quiet) for program in programs]  # type: ignore[call-overload]
        try:
            wait_until(lambda: _answers(port) and (folder / "ncalrpc" / "np" / "srvsvc").exists(), "Samba's answer")
            samba = Samba(port, folder, folder / "share", _read_sids(listed))
            samba.set_share_acl("S-1-1-0:ALLOWED/0x0/FULL")
            yield samba
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(PATIENCE_SECONDS)


def _read_sids(text: str) -> dict[str, str]:
    sids, user = {}, ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "Unix username":
            user = value.strip()
        elif key == "User SID":
            sids[user] = value.strip()
    return sids


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True
