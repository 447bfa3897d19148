"""URLs as people read them: their breadcrumbs, and the name that stands for the title of a document without one."""

import re
from typing import Final
from urllib.parse import unquote

MAX_SHOWN_URL: Final = 120

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]")
"""Control characters, and marks that change the direction of the text behind them."""

_SCHEME = re.compile(r"^https?://", re.IGNORECASE)
_PATH = re.compile(r"[^?#]*")


def shorten_url(url: str) -> str:
    """Returns a URL for reading: without http, percent-encoded text decoded, without characters that change its direction."""
    readable = unquote(_SCHEME.sub("", url), errors="replace")
    clean = CONTROL.sub(" ", url if "\ufffd" in readable else readable).strip()
    clean = clean.removesuffix("/")
    if len(clean) <= MAX_SHOWN_URL:
        return clean
    return f"{clean[: MAX_SHOWN_URL * 2 // 3]}…{clean[-MAX_SHOWN_URL // 3 :]}"


def split_url(url: str) -> tuple[str, ...]:
    """Returns the breadcrumbs of the URL of a web page: its host, then the parts of its path, each written for reading.

    Shape: a long URL keeps its host and its last parts, with "…" between them; a URL of another scheme is one part.
    """
    found = _SCHEME.match(url)
    if found is None:
        return (shorten_url(url),)
    # only the path is split: a query or a fragment may hold slashes of its own
    path = _PATH.match(url, found.end())
    host, *folders = path.group().split("/") if path else [""]
    parts = [part for part in folders if part]
    rest = url[path.end() :] if path else ""
    if rest:
        parts = [*parts[:-1], f"{parts[-1] if parts else ''}{rest}"]
    crumbs = [shown for part in (host, *parts) if (shown := shorten_url(part))]
    size = len(crumbs[0]) if crumbs else 0
    last: list[str] = []
    for crumb in reversed(crumbs[1:]):
        size += len(crumb)
        if last and size > MAX_SHOWN_URL:
            return (crumbs[0], "…", *reversed(last))
        last.append(crumb)
    return tuple(crumbs) or (shorten_url(url),)


def name_url(url: str) -> str:
    """Returns what stands for the title of a document without one: the name of its file, or its URL if that names none."""
    *folders, name = split_url(url)
    return name if folders and name[:1] not in "?#…" else shorten_url(url)
