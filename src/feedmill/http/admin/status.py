"""The status of a data folder: the store's counts, the running server's processes and addresses, and the origin of each setting."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from feedmill.http.admin.api.pullsources import render_pull_source
from feedmill.model.serving import StoredSetting
from feedmill.ports import Store
from feedmill.runtime.runstate import find_server
from feedmill.services.overview import read_crawl_overview, read_overview, read_semantic_overview
from feedmill.services.pulling.requesting import PullRequests
from feedmill.services.queues import QueueWatch
from feedmill.settings import LoadedSettings, dotted, list_values
from feedmill.settings.editing import API, list_held
from feedmill.settings.serving import SECTIONS, WHOLE

_SECRET = (
    "store.url",
    "index.url",
    "blobs.url",
    "crawl.access",
    "crawl.headers",
    "crawl.proxies",
    "crawl.smb_shares",
    "sources",
    "dataload",
    "semantic.key",
    "signin.proxy.secret",
    "signin.ldap",
    "signin.oidc",
    "signin.saml",
)
HIDDEN = "(set)"


def read_status(store: Store, data: Path, loaded: LoadedSettings, watch: QueueWatch, pulling: PullRequests) -> dict[str, Any]:
    """Returns the status as JSON. Errors: Busy, Corrupt."""
    server = find_server(data)
    with store.reading() as unit:
        stored = unit.state.stored_settings.list()
    return {
        "running": server is not None,
        "pid": server.pid if server else None,
        "started_at": server.started_at if server else None,
        "addresses": server.addresses if server else {},
        "roles": {name: asdict(role) for name, role in server.roles.items()} if server else {},
        "sandbox": server.sandbox if server else {},
        **read_overview(store),
        "crawl": read_crawl_overview(store, datetime.now(UTC)),
        "semantic": read_semantic_overview(store, loaded.settings.semantic.stored_model),
        "queues": watch.describe(),
        "pull_sources": [render_pull_source(source) for source in pulling.list_sources()],
        "warnings": list(loaded.warnings),
        "settings": list_settings(loaded, stored),
    }


def list_settings(loaded: LoadedSettings, stored: Sequence[StoredSetting] = ()) -> dict[str, dict[str, Any]]:
    """Lists every setting by its key with value and origin; settings that may hold a password are hidden.

    Entries that can be set by API are also listed one by one, as ``SECTION.NAME``.
    """
    listed = {}
    for path, value in list_values(loaded.settings):
        key = dotted(path)
        shown = HIDDEN if key in _SECRET and value else _plain(value)
        listed[key] = {"value": shown, "origin": loaded.origins.get(key, "default")}
    for section in SECTIONS:
        listed |= _list_section(section, loaded, stored)
    return listed


def _list_section(section: str, loaded: LoadedSettings, stored: Sequence[StoredSetting]) -> dict[str, dict[str, Any]]:
    entries = list(list_held(loaded, stored, section))
    if section in WHOLE:
        keys = entries[0].value.items()
        return {f"{section}.{key}": {"value": value, "origin": entries[0].origin} for key, value in keys if entries[0].origin == API}
    origins = list(dict.fromkeys(entry.origin for entry in entries))
    whole = {"value": [dict(entry.value) for entry in entries], "origin": ", ".join(origins) or "default"}
    return {section: whole} | {f"{section}.{entry.name}": {"value": dict(entry.value), "origin": entry.origin} for entry in entries}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.model_dump() if hasattr(value, "model_dump") else value
