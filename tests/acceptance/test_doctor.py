"""``feedmill doctor``: each fault of a machine is named with what to do, and a sound machine has none."""

import json
import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests import programs
from tests.appliance import running
from tests.contract.samlserver import certify
from tests.migratedstore import prepare_migrated

FREE_PORTS = "[gate]\nport = 0\ntls_port = 0\n[search]\nport = 0\n[admin]\nport = 0\n[dtd]\nport = 0\n"

Found = dict[str, list[tuple[str, str]]]
Examine = Callable[..., tuple[int, Found]]


@pytest.fixture
def examine(tmp_path: Path) -> Examine:
    """Runs the command with settings, and returns its exit code and, by check, states with texts."""
    config = tmp_path / "f.toml"

    def run(settings: str = FREE_PORTS, data: Path = tmp_path / "data") -> tuple[int, Found]:
        config.write_text(settings)
        done = programs.run("doctor", "--json", "--data", data, "--config", config)
        assert "Traceback" not in done.stderr, done.stderr
        listed: list[dict[str, Any]] = json.loads(done.stdout)
        assert all(set(each) == {"check", "state", "text"} for each in listed)
        found: Found = {}
        for each in listed:
            found.setdefault(each["check"], []).append((each["state"], each["text"]))
        return done.returncode, found

    return run


def faults(found: Found) -> list[str]:
    return [text for listed in found.values() for state, text in listed if state == "fault"]


def write_certificate(folder: Path, name: str, since: datetime) -> tuple[Path, Path]:
    """Writes a certificate that is valid for ten days, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    files = folder / f"{name}.crt", folder / f"{name}.key"
    files[0].write_text(certify(key, since=since.replace(tzinfo=None), lasting=timedelta(days=10)))
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files[1].write_bytes(written)
    return files


def with_certificate(certificate: Path, key: Path) -> str:
    return FREE_PORTS.replace("[search]\n", f'[search]\ncertificate = "{certificate}"\nkey = "{key}"\n')


def test_machine_before_its_first_start_has_no_fault(examine: Examine, tmp_path: Path) -> None:
    code, found = examine()
    assert (code, faults(found)) == (0, [])
    assert {"settings", "port", "folder", "disk", "clock", "token", "sandbox"} <= set(found)
    assert found["folder"][0][0] == "ok"
    assert not (tmp_path / "data").exists()


def test_running_server_holds_its_own_ports(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        done = programs.run("doctor", "--data", server.data)
        assert done.returncode == 0, done.stdout
        assert f"127.0.0.1:{server.gate} is held by this server" in done.stdout
        assert "admin.token' can be read by its owner alone" in done.stdout
        assert done.stdout.splitlines()[-1].startswith("0 faults, ")


def test_port_of_another_process_is_named_with_the_process(examine: Examine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, found = examine(FREE_PORTS.replace("[search]\nport = 0", f"[search]\nport = {port}"))
    assert code == 1
    assert [f"process {os.getpid()} " in text and "search.port" in text for text in faults(found)] == [True]


def test_faults_of_the_settings_are_named_and_the_machine_is_checked_all_the_same(examine: Examine) -> None:
    code, found = examine("[gate]\nprot = 7\n[search]\nport = -1\n")
    assert (code, len(faults(found)), len(found["settings"])) == (1, 2, 2)
    assert "did you mean 'port'" in found["settings"][0][1]
    assert {"folder", "disk", "clock", "token", "sandbox"} <= set(found)


def test_certificates_that_end_soon_or_have_ended_are_named(examine: Examine, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    code, found = examine(with_certificate(*write_certificate(tmp_path, "soon", now - timedelta(days=1))))
    assert (code, found["certificate"][0][0]) == (0, "warning")
    assert "valid for 8 more days" in found["certificate"][0][1]
    code, found = examine(with_certificate(*write_certificate(tmp_path, "past", now - timedelta(days=20))))
    assert (code, len(faults(found)), "has expired" in faults(found)[0]) == (1, 1, True)
    code, found = examine(with_certificate(*write_certificate(tmp_path, "next", now + timedelta(days=2))))
    assert (code, "is not valid before" in faults(found)[0]) == (1, True)


def test_names_that_do_not_resolve_are_named_once_and_without_passwords(examine: Examine) -> None:
    # a label longer than 63 characters is refused without asking any name server
    name = "x" * 64 + ".example"
    addresses = ", ".join(f'"http://u:s3cr3t@{name}/{number}"' for number in range(2))
    code, found = examine(f'{FREE_PORTS}[urls]\nstart = ["http://localhost/", "http://127.0.0.1/", {addresses}]\n')
    assert (code, len(faults(found))) == (1, 1)
    assert f"'{name}' (urls.start[3]) does not resolve" in faults(found)[0]
    assert "s3cr3t" not in faults(found)[0]
    code, found = examine(f'{FREE_PORTS}[signin]\npublic_url = "https://{name}/"\n')
    assert (code, [state for state, _ in found["name"]]) == (0, ["warning"])
    code, found = examine(f'{FREE_PORTS}[urls]\nstart = ["http://localhost/", "http://127.0.0.1/"]\n')
    assert (code, found["name"]) == (0, [("ok", "the names in the settings resolve: localhost")])


def test_folder_and_token_that_others_can_read_are_warnings(examine: Examine, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)  # whatever the umask of the run is
    (data / "admin.token").write_text("a\n")
    (data / "admin.token").chmod(0o644)
    code, found = examine()
    assert (code, found["folder"][0][0], found["token"][0][0]) == (0, "warning", "warning")


def test_files_of_another_user_are_named(examine: Examine, tmp_path: Path) -> None:
    """Root may read all files, and is warned of a folder of another user; others cannot read what is closed to them."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(data, 65_534, -1)
        code, found = examine()
        assert (code, found["folder"][0][0]) == (0, "warning")
        assert "belongs to nobody" in found["folder"][0][1]
    else:
        (data / "admin.token").touch(mode=0o000)
        code, found = examine()
        assert (code, [found[check][0][0] for check in ("folder", "token")]) == (1, ["fault", "fault"])
        assert "admin.token" in found["folder"][0][1]


def test_server_that_starts_in_the_future_is_a_fault_of_the_clock(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as server:
        state = json.loads((server.data / "run.json").read_text())
        state["started_at"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
        (server.data / "run.json").write_text(json.dumps(state))
        done = programs.run("doctor", "--data", data)
        assert done.returncode == 1
        assert "before the server started; set the clock" in done.stdout


def test_data_folder_below_a_file_is_named(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, found = examine(data=tmp_path / "file" / "data")
    assert code == 1
    assert f"because '{tmp_path / 'file'}' is no folder" in faults(found)[0]


def test_store_of_another_release_is_named(examine: Examine, tmp_path: Path) -> None:
    data = tmp_path / "data"
    prepare_migrated(data)
    with closing(sqlite3.connect(data / "store.sqlite")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    code, found = examine(data=data)
    assert (code, found["store"][0][0]) == (1, "fault")
    assert "start the newer release again" in found["store"][0][1]
