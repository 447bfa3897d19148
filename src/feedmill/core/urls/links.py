"""Resolves the links of a document when it is read, so that crawler and indexer use absolute URLs.

Links that lead to no other document are omitted: fragments of the same page, mail addresses, scripts, and texts that form no URL. A
fragment is not part of a link's URL.
"""

import re
from collections.abc import Iterable
from urllib.parse import urljoin

from feedmill.model.extraction import Link

# A path of plain segments can be appended to its page without the rules for relative URLs. Almost all links are such paths.
_PLAIN_PATH = re.compile(r"/?(?:[\w%+~-][\w%+~.-]*/)*(?:[\w%+~-][\w%+~.-]*)", re.ASCII)
_HTTP_BASE = re.compile(r"(https?://[\w.-]+(?::\d+)?)/(?:[\w%+~-][\w%+~.-]*/)*(?:[\w%+~-][\w%+~.-]*)?(?=[?#]|$)", re.ASCII)
_NOT_FOLLOWED = ("mailto:", "javascript:", "data:", "tel:")


def resolve_links(page: str, links: Iterable[Link]) -> tuple[Link, ...]:
    """Returns the links of a page with absolute URLs, in order."""
    root, folder = _bases(page)
    is_plain = _PLAIN_PATH.fullmatch
    found: list[Link] = []
    for url, text in links:
        target = url.partition("#")[0] if "#" in url else url
        if root and is_plain(target):
            found.append(Link((root if target[0] == "/" else folder) + target, text))
        elif target and (absolute := _resolve(page, target)) is not None:
            found.append(Link(absolute, text))
    return tuple(found)


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
