"""Checks the ports: free, held by the server of this data folder, or held by another process."""

import socket
from collections.abc import Iterator
from typing import Final

from feedmill.model.errors import FeedmillError
from feedmill.runtime.doctor.findings import Finding, State
from feedmill.runtime.runstate import RunState
from feedmill.runtime.server.sockets import listener_addresses, open_listener
from feedmill.settings import Settings

_PATIENCE_SECONDS: Final = 2.0


def check_ports(settings: Settings, server: RunState | None) -> Iterator[Finding]:
    """Checks each port: of a running server that it accepts connections, otherwise that it is free."""
    if server is not None:
        for name, address in server.addresses.items():
            yield _check_held(server, name, address)
        return
    for name, (bind, port) in listener_addresses(settings).items():
        yield _check_free(name, bind, port)


def _check_held(server: RunState, name: str, address: str) -> Finding:
    host, _, port = server.url(name).partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_SECONDS).close()
    except OSError as exc:
        text = f"{name}: {address} of the server (process {server.pid}) accepts no connection: {exc.strerror or exc}"
        return Finding("port", State.FAULT, f"{text}; the log says why; restart the server")
    return Finding("port", State.OK, f"{name}: {address} is held by this server (process {server.pid})")


def _check_free(name: str, bind: str, port: int) -> Finding:
    if port == 0:
        return Finding("port", State.OK, f"{name}: the start chooses a free port")
    try:
        open_listener(name, bind, port).close()
    except FeedmillError as exc:
        return Finding("port", State.FAULT, f"{name}: {exc}")
    return Finding("port", State.OK, f"{name}: port {port} on {bind} is free")
