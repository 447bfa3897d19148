"""Resolves the links of a document when it is read, so that crawler and indexer use absolute URLs.

Links that lead to no other document are omitted: fragments of the same page, mail addresses, scripts, and texts that form no URL. A
fragment is not part of a link's URL.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin

from feedmill.model.extraction import Link

# A path of plain segments can be appended to its page, or to a folder above it, without the rules for relative URLs. Almost all links are
# such paths.
_SEGMENTS = r"(?:[\w%+~-][\w%+~.-]*/)*(?:[\w%+~-][\w%+~.-]*)"
_PLAIN_PATH = re.compile(f"/?{_SEGMENTS}", re.ASCII)
_CLIMBING_PATH = re.compile(rf"(?:\./|((?:\.\./)+))((?:{_SEGMENTS})?)", re.ASCII)
_HTTP_BASE = re.compile(r"(https?://[\w.-]+(?::\d+)?)/(?:[\w%+~-][\w%+~.-]*/)*(?:[\w%+~-][\w%+~.-]*)?(?=[?#]|$)", re.ASCII)
_NOT_FOLLOWED = ("mailto:", "javascript:", "data:", "tel:")


def resolve_links(page: str, links: Iterable[Link]) -> tuple[Link, ...]:
    """Returns the links of a page with absolute URLs, in order."""
    return tuple(link for link in resolve_each(page, links) if link is not None)


def resolve_each(page: str, links: Iterable[Link]) -> Iterator[Link | None]:
    """Yields each link of a page with its absolute URL, None for one that leads to no other document."""
    root, folder = _bases(page)
    folders = [folder]
    is_plain, read_climbing = _PLAIN_PATH.fullmatch, _CLIMBING_PATH.fullmatch
    for url, text in links:
        target = url.partition("#")[0] if "#" in url else url
        if root and is_plain(target):
            yield Link((root if target[0] == "/" else folder) + target, text)
        elif root and (climbing := read_climbing(target)) is not None:
            yield Link(_climb(root, folders, len(climbing[1] or "") // len("../")) + climbing[2], text)
        else:
            absolute = _resolve(page, target) if target else None
            yield Link(absolute, text) if absolute is not None else None


def _climb(root: str, folders: list[str], steps: int) -> str:
    """Returns the folder so many steps above that of the page, and adds what it needs to the known ones. Above the root is the root."""
    while len(folders) <= steps and len(folders[-1]) > len(root) + 1:
        folders.append(folders[-1][: folders[-1].rindex("/", 0, -1) + 1])
    return folders[min(steps, len(folders) - 1)]


def _resolve(page: str, target: str) -> str | None:
    if target.lower().startswith(_NOT_FOLLOWED):
        return None
    if "://" in target[:20]:
        return target
    try:
        return urljoin(page, target)
    except ValueError:
        return None


def _bases(page: str) -> tuple[str, str]:
    """Returns the prefix for a path from the root and the prefix for a path from the page's own folder; "" for a URL that needs the full
    rules.
    """
    base = _HTTP_BASE.match(page)
    return (base[1], base[0][: base[0].rindex("/") + 1]) if base else ("", "")
