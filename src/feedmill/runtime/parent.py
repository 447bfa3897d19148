"""The parent process: one process that opens all sockets, migrates the store and forks the roles.

In this order: lock the data folder; open the ports; migrate the store, in this process alone; fork the roles, with all code loaded; print
one line ``ready`` on standard output when every port responds.
"""

import os
import resource
import socket
import sys
import time
from collections.abc import Container, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import structlog
from setproctitle import setproctitle

from feedmill.adapters.http.blocking import BlockingHttpClient, make_unverified_context
from feedmill.adapters.http.client import ClientOptions
from feedmill.adapters.inflight import read_left
from feedmill.adapters.sandbox.confinement import Sandbox, harden
from feedmill.adapters.sandbox.probe import probe_sandbox
from feedmill.bootstrap.audit import open_auditing
from feedmill.bootstrap.context import COUNTS, IN_FLIGHT
from feedmill.model.audit import AuditKind, Details
from feedmill.model.errors import BadSettings, Corrupt, NotFound, UpstreamFailure
from feedmill.ports.http import HttpRequest, ServerAddress
from feedmill.runtime.admintoken import ensure_token
from feedmill.runtime.connectionboard import ConnectionBoard
from feedmill.runtime.datafolder import check_account
from feedmill.runtime.migration import migrate
from feedmill.runtime.roleprocess import count_processes, run_process
from feedmill.runtime.roles import ROLES
from feedmill.runtime.runstate import RoleState, RunState, hold_data, remove_state, write_state
from feedmill.runtime.server.sockets import listener_addresses, open_listener
from feedmill.runtime.supervisor import Supervisor
from feedmill.settings import LoadedSettings, Settings, load_settings, read_snapshot, write_snapshot
from feedmill.settings.comparison import list_changed
from feedmill.telemetry.metricfiles import FOLDER_VARIABLE

FIXED_SETTINGS = (
    "gate.port",
    "gate.tls_port",
    "gate.bind",
    "search.port",
    "search.bind",
    "admin.port",
    "admin.bind",
    "dtd.port",
    "dtd.bind",
)
"""The settings that a running server cannot change, because its sockets are open already."""

_PROBE_SECONDS = 5.0
_PROBE_PAUSE_SECONDS = 0.05

log = structlog.get_logger(__name__)


def run_parent(data: Path, config: Path | None, loaded: LoadedSettings) -> int:
    """Runs the server until SIGTERM, and returns its exit code. Errors: those of opening the ports, of the data folder and of the store."""
    _log_warnings(loaded)
    _raise_file_limit()
    harden()
    for role in ROLES:
        role.load()  # before the roles are forked, so that they share the memory of the code
    check_account(data)
    with hold_data(data):
        return _run_supervisor(data.absolute(), config, loaded)


def _log_warnings(loaded: LoadedSettings) -> None:
    for warning in loaded.warnings:
        log.warning("setting_is_risky", warning=warning)


def _run_supervisor(data: Path, config: Path | None, loaded: LoadedSettings) -> int:
    with ExitStack() as stack:
        # Before the migration: if a port is taken, the start ends with the store unchanged.
        sockets = _open_sockets(loaded.settings, stack)
        migrate(data, loaded.settings)
        ensure_token(data)
        _take_settings(data, _read_earlier(data), loaded, "start")
        state = _describe(loaded.settings, sockets, _find_sandbox())
        write_state(data, state)
        stack.callback(remove_state, data)
        reloader = _Reloader(data, config, loaded)
        os.environ[FOLDER_VARIABLE] = str(_empty_folder(data / "metrics"))
        _empty_folder(data / COUNTS)
        boards = {role.name: ConnectionBoard() for role in ROLES}
        supervisor = Supervisor(
            ROLES,
            live=lambda role, number, handover: run_process(role, number, data, sockets, boards[role.name], handover),
            probe=lambda: _probe(state, boards, loaded.settings),
            count_processes=lambda role: count_processes(role, reloader.settings),
            sockets=sockets,
            reload_settings=reloader.reload,
            on_change=lambda roles: _report(data, replace(state, tls=_list_tls(reloader.settings, sockets)), roles),
            on_ready=_announce,
            find_in_flight=lambda role: read_left(data / IN_FLIGHT, role),
        )
        log.info("starting", data=str(data), addresses=state.addresses)
        return supervisor.run()


def _raise_file_limit() -> None:
    """Raises the limit of open files, and so of connections, to the maximum that the system permits."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _open_sockets(settings: Settings, stack: ExitStack) -> dict[str, socket.socket]:
    addresses = listener_addresses(settings)
    return {name: stack.enter_context(open_listener(name, bind, port)) for name, (bind, port) in addresses.items()}


def _empty_folder(folder: Path) -> Path:
    """Returns a folder in which the roles count, without the counts of an earlier server."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return folder


