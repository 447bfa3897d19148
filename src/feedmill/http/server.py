"""Runs the applications of a role: one server a listener, all in one loop, ended together and in order.

uvicorn's own signal handling is for one server a process; here SIGTERM asks all of them to finish what they have and then stop, and
SIGHUP to leave their ports to the process that follows, see ``lingering``.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
import uvloop
from setproctitle import getproctitle, setproctitle
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from feedmill.http.deadlines import REST_SECONDS
from feedmill.http.draining import DrainingProtocol, DrainingServer
from feedmill.http.hostcheck import FindNames, HostCheck
from feedmill.http.places import Places, ShareOf

SHUTDOWN_SECONDS = 8
LEAVING = ", leaving"
"""Stands behind the title of a process that has left its ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An application on a socket that listens already; with a certificate it speaks TLS.

    Shape: ``hosts`` are the names that the port answers to, by the setting ``hosts_setting``, and ``open_paths`` what it answers under any
    name; at most ``most_connections`` are kept, of a client as ``share_of`` says; PEM files; ``protocol`` is uvicorn's.
    """

    app: ASGIApp
    hosts: FindNames
    hosts_setting: str
    socket: socket.socket
    most_connections: int
    share_of: ShareOf
    open_paths: frozenset[str] = frozenset()
    protocol: type[asyncio.Protocol] = DrainingProtocol
    certificate: str = ""
    key: str = ""


class _Server(DrainingServer):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(listeners: Sequence[Listener], *, linger_seconds: float) -> None:
    """Serves until SIGTERM, or until SIGHUP and the end of what was begun. Units: what was begun is given up after ``linger_seconds``."""
    # of requests that make no sense it warns one by one, and anybody can send thousands
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    uvloop.run(_serve(listeners, linger_seconds))


async def _serve(listeners: Sequence[Listener], linger_seconds: float) -> None:
    servers = [
        (_Server(_configure(listener), linger_seconds, Places(listener.most_connections, listener.share_of)), listener.socket)
        for listener in listeners
    ]

    def stop() -> None:
        for server, _ in servers:
            server.stop()

    def leave() -> None:
        for server, _ in servers:
            server.leave()
        if LEAVING not in (title := getproctitle()):
            setproctitle(title + LEAVING)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGHUP, leave)
    await asyncio.gather(*(server.serve(sockets=[listening]) for server, listening in servers))


def _bear_disconnects(app: ASGIApp) -> ASGIApp:
    """Returns an application that ends without an error when its client goes away in the middle of a body."""

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(ClientDisconnect):
            await app(scope, receive, send)

    return serve_one


def _configure(listener: Listener) -> uvicorn.Config:
    checked = HostCheck(
        _bear_disconnects(listener.app), names=listener.hosts, setting=listener.hosts_setting, open_paths=listener.open_paths
    )
    return uvicorn.Config(
        checked,
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
