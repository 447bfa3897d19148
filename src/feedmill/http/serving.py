"""Runs the applications of a role: one server a listener, all in one loop, ended together and in order.

uvicorn's own signal handling is for one server a process; here SIGTERM asks all of them to finish what they have and then stop.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
import uvloop
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SHUTDOWN_SECONDS = 8
KEEP_ALIVE_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """An application on a socket that listens already; with a certificate it speaks TLS. Shape: PEM files; ``protocol`` is uvicorn's."""

    app: ASGIApp
    socket: socket.socket
    protocol: type[asyncio.Protocol] = HttpToolsProtocol
    certificate: str = ""
    key: str = ""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(listeners: Sequence[Listener]) -> None:
    """Serves until SIGTERM."""
    uvloop.run(_serve(listeners))


async def _serve(listeners: Sequence[Listener]) -> None:
    servers = [(_Server(_configure(listener)), listener.socket) for listener in listeners]

    def _stop() -> None:
        for server, _ in servers:
            server.should_exit = True

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _stop)
    await asyncio.gather(*(server.serve(sockets=[listening]) for server, listening in servers))


def _configure(listener: Listener) -> uvicorn.Config:
    return uvicorn.Config(
        listener.app,
        http=listener.protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=listener.certificate or None,
        ssl_keyfile=listener.key or None,
    )