def _find_sandbox() -> Sandbox:
    """Returns the parts of the sandbox for hostile input that this kernel has, and logs the missing ones."""
    sandbox = probe_sandbox()
    if sandbox.missing:
        reason = "the kernel, or the container, lacks these parts; code that a document smuggles into a reader may reach more"
        log.warning("sandbox_incomplete", missing=list(sandbox.missing), reason=reason)
    return sandbox


def _describe(settings: Settings, sockets: dict[str, socket.socket], sandbox: Sandbox) -> RunState:
    return RunState(
        pid=os.getpid(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        addresses={name: _address(listening) for name, listening in sockets.items()},
        tls=_list_tls(settings, sockets),
        sandbox=asdict(sandbox),
    )


def _list_tls(settings: Settings, listeners: Container[str]) -> tuple[str, ...]:
    """Lists the listeners that speak TLS."""
    with_tls = {"gate_tls": settings.gate.certificate, "search": settings.search.certificate, "admin": settings.admin.certificate}
    return tuple(name for name, certificate in with_tls.items() if certificate and name in listeners)


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _report(data: Path, state: RunState, roles: dict[str, RoleState]) -> None:
    try:
        write_state(data, replace(state, roles=roles))
    except OSError as exc:
        # a full disk must not prevent the restart of a role
        log.warning("state_not_written", reason=exc.strerror)


def _announce() -> None:
    """Prints ``ready``."""
    log.info("ready")
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def _probe(state: RunState, boards: Mapping[str, ConnectionBoard], settings: Settings) -> int:
    """Waits in a process of its own until every process with ports accepts connections, and every port responds."""
    setproctitle("feedmill: probe")
    for role in ROLES:
        while role.listeners and not boards[role.name].are_serving(count_processes(role, settings)):
            time.sleep(_PROBE_PAUSE_SECONDS)
    for listener in state.addresses:
        while not _answers(state.url(listener)):
            time.sleep(_PROBE_PAUSE_SECONDS)
    return 0


def _answers(url: str) -> bool:
    scheme, _, authority = url.partition("://")
    host, _, port = authority.rpartition(":")
    server = ServerAddress(is_tls=scheme == "https", host=host.strip("[]"), port=int(port), allows_private=True)
    # the probe checks that the port responds, not which server responds, so no certificate is verified
    connection = BlockingHttpClient(ClientOptions(context=make_unverified_context())).open(server)
    request = HttpRequest(method="GET", path="/healthz", headers=(("Host", authority.encode()),))
    try:
        return connection.send(request, _PROBE_SECONDS).status < 500
    except UpstreamFailure:
        return False
    finally:
        connection.close()


def _read_earlier(data: Path) -> Settings:
    """Returns the settings that were in force before the start; the defaults if there were none, or none that this release can read."""
    try:
        return read_snapshot(data).settings
    except (NotFound, Corrupt):
        return Settings()


def _take_settings(data: Path, before: Settings, loaded: LoadedSettings, when: str) -> None:
    """Writes the settings that apply from now on to the data folder, and to the audit log which of them are others than before."""
    digest = write_snapshot(data, loaded)
    details: Details = {"on": when, "changed": list_changed(before, loaded.settings), "sha256": digest}
    open_auditing(data, loaded.settings).log_event(AuditKind.SETTINGS_READ, actor="server", details=details)


class _Reloader:
    """Reads the settings again; the previous ones stay in force if the new ones are invalid."""

    def __init__(self, data: Path, config: Path | None, loaded: LoadedSettings) -> None:
        self._data = data
        self._config = config
        self._loaded = loaded

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._loaded.settings

    def reload(self) -> bool:
        """Returns whether there are new, valid settings for the roles."""
        try:
            loaded = load_settings(self._config, os.environ)
        except BadSettings as exc:
            for fault in exc.faults:
                log.error("settings_refused", fault=fault)
            return False
        if bool(loaded.settings.gate.certificate) != bool(self.settings.gate.certificate):
            # the socket for TLS is opened at the start only, and must never be served without TLS
            log.error("settings_refused", fault="gate.certificate: set or removed while the server runs; restart the server for that")
            return False
        _log_warnings(loaded)
        fixed = [key for key in FIXED_SETTINGS if _value(loaded, key) != _value(self._loaded, key)]
        if fixed:
            log.warning("settings_need_restart", keys=fixed)
        _take_settings(self._data, self.settings, loaded, "SIGHUP")
        self._loaded = loaded
        log.info("settings_read")
        return True


def _value(loaded: LoadedSettings, key: str) -> object:
    section, _, name = key.partition(".")
    return getattr(getattr(loaded.settings, section), name)
