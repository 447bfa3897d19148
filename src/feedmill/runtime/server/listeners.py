"""Reads from the settings, for each listening port, its host names, its limits of connections and its certificate."""

import resource
import socket
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.applications import Starlette

from feedmill.core.urls.hostnames import LOCALHOST, HostNames, find_host, is_address
from feedmill.core.urls.networks import Networks
from feedmill.http.common.answers import DROP_EXTENSION
from feedmill.http.common.hostcheck import FindNames
from feedmill.http.common.requirements import requirements_of
from feedmill.runtime.server.connections import ShareOf, SlotQuota, share_by_client, share_by_trust
from feedmill.runtime.server.deadlines import STEADY_BODIES
from feedmill.runtime.server.draining import DrainingProtocol
from feedmill.runtime.server.uvicorn_runner import Listener
from feedmill.settings import Settings

PATIENCE_SECONDS: Final = 2.0

log = structlog.get_logger(__name__)


class LocalNames:
    """Finds the names of this machine. Waits for the full one for a moment only."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        short = socket.gethostname()
        self._names = _normalize(LOCALHOST, short, short.partition(".")[0])
        lookup = threading.Thread(target=self._ask, args=(short,), name="own-name", daemon=True)
        lookup.start()
        lookup.join(patience_seconds)
        if lookup.is_alive():
            log.warning("full_name_unknown", host=short, reason="the name server has not answered yet")

    def list_names(self) -> frozenset[str]:
        """Returns the names known so far, normalized."""
        return self._names

    def _ask(self, short: str) -> None:
        # A new set takes the place of the old one, so other threads read either of them and need no lock.
        self._names |= _normalize(socket.getfqdn(short))


def _normalize(*names: str) -> frozenset[str]:
    found = (find_host(name) for name in names)
    return frozenset(name for name in found if name is not None and not is_address(name))


class GateProtocol(DrainingProtocol):
    """Reads large bodies, and lets the application drop the connection."""

    body_rule = STEADY_BODIES

    def on_message_begin(self) -> None:
        """Adds the extension to the request's scope."""
        super().on_message_begin()
        self.set_extension(DROP_EXTENSION, {"drop": self._drop})

    def _drop(self) -> None:
        if not self.transport.is_closing():
            self.cut_off()


UNTRUSTED_SLOTS: Final = 200
"""How many connections the feed port accepts of all untrusted addresses together."""

_FILES_BESIDE: Final = 512
"""Descriptors that a process needs beside those of its connections."""

_FILES_EACH: Final = 2
"""The descriptors that a connection may need: its socket, and a file to write to."""

_FEWEST: Final = 32
_WITH_PUBLIC_URL: Final = frozenset({"search", "admin"})


def make_listeners(settings: Settings, sockets: Mapping[str, socket.socket], apps: Mapping[str, Starlette]) -> list[Listener]:
    """Returns the listeners of one process. Shape: applications by listener; those without an open socket are left out."""
    own, names = LocalNames(), [name for name in apps if name in sockets]
    most = min(settings.limits.max_connections, count_connections(len(names)))
    return [_make_listener(name, apps[name], settings, sockets[name], own, most) for name in names]


def count_connections(listeners: int) -> int:
    """Returns how many connections each listener of this process has descriptors for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_FEWEST, (soft - _FILES_BESIDE) // (_FILES_EACH * max(1, listeners)))


def _make_listener(name: str, app: Starlette, settings: Settings, listening: socket.socket, own: LocalNames, most: int) -> Listener:
    certificate, key = _find_certificate(name, settings)
    section = "gate" if name == "gate_tls" else name
    entries = {"gate": settings.gate.hosts, "dtd": settings.dtd.hosts, "search": settings.search.hosts, "admin": settings.admin.hosts}
    listener = Listener(
        app=app,
        socket=listening,
        hosts=_find_names_by(entries[section], settings.signin.public_url if name in _WITH_PUBLIC_URL else "", own),
        hosts_setting=f"{section}.hosts",
        id_givers=Networks.parse(settings.gate.trusted) if section == "gate" else _list_proxies(settings),
        open_paths=requirements_of(app).list_paths_for_any_host(),
        allow_origins=settings.search.allow_origins if name == "search" else None,
        most_connections=most,
        share_of=_share(section, settings, most),
        certificate=certificate,
        key=key,
    )
    return replace(listener, protocol=GateProtocol) if section == "gate" else listener


def _find_certificate(name: str, settings: Settings) -> tuple[str, str]:
    files = {
        "gate_tls": (settings.gate.certificate, settings.gate.key),
        "search": (settings.search.certificate, settings.search.key),
        "admin": (settings.admin.certificate, settings.admin.key),
    }
    return files.get(name, ("", ""))


def _find_names_by(entries: tuple[str, ...], public_url: str, own: LocalNames) -> FindNames:
    public = find_host(urlsplit(public_url).netloc)
    listed = HostNames.parse((*entries, *((public,) if public else ())))
    return lambda: replace(listed, names=listed.names | own.list_names())


def _share(section: str, settings: Settings, most: int) -> ShareOf:
    """Returns the shares of a port. A proxy may occupy all slots of the search port, since its connections are those of many clients."""
    each = min(settings.limits.max_connections_per_address, most)
    if section == "gate":
        strangers = SlotQuota(name="strangers", most=min(UNTRUSTED_SLOTS, most))
        return share_by_trust(each, Networks.parse(settings.gate.trusted), strangers)
    if section == "search":
        return share_by_client(each, proxies=_list_proxies(settings), most_of_proxy=most)
    return share_by_client(each)


def _list_proxies(settings: Settings) -> Networks:
    """Returns the reverse proxies."""
    return Networks.parse((*settings.signin.proxy.trusted, *settings.signin.client_address.trusted))
