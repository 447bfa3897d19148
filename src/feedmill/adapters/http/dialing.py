"""Connects to a server: name, address check, TCP, proxy, TLS.

The address check is made on the very address to which the socket then connects. A second lookup, which could return another address,
never happens.
"""

import asyncio
import base64
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

import h11

from feedmill.adapters.http.errors import ExchangeFailure, FailureKind
from feedmill.adapters.http.lookup import Lookup
from feedmill.adapters.http.stream import PIECE_BYTES, PlainStream, Stream, TlsStream
from feedmill.core.urls.publicaddresses import is_public
from feedmill.model.authorization import Trust
from feedmill.model.errors import UpstreamFailure
from feedmill.ports.http import ServerAddress

_MAX_HEAD_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A forward proxy."""

    host: str
    port: int
    authorization: bytes = field(default=b"", repr=False)
    #: The proxy itself keeps requests out of private networks. Then a server is refused only if its name has a private address here.
    is_guarding: bool = False


def find_environment_proxy(server: ServerAddress) -> Proxy | None:
    """Returns the proxy that ``http_proxy`` or ``https_proxy`` names for a server that ``no_proxy`` does not exempt.

    Errors: UpstreamFailure.
    """
    url = getproxies_environment().get("https" if server.is_tls else "http", "")
    # ``no_proxy`` has a name, an address or either with a port; an IPv6 address before a port is in brackets.
    bracketed = f"[{server.host}]" if ":" in server.host else server.host
    if not url or any(map(proxy_bypass_environment, (server.host, bracketed, f"{bracketed}:{server.port}"))):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port or (443 if server.is_tls else 80)
    except ValueError as exc:
        raise UpstreamFailure("the environment names a proxy whose address cannot be read") from exc
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode() if parts.username else b""
    return Proxy(host=host, port=port, authorization=b"Basic " + base64.b64encode(pair) if pair else b"")


async def dial(server: ServerAddress, proxy: Proxy | None, lookup: Lookup, context: ssl.SSLContext | None) -> Stream:
    """Returns a stream to a server. Errors: OSError, h11.ProtocolError, UnicodeError, UpstreamFailure.

    ``context`` is used in place of the one that the server's ``trust`` describes.
    """
    if proxy is not None and not server.allows_private:
        if not proxy.is_guarding:
            raise UpstreamFailure("its address cannot be checked behind a proxy")
        await _refuse_private_name(server, lookup)
    if server.is_tls and context is None:
        context = make_context(server.trust)
    if proxy is None:
        sock = await _connect(server.host, server.port, lookup, allows_private=server.allows_private)
    else:
        # The operator has chosen the proxy, so its own address may be private.
        sock = await _connect(proxy.host, proxy.port, lookup, allows_private=True)
    try:
        if not server.is_tls or context is None:
            return PlainStream(sock)
        if proxy is not None:
            await _open_tunnel(PlainStream(sock), server, proxy)
        stream = TlsStream(sock, context, server.host)
        await stream.shake_hands()
        return stream
    except BaseException:
        sock.close()
        raise


@lru_cache(maxsize=64)
def make_context(trust: Trust) -> ssl.SSLContext:
    """Returns a context that verifies certificates and names. Errors: OSError."""
    context = ssl.create_default_context(cafile=trust.ca or None)
    if trust.certificate:
        context.load_cert_chain(trust.certificate, trust.key, password=lambda: "")
        # Servers that protect only some folders ask for the certificate once they know the path.
        context.post_handshake_auth = True
    return context


def _refuse(address: object) -> ExchangeFailure:
    return ExchangeFailure(f"its address {address} is private, which allow_private does not open", FailureKind.PRIVATE_ADDRESS)


async def _refuse_private_name(server: ServerAddress, lookup: Lookup) -> None:
    """Refuses a server that has a private address here; a name that only the proxy can look up passes."""
    with suppress(OSError, UnicodeError):
        for *_, address in await lookup(server.host, server.port):
            if not is_public(str(address[0])):
                raise _refuse(address[0])


async def _connect(host: str, port: int, lookup: Lookup, *, allows_private: bool) -> socket.socket:
    failure: OSError | None = None
    for family, kind, protocol, _, address in await lookup(host, port):
        # A private address refuses the request and is not skipped. Its DNS server may try to lead requests inside.
        if not allows_private and not is_public(str(address[0])):
            raise _refuse(address[0])
        try:
            return await _connect_to(socket.socket(family, kind, protocol), address)
        except OSError as exc:
            failure = exc
    raise failure or OSError("it has no address")


async def _connect_to(sock: socket.socket, address: Any) -> socket.socket:
    try:
        sock.setblocking(False)
        # A request is sent as a whole. Without this option a small last piece could wait for the acknowledgement of the one before.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


async def _open_tunnel(stream: Stream, server: ServerAddress, proxy: Proxy) -> None:
    """Has a proxy connect to a server. Source: RFC 9110, 9.3.6."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    target = f"{host}:{server.port}"
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
    headers = [(b"Host", target.encode())]
    if proxy.authorization:
        headers.append((b"Proxy-Authorization", proxy.authorization))
    await stream.send(connection.send(h11.Request(method="CONNECT", target=target, headers=headers)) or b"")
    await stream.send(connection.send(h11.EndOfMessage()) or b"")
    while (event := connection.next_event()) is h11.NEED_DATA or isinstance(event, h11.InformationalResponse):
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive(PIECE_BYTES))
    if not isinstance(event, h11.Response) or not 200 <= event.status_code < 300:
        status = event.status_code if isinstance(event, h11.Response) else "nothing"
        raise UpstreamFailure(f"the proxy does not connect to it: {status}")
