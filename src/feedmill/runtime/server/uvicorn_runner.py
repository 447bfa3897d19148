"""Runs the applications of a role: one server for each listener, all in one event loop.

SIGTERM stops all servers in order. SIGHUP drains them, so that the next process takes over their ports, see ``draining``.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import uvicorn
import uvloop
from setproctitle import getproctitle, setproctitle
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.core.urls.networks import Networks
from feedmill.http.common.answers import STOP_EXTENSION
from feedmill.http.common.crossorigin import CrossOriginHeaders
from feedmill.http.common.hostcheck import FindNames, HostCheck
from feedmill.http.common.requestids import RequestIds
from feedmill.http.pages.rendering import render_refusal
from feedmill.runtime.connectionboard import ConnectionCount
from feedmill.runtime.server.connections import ConnectionSlots, ShareOf
from feedmill.runtime.server.deadlines import REST_SECONDS
from feedmill.runtime.server.draining import DrainingProtocol, DrainingServer

SHUTDOWN_SECONDS = 8
DRAINING = ", draining"
"""The end of the title of a process that has left its ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An application on a socket that listens already."""

    app: ASGIApp
    #: The host names under which the port answers, and the setting that names them.
    hosts: FindNames
    hosts_setting: str
    socket: socket.socket
    #: How many connections it accepts at most. ``share_of`` limits those of one client.
    most_connections: int
    share_of: ShareOf
    #: The paths that it serves under any host name.
    open_paths: frozenset[str] = frozenset()
    #: The peers whose ids of requests are taken.
    id_givers: Networks = field(default_factory=Networks)
    #: The origins whose pages may read its responses; None for a port whose responses no page of another site reads.
    allow_origins: tuple[str, ...] | None = None
    protocol: type[asyncio.Protocol] = DrainingProtocol
    #: PEM files. With a certificate the port speaks TLS.
    certificate: str = ""
    key: str = ""


def serve(
    listeners: Sequence[Listener],
    *,
    drain_seconds: float,
    connections: ConnectionCount,
    drain_reader: int | None = None,
    on_drained: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM, or drains and then ends: on SIGHUP, or once ``drain_reader`` is readable.

    ``connections`` counts those of all listeners. ``on_drained`` is called when no more connections are accepted. Open requests are ended
    after ``drain_seconds``.
    """
    # uvicorn warns of each request that it cannot parse, and any client can send thousands
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    uvloop.run(_serve(listeners, drain_seconds, connections, drain_reader, on_drained))


async def _serve(
    listeners: Sequence[Listener],
    drain_seconds: float,
    connections: ConnectionCount,
    drain_reader: int | None,
    on_drained: Callable[[], None],
) -> None:
    stopped = asyncio.Event()

    def make_server(listener: Listener) -> DrainingServer:
        slots = ConnectionSlots(listener.most_connections, listener.share_of, connections.add)
        return DrainingServer(_configure(listener, stopped), drain_seconds, slots, connections)

    servers = [(make_server(each), each.socket) for each in listeners]

    def stop() -> None:
        stopped.set()
        for server, _ in servers:
            server.stop()

    loop = asyncio.get_running_loop()
    is_draining = False

    def drain() -> None:
        nonlocal is_draining
        if is_draining:
            return
        is_draining = True
        for server, _ in servers:
            server.drain()
        connections.leave()
        setproctitle(getproctitle() + DRAINING)
        if drain_reader is not None:
            loop.remove_reader(drain_reader)
        on_drained()

    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGHUP, drain)
    if drain_reader is not None:
        loop.add_reader(drain_reader, drain)
    connections.begin()
    await asyncio.gather(*(server.serve(sockets=[listening]) for server, listening in servers))


def _ignore_disconnects(app: ASGIApp) -> ASGIApp:
    """Returns an application that ends without an error if its client disconnects in the middle of a body."""

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(ClientDisconnect):
            await app(scope, receive, send)

    return serve_one


def _announce_stop(app: ASGIApp, stopped: asyncio.Event) -> ASGIApp:
    """Returns an application that can wait until the server stops."""
    stop = {"wait": stopped.wait}

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "extensions": {**(scope.get("extensions") or {}), STOP_EXTENSION: stop}}, receive, send)

    return serve_one


def _configure(listener: Listener, stopped: asyncio.Event) -> uvicorn.Config:
    app = _announce_stop(_ignore_disconnects(listener.app), stopped)
    checked: ASGIApp = HostCheck(
        app, names=listener.hosts, setting=listener.hosts_setting, open_paths=listener.open_paths, make_page=render_refusal
    )
    if listener.allow_origins is not None:
        checked = CrossOriginHeaders(checked, allowed=listener.allow_origins)
    return uvicorn.Config(
        RequestIds(checked, trusted=listener.id_givers),
        http=listener.protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(REST_SECONDS),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=listener.certificate or None,
        ssl_keyfile=listener.key or None,
    )
