"""Reads the XML of sitemaps and of their index files, piece by piece, for the crawler and for ``make-feed``.

Elements count by their local names, because many sitemaps have a wrong namespace or none. A ``loc`` counts only as a child of ``url`` or
``sitemap`` and with their prefix, so that the ``loc`` of an image or a video does not.

Source: sitemaps.org, "Sitemaps XML format".
"""

from dataclasses import dataclass
from typing import Final

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.wire.xmlstream.small import SmallReader

ROOTS: Final = ("urlset", "sitemapindex")
_ENTRIES: Final = ("url", "sitemap")
_MAX_CHARACTERS: Final = {"loc": MAX_URL_CHARACTERS, "lastmod": 100}
"""No more of a value is collected once it is longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapElement:
    """A page, or with ``is_sitemap`` a further sitemap, as the file has it. ``url`` may be empty, relative or too long."""

    line: int
    url: str
    last_modified: str = ""
    is_sitemap: bool = False


class SitemapReader(SmallReader):
    """Reads one sitemap. Feed it bytes, and take the elements that are complete."""

    def __init__(self) -> None:
        super().__init__(has_namespaces=False)
        self.root = ""
        """The local name of the root, "" before it begins."""
        self.root_line = 0
        self._complete: list[SitemapElement] = []
        self._values: dict[str, str] = {}
        self._reads = ""
        self._begun_at = 0

    def take_complete(self) -> list[SitemapElement]:
        """Returns the elements that are complete since the last call."""
        complete, self._complete = self._complete, []
        return complete

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        match len(self.path):
            case 1:
                self.root, self.root_line = _local(name), self.line
            case 2:
                self._values, self._begun_at = {}, self.line
            case 3:
                local = _local(name)
                is_value = _prefix(name) == _prefix(self.path[1]) and local in _MAX_CHARACTERS
                # of a repeated value the first counts
                self._reads = local if is_value and local not in self._values else ""
                if self._reads:
                    self._values[local] = ""

    def end(self, name: str) -> None:
        if len(self.path) == 3:
            self._reads = ""
        elif len(self.path) == 2 and _local(name) in _ENTRIES:
            url, changed = self._values.get("loc", "").strip(), self._values.get("lastmod", "").strip()
            is_sitemap = _local(name) == "sitemap"
            self._complete.append(SitemapElement(line=self._begun_at, url=url, last_modified=changed, is_sitemap=is_sitemap))

    def take_text(self, text: str) -> None:
        if len(self.path) == 3 and self._reads and len(self._values[self._reads]) <= _MAX_CHARACTERS[self._reads]:
            self._values[self._reads] += text


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _prefix(name: str) -> str:
    return name.rpartition(":")[0]
