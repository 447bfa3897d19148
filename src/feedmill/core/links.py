"""Links of a document: made absolute when the document is read, so that crawler and indexer take them as they are.

What leads nowhere else is left out: a fragment of the same page, mail addresses, scripts, and what no URL can be made of. A fragment is
no part of the URL that a link leads to.
"""

import re
from collections.abc import Iterable
from urllib.parse import urljoin

from feedmill.model.extraction import Link

# A path of plain segments needs no rules to be joined to its page, and almost all links are such paths.
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
    """Returns what stands before a path from the root and one from the page's own folder; nothing for a URL that needs rules."""
    base = _HTTP_BASE.match(page)
    return (base[1], base[0][: base[0].rindex("/") + 1]) if base else ("", "")
