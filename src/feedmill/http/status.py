"""The status of a data folder: the store's counts, the running server's processes and addresses, and where each setting came from."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from feedmill.ports import Store
from feedmill.runstate import find_server
from feedmill.services.overview import tell_overview
from feedmill.settings import Loaded, dotted, list_values

_SECRET = ("store.url", "crawl.access", "sources", "dataload")
HIDDEN = "(set)"


def tell_status(store: Store, data: Path, loaded: Loaded) -> dict[str, Any]:
    """Gives the status as JSON. Errors: Busy, Corrupt."""
    server = find_server(data)
    return {
        "running": server is not None,
        "pid": server.pid if server else None,
        "started_at": server.started_at if server else None,
        "addresses": server.addresses if server else {},
        "roles": {name: asdict(role) for name, role in server.roles.items()} if server else {},
        **tell_overview(store),
        "settings": list_settings(loaded),
    }


def list_settings(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """Lists every setting by its key with value and origin; what may hold a password is hidden."""
    listed = {}
    for path, value in list_values(loaded.settings):
        key = dotted(path)
        shown = HIDDEN if key in _SECRET and value else _plain(value)
        listed[key] = {"value": shown, "origin": loaded.origins.get(key, "default")}
    return listed


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.model_dump() if hasattr(value, "model_dump") else value
