"""A MariaDB server of a test's own."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.appliance import reserve_port
from tests.waiting import PATIENCE_SECONDS, wait_until

_FOLDERS = "/usr/sbin:/usr/bin"
SERVER = shutil.which("mariadbd") or shutil.which("mariadbd", path=_FOLDERS)
INSTALLER = shutil.which("mariadb-install-db") or shutil.which("mariadb-install-db", path=_FOLDERS)
# the installer calls it; Debian has it in the package of the client
DEFAULTS_READER = shutil.which("my_print_defaults") or shutil.which("my_print_defaults", path=_FOLDERS)
IS_THERE = None not in (SERVER, INSTALLER, DEFAULTS_READER)
REASON = "needs MariaDB, Debian's packages mariadb-server-core and mariadb-client-core"


@contextmanager
def running_mariadb(folder: Path) -> Iterator[str]:
    """Runs a server for a block and yields its address, without the name of a database."""
    assert SERVER is not None
    assert INSTALLER is not None
    data, temporary = folder / "data", folder / "tmp"
    temporary.mkdir(parents=True)
    # --no-defaults comes first, otherwise files of the machine are read; the server runs as the account of the test, also as root
    account = ["--no-defaults", *(["--user=root"] if os.geteuid() == 0 else [])]
    places = ["--basedir=/usr", f"--datadir={data}", f"--tmpdir={temporary}"]
    making = [*account, *places, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
    subprocess.run([INSTALLER, *making], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    with reserve_port() as held:
        port = int(held.getsockname()[1])
        small = ["--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--character-set-server=utf8mb4"]
        listen = ["--bind-address=127.0.0.1", f"--port={port}", "--socket=", f"--pid-file={folder / 'pid'}"]
        with (folder / "log").open("wb") as output:
            process = subprocess.Popen(
                [SERVER, *account, *places, "--lc-messages-dir=/usr/share/mysql", *listen, *small], stdout=output, stderr=output
            )
        address = f"mariadb://root@127.0.0.1:{port}"
        engine = sa.create_engine(sa.make_url(f"{address}/").set(drivername="mysql+pymysql"), poolclass=sa.NullPool)
        try:
            wait_until(lambda: _answers(engine), "MariaDB's answer")
            yield address
        finally:
            engine.dispose()
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def _answers(engine: sa.Engine) -> bool:
    try:
        engine.connect().close()
    except sa.exc.OperationalError:
        return False
    return True
